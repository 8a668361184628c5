//! One end of a PPP link (RFC 1661): options agreed upon, names proved, addresses given.
//!
//! ```text
//! Establish ──LCP──► Authenticate ──PAP, CHAP, MS-CHAP──► Network ──IPCP, CCP──► Open
//!     ▲ a new Configure-Request ◄──────────┴─────────────┴─────────────────────────┘ │
//!     └ no answer, a wrong password, Terminate, silence ─► Down ◄────────────────────┘
//! ```
//!
//! Pure: packets and the time come in, packets go out. Who may log in is not known here: an attempt is
//! handed over ([`Said::Check`]) and its result comes by [`Machine::admit`], at once or later. IPv6CP goes
//! beside and holds nothing up.
//!
//! Never: agrees to compression, or to a field left out, which are rejected as the RFC wants. Missing:
//! **MRRU**, **ECP**, **BCP**, **EAP**.

// The link itself.
mod lcp;
// Who one is.
mod login;
// Addresses and encryption.
mod network;

use super::mppe::Mode;
use super::mschap::Keys;
use std::num::NonZeroU16;
use std::time::Duration;
use wire::Moment;
use wire::ppp::{self, Control, code, protocol};

pub(crate) use login::{Pass, Proof, Way, Ways};

/// Which end it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Proves who it is, and takes the address it is given.
    Client(Box<Login>),
    /// Asks who the other one is, and gives addresses.
    Server,
}

/// Who a client is, and what it wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Login {
    pub(crate) user: String,
    pub(crate) password: String,
    pub(crate) allow: Ways,
    /// `use-peer-dns`: asks for name servers.
    pub(crate) wants_dns: bool,
    pub(crate) encryption: Encryption,
}

/// `use-encryption`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Encryption {
    #[default]
    No,
    /// If the other end can.
    Yes,
    /// Or there is no session.
    Required,
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
    /// It must be encrypted, and cannot be.
    NoEncryption,
    /// What is decrypted makes no sense any more.
    OutOfStep,
    /// `session-timeout`.
    SessionTimeout,
    /// `idle-timeout`.
    IdleTimeout,
    /// `limit-bytes-in`, `limit-bytes-out`.
    Limit,
    /// The server that checks passwords wants it so.
    Disconnected,
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
            End::NoEncryption => "encryption not negotiated",
            End::OutOfStep => "encryption out of step",
            End::SessionTimeout => "session timeout",
            End::IdleTimeout => "idle timeout",
            End::Limit => "traffic limit reached",
            End::Disconnected => "disconnect requested by radius",
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
    /// The other end has lost an encrypted packet.
    NewKey,
}

/// What somebody is given who has logged in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Admitted {
    /// This end's address, and the other's.
    pub(crate) local: u32,
    pub(crate) remote: u32,
    /// Name servers.
    pub(crate) dns: [u32; 2],
    pub(crate) wins: [u32; 2],
    pub(crate) encryption: Encryption,
    pub(crate) pass: Pass,
}

/// How far one control protocol has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Talk {
    /// The last request's number.
    id: u8,
    /// The other end has taken our options.
    ours: bool,
    /// We have taken the other's.
    theirs: bool,
    /// It is not to be: one of the ends does not want it.
    off: bool,
}

/// What this end has sent and waits for of one control protocol.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Asked {
    /// The last request's options.
    options: Vec<u8>,
    tries: u8,
    due: Option<Moment>,
    /// How often our options were refused.
    refused: u8,
}

/// What is known while something is being agreed upon, and forgotten once all is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Doing {
    lcp: Asked,
    auth: Asked,
    ipcp: Asked,
    ipv6cp: Asked,
    ccp: Asked,
    /// A client's last answer to a challenge: its acknowledgement may be lost (RFC 1994 §4.2).
    answer: Vec<u8>,
    /// An attempt that is being looked at, by its number.
    checking: Option<u8>,
    /// A refusal that is still to be told.
    refusal: Option<Vec<u8>>,
    /// The name servers that a client still asks for.
    wants_dns: [bool; 2],
    pass: Pass,
    /// What the other end of the server's proof must say (MS-CHAP 2).
    awaited: String,
}

impl Doing {
    fn of(&mut self, kind: u16) -> &mut Asked {
        match kind {
            protocol::LCP => &mut self.lcp,
            protocol::IPCP => &mut self.ipcp,
            protocol::IPV6CP => &mut self.ipv6cp,
            protocol::CCP => &mut self.ccp,
            _ => &mut self.auth,
        }
    }
}

