//! IPCP (RFC 1332, RFC 1877), IPv6CP (RFC 5072) and CCP (RFC 1962, RFC 3078): what packets need.
//!
//! ```text
//! Network ─┬─ IPCP     the addresses, name servers          Open is when this is,
//!          ├─ CCP      MPPE, one mode for each direction    and this, or it is known that it will not be
//!          └─ IPv6CP   the ends of link-local addresses     at any time
//! ```

use super::*;

const ADDRESS: u8 = 3;
/// Name servers of both kinds (RFC 1877), the first of each.
const DNS: u8 = 129;
const WINS: u8 = 130;
const IDENTIFIER: u8 = 1;
const MPPE: u8 = 18;
const RESET_REQUEST: u8 = 14;
const RESET_ACK: u8 = 15;

impl Machine {
    pub(super) fn begin_network(&mut self, now: Moment, out: &mut Vec<Vec<u8>>) {
        if let Role::Client(login) = &self.role {
            self.encryption = login.encryption;
        }
        let keys = self.doing().pass.keys;
        self.may_encrypt = self.encryption != Encryption::No && keys.is_some();
        self.has_short = keys.is_some_and(|keys| keys.has_short);
        self.phase = Phase::Network;
        match self.may_encrypt {
            true => self.ask_ccp(now, out),
            false => self.no_encryption(out),
        }
        self.opened(now, out);
    }

    /// There will be none.
    pub(super) fn no_encryption(&mut self, out: &mut Vec<Vec<u8>>) {
        if self.encryption == Encryption::Required {
            return self.close(End::NoEncryption, out);
        }
        self.ccp = Talk::off();
        self.doing().pass.keys = None;
    }

    /// Whether all is there that packets need.
    pub(super) fn opened(&mut self, now: Moment, out: &mut Vec<Vec<u8>>) {
        let settled = self.ccp.off || self.ccp.is_open();
        if settled && self.phase == Phase::Network && self.doing().ipcp.tries == 0 {
            // pppd hears of addresses only when it is encrypted.
            self.ask_ipcp(now, out);
            if !self.ipv6cp.off {
                self.ask_ipv6cp(now, out);
            }
        }
        if !self.ipcp.is_open() || !settled || self.phase != Phase::Network {
            return;
        }
        if self.remote == 0 {
            self.remote = UNNUMBERED;
        }
        if self.local == 0 || self.local == self.remote {
            return self.close(End::NoAddress, out);
        }
        // It asks at once.
        (self.phase, self.asked_ms) = (Phase::Open, now.as_millis_u32().wrapping_sub(1 << 30));
    }

    pub(super) fn ask_ipcp(&mut self, now: Moment, out: &mut Vec<Vec<u8>>) {
        let mut asked = vec![(ADDRESS, self.local.to_be_bytes().to_vec())];
        let wants = self.doing().wants_dns;
        for (n, dns) in self.dns().into_iter().enumerate().filter(|(n, _)| wants[*n]) {
            asked.push((DNS + 2 * n as u8, dns.to_be_bytes().to_vec()));
        }
        self.ask(protocol::IPCP, &asked, now, out);
    }

    pub(super) fn judge_ipcp(&mut self, option: u8, value: &[u8]) -> Verdict {
        let Ok(said) = value.try_into().map(u32::from_be_bytes) else { return Verdict::Unknown };
        let is_server = matches!(self.role, Role::Server);
        let wins = || self.servers.as_ref().map_or([0; 2], |servers| servers.wins);
        let known = match option {
            ADDRESS if is_server => self.remote,
            ADDRESS if said != 0 => {
                self.remote = said;
                return Verdict::Fine;
            }
            _ if !is_server => 0,
            DNS | 131 => self.dns()[usize::from(option != DNS)],
            WINS | 132 => wins()[usize::from(option != WINS)],
            _ => 0,
        };
        match known {
            0 => Verdict::Unknown,
            known if known == said => Verdict::Fine,
            known => Verdict::Other(known.to_be_bytes().to_vec()),
        }
    }

