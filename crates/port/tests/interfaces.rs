//! Facts of a real interface, and its offloads switched.

mod veth;

use port::linux::interface::{Interface, Offloads, set_offloads, set_queues};
use veth::{Veth, left_out, sh, switch};

/// What a veth can have on.
const ALL: Offloads = Offloads { tx_checksum: true, tso: true, gso: true, gro: true, lro: false };

#[test]
fn a_veth_pair_is_told_and_made_honest() {
    let Some(Veth { a, b }) = Veth::with("numrxqueues 4 numtxqueues 2") else { return };
    sh(&a, "ip link set va address 02:00:00:00:00:01 mtu 9000");
    switch(&a, "va", ALL);
    let has = |rx, tx| a.run(|| set_queues("va", rx, tx)).unwrap().map_err(|why| why.to_string());
    assert_eq!(has(3, 2), Ok(()));
    let many = has(5, 2).unwrap_err();
    assert!(many.starts_with("cannot give va 5 and 2 queues: Invalid argument"), "{many}");
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

    sh(&b, "ip link set vb down");
    assert_eq!((va().up, va().carrier), (true, false));
    sh(&a, "ip link set va down");
    assert_eq!((va().up, va().carrier), (false, false));
    // Other namespaces have other interfaces.
    assert!(b.run(|| Interface::of("va")).unwrap().is_err());
}

#[test]
fn another_says_the_same() {
    if left_out::lacks(&["ethtool"]) {
        return;
    }
    // (Both namespaces live as long as the pair.)
    let Some(Veth { a, b: _b }) = Veth::with("numrxqueues 4 numtxqueues 2") else { return };
    a.run(|| set_queues("va", 3, 1)).unwrap().unwrap();
    // First it tells how many there can be, then how many there are.
    let words = sh(&a, "ethtool -l va");
    let are = |what| words.rsplit(what).next().and_then(|rest| rest.split_whitespace().next());
    assert_eq!((are("RX:"), are("TX:")), (Some("3"), Some("1")), "{words}");
    for (offloads, is) in [(ALL, "on"), (Offloads::NONE, "off")] {
        switch(&a, "va", offloads);
        let words = sh(&a, "ethtool -k va");
        for what in ["tx-tcp-segmentation", "tx-checksumming", "generic-receive-offload"] {
            assert!(words.contains(&format!("{what}: {is}")), "{words}");
        }
    }
}
