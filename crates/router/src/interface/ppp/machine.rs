//! One end of a PPP link (RFC 1661): options agreed upon, names proved, addresses given.
//!
//! ```text
//! Establish ──LCP──► Authenticate ──PAP, CHAP──► Network ──IPCP──► Open
//!     ▲ a new Configure-Request ◄──────────┴─────────────┴───────────┘ │
//!     └ no answer, a wrong password, Terminate, silence ─► Down ◄──────┘
//! ```
//!
//! Pure: packets and the time come in, packets go out. Who may log in is not known here: an attempt is
//! handed over ([`Said::Check`]) and its result comes by [`Machine::admit`].
//!
//! Never: agrees to compression, encryption, IPv6 or a field left out, all of which are rejected as the
//! RFC wants. Missing: **MS-CHAP**, **MRRU**, **CCP**, **IPv6CP**.

use std::time::Duration;
use wire::Moment;
use wire::ppp::{self, Control, code, protocol};

/// Ways to prove who one is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ways {
    /// The password in the clear.
    pub pap: bool,
    /// MD5 of the password and a challenge.
    pub chap: bool,
}

/// Which end it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Proves who it is, and takes the address it is given.
    Client { user: String, password: String, allow: Ways },
    /// Asks who the other one is, and gives addresses.
    Server { name: String, asks: Ways },
}

/// How far it has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Establish,
    Authenticate,
    Network,
    Open,
    Down(End),
}

/// Why it is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// Nobody answers.
    Silent,
    /// The other end wants it so.
    Terminated,
    /// The name or the password is wrong.
    Refused,
    /// No way to prove who one is suits both.
    NoWay,
    /// One of the addresses is missing.
    NoAddress,
    /// It hears itself.
    Loop,
    /// This end wants it so.
    Closed,
}

impl End {
    /// As the log says it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            End::Silent => "peer is not responding",
            End::Terminated => "hungup",
            End::Refused => "authentication failed",
            End::NoWay => "could not agree on authentication",
            End::NoAddress => "could not determine addresses",
            End::Loop => "loopback detected",
            End::Closed => "administrator request",
        }
    }
}

/// What a packet means beyond the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Said {
    /// Nothing.
    Nothing,
    /// Somebody wants to log in: [`Machine::admit`] takes what becomes of it.
    Check { user: String, proof: Proof },
}

/// How somebody proves who he is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Proof {
    Password(Vec<u8>),
    Chap { id: u8, challenge: [u8; 16], answer: Vec<u8> },
}

impl Proof {
    /// Whether it is the one of who has this password.
    pub(crate) fn is_of(&self, password: &str) -> bool {
        match self {
            Proof::Password(said) => said == password.as_bytes(),
            Proof::Chap { id, challenge, answer } => {
                ppp::chap_md5(*id, password.as_bytes(), challenge)[..] == answer[..]
            }
        }
    }
}

/// What this end sends and waits for of one control protocol.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Talk {
    /// The last request's number and options.
    id: u8,
    asked: Vec<(u8, Vec<u8>)>,
    tries: u8,
    due: Option<Moment>,
    /// The other end has taken our options.
    ours: bool,
    /// We have taken the other's.
    theirs: bool,
    /// How often our options were refused.
    refused: u8,
}

impl Talk {
    fn is_open(&self) -> bool {
        self.ours && self.theirs
    }
}

/// Restart timer and Max-Configure (RFC 1661 §4.6).
const RESTART: Duration = Duration::from_secs(3);
const MOST: u8 = 10;
/// The longest packet of Ethernet less PPPoE's header.
const DEFAULT_MRU: u16 = 1500;
/// What a peer has whose server tells no address, as pppd's.
const UNNUMBERED: u32 = 0x0a70_7070;

const MRU: u8 = 1;
const AUTH: u8 = 3;
const MAGIC: u8 = 5;
const ADDRESS: u8 = 3;

/// One end of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Machine {
    role: Role,
    phase: Phase,
    lcp: Talk,
    ipcp: Talk,
    auth: Talk,
    /// How it is proved who the client is.
    way: Option<Way>,
    mru: u16,
    peer_mru: u16,
    magic: u32,
    challenge: [u8; 16],
    /// A client's last answer to one: its acknowledgement may be lost (RFC 1994 §4.2).
    answer: Vec<u8>,
    user: String,
    local: u32,
    remote: u32,
    /// `keepalive-timeout`; `None` never asks.
    keepalive: Option<Duration>,
    heard: Moment,
    echo: Moment,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Pap,
    Chap,
}

