//! Two ends that talk to each other, and what becomes of it.

use super::*;

fn at(seconds: u64) -> Moment {
    Moment::ZERO + Duration::from_secs(seconds)
}

fn client(password: &str, allow: Ways) -> (Role, Ways) {
    encrypting(password, allow, Encryption::Yes)
}

fn encrypting(password: &str, allow: Ways, encryption: Encryption) -> (Role, Ways) {
    let (user, password) = ("bob".to_string(), password.to_string());
    let login = Login { user, password, allow, wants_dns: true, encryption };
    (Role::Client(Box::new(login)), NONE)
}

fn server(asks: Ways) -> (Role, Ways) {
    (Role::Server, asks)
}

const NONE: Ways = Ways { pap: false, chap: false, mschap1: false, mschap2: false };
const BOTH: Ways = Ways { pap: true, chap: true, ..NONE };
const PAP: Ways = Ways { pap: true, ..NONE };
const CHAP: Ways = Ways { chap: true, ..NONE };
const V1: Ways = Ways { mschap1: true, ..NONE };
const V2: Ways = Ways { mschap2: true, ..NONE };
const ALL: Ways = Ways { pap: true, chap: true, mschap1: true, mschap2: true };

/// Two ends with all that is between them.
struct Link {
    ends: [Machine; 2],
    /// What is on its way to each.
    wires: [Vec<Vec<u8>>; 2],
    /// The number of the packet that is lost, of all.
    lost: Option<usize>,
    /// So many are not lost before all are.
    heard: usize,
    sent: usize,
    /// The server's.
    encryption: Encryption,
}

impl Link {
    fn new(roles: [(Role, Ways); 2], mrus: [u16; 2], lost: Option<usize>) -> Link {
        let mut wires = [Vec::new(), Vec::new()];
        let mut seed = 7;
        let mut make = |n: usize, role| {
            let dice = || {
                seed += 2;
                seed
            };
            let keepalive = Some(Duration::from_secs(10));
            Machine::new(at(0), role, (mrus[n], true), keepalive, dice, &mut wires[1 - n])
        };
        let [a, b] = roles;
        let ends = [make(0, a), make(1, b)];
        Link { ends, wires, lost, heard: usize::MAX, sent: 0, encryption: Encryption::No }
    }

    /// Lets all pass that is on its way.
    fn pass(&mut self, now: Moment) {
        while let Some(n) = [0, 1].into_iter().find(|&n| !self.wires[n].is_empty()) {
            let packet = self.wires[n].remove(0);
            self.sent += 1;
            if self.lost == Some(self.sent - 1) || self.sent > self.heard {
                continue;
            }
            let kind = u16::from_be_bytes([packet[0], packet[1]]);
            let mut out = Vec::new();
            let said = self.ends[n].receive(now, kind, &packet[2..], &mut out);
            if let Said::Check { user, proof } = said {
                let pass = proof.check(&user, "secret").filter(|_| user == "bob");
                let admitted = pass.map(|pass| Admitted {
                    local: 0x0a00_0001,
                    remote: 0x0a00_0002,
                    dns: [0x0808_0808, 0],
                    encryption: self.encryption,
                    pass,
                    ..Admitted::default()
                });
                self.ends[n].admit(now, (admitted, true), &mut out);
            }
            self.wires[1 - n].extend(out);
        }
    }

    fn run(&mut self, from: u64, to: u64) {
        for second in from..=to {
            for n in [0, 1] {
                let mut out = Vec::new();
                self.ends[n].tick(at(second), &mut out);
                self.wires[1 - n].extend(out);
            }
            self.pass(at(second));
        }
    }
}

