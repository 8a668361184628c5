//! LCP (RFC 1661 §5, §6): the options of the link, and its end.

use super::*;

const MRU: u8 = 1;
const AUTH: u8 = 3;
const MAGIC: u8 = 5;
/// The shortest packets that anybody may want to have.
const LEAST_MRU: u16 = 128;

impl Machine {
    pub(super) fn lcp(&mut self, now: Moment, control: Control, out: &mut Vec<Vec<u8>>) {
        match control.code {
            code::CONFIGURE_REQUEST => {
                if self.phase != Phase::Establish {
                    self.begin_anew();
                    self.ask_lcp(now, out);
                }
                let Some(options) = control.options() else { return };
                self.lcp.theirs = self.answer(protocol::LCP, control, &options, out);
                self.established(now, out);
            }
            code::CONFIGURE_ACK | code::CONFIGURE_NAK | code::CONFIGURE_REJECT => {
                if control.id != self.lcp.id || self.phase != Phase::Establish {
                    return;
                }
                let Some(options) = control.options() else { return };
                if control.code == code::CONFIGURE_ACK {
                    self.lcp.ours = self.is_acknowledged(protocol::LCP, control.data);
                    return self.established(now, out);
                }
                if self.refused(protocol::LCP) {
                    return self.close(End::Loop, out);
                }
                let is_nak = control.code == code::CONFIGURE_NAK;
                for (kind, value) in options {
                    if !self.lcp_refused(is_nak, kind, value) {
                        return self.close(End::NoWay, out);
                    }
                }
                self.ask_lcp(now, out);
            }
            code::TERMINATE_REQUEST => {
                let ack = Control { code: code::TERMINATE_ACK, ..control };
                out.push(ack.write(protocol::LCP));
                self.phase = Phase::Down(End::Terminated);
            }
            code::PROTOCOL_REJECT => {
                let Some(kind) = control.data.first_chunk() else { return };
                self.rejected(now, u16::from_be_bytes(*kind), out);
            }
            code::ECHO_REQUEST if self.lcp.is_open() => {
                let theirs = control.data.first_chunk().map(|magic| u32::from_be_bytes(*magic));
                if theirs == Some(self.magic) {
                    return self.close(End::Loop, out);
                }
                let mut data = self.magic.to_be_bytes().to_vec();
                data.extend(control.data.get(4..).unwrap_or(&[]));
                let reply = Control { code: code::ECHO_REPLY, id: control.id, data: &data };
                out.push(reply.write(protocol::LCP));
            }
            code::TERMINATE_ACK..=code::CODE_REJECT
            | code::ECHO_REQUEST..=code::DISCARD_REQUEST => {}
            _ => {
                let whole = control.write(0);
                let (id, data) = (self.lcp.id.wrapping_add(1), &whole[2..]);
                self.lcp.id = id;
                out.push(Control { code: code::CODE_REJECT, id, data }.write(protocol::LCP));
            }
        }
    }

    /// §3.4: the other end begins anew, and so does this one.
    fn begin_anew(&mut self) {
        (self.lcp, self.auth, self.ipcp, self.ccp) = Default::default();
        self.ipv6cp = Talk { off: self.ipv6cp.off, ..Talk::default() };
        self.phase = Phase::Establish;
        (self.mode, self.doing, self.servers) = ([None; 2], None, None);
        (self.local, self.remote, self.encryption) = (0, 0, Encryption::No);
        (self.may_encrypt, self.has_short) = (false, false);
    }

    /// The other end does not speak a protocol.
    fn rejected(&mut self, now: Moment, kind: u16, out: &mut Vec<Vec<u8>>) {
        match kind {
            protocol::IPCP => return self.close(End::NoAddress, out),
            protocol::IPV6CP => self.ipv6cp = Talk::off(),
            protocol::CCP => self.no_encryption(out),
            _ => return,
        }
        self.opened(now, out);
    }

    /// Takes in that the other end does not want an option as it was; `false` if nothing is left to ask
    /// for.
    fn lcp_refused(&mut self, is_nak: bool, kind: u8, value: &[u8]) -> bool {
        match (kind, &self.role) {
            (MRU, _) => match value.first_chunk().map(|mru| u16::from_be_bytes(*mru)) {
                Some(mru) if is_nak => self.mru = self.mru.min(mru.max(LEAST_MRU)),
                _ => self.mru = DEFAULT_MRU.min(self.mru),
            },
            (AUTH, Role::Server) => {
                let has = |way: Way| self.asks & way.bit() != 0;
                let wanted = Way::read(value).filter(|&way| is_nak && has(way));
                // The next worse one.
                let mut others = Way::ALL.into_iter().skip_while(|way| Some(*way) != self.way);
                let other = others.find(|&way| has(way) && Some(way) != self.way);
                match wanted.or(other.filter(|_| is_nak)) {
                    Some(way) => self.way = Some(way),
                    None => return false,
                }
            }
            (MAGIC, _) if is_nak => self.magic = self.magic.wrapping_mul(0x9e37_79b1) | 1,
            _ => {}
        }
        true
    }

    pub(super) fn ask_lcp(&mut self, now: Moment, out: &mut Vec<Vec<u8>>) {
        let mut asked = vec![(MRU, self.mru.to_be_bytes().to_vec())];
        if let (Role::Server, Some(way)) = (&self.role, self.way) {
            asked.push((AUTH, way.option()));
        }
        asked.push((MAGIC, self.magic.to_be_bytes().to_vec()));
        self.ask(protocol::LCP, &asked, now, out);
    }

    pub(super) fn judge_lcp(&mut self, option: u8, value: &[u8]) -> Verdict {
        let number = value.first_chunk().map(|mru| u16::from_be_bytes(*mru));
        match (option, number, &self.role) {
            (MRU, Some(mru), _) if value.len() == 2 => {
                if mru < LEAST_MRU {
                    return Verdict::Other(DEFAULT_MRU.to_be_bytes().to_vec());
                }
                self.peer_mru = mru;
                Verdict::Fine
            }
            (AUTH, _, Role::Client(login)) => {
                let allow = login.allow;
                match (Way::read(value).filter(|&way| allow.has(way)), allow.best()) {
                    (Some(way), _) => {
                        self.way = Some(way);
                        Verdict::Fine
                    }
                    (None, Some(way)) => Verdict::Other(way.option()),
                    (None, None) => Verdict::Unknown,
                }
            }
            (MAGIC, ..) if value.len() == 4 => match value == self.magic.to_be_bytes() {
                true => Verdict::Other((!self.magic).to_be_bytes().to_vec()),
                false => Verdict::Fine,
            },
            _ => Verdict::Unknown,
        }
    }

    /// LCP may be open by now.
    fn established(&mut self, now: Moment, out: &mut Vec<Vec<u8>>) {
        if !self.lcp.is_open() || self.phase != Phase::Establish {
            return;
        }
        (self.phase, self.heard_ms) = (Phase::Authenticate, now.as_millis_u32());
        match (&self.role, self.way) {
            (_, Some(_)) => self.ask_login(now, out),
            (Role::Client(_), None) => self.begin_network(now, out),
            (Role::Server, None) => self.close(End::NoWay, out),
        }
    }
}
