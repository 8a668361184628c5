//! Ring starvation: more packets wait in the queues of `wirespeed router` than it has frames for, and
//! still its ports have some to receive into.
//!
//! ```text
//!  host a ── a0 ══ eth1 ── router ── eth2 ══ b0 ── host b
//!  10.9.0.0/16 (and 10.0.1.2): 600 sources,  a queue each, next to nothing a second
//! ```
use crate::rig;
use rig::{Rig, sh};

/// A queue for each source: 50 packets may wait in each, 30,000 together, and 24,576 frames are there.
const QUEUES: &str = "
:for n from=1 to=600 do={
  /queue simple add name=(\"q\" . $n) target=(10.9.0.0 + $n) max-limit=512/512 queue=default/default
}
/ip firewall filter
add chain=forward src-address=10.9.0.0/16 action=accept comment=flood";

/// Datagrams of each source in turn, in bursts that rings have room for.
const FLOOD: &str = "import socket, time
sockets = []
for n in range(1, 601):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.bind(('10.9.%d.%d' % (n >> 8, n & 255), 4000)); sockets.append(s)
for turn in range(120):
    for n, s in enumerate(sockets):
        s.sendto(b'waits', ('10.0.2.2', 9))
        if n % 100 == 0: time.sleep(0.002)";

#[test]
fn queues_that_could_hold_every_frame_starve_no_port() {
    for backend in ["xdp", "packet"] {
        let Some(mut rig) = Rig::new(&format!("starved-{backend}"), &["ping", "python3"]) else {
            return;
        };
        let ports = [1, 2].map(|n| format!("ether{n}={backend}:eth{n},ring=1024"));
        rig.start(&["--port", &ports[0], "--port", &ports[1]]);
        sh(&rig.a, "ip link set lo up; ip route add local 10.9.0.0/16 dev lo");
        rig.pings(1);
        rig.console(QUEUES);
        let script = rig.file("flood.py", FLOOD);
        sh(&rig.a, &format!("python3 {script}"));
        // The queues are full. Who need not wait passes, in both directions, and the router answers.
        rig.pings(3);
        rig.still_answers_b();
        let waiting = rig.console(":put [/queue simple get q600 queued-packets]");
        assert_ne!(waiting.trim(), "0/0", "{}", rig.all());
        let told = rig.console(":put [/tool discard get frames-short packets]");
        assert_ne!(told.trim(), "0", "{}", rig.all());
        // The cause goes: what waited leaves, and as much as before may wait again.
        rig.console("/queue simple remove [find]");
        rig.pings(3);
        let flood = rig.console(":put [/ip firewall filter get [find comment=flood] packets]");
        let flood: u64 = flood.trim().replace(' ', "").parse().unwrap();
        rig.signal("TERM");
        assert_eq!(rig.ended(), Some(0), "{}", rig.all());
        // On the wire: received, or counted as lost. In the router: sent, or discarded by name. On the
        // wire again: as many as the router says.
        let [rx, lost, tx] =
            [("ether1", "rx-packet"), ("ether1", "rx-drop"), ("ether2", "tx-drop")]
                .map(|(interface, name)| rig.counter(interface, name));
        assert_eq!(rx + lost, rig.sent(&rig.a, "a0"), "{}", rig.all());
        let [full, short] = ["queue-full", "frames-short"].map(|reason| rig.discarded(reason));
        assert!(short > 0, "so much found room: {}", rig.all());
        assert_eq!(rig.arrived(&rig.b) + tx + full + short, flood, "{}", rig.all());
    }
}