#[test]
fn ends_meet() {
    use End::{NoWay, Refused, Terminated};
    use Phase::{Down, Open};
    for (password, allow, asks, phases) in [
        ("secret", BOTH, BOTH, [Open, Open]),
        ("secret", PAP, BOTH, [Open, Open]),
        ("secret", CHAP, BOTH, [Open, Open]),
        ("secret", BOTH, PAP, [Open, Open]),
        ("secret", V1, ALL, [Open, Open]),
        ("secret", ALL, ALL, [Open, Open]),
        ("secret", V2, V2, [Open, Open]),
        ("secret", ALL, V1, [Open, Open]),
        ("wrong", V1, V1, [Down(Refused), Down(Refused)]),
        ("wrong", ALL, ALL, [Down(Refused), Down(Refused)]),
        ("secret", CHAP, CHAP, [Open, Open]),
        ("wrong", CHAP, BOTH, [Down(Refused), Down(Refused)]),
        ("wrong", PAP, BOTH, [Down(Refused), Down(Refused)]),
        ("secret", PAP, CHAP, [Down(Terminated), Down(NoWay)]),
        ("secret", CHAP, PAP, [Down(Terminated), Down(NoWay)]),
        ("secret", Ways::default(), BOTH, [Down(Terminated), Down(NoWay)]),
    ] {
        // Whatever packet is lost, the outcome is the same.
        for lost in std::iter::once(None).chain((0..20).map(Some)) {
            let mut link = Link::new([client(password, allow), server(asks)], [1492, 1480], lost);
            link.run(0, 60);
            let ends = link.ends.each_ref();
            let found = ends.map(|end| end.phase);
            let told = |phase: Phase| match phase {
                Down(_) if lost.is_some() => Down(Refused),
                phase => phase,
            };
            assert_eq!(found.map(told), phases.map(told), "{password} {allow:?} {asks:?} {lost:?}");
            if phases[0] == Open {
                assert_eq!(ends[0].addresses(), (0x0a00_0002, 0x0a00_0001));
                assert_eq!(ends[1].addresses(), (0x0a00_0001, 0x0a00_0002));
                assert_eq!(ends.map(Machine::mtu), [1480, 1480]);
                assert_eq!(ends[0].dns(), [0x0808_0808, 0]);
                let [ours, theirs] = ends.map(Machine::identifiers);
                assert_eq!(ours, theirs.map(|(own, other)| (other, own)));
                assert!(ours.is_some(), "IPv6");
            }
        }
    }
}

#[test]
fn silence_ends_it() {
    let open = || {
        let mut link = Link::new([client("secret", BOTH), server(BOTH)], [1492; 2], None);
        link.run(0, 5);
        link
    };
    let mut link = open();
    link.run(6, 100);
    assert_eq!(link.ends.each_ref().map(|end| end.phase), [Phase::Open; 2]);
    let mut out = Vec::new();
    for second in 101..=120 {
        link.ends[0].tick(at(second), &mut out);
    }
    assert_eq!(link.ends[0].phase, Phase::Down(End::Silent));
    assert_eq!(out.last().expect("a farewell")[2], code::TERMINATE_REQUEST);
    // What it sent before it gave up were echo requests.
    assert!(
        out[..out.len() - 1].iter().all(|packet| packet[2] == code::ECHO_REQUEST),
        "{out:02x?}"
    );

    let mut link = open();
    link.ends[0].close(End::Closed, &mut link.wires[1]);
    link.pass(at(6));
    assert_eq!(link.ends[1].phase, Phase::Down(End::Terminated));
}

/// The other end is gone from some packet on: each request is sent again, and the last one ends it.
#[test]
fn silence_while_they_agree_ends_it() {
    for keepalive in [None, NonZeroU16::new(10)] {
        for heard in 0..20 {
            let roles = [encrypting("secret", V2, Encryption::Yes), server(V2)];
            let mut link = Link::new(roles, [1492; 2], None);
            (link.encryption, link.heard) = (Encryption::Yes, heard);
            link.ends[0].keepalive = keepalive;
            link.run(0, 1);
            let end = &mut link.ends[0];
            let began = end.phase;
            let (mut now, mut out) = (at(1), Vec::new());
            while let Some(next) = end.tick(now, &mut out).filter(|_| now < at(200)) {
                now = next;
            }
            let is_asked = began != Phase::Open || keepalive.is_some();
            let ended = matches!(end.phase, Phase::Down(_));
            assert_eq!(ended, is_asked, "{keepalive:?} {heard} {began:?}: {end:#?}");
            let most = if keepalive.is_some() && began == Phase::Network { 12 } else { 100 };
            assert!(now < at(most) || !is_asked, "{keepalive:?} {heard} {began:?}: {now:?}");
        }
    }
}