    pub(super) fn ipcp(&mut self, now: Moment, control: Control, out: &mut Vec<Vec<u8>>) {
        if !matches!(self.phase, Phase::Network | Phase::Open) {
            return;
        }
        let Some(options) = control.options() else { return };
        let is_mine = control.id == self.ipcp.id;
        match control.code {
            code::CONFIGURE_REQUEST => {
                self.ipcp.theirs = self.answer(protocol::IPCP, control, &options, out);
            }
            code::CONFIGURE_ACK if is_mine => {
                self.ipcp.ours = self.is_acknowledged(protocol::IPCP, control.data);
            }
            code::CONFIGURE_NAK | code::CONFIGURE_REJECT if is_mine && !self.ipcp.ours => {
                let refused = control.code == code::CONFIGURE_REJECT;
                if self.refused(protocol::IPCP) || !self.ipcp_refused(refused, &options) {
                    return self.close(End::NoAddress, out);
                }
                self.ask_ipcp(now, out);
            }
            code::TERMINATE_REQUEST => {
                let ack = Control { code: code::TERMINATE_ACK, ..control };
                out.push(ack.write(protocol::IPCP));
                return self.close(End::Terminated, out);
            }
            _ => {}
        }
        self.opened(now, out);
    }

    /// Takes in other values, or that an option is not known; `false` if nothing is left to ask for.
    fn ipcp_refused(&mut self, rejected: bool, options: &[(u8, &[u8])]) -> bool {
        for &(option, value) in options {
            let said = value.try_into().map_or(0, u32::from_be_bytes);
            let second = usize::from(option != DNS);
            match (option, &self.role) {
                (ADDRESS, _) if rejected => return false,
                (DNS | 131, _) if rejected => self.doing().wants_dns[second] = false,
                (ADDRESS, Role::Client(_)) => self.local = said,
                (DNS | 131, Role::Client(_)) => {
                    self.servers.get_or_insert_default().dns[second] = said;
                }
                _ => {}
            }
        }
        true
    }

    /// The interface identifiers of both ends.
    fn ends(&mut self) -> &mut [[u8; 8]; 2] {
        self.identifiers.get_or_insert_default()
    }

    pub(super) fn ask_ipv6cp(&mut self, now: Moment, out: &mut Vec<Vec<u8>>) {
        let asked = [(IDENTIFIER, self.ends()[0].to_vec())];
        self.ask(protocol::IPV6CP, &asked, now, out);
    }

    pub(super) fn judge_ipv6cp(&mut self, option: u8, value: &[u8]) -> Verdict {
        match (option, value.try_into()) {
            (IDENTIFIER, Ok(said)) if said != [0; 8] && said != self.ends()[0] => {
                self.ends()[1] = said;
                Verdict::Fine
            }
            // §4.1: none, or the same as ours: another one.
            (IDENTIFIER, Ok(_)) => {
                let mut other = self.ends()[0];
                other[7] ^= 2;
                Verdict::Other(other.to_vec())
            }
            _ => Verdict::Unknown,
        }
    }

    pub(super) fn ipv6cp(&mut self, now: Moment, control: Control, out: &mut Vec<Vec<u8>>) {
        if !matches!(self.phase, Phase::Network | Phase::Open) {
            return;
        }
        let Some(options) = control.options() else { return };
        let is_mine = control.id == self.ipv6cp.id;
        match control.code {
            code::CONFIGURE_REQUEST => {
                self.ipv6cp.theirs = self.answer(protocol::IPV6CP, control, &options, out);
            }
            code::CONFIGURE_ACK if is_mine => self.ipv6cp.ours = true,
            code::CONFIGURE_NAK if is_mine && !self.ipv6cp.ours => {
                let too_often = self.refused(protocol::IPV6CP);
                let said = options.iter().find(|(kind, _)| *kind == IDENTIFIER);
                let said = said.and_then(|(_, value)| (*value).try_into().ok());
                match said.filter(|said| *said != [0; 8] && !too_often) {
                    Some(said) => {
                        self.ends()[0] = said;
                        self.ask_ipv6cp(now, out);
                    }
                    None => self.ipv6cp = Talk::off(),
                }
            }
            code::CONFIGURE_REJECT if is_mine => self.ipv6cp = Talk::off(),
            code::TERMINATE_REQUEST => {
                let ack = Control { code: code::TERMINATE_ACK, ..control };
                out.push(ack.write(protocol::IPV6CP));
                self.ipv6cp = Talk::off();
            }
            _ => {}
        }
    }

