//! Facts of a real interface, and its offloads switched.

mod veth;

use port::linux::interface::{Interface, Offloads, set_offloads};
use veth::{Veth, sh};

#[test]
fn a_veth_pair_is_told_and_made_honest() {
    let Some(Veth { a, b }) = Veth::with("numrxqueues 4 numtxqueues 2") else { return };
    sh(&a, "ip link set va address 02:00:00:00:00:01 mtu 9000; ethtool -K va tx on tso on gso on");
    sh(&a, "ethtool -K va gro on; ethtool -L va rx 3 tx 2");
    let va = || a.run(|| Interface::of("va").unwrap()).unwrap();
    let before = va();
    assert_eq!((before.name.as_str(), before.driver.as_str()), ("va", "veth"), "{before:?}");
    assert_eq!(before.mac, Some("02:00:00:00:00:01".parse().unwrap()));
    assert_eq!((before.mtu, before.up, before.carrier), (9000, true, true), "{before:?}");
    assert_eq!((before.queues.rx, before.queues.tx, before.queues.rx_max), (3, 2, 4));
    assert_eq!(before.speed_mbps, Some(10_000), "{before:?}");
    assert_eq!(before.offloads.on(), ["tx", "tso", "gso", "gro"]);

    let changed = a.run(|| set_offloads("va", Offloads::NONE)).unwrap().unwrap();
    assert_eq!(changed, ["tx off", "tso off", "gso off", "gro off"]);
    assert_eq!(va().offloads, Offloads::NONE);
    assert!(a.run(|| set_offloads("va", Offloads::NONE)).unwrap().unwrap().is_empty());
    // It is really off, by another's word.
    let words = sh(&a, "ethtool -k va");
    for line in ["tx-tcp-segmentation: off", "tx-checksumming: off"] {
        assert!(words.contains(line), "{words}");
    }

    sh(&b, "ip link set vb down");
    assert_eq!((va().up, va().carrier), (true, false));
    sh(&a, "ip link set va down");
    assert_eq!((va().up, va().carrier), (false, false));
    // Other namespaces have other interfaces.
    assert!(b.run(|| Interface::of("va")).unwrap().is_err());
}