/// What the other end may say to one that is open, and what is answered: codes.
#[test]
fn whatever_comes() {
    for (kind, packet, answers) in [
        (protocol::IPV6CP, &[1, 1, 0, 4][..], &[code::CONFIGURE_ACK][..]),
        (protocol::IPV6CP, &[1, 1, 0, 14, 1, 10, 0, 0, 0, 0, 0, 0, 0, 0], &[code::CONFIGURE_NAK]),
        (protocol::IPV6CP, &[1, 1, 0, 9, 1, 5, 0, 0, 0], &[code::CONFIGURE_REJECT]),
        (protocol::CCP, &[1, 1, 0, 4], &[code::PROTOCOL_REJECT]),
        (protocol::IPV6, &[0x60, 0, 0, 0], &[code::PROTOCOL_REJECT]),
        (protocol::LCP, &[9, 4, 0, 10, 0, 0, 0, 9, 1, 2], &[code::ECHO_REPLY]),
        (protocol::LCP, &[13, 4, 0, 4], &[code::CODE_REJECT]),
        (protocol::LCP, &[11, 4, 0, 4], &[]),
        (protocol::LCP, &[10, 4, 0, 8, 1, 1, 1, 1], &[]),
        (protocol::LCP, &[9, 4, 0, 99], &[]), // cut off
        (protocol::LCP, &[9], &[]),
        (protocol::LCP, &[], &[]),
        (protocol::IPCP, &[1, 9, 0, 10, 3, 6, 10, 0, 0, 1], &[code::CONFIGURE_ACK]),
        (protocol::IPCP, &[1, 9, 0, 10, 129, 6, 0, 0, 0, 0], &[code::CONFIGURE_REJECT]),
        (protocol::IPCP, &[1, 9, 0, 10, 3, 60, 10, 0, 0, 1], &[]),
        (protocol::CHAP, &[1, 7, 0, 6, 1, 5], &[2]),
        (protocol::CHAP, &[1, 7, 0, 5, 9], &[]),
        (protocol::PAP, &[3, 1, 0, 4], &[]),
        // It begins anew: our request and the answer to the other's.
        (
            protocol::LCP,
            &[1, 4, 0, 8, 1, 4, 5, 212],
            &[code::CONFIGURE_REQUEST, code::CONFIGURE_ACK],
        ),
        (protocol::LCP, &[1, 4, 0, 6, 7, 2], &[code::CONFIGURE_REQUEST, code::CONFIGURE_REJECT]),
        (protocol::LCP, &[5, 4, 0, 4], &[code::TERMINATE_ACK]),
    ] {
        let mut link = Link::new([client("secret", BOTH), server(CHAP)], [1492; 2], None);
        link.run(0, 5);
        let mut out = Vec::new();
        assert_eq!(link.ends[0].receive(at(6), kind, packet, &mut out), Said::Nothing);
        let codes: Vec<u8> = out.iter().map(|packet| packet[2]).collect();
        assert_eq!(codes, answers, "{kind:04x} {packet:02x?}");
    }
    // And to itself.
    let mut link = Link::new([client("secret", BOTH), client("secret", BOTH)], [1492; 2], None);
    link.ends[1] = link.ends[0].clone();
    link.wires = [link.wires[0].clone(), link.wires[0].clone()];
    link.run(0, 60);
    assert!(!matches!(link.ends[0].phase, Phase::Open), "{:?}", link.ends[0]);
}

/// What the ends want, whether they meet, and how it is encrypted then.
#[test]
fn encryption() {
    use Encryption::{No, Required, Yes};
    const BOTH_WAYS: Option<&str> = Some("MPPE128 stateless");
    for (ways, client, server, open, encrypted) in [
        (V2, Yes, Yes, true, BOTH_WAYS),
        (V1, Yes, Yes, true, BOTH_WAYS),
        (V2, Required, Required, true, BOTH_WAYS),
        (V2, No, Yes, true, None),
        (V2, Yes, No, true, None),
        (V2, No, Required, false, None),
        (V2, Required, No, false, None),
        (CHAP, Yes, Yes, true, None),
        (CHAP, Required, Yes, false, None),
        (CHAP, Yes, Required, false, None),
    ] {
        for lost in std::iter::once(None).chain((0..20).map(Some)) {
            let roles = [encrypting("secret", ways, client), self::server(ways)];
            let mut link = Link::new(roles, [1492; 2], lost);
            link.encryption = server;
            link.run(0, 60);
            let case = format!("{ways:?} {client:?} {server:?} {lost:?} {:#?}", link.ends);
            let phases = link.ends.each_ref().map(|end| end.phase == Phase::Open);
            assert_eq!(phases, [open; 2], "{case}");
            if !open {
                continue;
            }
            let found = link.ends.each_ref().map(Machine::encryption);
            let names =
                found.map(|modes| modes.map(|(send, receive)| [send.name(), receive.name()]));
            assert_eq!(names, [encrypted.map(|name| [name; 2]); 2], "{case}");
            let mtu = if encrypted.is_some() { 1488 } else { 1492 };
            assert_eq!(link.ends.each_ref().map(Machine::mtu), [mtu; 2]);
            let [ours, theirs] = link.ends.each_mut().map(Machine::take_keys);
            assert_eq!(ours.map(|(keys, ..)| keys.send), theirs.map(|(keys, ..)| keys.receive));
            assert_eq!(ours.map(|(keys, ..)| keys.receive), theirs.map(|(keys, ..)| keys.send));
        }
    }
}