/// The name servers that a client is given, or was.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Servers {
    dns: [u32; 2],
    wins: [u32; 2],
}

impl Talk {
    fn is_open(&self) -> bool {
        self.ours && self.theirs
    }

    fn off() -> Talk {
        Talk { off: true, ..Talk::default() }
    }
}

/// What the router is called.
pub(crate) const NAME: &str = "wirespeed";
/// Restart timer and Max-Configure (RFC 1661 §4.6).
const RESTART: Duration = Duration::from_secs(3);
const MOST: u8 = 10;
/// How long a wrong password waits for its answer.
const SLOWED: Duration = Duration::from_secs(1);
/// The longest packet of Ethernet less PPPoE's header.
const DEFAULT_MRU: u16 = 1500;
/// What a peer has whose server tells no address, as pppd's.
const UNNUMBERED: u32 = 0x0a70_7070;
/// What encryption takes of a packet: its header, and the protocol inside.
const MPPE_OVERHEAD: u16 = 4;

/// One end of a link. What it took to open it is dropped when it is open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Machine {
    role: Role,
    /// What a server asks for: a bit for each [`Way`].
    asks: u8,
    doing: Option<Box<Doing>>,
    phase: Phase,
    lcp: Talk,
    auth: Talk,
    ipcp: Talk,
    ipv6cp: Talk,
    ccp: Talk,
    /// How it is proved who the client is.
    way: Option<Way>,
    mru: u16,
    peer_mru: u16,
    magic: u32,
    challenge: [u8; 16],
    /// This end's address, and the other's.
    local: u32,
    remote: u32,
    servers: Option<Box<Servers>>,
    encryption: Encryption,
    /// There are keys to encrypt with; of MS-CHAP 1 there are short ones, too.
    may_encrypt: bool,
    has_short: bool,
    /// How this end encrypts, and the other.
    mode: [Option<Mode>; 2],
    /// The interface identifiers of this end and the other, if it speaks of IPv6.
    identifiers: Option<Box<[[u8; 8]; 2]>>,
    /// `keepalive-timeout`, in seconds; `None` never asks.
    keepalive: Option<NonZeroU16>,
    /// When something was heard last, and when it was asked whether anybody is there
    /// ([`Moment::as_millis_u32`]).
    heard_ms: u32,
    asked_ms: u32,
}