impl Way {
    fn option(self) -> Vec<u8> {
        match self {
            Way::Pap => protocol::PAP.to_be_bytes().to_vec(),
            Way::Chap => [&protocol::CHAP.to_be_bytes()[..], &[5]].concat(),
        }
    }

    fn read(option: &[u8]) -> Option<Way> {
        [Way::Chap, Way::Pap].into_iter().find(|way| way.option() == option)
    }
}

impl Ways {
    fn has(self, way: Way) -> bool {
        match way {
            Way::Pap => self.pap,
            Way::Chap => self.chap,
        }
    }

    fn best(self) -> Option<Way> {
        [Way::Chap, Way::Pap].into_iter().find(|&way| self.has(way))
    }
}

impl Machine {
    /// One that begins now. `mru` is the longest packet it takes; `dice` are for its magic number and its
    /// challenge.
    pub(crate) fn new(
        now: Moment,
        role: Role,
        mru: u16,
        keepalive: Option<Duration>,
        mut dice: impl FnMut() -> u32,
        out: &mut Vec<Vec<u8>>,
    ) -> Machine {
        let mut challenge = [0; 16];
        for part in challenge.chunks_exact_mut(4) {
            part.copy_from_slice(&dice().to_be_bytes());
        }
        let way = match &role {
            Role::Server { asks, .. } => asks.best(),
            Role::Client { .. } => None,
        };
        let mut machine = Machine {
            role,
            phase: Phase::Establish,
            lcp: Talk::default(),
            ipcp: Talk::default(),
            auth: Talk::default(),
            way,
            mru,
            peer_mru: DEFAULT_MRU,
            magic: dice() | 1,
            challenge,
            answer: Vec::new(),
            user: String::new(),
            local: 0,
            remote: 0,
            keepalive,
            heard: now,
            echo: now,
        };
        machine.ask_lcp(now, out);
        machine
    }

    pub(crate) fn phase(&self) -> Phase {
        self.phase
    }

    /// This end's address and the other's, once it is open.
    pub(crate) fn addresses(&self) -> (u32, u32) {
        (self.local, self.remote)
    }

    /// The longest packet that both ends take.
    pub(crate) fn mtu(&self) -> u16 {
        self.mru.min(self.peer_mru)
    }

    /// Who has logged in; empty as long as nobody has.
    pub(crate) fn user(&self) -> &str {
        &self.user
    }

    /// Ends it.
    pub(crate) fn close(&mut self, end: End, out: &mut Vec<Vec<u8>>) {
        if !matches!(self.phase, Phase::Down(_)) {
            let bye = Control { code: code::TERMINATE_REQUEST, id: 0xff, data: &[] };
            out.push(bye.write(protocol::LCP));
            self.phase = Phase::Down(end);
        }
    }

    /// Does what is due; says when something is next.
    pub(crate) fn tick(&mut self, now: Moment, out: &mut Vec<Vec<u8>>) -> Option<Moment> {
        let talk = match self.phase {
            Phase::Establish => &mut self.lcp,
            Phase::Authenticate => &mut self.auth,
            Phase::Network => &mut self.ipcp,
            Phase::Open => return self.keep_alive(now, out),
            Phase::Down(_) => return None,
        };
        let due = talk.due?;
        if now < due {
            return Some(due);
        }
        if talk.tries >= MOST {
            self.close(End::Silent, out);
            return None;
        }
        match self.phase {
            Phase::Establish => self.ask_lcp(now, out),
            Phase::Authenticate => self.ask_auth(now, out),
            _ => self.ask_ipcp(now, out),
        }
        Some(now + RESTART)
    }

    fn keep_alive(&mut self, now: Moment, out: &mut Vec<Vec<u8>>) -> Option<Moment> {
        let timeout = self.keepalive?;
        if now >= self.heard + timeout {
            self.close(End::Silent, out);
            return None;
        }
        if now >= self.echo {
            self.echo = now + timeout / 3;
            self.lcp.id = self.lcp.id.wrapping_add(1);
            let (id, magic) = (self.lcp.id, self.magic.to_be_bytes());
            out.push(Control { code: code::ECHO_REQUEST, id, data: &magic }.write(protocol::LCP));
        }
        Some(self.echo.min(self.heard + timeout))
    }