    /// What this end receives is encrypted in the best way, or the best that the other end can.
    pub(super) fn ask_ccp(&mut self, now: Moment, out: &mut Vec<Vec<u8>>) {
        let best = Mode { stateless: true, ..Mode::default() };
        let mode = *self.mode[1].get_or_insert(best);
        self.ask(protocol::CCP, &[(MPPE, mode.option().to_vec())], now, out);
    }

    pub(super) fn judge_ccp(&mut self, option: u8, value: &[u8]) -> Verdict {
        if option != MPPE || value.len() != 4 {
            return Verdict::Unknown;
        }
        match Mode::read(value, self.has_short) {
            Some((mode, true)) => {
                self.mode[0] = Some(mode);
                Verdict::Fine
            }
            Some((mode, false)) => Verdict::Other(mode.option().to_vec()),
            None => {
                let best = Mode { stateless: true, ..Mode::default() };
                Verdict::Other(best.option().to_vec())
            }
        }
    }

    pub(super) fn ccp(&mut self, now: Moment, control: Control, out: &mut Vec<Vec<u8>>) -> Said {
        let is_mine = control.id == self.ccp.id;
        match (self.phase, control.code) {
            (Phase::Network | Phase::Open, RESET_REQUEST) => {
                out.push(Control { code: RESET_ACK, ..control }.write(protocol::CCP));
                return Said::NewKey;
            }
            (Phase::Network, code::CONFIGURE_REQUEST) => {
                let Some(options) = control.options() else { return Said::Nothing };
                let fine = self.answer(protocol::CCP, control, &options, out);
                self.ccp.theirs = fine && self.mode[0].is_some();
            }
            (Phase::Network, code::CONFIGURE_ACK) if is_mine => self.ccp.ours = true,
            (Phase::Network, code::CONFIGURE_NAK) if is_mine && !self.ccp.ours => {
                let too_often = self.refused(protocol::CCP);
                let options = control.options().unwrap_or_default();
                let said = options.iter().find(|(kind, _)| *kind == MPPE);
                let mode = said.and_then(|(_, value)| Mode::read(value, self.has_short));
                match mode.filter(|_| !too_often) {
                    Some((mode, _)) => {
                        self.mode[1] = Some(mode);
                        self.ask_ccp(now, out);
                    }
                    None => self.no_encryption(out),
                }
            }
            (Phase::Network, code::CONFIGURE_REJECT) if is_mine => self.no_encryption(out),
            // The same once more, whose acknowledgement was lost; a session that was encrypted is not
            // read in the clear.
            (Phase::Open, code::CONFIGURE_REQUEST) => {
                let before = self.mode[0];
                let Some(options) = control.options() else { return Said::Nothing };
                if !self.answer(protocol::CCP, control, &options, out) || self.mode[0] != before {
                    self.close(End::NoEncryption, out);
                }
            }
            (Phase::Open, code::TERMINATE_REQUEST) => self.close(End::NoEncryption, out),
            (Phase::Network, code::TERMINATE_REQUEST) => {
                out.push(Control { code: code::TERMINATE_ACK, ..control }.write(protocol::CCP));
                self.no_encryption(out);
            }
            _ => {}
        }
        self.opened(now, out);
        Said::Nothing
    }

    /// Asks for a new key: a packet was lost.
    pub(crate) fn ask_new_key(&mut self, out: &mut Vec<Vec<u8>>) {
        self.ccp.id = self.ccp.id.wrapping_add(1);
        let (id, data) = (self.ccp.id, &[][..]);
        out.push(Control { code: RESET_REQUEST, id, data }.write(protocol::CCP));
    }
}
