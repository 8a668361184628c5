//! The tester's hosts, and the streams between them.
//!
//! ```text
//! routing    198.18.0.101 … .125 ── ether1 [ router ] ether2 ── 198.19.0.101 … .125
//!            clients                .1                .1         servers
//!       2001:2:0:1::101 … ::119 ── ether1 [ router ] ether2 ── 2001:2:0:2::101 … ::119
//!                                ::1                ::1
//! bridging   500 hosts ──────────── ether1 [ bridge ] ether2 ── 500 hosts
//! ```
//!
//! Connections: 25 clients × 25 servers × 8 client ports are the first 5,000; client .101 × 25
//! servers × 200 client ports (10000 to 10199) the other 5,000. Those of the second half can be
//! masqueraded without a clash: server, server port and client port name each of them, whatever
//! becomes of the client's address. Each connection has one packet there for one back. They are the same
//! in both families, but that nothing is masqueraded by IPv6.
//!
//! Table: each stream draws a network behind the other port, then an address in it, for every frame
//! anew.

use crate::configuration::Traffic;
use crate::net::{Net, after};
use crate::routes::Table;
use measure::stream::BadStream;
use measure::{Family, Field, Pick, Stream, StreamPlan, Template, Values, Variation};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use wire::{FrameLen, MacAddr};

/// How many clients, and how many servers.
pub const HOSTS: u32 = 25;
/// The servers' port.
const SERVICE: u16 = 7;
/// How many next hops of a full table there are on each side.
pub const NEXT_HOPS: u32 = 8;
/// How many hosts a bridge has on each side.
pub const BRIDGED: u64 = 500;

/// The router's address on a port (0 or 1).
pub fn router_address(family: Family, port: usize) -> IpAddr {
    match family {
        Family::Ipv4 => Ipv4Addr::new(198, 18 + port as u8, 0, 1).into(),
        Family::Ipv6 => Ipv6Addr::new(0x2001, 2, 0, 1 + port as u16, 0, 0, 0, 1).into(),
    }
}

/// The address of host `n` (from 0) behind a port: .101 and what follows, ::101 and what follows.
pub fn host(family: Family, port: usize, n: u32) -> IpAddr {
    let first = match family {
        Family::Ipv4 => 100,
        Family::Ipv6 => 0x100,
    };
    after(router_address(family, port), first + n)
}

/// The address of next hop `n` (from 0) behind a port: the first hosts are routers, too.
pub fn next_hop(family: Family, port: usize, n: u32) -> IpAddr {
    host(family, port, n)
}

/// The tester's own MAC address on a port: all its hosts in routing have it.
pub fn tester_mac(port: usize) -> MacAddr {
    MacAddr([0x06, 0, 0, 0, 0, port as u8 + 1])
}

/// The first MAC address, as a number, of the hosts of a bridge behind a port.
fn bridged(port: usize) -> u64 {
    0x0600_0100_0000 + port as u64 * 0x1_0000
}

/// The streams from each port, all of one frame length, between the hosts of `net`. `router_macs`
/// are where routed frames go.
///
/// # Errors
/// The frame length is none of Ethernet's; the table has no network to send to.
pub fn streams(
    traffic: Traffic,
    net: &Net,
    table: Option<&Table>,
    frame: FrameLen,
    seed: u64,
    router_macs: [MacAddr; 2],
) -> Result<[Vec<Stream>; 2], BadStream> {
    let plan = |id, port: usize, template, variation| {
        let macs = Template { src_mac: tester_mac(port), dst_mac: router_macs[port], ..template };
        let seed = seed ^ u64::from(id);
        StreamPlan { id, template: macs, frame, variation, seed }.build()
    };
    let from = |port: usize| -> Result<Vec<Stream>, BadStream> {
        let ends = net.ends(port);
        let template = match port {
            0 => Template { ends, dst_port: SERVICE, ..Template::default() },
            _ => Template { ends, src_port: SERVICE, ..Template::default() },
        };
        let id = port as u8;
        match traffic {
            Traffic::Connections { masqueraded } => Ok(vec![
                plan(id, port, template, many_clients(net, port))?,
                plan(id + 2, port, template, one_client(net, port, masqueraded))?,
            ]),
            Traffic::Hosts => Ok(vec![plan(id, port, template, hosts(port))?]),
            Traffic::Table => {
                let none = Values::Networks(vec![]);
                let networks = table.map_or(none, |table| table.behind(net.family(), 1 - port));
                let anywhere = (Field::Dst, networks, Pick::Random);
                Ok(vec![plan(id, port, template, Variation::Fields(vec![anywhere]))?])
            }
        }
    };
    Ok([from(0)?, from(1)?])
}

/// What names client, server and client port in a frame from this port.
fn fields(port: usize) -> [Field; 3] {
    match port {
        0 => [Field::Src, Field::Dst, Field::SrcPort],
        _ => [Field::Dst, Field::Src, Field::DstPort],
    }
}

fn addresses(net: &Net, port: usize) -> Values {
    Values::Range(number(net.host(port, 0)), number(net.host(port, HOSTS - 1)))
}

/// What of an address differs from host to host: of IPv6 the last eight bytes.
fn number(address: IpAddr) -> u64 {
    match address {
        IpAddr::V4(address) => u32::from(address).into(),
        IpAddr::V6(address) => u128::from(address) as u64,
    }
}

