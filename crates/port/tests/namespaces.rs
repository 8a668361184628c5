//! Namespaces and veth pairs: what every test of a real interface stands on.

mod veth;

use veth::{Veth, sh};

#[test]
fn the_kernel_answers_through_a_veth_pair() {
    let Some(pair) = Veth::taking(&["ping"]) else { return };
    sh(&pair.a, "ip address add 10.0.0.1/24 dev va");
    sh(&pair.b, "ip address add 10.0.0.2/24 dev vb");
    let reply = sh(&pair.a, "ping -c 1 -W 5 10.0.0.2");
    assert!(reply.contains("1 received"), "{reply}");
}