    /// Takes in a control packet.
    pub(crate) fn receive(
        &mut self,
        now: Moment,
        kind: u16,
        bytes: &[u8],
        out: &mut Vec<Vec<u8>>,
    ) -> Said {
        if matches!(self.phase, Phase::Down(_)) {
            return Said::Nothing;
        }
        self.heard = now;
        let control = Control::read(bytes);
        match (kind, control) {
            (protocol::LCP, Some(control)) => self.lcp(now, control, out),
            _ if !self.lcp.is_open() => {}
            (protocol::PAP, Some(control)) => return self.pap(now, control, out),
            (protocol::CHAP, Some(control)) => return self.chap(now, control, out),
            (protocol::IPCP, Some(control)) => self.ipcp(now, control, out),
            (protocol::LCP | protocol::PAP | protocol::CHAP | protocol::IPCP, None) => {}
            _ => {
                self.lcp.id = self.lcp.id.wrapping_add(1);
                let most = usize::from(self.peer_mru).saturating_sub(6);
                let mut data = kind.to_be_bytes().to_vec();
                data.extend(&bytes[..bytes.len().min(most)]);
                let refusal = Control { code: code::PROTOCOL_REJECT, id: self.lcp.id, data: &data };
                out.push(refusal.write(protocol::LCP));
            }
        }
        Said::Nothing
    }

