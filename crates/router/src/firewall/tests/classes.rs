//! Long lists of rules: what classes find is what a walk rule by rule finds.

use super::*;
use proptest::prelude::*;
use wire::TcpFlags;
use wire::craft::{self, ip};

/// Numbers that look drawn at random.
pub(super) struct Dice(pub(super) u64);

impl Dice {
    pub(super) fn below(&mut self, n: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }

    pub(super) fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len() as u64) as usize]
    }

    /// As filters have them (ClassBench): prefixes of a few networks, the longer the more.
    pub(super) fn prefix(&mut self) -> String {
        let len = [0, 8, 16, 16, 24, 24, 24, 28, 32, 32, 32, 32][self.below(12) as usize];
        format!("{}/{len}", std::net::Ipv4Addr::from(self.host() & (!0u64 << (32 - len)) as u32))
    }

    fn host(&mut self) -> u32 {
        let [a, b, c] = [2, 3, 4].map(|n| self.below(n) as u8);
        ip(10 + a, b, c, self.below(40) as u8)
    }

    fn port(&mut self) -> u64 {
        [53, 80, 443, 1023, 1024, 5000][self.below(6) as usize] + self.below(3)
    }

    fn ports(&mut self) -> String {
        let (first, more) = (self.port(), self.below(4000));
        match self.below(5) {
            0 => "1024-65535".to_string(),
            1 => "0-1023".to_string(),
            2 => format!("{first}-{}", first + more),
            3 => format!("!{first}"),
            _ => first.to_string(),
        }
    }

    pub(super) fn rule(&mut self, chain: &str) -> String {
        let mut rule = format!("add chain={chain}");
        let not = |dice: &mut Dice| if dice.below(12) == 0 { "!" } else { "" };
        if self.below(4) > 0 {
            rule += &format!(" src-address={}{}", not(self), self.prefix());
        }
        if self.below(4) > 0 {
            rule += &format!(" dst-address={}{}", not(self), self.prefix());
        }
        if self.below(3) > 0 {
            rule += &format!(" protocol={}", self.one(&["tcp", "udp"]));
            if self.below(2) == 0 {
                rule += &format!(" dst-port={}", self.ports());
            }
            if self.below(6) == 0 {
                rule += &format!(" src-port={}", self.ports());
            }
        }
        rule += self.one(&[
            "",
            "",
            "",
            " in-interface=ether1",
            " out-interface=ether2",
            " in-interface=!ether3",
        ]);
        rule += self.one(&[
            "",
            "",
            "",
            " connection-state=new",
            " connection-state=!invalid",
            " connection-state=established,related",
        ]);
        // What remembers sees only what has passed all before it.
        rule += self.one(&[
            "",
            "",
            "",
            "",
            " nth=3,2",
            " limit=3,2:packet",
            " random=40",
            " packet-size=0-40",
            " ttl=less-than:64",
        ]);
        let actions = ["passthrough", "passthrough", "passthrough", "accept", "drop", "return"];
        rule += " action=";
        match self.below(30) {
            0 if chain == "forward" => rule += "jump jump-target=own",
            1 if chain == "own" => rule += "jump jump-target=deep",
            n => rule += actions[(n % 6) as usize],
        }
        rule + "\n"
    }

    fn packet(&mut self) -> Packet {
        let (src, dst, ports) = (self.host(), self.host(), (self.port(), self.port()));
        let ports = (ports.0 as u16, ports.1 as u16);
        let frame = match self.below(5) {
            0..3 => craft::udp(src, ports.0, dst, ports.1),
            _ => craft::tcp(src, ports.0, dst, ports.1, TcpFlags::SYN),
        };
        let mut packet = Packet::of(&frame);
        packet.in_interface = [ETHER1, ETHER2, ETHER3][self.below(3) as usize];
        packet.state =
            [ConnectionState::New, ConnectionState::Established, ConnectionState::Related]
                [self.below(3) as usize];
        packet
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Decisions, counters and what rules remember, packet by packet.
    #[test]
    fn find_what_a_walk_finds(seed: u64, long in 100u64..700) {
        let mut dice = Dice(seed);
        let mut script = "/ip firewall filter\n".to_string();
        for (chain, n) in [("forward", long), ("own", 150), ("deep", 110)] {
            (0..n).for_each(|_| script += &dice.rule(chain));
        }
        let (mut by_class, mut by_rule) = (Fixture::new(&script), Fixture::new(&script));
        by_rule.filter = by_rule.setting(Filter::compile_without_gates);
        for _ in 0..200 {
            let packet = dice.packet();
            let decision = by_class.forward(&packet);
            prop_assert_eq!(decision, by_rule.forward(&packet), "{:?}", packet);
            prop_assert_eq!(by_class.counted(), by_rule.counted(), "{:?}", packet);
        }
    }
}

/// A host for each rule, and nobody asks more than a few gates; broad ranges in each other cost no
/// more than their share.
#[test]
fn take_no_more_room_than_their_rules() {
    let host = |i: u32| format!("src-address=10.0.{}.{}", i / 256, i % 256);
    let nested = |i: u32| format!("protocol=udp dst-port={}-{}", i, 60_000 - i);
    let rules: [&dyn Fn(u32) -> String; 2] = [&host, &nested];
    for rule in rules {
        let mut script = "/ip firewall filter\n".to_string();
        (0..3000)
            .for_each(|i| script += &format!("add chain=forward action=passthrough {}\n", rule(i)));
        let mut fixture = Fixture::new(&script);
        fixture.forward(&Packet::of(&craft::udp(ip(10, 0, 1, 7), 1, ip(10, 1, 0, 1), 263)));
        let counted: u64 = fixture.packets().iter().sum();
        assert_eq!(counted, if rule(0).starts_with("src") { 1 } else { 264 });
    }
}
