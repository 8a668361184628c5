//! Ways from port to port before anything is measured: those that carry nothing, told so that whoever
//! set the device up finds out why.
//!
//! ```text
//!  port 0 ── 5056 sent ──► [ device ] ── 5056 came ──► port 1
//!  port 0 ◄──    0 came ── [ device ] ◄── 5056 sent ── port 1      a way that carries nothing
//! ```
//!
//! Never sends or counts: the testers do.

use std::net::IpAddr;
use wire::MacAddr;

/// What went from one port to another; ports count from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Way {
    /// The port that sent it.
    pub from: usize,
    /// The port it was to come to.
    pub to: usize,
    /// Test frames that were sent.
    pub sent: u64,
    /// Those of them that came.
    pub received: u64,
}

impl Way {
    /// Whether frames were sent, and none came.
    pub fn is_silent(&self) -> bool {
        self.sent > 0 && self.received == 0
    }
}

/// Adds what went later to what went before, way by way.
pub fn add(all: &mut Vec<Way>, more: impl IntoIterator<Item = Way>) {
    for Way { from, to, sent, received } in more {
        match all.iter_mut().find(|way| (way.from, way.to) == (from, to)) {
            Some(way) => (way.sent, way.received) = (way.sent + sent, way.received + received),
            None => all.push(Way { from, to, sent, received }),
        }
    }
}

/// What a router says of itself on one of its ports, and whom it was to send to there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Side {
    /// Its address.
    pub gateway: IpAddr,
    /// Where that is, by ARP or neighbour discovery.
    pub mac: Option<MacAddr>,
    /// Our first host there.
    pub host: IpAddr,
}

/// What is between the ports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Between {
    /// A router, port by port.
    Router(Vec<Side>),
    /// A bridge.
    Bridge,
    /// A cable, or what forwards as one.
    Cable,
}

/// Which ways carry nothing, what all of them carried, and where to look; nothing if each carries
/// something. `ports` is what the ports are called.
pub fn silence(ways: &[Way], ports: &[String], between: &Between) -> Option<String> {
    let silent: Vec<&Way> = ways.iter().filter(|way| way.is_silent()).collect();
    if silent.is_empty() {
        return None;
    }
    let name =
        |port: usize| ports.get(port).cloned().unwrap_or_else(|| format!("port {}", port + 1));
    let from_to = |way: &&Way| format!("from {} to {}", name(way.from), name(way.to));
    let which = match silent.len() == ways.len() {
        true => String::new(),
        false => format!(" {}", silent.iter().map(from_to).collect::<Vec<_>>().join(", ")),
    };
    let count = |way: &Way| {
        let Way { from, to, sent, received } = *way;
        format!("{} sent {sent} test frames, {} received {received} of them", name(from), name(to))
    };
    let counts: Vec<String> = ways.iter().map(count).collect();
    let who = if *between == Between::Cable { "what is between" } else { "the device" };
    let look = look(&silent, between, &name);
    Some(format!("{who} does not forward{which}: {}. {look}", counts.join("; ")))
}

/// Where to look.
fn look(silent: &[&Way], between: &Between, name: &impl Fn(usize) -> String) -> String {
    let sides = match between {
        Between::Cable => {
            return "Look at the cable: does it end at these two interfaces?".to_string();
        }
        Between::Bridge => {
            return "Look whether its ports are in one bridge and in one VLAN, whether spanning tree \
                    lets them forward (30 s after a link comes up), and at its filters"
                .to_string();
        }
        Between::Router(sides) => sides,
    };
    let at = |(port, side): (usize, &Side)| {
        let (gateway, port) = (side.gateway, name(port));
        match side.mac {
            Some(mac) => format!("{gateway} is at {mac} on {port}"),
            None => format!("nobody answers for {gateway} on {port}"),
        }
    };
    let is_at: Vec<String> = sides.iter().enumerate().map(at).collect();
    let (by, forwards) = match sides.iter().any(|side| side.gateway.is_ipv6()) {
        true => ("neighbour discovery", "net.ipv6.conf.all.forwarding"),
        false => ("ARP", "net.ipv4.ip_forward"),
    };
    let mut to: Vec<usize> = silent.iter().map(|way| way.to).collect();
    to.sort_unstable();
    to.dedup();
    let host = |port: usize| sides.get(port).map(|side| side.host.to_string());
    let hosts: Vec<String> = to.into_iter().filter_map(host).collect();
    format!(
        "By {by}, {}. Look at its addresses and their networks, whether it forwards at all (Linux: \
         {forwards}), its route to {}, and its firewall",
        is_at.join(", "),
        hosts.join(" and ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ways_that_carry_nothing_are_named() {
        let address = |bits: u32| IpAddr::V4(bits.into());
        let side = |n: u32| Side {
            gateway: address(0xc612_0001 + (n << 16)),
            mac: Some(MacAddr([2, 0, 0, 0, 0, 1 + n as u8])),
            host: address(0xc612_0065 + (n << 16)),
        };
        let router = Between::Router(vec![side(0), side(1)]);
        let arp = "By ARP, 198.18.0.1 is at 02:00:00:00:00:01 on a (eth1), 198.19.0.1 is at \
                   02:00:00:00:00:02 on b (eth2).";
        for (came, between, expected) in [
            ([9, 10], &router, None),
            (
                [10, 0],
                &router,
                Some(vec![
                    "the device does not forward from b (eth2) to a (eth1): a (eth1) sent 10 test frames, \
                 b (eth2) received 10 of them; b (eth2) sent 10 test frames, a (eth1) received 0",
                    arp,
                    "its route to 198.18.0.101, and",
                ]),
            ),
            (
                [0, 0],
                &router,
                Some(vec![
                    "the device does not forward: a (eth1) sent 10",
                    "its route to 198.18.0.101 and 198.19.0.101, and",
                ]),
            ),
            (
                [0, 3],
                &Between::Bridge,
                Some(vec!["the device does not forward from a", "one bridge"]),
            ),
            (
                [0, 0],
                &Between::Cable,
                Some(vec!["what is between does not forward: a", "these two"]),
            ),
        ] {
            let way = |from: usize| Way { from, to: 1 - from, sent: 10, received: came[from] };
            let ports = ["a (eth1)".to_string(), "b (eth2)".to_string()];
            let said = silence(&[way(0), way(1)], &ports, between);
            assert_eq!(said.is_some(), expected.is_some(), "{said:?}");
            for words in expected.into_iter().flatten() {
                assert!(said.as_ref().unwrap().contains(words), "{words} in {said:?}");
            }
        }
    }
}