    fn lcp(&mut self, now: Moment, control: Control, out: &mut Vec<Vec<u8>>) {
        match control.code {
            code::CONFIGURE_REQUEST => {
                if self.phase != Phase::Establish {
                    // §3.4: it begins anew.
                    (self.lcp, self.ipcp, self.auth) = Default::default();
                    (self.phase, self.user) = (Phase::Establish, String::new());
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
                    self.lcp.ours = control.data == ppp::options(&self.lcp.asked);
                    return self.established(now, out);
                }
                self.lcp.refused += 1;
                if self.lcp.refused >= MOST {
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
            code::PROTOCOL_REJECT if control.data.starts_with(&protocol::IPCP.to_be_bytes()) => {
                self.close(End::NoAddress, out);
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
            code::TERMINATE_ACK..=code::PROTOCOL_REJECT
            | code::ECHO_REQUEST..=code::DISCARD_REQUEST => {}
            _ => {
                let whole = control.write(0);
                let (id, data) = (self.lcp.id.wrapping_add(1), &whole[2..]);
                self.lcp.id = id;
                out.push(Control { code: code::CODE_REJECT, id, data }.write(protocol::LCP));
            }
        }
    }

    /// Takes in that the other end does not want an option as it was; `false` if nothing is left to ask
    /// for.
    fn lcp_refused(&mut self, is_nak: bool, kind: u8, value: &[u8]) -> bool {
        match (kind, &self.role) {
            (MRU, _) => match value.first_chunk().map(|mru| u16::from_be_bytes(*mru)) {
                Some(mru) if is_nak => self.mru = self.mru.min(mru.max(128)),
                _ => self.mru = DEFAULT_MRU.min(self.mru),
            },
            (AUTH, Role::Server { asks, .. }) => {
                let wanted = Way::read(value).filter(|&way| is_nak && asks.has(way));
                let mut both = [Way::Chap, Way::Pap].into_iter();
                let other = both.find(|&way| asks.has(way) && Some(way) != self.way);
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

    fn ask_lcp(&mut self, now: Moment, out: &mut Vec<Vec<u8>>) {
        let mut asked = vec![(MRU, self.mru.to_be_bytes().to_vec())];
        if let (Role::Server { .. }, Some(way)) = (&self.role, self.way) {
            asked.push((AUTH, way.option()));
        }
        asked.push((MAGIC, self.magic.to_be_bytes().to_vec()));
        ask(&mut self.lcp, protocol::LCP, asked, now, out);
    }

    fn ask_ipcp(&mut self, now: Moment, out: &mut Vec<Vec<u8>>) {
        let asked = vec![(ADDRESS, self.local.to_be_bytes().to_vec())];
        ask(&mut self.ipcp, protocol::IPCP, asked, now, out);
    }

    /// Answers a Configure-Request; whether all of it is taken.
    fn answer(
        &mut self,
        kind: u16,
        control: Control,
        options: &[(u8, &[u8])],
        out: &mut Vec<Vec<u8>>,
    ) -> bool {
        let (mut rejected, mut others) = (Vec::new(), Vec::new());
        for &(option, value) in options {
            let verdict = match kind {
                protocol::LCP => self.judge_lcp(option, value),
                _ => self.judge_ipcp(option, value),
            };
            match verdict {
                Verdict::Fine => {}
                Verdict::Other(value) => others.push((option, value)),
                Verdict::Unknown => rejected.push((option, value.to_vec())),
            }
        }
        let (code, data) = match (rejected.is_empty(), others.is_empty()) {
            (false, _) => (code::CONFIGURE_REJECT, ppp::options(&rejected)),
            (true, false) => (code::CONFIGURE_NAK, ppp::options(&others)),
            (true, true) => (code::CONFIGURE_ACK, control.data.to_vec()),
        };
        out.push(Control { code, id: control.id, data: &data }.write(kind));
        code == code::CONFIGURE_ACK
    }

    fn judge_lcp(&mut self, option: u8, value: &[u8]) -> Verdict {
        let number = value.first_chunk().map(|mru| u16::from_be_bytes(*mru));
        match (option, number, &self.role) {
            (MRU, Some(mru), _) if value.len() == 2 => {
                if mru < 128 {
                    return Verdict::Other(DEFAULT_MRU.to_be_bytes().to_vec());
                }
                self.peer_mru = mru;
                Verdict::Fine
            }
            (AUTH, _, Role::Client { allow, .. }) => {
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

    fn judge_ipcp(&mut self, option: u8, value: &[u8]) -> Verdict {
        let address = value.first_chunk().map(|address| u32::from_be_bytes(*address));
        match (option, address, &self.role) {
            (ADDRESS, Some(address), Role::Server { .. }) if value.len() == 4 => {
                match address == self.remote {
                    true => Verdict::Fine,
                    false => Verdict::Other(self.remote.to_be_bytes().to_vec()),
                }
            }
            (ADDRESS, Some(address), Role::Client { .. }) if value.len() == 4 && address != 0 => {
                self.remote = address;
                Verdict::Fine
            }
            _ => Verdict::Unknown,
        }
    }

    /// LCP may be open by now.
    fn established(&mut self, now: Moment, out: &mut Vec<Vec<u8>>) {
        if !self.lcp.is_open() || self.phase != Phase::Establish {
            return;
        }
        (self.phase, self.heard, self.echo) = (Phase::Authenticate, now, now);
        match (&self.role, self.way) {
            (_, Some(_)) => self.ask_auth(now, out),
            (Role::Client { .. }, None) => self.begin_network(now, out),
            (Role::Server { .. }, None) => self.close(End::NoWay, out),
        }
    }

    /// A client says who it is, a server asks; who has nothing to say waits as long.
    fn ask_auth(&mut self, now: Moment, out: &mut Vec<Vec<u8>>) {
        self.auth.tries += 1;
        self.auth.due = Some(now + RESTART);
        match (&self.role, self.way) {
            (Role::Client { user, password, .. }, Some(Way::Pap)) => {
                let (user, password) = (short(user.as_bytes()), short(password.as_bytes()));
                let parts = [&[user.len() as u8], user, &[password.len() as u8], password];
                let data = parts.concat();
                let id = self.auth.tries;
                out.push(Control { code: 1, id, data: &data }.write(protocol::PAP));
            }
            (Role::Server { name, .. }, Some(Way::Chap)) => {
                let data = [&[16], &self.challenge[..], name.as_bytes()].concat();
                out.push(Control { code: 1, id: 1, data: &data }.write(protocol::CHAP));
            }
            (Role::Client { .. }, _) if !self.answer.is_empty() => out.push(self.answer.clone()),
            _ => {}
        }
    }

    fn pap(&mut self, now: Moment, control: Control, out: &mut Vec<Vec<u8>>) -> Said {
        let is_client = matches!(self.role, Role::Client { .. });
        match (control.code, is_client, self.phase) {
            _ if self.way != Some(Way::Pap) => {}
            (1, false, _) => {
                let read = ppp::value_and_name(control.data).and_then(|(user, rest)| {
                    let (password, _) = ppp::value_and_name(rest)?;
                    Some((text(user), password.to_vec()))
                });
                self.auth.id = control.id;
                if let Some((user, password)) = read {
                    return Said::Check { user, proof: Proof::Password(password) };
                }
            }
            (2, true, Phase::Authenticate) => self.begin_network(now, out),
            (3, true, Phase::Authenticate) => self.close(End::Refused, out),
            _ => {}
        }
        Said::Nothing
    }

    fn chap(&mut self, now: Moment, control: Control, out: &mut Vec<Vec<u8>>) -> Said {
        let read = ppp::value_and_name(control.data);
        match (control.code, &self.role, read) {
            _ if self.way != Some(Way::Chap) => {}
            (1, Role::Client { user, password, .. }, Some((challenge, _))) => {
                let answer = ppp::chap_md5(control.id, password.as_bytes(), challenge);
                let data = [&[16], &answer[..], short(user.as_bytes())].concat();
                let reply = Control { code: 2, id: control.id, data: &data };
                self.answer = reply.write(protocol::CHAP);
                out.push(self.answer.clone());
                self.auth.due = Some(now + RESTART);
            }
            (2, Role::Server { .. }, Some((answer, name))) if control.id == 1 => {
                self.auth.id = 1;
                let (challenge, answer) = (self.challenge, answer.to_vec());
                let proof = Proof::Chap { id: 1, challenge, answer };
                return Said::Check { user: text(name), proof };
            }
            (3, Role::Client { .. }, _) if self.phase == Phase::Authenticate => {
                self.begin_network(now, out);
            }
            (4, Role::Client { .. }, _) => self.close(End::Refused, out),
            _ => {}
        }
        Said::Nothing
    }

    /// What becomes of an attempt: the addresses of this end and of the other one, or nothing.
    pub(crate) fn admit(
        &mut self,
        now: Moment,
        user: &str,
        addresses: Option<(u32, u32)>,
        out: &mut Vec<Vec<u8>>,
    ) {
        let kind = if self.way == Some(Way::Pap) { protocol::PAP } else { protocol::CHAP };
        let (yes, no) = if self.way == Some(Way::Pap) { (2, 3) } else { (3, 4) };
        let repeated = self.phase != Phase::Authenticate && self.user == user;
        let granted = addresses.filter(|_| self.phase == Phase::Authenticate);
        let code = if granted.is_some() || repeated { yes } else { no };
        // PAP has its message behind its length (RFC 1334 §2.2.2).
        let data: &[u8] = if kind == protocol::PAP { &[0] } else { &[] };
        out.push(Control { code, id: self.auth.id, data }.write(kind));
        if let Some((local, remote)) = granted {
            (self.local, self.remote, self.user) = (local, remote, user.to_string());
            self.begin_network(now, out);
        } else if !repeated {
            self.close(End::Refused, out);
        }
    }

    fn begin_network(&mut self, now: Moment, out: &mut Vec<Vec<u8>>) {
        if let Role::Client { user, .. } = &self.role {
            self.user.clone_from(user);
        }
        self.phase = Phase::Network;
        self.ask_ipcp(now, out);
    }

    fn ipcp(&mut self, now: Moment, control: Control, out: &mut Vec<Vec<u8>>) {
        if !matches!(self.phase, Phase::Network | Phase::Open) {
            return;
        }
        let Some(options) = control.options() else { return };
        match control.code {
            code::CONFIGURE_REQUEST => {
                self.ipcp.theirs = self.answer(protocol::IPCP, control, &options, out);
            }
            code::CONFIGURE_ACK if control.id == self.ipcp.id => self.ipcp.ours = true,
            code::CONFIGURE_NAK if control.id == self.ipcp.id && !self.ipcp.ours => {
                let address = options.iter().find(|(kind, _)| *kind == ADDRESS);
                let address = address.and_then(|(_, value)| value.first_chunk());
                if let (Role::Client { .. }, Some(address)) = (&self.role, address) {
                    self.local = u32::from_be_bytes(*address);
                }
                self.ask_ipcp(now, out);
            }
            code::CONFIGURE_REJECT if control.id == self.ipcp.id => {
                return self.close(End::NoAddress, out);
            }
            code::TERMINATE_REQUEST => {
                let ack = Control { code: code::TERMINATE_ACK, ..control };
                out.push(ack.write(protocol::IPCP));
                return self.close(End::Terminated, out);
            }
            _ => {}
        }
        if self.ipcp.is_open() && self.phase == Phase::Network {
            if self.remote == 0 {
                self.remote = UNNUMBERED;
            }
            if self.local == 0 || self.local == self.remote {
                return self.close(End::NoAddress, out);
            }
            (self.phase, self.echo) = (Phase::Open, now);
        }
    }
}

/// What becomes of an option of the other end's.
enum Verdict {
    Fine,
    Other(Vec<u8>),
    Unknown,
}

/// Sends a Configure-Request.
fn ask(talk: &mut Talk, kind: u16, asked: Vec<(u8, Vec<u8>)>, now: Moment, out: &mut Vec<Vec<u8>>) {
    talk.id = talk.id.wrapping_add(1);
    talk.tries = talk.tries.saturating_add(1);
    talk.due = Some(now + RESTART);
    let data = ppp::options(&asked);
    out.push(Control { code: code::CONFIGURE_REQUEST, id: talk.id, data: &data }.write(kind));
    talk.asked = asked;
}

/// What fits a length of one byte.
fn short(bytes: &[u8]) -> &[u8] {
    &bytes[..bytes.len().min(255)]
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
mod tests;