/// The first half of the connections.
fn many_clients(net: &Net, port: usize) -> Variation {
    let [client, server, client_port] = fields(port);
    let ports = Values::Range(1024, 1031);
    let fields =
        vec![(client, addresses(net, 0)), (server, addresses(net, 1)), (client_port, ports)];
    Variation::Flows { fields, count: 5000, pick: Pick::InTurn }
}

/// The other half; back, they are sent to where they seem to come from.
fn one_client(net: &Net, port: usize, masqueraded: bool) -> Variation {
    let [client, server, client_port] = fields(port);
    let seen = if masqueraded && port == 1 { net.gateways[1] } else { net.host(0, 0) };
    let seen = Values::List(vec![number(seen)]);
    let ports = Values::Range(10_000, 10_199);
    let fields = vec![(server, addresses(net, 1)), (client_port, ports), (client, seen)];
    Variation::Flows { fields, count: 5000, pick: Pick::InTurn }
}

fn hosts(port: usize) -> Variation {
    let behind = |port| Values::Range(bridged(port), bridged(port) + BRIDGED - 1);
    Variation::Fields(vec![
        (Field::SrcMac, behind(port), Pick::InTurn),
        (Field::DstMac, behind(1 - port), Pick::Random),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::template::shortest;
    use std::collections::HashSet;
    use wire::Moment;
    use wire::checksum::Sum;

    /// Source and destination, and ports, of the next frames of a stream, whose checksums are right.
    fn flows(stream: &mut Stream, n: usize) -> Vec<([IpAddr; 2], [u16; 2])> {
        let mut bytes = vec![0; stream.frame().in_memory() as usize];
        let mut next = || {
            stream.write(Moment::ZERO, &mut bytes);
            if let Ok(packet) = wire::Ipv6::new(&bytes[14..]) {
                let ends = [packet.src(), packet.dst()];
                let [src, dst] = ends.map(|end| end.octets());
                let datagram = packet.payload();
                let sum = Sum::pseudo_ipv6(src, dst, 17, datagram.len() as u32);
                assert!(sum.bytes(datagram).is_ok(), "{bytes:02x?}");
                let ports = [0, 2].map(|at| u16::from_be_bytes([datagram[at], datagram[at + 1]]));
                return (ends.map(IpAddr::V6), ports);
            }
            let tuple = wire::layers::parse(&bytes).unwrap().tuple;
            let ends = [tuple.src, tuple.dst].map(|end| IpAddr::V4(end.into()));
            (ends, [tuple.src_port, tuple.dst_port])
        };
        (0..n).map(|_| next()).collect()
    }

    #[test]
    fn ten_thousand_connections_there_and_back() {
        for (family, masqueraded) in
            [(Family::Ipv4, false), (Family::Ipv4, true), (Family::Ipv6, false)]
        {
            let traffic = Traffic::Connections { masqueraded };
            let (net, frame) = (Net::of(family), shortest(family));
            let macs = [MacAddr::default(); 2];
            let [mut there, mut back] = streams(traffic, &net, None, frame, 1, macs).unwrap();
            let there: Vec<_> = there.iter_mut().flat_map(|s| flows(s, 5000)).collect();
            let back: Vec<_> = back.iter_mut().flat_map(|s| flows(s, 5000)).collect();
            assert_eq!(there.iter().collect::<HashSet<_>>().len(), 10_000);
            let is_second_half = |port: u16| (10_000..10_200).contains(&port);
            for (([src, dst], [src_port, dst_port]), reply) in there.iter().zip(&back) {
                let translated = masqueraded && is_second_half(*src_port);
                let seen = if translated { net.gateways[1] } else { *src };
                assert_eq!(*reply, ([*dst, seen], [*dst_port, *src_port]));
                assert!(net.has(0, *src) && net.has(1, *dst));
            }
            assert_eq!(there.iter().filter(|flow| is_second_half(flow.1[0])).count(), 5000);
            // What remains of a masqueraded connection names it all the same.
            let names: HashSet<_> = back.iter().map(|(ends, ports)| (ends, ports[1])).collect();
            assert_eq!(names.len(), 10_000);
        }
    }

    #[test]
    fn addresses_of_a_table_are_behind_the_other_port() {
        for family in [Family::Ipv4, Family::Ipv6] {
            let (table, net) = (Table::synthetic(family, 9000, 1), Net::of(family));
            let macs = [MacAddr::default(); 2];
            let frame = shortest(family);
            let mut streams = streams(Traffic::Table, &net, Some(&table), frame, 1, macs).unwrap();
            let mut seen = HashSet::new();
            for (port, streams) in streams.iter_mut().enumerate() {
                for ([src, dst], _) in flows(&mut streams[0], 500) {
                    assert_eq!(src, net.host(port, 0));
                    assert_eq!(table.port_of(dst), Some(1 - port), "{dst}");
                    seen.insert(dst);
                }
            }
            assert!(seen.len() > 990, "{}", seen.len());
        }
    }

    #[test]
    fn a_table_without_networks_is_refused() {
        let macs = [MacAddr::default(); 2];
        for family in [Family::Ipv4, Family::Ipv6] {
            let net = Net::of(family);
            let none = streams(Traffic::Table, &net, None, FrameLen::MAX, 1, macs);
            assert!(none.map(|_| ()).unwrap_err().to_string().contains("Dst"));
        }
    }
}