impl Machine {
    /// One that begins now; a server asks in these ways who the other one is. `mru` is the longest packet it takes; `dice` are for its magic number and its
    /// challenge; `ipv6` is whether it speaks of IPv6.
    pub(crate) fn new(
        now: Moment,
        (role, asks): (Role, Ways),
        (mru, ipv6): (u16, bool),
        keepalive: Option<Duration>,
        mut dice: impl FnMut() -> u32,
        out: &mut Vec<Vec<u8>>,
    ) -> Machine {
        let mut challenge = [0; 16];
        for part in challenge.chunks_exact_mut(4) {
            part.copy_from_slice(&dice().to_be_bytes());
        }
        let way = match &role {
            Role::Server => asks.best(),
            Role::Client(_) => None,
        };
        let mut machine = Machine {
            phase: Phase::Establish,
            lcp: Talk::default(),
            auth: Talk::default(),
            ipcp: Talk::default(),
            ipv6cp: if ipv6 { Talk::default() } else { Talk::off() },
            ccp: Talk::default(),
            way,
            mru,
            peer_mru: DEFAULT_MRU,
            magic: dice() | 1,
            challenge,
            local: 0,
            remote: 0,
            servers: None,
            encryption: Encryption::No,
            may_encrypt: false,
            has_short: false,
            mode: [None; 2],
            doing: None,
            identifiers: None,
            keepalive: keepalive.and_then(|time| NonZeroU16::new(time.as_secs() as u16)),
            heard_ms: now.as_millis_u32(),
            asked_ms: now.as_millis_u32(),
            role,
            asks: asks.bits(),
        };
        // RFC 5072 §4.1: a number that is nobody's globally (the bit is 0), and not none.
        let [a, b] = [dice() & !0x0200_0000, dice() | 1].map(u32::to_be_bytes);
        let own = [a[0], a[1], a[2], a[3], b[0], b[1], b[2], b[3]];
        machine.identifiers = ipv6.then(|| Box::new([own, [0; 8]]));
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

    /// The name servers that the other end has told.
    pub(crate) fn dns(&self) -> [u32; 2] {
        self.servers.as_ref().map_or([0; 2], |servers| servers.dns)
    }

    /// What it knows while something is being agreed upon.
    fn doing(&mut self) -> &mut Doing {
        let wants_dns = matches!(&self.role, Role::Client(login) if login.wants_dns);
        let fresh = || Box::new(Doing { wants_dns: [wants_dns; 2], ..Doing::default() });
        self.doing.get_or_insert_with(fresh)
    }

    /// Forgets that, once all is.
    fn rest(&mut self) {
        let settled = |talk: &Talk| talk.off || talk.is_open();
        let all = settled(&self.ipv6cp) && settled(&self.ccp) && self.phase == Phase::Open;
        let kept = |doing: &Doing| doing.checking.is_some() || doing.pass.keys.is_some();
        if all && !self.doing.as_deref().is_some_and(kept) {
            self.doing = None;
        }
    }

    /// The interface identifiers of this end and of the other, once IPv6CP is open.
    pub(crate) fn identifiers(&self) -> Option<([u8; 8], [u8; 8])> {
        let open = self.phase == Phase::Open && self.ipv6cp.is_open();
        let [own, peer] = **self.identifiers.as_ref().filter(|_| open)?;
        Some((own, peer))
    }

    /// The longest packet that both ends take.
    pub(crate) fn mtu(&self) -> u16 {
        let least = self.mru.min(self.peer_mru);
        if self.ccp.is_open() { least - MPPE_OVERHEAD } else { least }
    }

    /// Who a client is.
    pub(crate) fn login(&self) -> Option<&Login> {
        match &self.role {
            Role::Client(login) => Some(login),
            Role::Server => None,
        }
    }

    /// How what is sent is encrypted, and what is received, if it is.
    pub(crate) fn encryption(&self) -> Option<(Mode, Mode)> {
        self.ccp.is_open().then_some(())?;
        Some((self.mode[0]?, self.mode[1]?))
    }

    /// The keys of a session that is open and encrypted, once.
    pub(crate) fn take_keys(&mut self) -> Option<(Keys, Mode, Mode)> {
        let (send, receive) = self.encryption()?;
        let keys = self.doing.as_mut()?.pass.keys.take()?;
        Some((keys, send, receive))
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
        let mut next = match self.phase {
            Phase::Down(_) => return None,
            // Who has begun anew meanwhile knows nothing of this link (RFC 1661 §5.8).
            Phase::Network | Phase::Open => self.keep_alive(now, out),
            _ => None,
        };
        // CCP before IPCP, which begins when it has ended.
        for kind in [protocol::LCP, protocol::CHAP, protocol::CCP, protocol::IPCP, protocol::IPV6CP]
        {
            let is_its = match self.phase {
                Phase::Establish => kind == protocol::LCP,
                Phase::Authenticate => kind == protocol::CHAP,
                Phase::Network | Phase::Open => !matches!(kind, protocol::LCP | protocol::CHAP),
                Phase::Down(_) => return None,
            };
            let talk = self.talk(kind);
            let waits = is_its && !talk.off && !talk.is_open();
            let Some(due) = self.due(kind).filter(|_| waits) else { continue };
            if now >= due {
                self.again(kind, now, out);
            }
            let due = self.due(kind).filter(|_| !self.talk(kind).off);
            next = [next, due].into_iter().flatten().min();
        }
        self.rest();
        if matches!(self.phase, Phase::Down(_)) { None } else { next }
    }

    fn talk(&mut self, kind: u16) -> &mut Talk {
        match kind {
            protocol::LCP => &mut self.lcp,
            protocol::IPCP => &mut self.ipcp,
            protocol::IPV6CP => &mut self.ipv6cp,
            protocol::CCP => &mut self.ccp,
            _ => &mut self.auth,
        }
    }

    fn due(&mut self, kind: u16) -> Option<Moment> {
        self.doing.as_mut()?.of(kind).due
    }

    /// Nobody has answered in time.
    fn again(&mut self, kind: u16, now: Moment, out: &mut Vec<Vec<u8>>) {
        if let Some(refusal) = self.doing().refusal.take() {
            out.push(refusal);
            return self.close(End::Refused, out);
        }
        if self.doing().of(kind).tries >= MOST {
            match kind {
                protocol::IPV6CP => self.ipv6cp = Talk::off(),
                protocol::CCP => self.no_encryption(out),
                _ => self.close(End::Silent, out),
            }
            return self.opened(now, out);
        }
        match kind {
            protocol::LCP => self.ask_lcp(now, out),
            protocol::IPCP => self.ask_ipcp(now, out),
            protocol::IPV6CP => self.ask_ipv6cp(now, out),
            protocol::CCP => self.ask_ccp(now, out),
            _ => self.ask_login(now, out),
        }
    }

    fn keep_alive(&mut self, now: Moment, out: &mut Vec<Vec<u8>>) -> Option<Moment> {
        let timeout = Duration::from_secs(self.keepalive?.get().into());
        let since = |ms| Duration::from_millis(now.as_millis_u32().wrapping_sub(ms).into());
        let silent = since(self.heard_ms);
        if silent >= timeout {
            self.close(End::Silent, out);
            return None;
        }
        if since(self.asked_ms) >= timeout / 3 {
            self.asked_ms = now.as_millis_u32();
            self.lcp.id = self.lcp.id.wrapping_add(1);
            let (id, magic) = (self.lcp.id, self.magic.to_be_bytes());
            out.push(Control { code: code::ECHO_REQUEST, id, data: &magic }.write(protocol::LCP));
        }
        Some(now + (timeout - silent).min((timeout / 3).saturating_sub(since(self.asked_ms))))
    }

    /// Takes in a control packet.
    pub(crate) fn receive(
        &mut self,
        now: Moment,
        kind: u16,
        bytes: &[u8],
        out: &mut Vec<Vec<u8>>,
    ) -> Said {
        let said = self.hear(now, kind, bytes, out);
        self.rest();
        said
    }

    fn hear(&mut self, now: Moment, kind: u16, bytes: &[u8], out: &mut Vec<Vec<u8>>) -> Said {
        if matches!(self.phase, Phase::Down(_)) {
            return Said::Nothing;
        }
        self.heard_ms = now.as_millis_u32();
        let control = Control::read(bytes);
        match (kind, control) {
            (protocol::LCP, Some(control)) => self.lcp(now, control, out),
            _ if !self.lcp.is_open() => {}
            (protocol::PAP, Some(control)) => return self.pap(now, control, out),
            (protocol::CHAP, Some(control)) => return self.chap(now, control, out),
            (protocol::IPCP, Some(control)) => self.ipcp(now, control, out),
            // Its acknowledgement has yet to come: it will be asked again.
            (protocol::IPV6CP | protocol::CCP, _) if self.phase == Phase::Authenticate => {}
            (protocol::IPV6CP, Some(control)) if !self.ipv6cp.off => {
                self.ipv6cp(now, control, out);
            }
            (protocol::CCP, Some(control)) if !self.ccp.off && self.may_encrypt => {
                return self.ccp(now, control, out);
            }
            (protocol::LCP | protocol::PAP | protocol::CHAP | protocol::IPCP, None) => {}
            _ => self.reject(kind, bytes, out),
        }
        Said::Nothing
    }

    /// A packet of a protocol that is not spoken here (RFC 1661 §5.7).
    fn reject(&mut self, kind: u16, bytes: &[u8], out: &mut Vec<Vec<u8>>) {
        self.lcp.id = self.lcp.id.wrapping_add(1);
        let most = usize::from(self.peer_mru).saturating_sub(6);
        let mut data = kind.to_be_bytes().to_vec();
        data.extend(&bytes[..bytes.len().min(most)]);
        let refusal = Control { code: code::PROTOCOL_REJECT, id: self.lcp.id, data: &data };
        out.push(refusal.write(protocol::LCP));
    }

    /// Sends a Configure-Request.
    fn ask(&mut self, kind: u16, options: &[(u8, Vec<u8>)], now: Moment, out: &mut Vec<Vec<u8>>) {
        let talk = self.talk(kind);
        talk.id = talk.id.wrapping_add(1);
        let (id, data) = (talk.id, ppp::options(options));
        out.push(Control { code: code::CONFIGURE_REQUEST, id, data: &data }.write(kind));
        let asked = self.doing().of(kind);
        asked.tries = asked.tries.saturating_add(1);
        (asked.due, asked.options) = (Some(now + RESTART), data);
    }

    /// Whether an acknowledgement, if it is one, is of the last request.
    fn is_acknowledged(&mut self, kind: u16, data: &[u8]) -> bool {
        self.talk(kind).ours || self.doing().of(kind).options == data
    }

    /// Our options were refused once more; whether that was too often.
    fn refused(&mut self, kind: u16) -> bool {
        let asked = self.doing().of(kind);
        asked.refused += 1;
        asked.refused >= MOST
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
                protocol::IPCP => self.judge_ipcp(option, value),
                protocol::IPV6CP => self.judge_ipv6cp(option, value),
                _ => self.judge_ccp(option, value),
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
}

/// What becomes of an option of the other end's.
enum Verdict {
    Fine,
    Other(Vec<u8>),
    Unknown,
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
