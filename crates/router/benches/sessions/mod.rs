//! Servers of PPPoE and L2TP, each with a client that is a router too: what a session's packets cost.
//!
//! ```text
//! hosts ─ ether1 [server: measured] ether2 ─ session ─ ether2 [client] ether1 ─ 10.0.9.1
//! ```

use super::device::{CHUNK, Device, own_mac};
use port::{Batch, Port};
use router::interface::wireguard::key_pair;
use std::time::Duration;
use wire::MacAddr;
use wire::craft::{self, ip};

const SERVER: &str = "/ip address add address=10.0.1.254/24 interface=ether1
/ppp secret add name=bob password=secret local-address=10.9.0.1 remote-address=10.9.0.2 routes=10.0.9.0/24
/ip address add address=10.0.2.254/24 interface=ether2\n";
const CLIENT: &str = "/ip address add address=10.0.9.254/24 interface=ether1
/ip address add address=10.0.2.1/24 interface=ether2
/interface ethernet set ether1 mac-address=02:00:00:00:09:01
/interface ethernet set ether2 mac-address=02:00:00:00:09:02\n";

/// What makes each kind's server and its client.
pub(crate) const KINDS: [(&str, &str, &str); 2] = [
    (
        "PPPoE",
        "/interface pppoe-server server add interface=ether2 service-name=isp\n",
        "/interface pppoe-client add interface=ether2 user=bob password=secret add-default-route=yes\n",
    ),
    (
        "L2TP",
        "/interface l2tp-server server set enabled=yes default-profile=default\n",
        "/interface l2tp-client add connect-to=10.0.2.254 user=bob password=secret profile=default add-default-route=yes\n",
    ),
];

/// The same of IPsec, with this proposal.
pub(crate) fn ipsec(proposal: &str) -> (String, String) {
    let end = |gateway: &str, other: &str, [from, to]: [&str; 2]| {
        format!(
            "/ip route add dst-address={to} gateway={gateway}
/ip ipsec profile set [find] dh-group=x25519
/ip ipsec proposal set [find] pfs-group=none {proposal}
/ip ipsec peer add name=p address={other}/32 exchange-mode=ike2
/ip ipsec identity add peer=p secret=word
/ip ipsec policy add peer=p tunnel=yes src-address={from} dst-address={to}\n"
        )
    };
    let nets = ["10.0.1.0/24", "10.0.9.0/24"];
    let [near, far] = ["10.0.2.254", "10.0.2.1"];
    (end(far, far, nets), end(near, near, [nets[1], nets[0]]))
}

/// The same of WireGuard.
pub(crate) fn wireguard() -> (String, String) {
    let [server, client] = [1, 2].map(|n| key_pair(&[n; 32]));
    let end = |[secret, public]: [&str; 2], other: &str, to: &str| {
        format!(
            "/interface wireguard add name=wg private-key=\"{secret}\"
/interface wireguard peers add interface=wg public-key=\"{public}\" endpoint-address={other} \
endpoint-port=13231 allowed-address={to} persistent-keepalive=1s
/ip route add dst-address={to} gateway=wg\n"
        )
    };
    (
        end([&server[0], &client[1]], "10.0.2.1", "10.0.9.0/24"),
        end([&client[0], &server[1]], "10.0.2.254", "10.0.1.0/24"),
    )
}

/// Frames for each port.
type Traffic = Vec<(usize, Vec<Vec<u8>>)>;

/// A server that a client has logged in to, and UDP of ten hosts through the session, both ways: there with so many
/// bytes.
pub(crate) fn logged_in(
    (_, server, client): (&str, &str, &str),
    more: &str,
    flows: usize,
    len: usize,
) -> (Device, Traffic) {
    let mut server = Device::new(&format!("{SERVER}{server}{more}"));
    let mut client = Device::new(&format!("{CLIENT}{client}"));
    for _ in 0..200 {
        for device in [&mut server, &mut client] {
            device.now = device.now + Duration::from_millis(50);
        }
        for _ in 0..4 {
            exchange(&mut server, &mut client);
        }
    }
    for host in 1..=10 {
        let own = MacAddr([6, 0, 0, 0, 0, 1]);
        server.introduce(0, own, ip(10, 0, 1, host), ip(10, 0, 1, 254));
    }
    client.introduce(0, MacAddr([6, 0, 0, 0, 9, 1]), ip(10, 0, 9, 1), ip(10, 0, 9, 254));
    let frame = |src_mac, dst_mac, udp| craft::Frame { src_mac, dst_mac, ..udp }.build();
    let (port, far) = (|n: usize| 10_000 + n as u16, ip(10, 0, 9, 1));
    let host = |n: usize| ip(10, 0, 1, 1) + (n / 1024) as u32;
    let near = MacAddr([6, 0, 0, 0, 0, 1]);
    let payload = vec![0; len];
    let filled = |udp| craft::Frame { payload: &payload, ..udp };
    let there = |n: usize| frame(near, own_mac(1), filled(craft::udp(host(n), port(n), far, 7)));
    // The packet of a 64-byte frame.
    let long = |udp| craft::Frame { payload: &[0; 18], ..udp };
    let (mac, to) = (MacAddr([6, 0, 0, 0, 9, 1]), MacAddr([2, 0, 0, 0, 9, 1]));
    let back = |n: usize| frame(mac, to, long(craft::udp(far, 7, host(n), port(n))));
    let mut outer = Vec::new();
    for chunk in (0..flows).map(back).collect::<Vec<_>>().chunks(CHUNK) {
        client.send(0, chunk);
        client.breathe();
        outer.extend(taken(&mut client, 1));
    }
    assert_eq!(outer.len(), flows, "{:?}", client.router.discards());
    (server, vec![(0, (0..flows).map(there).collect()), (1, outer)])
}

/// What one has sent by its second port comes in by the other's.
fn exchange(one: &mut Device, other: &mut Device) {
    for (from, to) in [(0, 1), (1, 0)] {
        let both = [&mut *one, &mut *other];
        both[from].breathe();
        let frames = taken(both[from], 1);
        both[from].drain();
        both[to].send(1, &frames);
    }
}

fn taken(device: &mut Device, wire: usize) -> Vec<Vec<u8>> {
    let (mut all, mut batch) = (Vec::new(), Batch::new());
    while device.wires[wire].receive(device.now, &mut device.pool, &mut batch) > 0 {
        all.extend(batch.as_slice().iter().map(|frame| device.slab.bytes(frame).to_vec()));
        batch.free_all(&mut device.pool);
    }
    all
}
