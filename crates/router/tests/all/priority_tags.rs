//! Frames with a priority tag (802.1Q, VLAN id 0) are untagged ones to the router, on every path; a
//! bridge forwards them as they are.

use crate::rig::{Rig, mac, own_mac};
use router::discard::Discard;
use wire::arp::ArpMessage;
use wire::craft::{self, ip};
use wire::vlan::Tci;

const TWO_NETS: &str = "/ip address
add address=10.0.1.254/24 interface=ether1
add address=10.0.2.254/24 interface=ether2
";

/// Routed, between untagged frames, by the FIB alone, by recipes, and by FastTrack.
#[test]
fn they_are_routed() {
    let filter = "/ip firewall filter add chain=forward action=";
    for (rule, quick) in [
        (String::new(), 10),
        (format!("{filter}accept protocol=udp"), 8),
        (format!("{filter}fasttrack-connection connection-state=new,established"), 7),
    ] {
        for (reference, vlan, passes) in
            [(false, 0, true), (true, 0, true), (false, 5, false), (true, 5, false)]
        {
            let mut rig = Rig::new(2, &format!("{TWO_NETS}{rule}"));
            rig.router.set_reference(reference);
            rig.introduce(2, mac(2), ip(10, 0, 2, 1), ip(10, 0, 2, 254));
            let plain = craft::Frame {
                src_mac: mac(1),
                dst_mac: own_mac(1),
                payload: &[7; 100],
                ..craft::udp(ip(10, 0, 1, 1), 1000, ip(10, 0, 2, 1), 2000)
            };
            let tagged = craft::Frame { vlan: Some(Tci::new(vlan, 6)), ..plain };
            // Whoever asks so is answered, without a tag.
            let ask = ArpMessage::request(mac(1), ip(10, 0, 1, 1), ip(10, 0, 1, 254));
            let ask = craft::Frame { vlan: tagged.vlan, ..craft::arp(ask) };
            let answer = craft::arp(ask_of(ask).reply_from(own_mac(1))).build();
            let answers = rig.pass(1, &ask.build());
            assert_eq!(answers, if passes { vec![(1, answer)] } else { vec![] });
            for n in 0..10 {
                rig.send(1, &if n % 3 == 0 { plain.build() } else { tagged.build() });
                rig.breathe(); // a recipe is for later batches
            }
            let expected =
                craft::Frame { src_mac: own_mac(2), dst_mac: mac(2), ttl: plain.ttl - 1, ..plain };
            let n = if passes { 10 } else { 4 };
            assert_eq!(rig.take(2), vec![expected.build(); n], "{:?}", rig.router.discards());
            let unknown = rig.router.discards().get(Discard::UnknownVlan);
            assert_eq!(unknown, if passes { 0 } else { 7 });
            let paths = rig.router.path_counts();
            let by = paths.replayed + paths.ipv4_fast_path.packets;
            assert!(reference || !passes || by >= quick, "{paths:?}");
        }
    }
}

/// The message of an ARP frame.
fn ask_of(frame: craft::Frame<'_>) -> ArpMessage {
    wire::Arp::new(&craft::Frame { vlan: None, ..frame }.build()[14..]).unwrap().message()
}

/// From host to host as they are; the router on the bridge takes them.
#[test]
fn they_are_bridged_as_they_are() {
    let script =
        "/interface bridge add protocol-mode=none\n/interface bridge port\nadd bridge=bridge1 interface=ether1
add bridge=bridge1 interface=ether2\n/ip address add address=10.0.0.254/24 interface=bridge1";
    for reference in [false, true] {
        let mut rig = Rig::new(2, script);
        rig.router.set_reference(reference);
        rig.introduce(2, mac(2), ip(10, 0, 0, 2), ip(10, 0, 0, 254));
        let vlan = Some(Tci::new(0, 3));
        let to_host = craft::udp(ip(10, 0, 0, 1), 1000, ip(10, 0, 0, 2), 2000);
        let to_host = craft::Frame { src_mac: mac(1), dst_mac: mac(2), vlan, ..to_host }.build();
        assert_eq!(rig.pass(1, &to_host), [(2, to_host)]);
        let ping = craft::ping(ip(10, 0, 0, 2), ip(10, 0, 0, 254));
        let ping = craft::Frame { src_mac: mac(2), dst_mac: own_mac(1), vlan, ..ping }.build();
        let answers = rig.pass(2, &ping);
        let [(2, answer)] = answers.as_slice() else { panic!("{answers:?}") };
        assert_eq!((&answer[12..14], answer[34]), (&[8, 0][..], 0), "an echo reply, untagged");
    }
}
