//! Faults of `wirespeed router` besides traffic: nobody reads its output, its interfaces' queues and MTUs
//! change. It says what happened, the other ports go on, and nothing is lost uncounted.
use crate::rig;
use port::linux::Namespace;
use port::linux::interface::Offloads;
use rig::program::{Named, Program};
use rig::{Rig, give_queues, left_out, sh, switch};
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::OpenOptionsExt;

/// Two ports by AF_XDP.
const XDP: &[&str] = &["--port", "ether1=xdp:eth1", "--port", "ether2=xdp:eth2"];

/// `O_NONBLOCK`, of open(2).
const NONBLOCK: i32 = 0o4000;

/// A pipe with a name, and its reading end: nobody reads there unless this test does.
fn pipe(rig: &Rig) -> (String, File) {
    let path = rig.home().join("pipe").to_str().unwrap().to_string();
    sh(&rig.r, &format!("rm -f {path}; mkfifo {path}"));
    let reader = OpenOptions::new().read(true).custom_flags(NONBLOCK).open(&path).unwrap();
    (path, reader)
}

/// Links are followed, and what was deleted is taken up again.
fn follows(rig: &mut Rig) {
    let running = ":put [/interface get ether1 running]";
    rig.pings(1);
    rig.console_comes_to(running, "true");
    sh(&rig.a, "ip link set a0 down");
    rig.console_comes_to(running, "false");
    rig.still_answers_b();
    sh(&rig.a, "ip link set a0 up; ip route replace default via 10.0.1.1");
    rig.console_comes_to(running, "true");
    rig.pings(1);
    sh(&rig.a, "ip link del a0");
    rig.console_comes_to(running, "false");
    rig.connect_a();
    rig.console_comes_to(running, "true");
    rig.pings(1);
}

#[test]
fn a_reader_of_its_messages_who_is_gone_or_asleep_is_no_reason_to_stop() {
    let by = ["sh", "-c", "exec \"$@\" 2>\"$PIPE\"", "sh"];
    for (name, asleep) in [("gone", false), ("asleep", true)] {
        let Some(mut rig) = Rig::new(&format!("reader-{name}"), &["ping"]) else { return };
        let (path, mut reader) = pipe(&rig);
        // The shell must find a reader, or it waits for one.
        rig.start_by(&by, XDP, &[("PIPE", path.as_str())]);
        let reader = if asleep {
            let full = OpenOptions::new().write(true).custom_flags(NONBLOCK).open(&path);
            let mut full = full.unwrap();
            let stuffed = loop {
                if let Err(error) = full.write(b".") {
                    break error.kind();
                }
            };
            assert_eq!(stuffed, ErrorKind::WouldBlock, "the pipe is full");
            Some(reader)
        } else {
            let mut said = String::new();
            let _ = reader.read_to_string(&mut said);
            drop(reader);
            None
        };
        follows(&mut rig);
        let log = rig.console("/log print");
        assert!(log.contains("the link of eth1 is down") && log.contains("open again"), "{log}");
        rig.signal("TERM");
        assert_eq!(rig.ended(), Some(0), "{name}: {}", rig.all());
        assert!(rig.counter("ether1", "rx-packet") > 0, "{}", rig.all());
        rig.nothing_is_attached();
        drop(reader);
    }
}

/// A terminal that is closed ends it as SIGTERM does, unless `nohup` has said otherwise.
#[test]
fn a_terminal_that_goes_ends_it_with_its_counters() {
    let Some(mut rig) = Rig::new("hup", &["ping"]) else { return };
    // Whoever runs this test may have it ignore SIGHUP, and a router respects that.
    rig.start_by(&["env", "--default-signal=HUP"], XDP, &[]);
    rig.pings(1);
    rig.signal("HUP");
    assert_eq!(rig.ended(), Some(0), "{}", rig.all());
    assert!(rig.counter("ether1", "rx-packet") > 0, "{}", rig.all());
    rig.nothing_is_attached();
    rig.start_by(&["nohup"], XDP, &[]);
    rig.signal("HUP");
    rig.pings(1);
    rig.signal("TERM");
    assert_eq!(rig.ended(), Some(0), "{}", rig.all());
}

/// More queues than when the port was opened: they become the router's. (Fewer the kernel does not
/// allow as long as there is a socket on one.)
#[test]
fn queues_are_followed() {
    const FLOWS: &str = "import socket
for n in range(64):
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'some', ('10.0.2.2', 2000 + n))";
    for more in [&[][..], &["--workers", "1"]] {
        let Some(mut rig) = Rig::new("queues", &["ping", "python3"]) else { return };
        sh(&rig.a, "ip link del a0");
        rig.connect_a_by(4);
        give_queues(&rig.r, "eth1", 1, 1);
        give_queues(&rig.a, "a0", 1, 1);
        rig.start(&[XDP, more].concat());
        rig.pings(1);
        let script = rig.file("flows.py", FLOWS);
        for (from, to) in [(1, 2), (2, 4)] {
            // The other end may not send by more than this one receives by.
            give_queues(&rig.r, "eth1", to, to);
            let is = format!("receives by {to} queues and sends by {to}, not {from} and {from}");
            rig.says(&format!("ether1: the interface eth1 {is}"));
            rig.says("ether1: open again: eth1");
            give_queues(&rig.a, "a0", to, to);
            let before = rig.arrived(&rig.b);
            sh(&rig.a, &format!("python3 {script}"));
            rig.pings(1);
            assert_eq!(rig.arrived(&rig.b) - before, 64, "by {to}\n{}", rig.all());
        }
        rig.signal("TERM");
        assert_eq!(rig.ended(), Some(0), "{}", rig.all());
        let [rx, lost] = ["rx-packet", "rx-drop"].map(|name| rig.counter("ether1", name));
        assert_eq!(rx + lost, rig.sent(&rig.a, "a0"), "{}", rig.all());
    }
}

/// While a port is opened anew under load, what the router has not had or counted as lost is the
/// kernel's.
#[test]
fn more_queues_under_load_lose_nothing_uncounted() {
    const LOAD: &str = "import socket, time
port = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for n in range(1500):
    for _ in range(20):
        port.sendto(bytes(100), ('10.0.2.2', 2000))
    time.sleep(.001)";
    for more in [&[][..], &["--workers", "1"]] {
        let Some(mut rig) = Rig::new("load", &["ping", "python3", "nft"]) else { return };
        sh(&rig.a, "ip link del a0");
        rig.connect_a_by(4);
        give_queues(&rig.r, "eth1", 1, 1);
        give_queues(&rig.a, "a0", 1, 1);
        sh(
            &rig.r,
            "nft add table netdev past
             nft 'add chain netdev past frames { type filter hook ingress device eth1 priority 0 ; }'
             nft add rule netdev past frames counter",
        );
        rig.start(&[XDP, more].concat());
        rig.pings(1);
        let mut load = std::process::Command::new("python3");
        load.arg(rig.file("load.py", LOAD));
        let mut load = rig.a.spawn(load).unwrap();
        // Some of it comes before.
        std::thread::sleep(std::time::Duration::from_millis(500));
        give_queues(&rig.r, "eth1", 4, 4);
        rig.says("ether1: open again: eth1");
        assert!(load.wait().unwrap().success());
        rig.pings(1);
        rig.signal("TERM");
        assert_eq!(rig.ended(), Some(0), "{}", rig.all());
        let counted = sh(&rig.r, "nft list chain netdev past frames");
        let past = counted.split("packets ").nth(1).and_then(|text| text.split(' ').next());
        let past: u64 = past.and_then(|n| n.parse().ok()).expect("a counter");
        let [rx, lost] = ["rx-packet", "rx-drop"].map(|name| rig.counter("ether1", name));
        let sent = rig.sent(&rig.a, "a0");
        assert_eq!(rx + lost + past, sent, "{rx} {lost} {past}\n{}", rig.all());
    }
}

/// Checksums left undone at the other end of a veth are told of, with the command against them.
#[test]
fn what_a_veths_other_end_leaves_undone_is_said() {
    let Some(mut rig) = Rig::new("undone", &[]) else { return };
    let named = Named::new(&format!("ws-undone-{}", std::process::id()));
    named.takes(&rig.a, "a0");
    let inside = format!("ip netns exec {} ethtool -K a0", named.name);
    let remedy = format!("`{inside} tx off tso off gso off`");
    let config = rig.config();
    let check = [&["router", config.as_str()][..], XDP, &["--check"]].concat();
    rig.wirespeed_says(&check, 0, "off at the other end");
    let there = Namespace::open(&named.name).unwrap();
    switch(&there, "a0", Offloads { tx_checksum: true, ..Offloads::NONE });
    rig.wirespeed_says(&check, 0, &remedy);
    rig.wirespeed_says(&check, 0, "WARN");
    rig.start(XDP);
    rig.says(&format!("ether1: eth1 is a veth; its other end a0 in {} has on: tx", named.name));
    rig.says(&remedy);
    rig.says("ether2: eth2 is a veth whose other end is not seen from here; if programs send");
    // While it runs, too.
    switch(&there, "a0", Offloads { tx_checksum: true, gso: true, ..Offloads::NONE });
    rig.says("has on: tx gso");
    rig.signal("TERM");
    assert_eq!(rig.ended(), Some(0), "{}", rig.all());
    // Where both ends are ports, no program sends.
    sh(&rig.r, "ip link add p1 type veth peer name p2; ip link set p1 up; ip link set p2 up");
    let own = "both ends of a veth pair, p1 and p2, are the router's own ports (ether2 is one)";
    for far in ["xdp:p2", "packet:p2", "xdp:p2@/proc/self/ns/net"] {
        let ports = ["--port", "xdp:p1", "--port", far];
        let check = [&["router", config.as_str()][..], &ports, &["--check"]].concat();
        let (code, text) = rig.wirespeed(&check);
        let told = text.contains(&format!("WARN    {own}"));
        assert!(code == 0 && told && !text.contains("TCP"), "{far}: {code}\n{text}");
        rig.start(&ports);
        rig.says(&format!("ether1: {own}"));
        rig.signal("TERM");
        assert_eq!(rig.ended(), Some(0), "{}", rig.all());
    }
}

/// An MTU that no frame of the router's holds: told when it is made so, and met by a restart.
#[test]
fn an_mtu_beyond_the_routers_frames_is_said_and_met_by_a_restart() {
    let Some(mut rig) = Rig::new("beyond", &["ping"]) else { return };
    sh(&rig.r, "ip tuntap add dev lan mode tap; ip link set lan mtu 9000 up");
    let ports = [XDP, &["--port", "ether3=tap:lan"]].concat();
    rig.start(XDP);
    rig.pings(1);
    sh(&rig.r, "ip link set eth1 mtu 4000");
    rig.says("ether1: the mtu of eth1 is 4000, it was 1500");
    rig.says("ether1: the mtu of eth1 is 4000, the router's frames hold ");
    sh(&rig.r, "ip link set eth1 mtu 1500");
    rig.says("ether1: the mtu of eth1 is 1500, it was 4000");
    sh(&rig.r, "ip link set eth1 mtu 4000");
    rig.pings(1);
    rig.signal("TERM");
    assert_eq!(rig.ended(), Some(0), "{}", rig.all());
    // A tap that was there has what it carries, and so do the others.
    sh(&rig.a, "ip link set a0 mtu 4000");
    rig.start(&ports);
    rig.console(
        "/interface bridge add name=lan protocol-mode=none
         /interface bridge port add bridge=lan interface=ether1
         /interface bridge port add bridge=lan interface=ether3",
    );
    sh(
        &rig.r,
        "ip address add 10.0.1.9/24 dev lan
         ping -q -c 2 -i 0.05 -w 30 -M do -s 3900 10.0.1.2",
    );
    rig.signal("TERM");
    assert_eq!(rig.ended(), Some(0), "{}", rig.all());
}

/// A veth that receives by fewer queues than its other end sends by takes no native XDP: that is said,
/// and the command against it, which helps.
#[test]
fn too_few_queues_for_native_xdp_are_said() {
    let Some(mut rig) = Rig::new("fewer", &[]) else { return };
    sh(&rig.a, "ip link del a0");
    rig.connect_a_by(2);
    give_queues(&rig.r, "eth1", 1, 2);
    let config = rig.config();
    let port = ["--port", "xdp:eth1,mode=native", "--port", "xdp:eth2"];
    let start = [&["router", config.as_str()][..], &port].concat();
    let check = [&start[..], &["--check"]].concat();
    // A namespace without a name is not seen.
    rig.wirespeed_says(&check, 3, "type there `ethtool -L PEER tx 1`");
    rig.wirespeed_says(&start, 3, "(there: `ethtool -L PEER tx N`)");
    let named = Named::new(&format!("ws-fewer-{}", std::process::id()));
    named.takes(&rig.a, "a0");
    let name = &named.name;
    let is = format!("receives by 1, and its other end a0 in {name} sends by 2 queues");
    let remedy = format!("ip netns exec {name} ethtool -L a0 tx 1");
    for words in [&check, &start] {
        rig.wirespeed_says(words, 3, &is);
        rig.wirespeed_says(words, 3, &format!("type `{remedy}`"));
    }
    // Where it is not asked for, it goes by the generic way.
    rig.start(XDP);
    rig.says(&is);
    rig.signal("TERM");
    assert_eq!(rig.ended(), Some(0), "{}", rig.all());
    // The command is typed as it was told.
    if left_out::lacks_in_part(&["ethtool"]) {
        return;
    }
    sh(&rig.a, &remedy);
    rig.wirespeed_says(&check, 0, "native XDP, frames copied once");
    rig.start(&port);
    assert!(rig.out().contains("AF_XDP, native"), "{}", rig.all());
}

/// What comes longer than the interface's MTU the kernel drops before the router sees it; it counts.
#[test]
fn what_the_interface_drops_is_told() {
    for (port, more) in [("xdp", &[][..]), ("xdp", &["--workers", "1"]), ("packet", &[])] {
        let Some(mut rig) = Rig::new("too-long", &["ping"]) else { return };
        let ports = [1, 2].map(|n| format!("ether{n}={port}:eth{n}"));
        sh(&rig.r, "ip link set eth2 mtu 1400");
        // Before it began: none of its own.
        sh(&rig.b, "ping -q -c 3 -i 0.01 -W 0.1 -b -s 1472 10.0.2.255 || true");
        rig.start(&[&["--port", &ports[0], "--port", &ports[1]], more].concat());
        rig.pings(1);
        let before = rig.unsent(&rig.b, "b0");
        sh(&rig.b, "ping -q -c 20 -i 0.01 -W 1 -s 1472 10.0.1.2 || true");
        // (A program whose frame did not go may try again.)
        let unsent = rig.unsent(&rig.b, "b0") - before;
        rig.signal("TERM");
        assert_eq!(rig.ended(), Some(0), "{}", rig.all());
        let [dropped, damaged] = ["rx-drop", "rx-error"].map(|name| rig.counter("ether2", name));
        assert!(unsent >= 20, "{unsent}\n{}", rig.all());
        assert_eq!((dropped, damaged), (unsent, 0), "{port} {more:?}\n{}", rig.all());
    }
}

/// Datagrams to host b, one a millisecond, until it is ended; then how many.
const FLOOD: &str = "import signal, socket, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); go = [True]; n = 0
signal.signal(signal.SIGTERM, lambda *_: go.clear())
print('begins', flush=True)
while go:
    s.sendto(b'counted', ('10.0.2.2', 9)); n += 1; time.sleep(0.001)
print(n)";

/// The way to host b is switched off at either end, deleted and made anew.
fn links_come_and_go(rig: &Rig) {
    sh(&rig.b, "ip link set b0 down");
    rig.says("ether2: the link of eth2 is down");
    sh(&rig.b, "ip link set b0 up; ip route replace default via 10.0.2.1");
    rig.says("ether2: the link of eth2 is up");
    rig.pings(1);
    sh(&rig.r, "ip link set eth2 down");
    rig.says("ether2: the link of eth2 is down: it is switched off");
    sh(&rig.r, "ip link set eth2 up");
    rig.says("ether2: the link of eth2 is up");
    rig.pings(1);
    sh(&rig.b, "ip link del b0");
    rig.says("ether2: the interface eth2 is gone");
    rig.connect_b();
    rig.says("ether2: open again: eth2");
}

/// The namespace of port ether2 goes, with it the cable to host b; then there is one of that name again.
fn a_namespace_goes(rig: &Rig, named: Named) -> Named {
    let name = named.name.clone();
    drop(named);
    rig.says(&format!("ether2: the network namespace {name} is gone"));
    let named = Named::new(&name);
    // The kernel takes its time over what was in it.
    sh(
        &rig.b,
        "for i in $(seq 600); do ip link show b0 >/dev/null 2>&1 || exit 0; sleep 0.1; done",
    );
    rig.connect_b();
    named.takes(&rig.r, "eth2");
    rig.says("ether2: open again: eth2");
    named
}

/// The router's own host is the one behind a tap.
fn behind_a_tap(rig: &Rig) {
    sh(
        &rig.r,
        "ip link set lan up
         ip address replace 10.0.2.2/24 dev lan
         ip route replace 10.0.1.0/24 via 10.0.2.1",
    );
}

/// A tap is switched off, on and deleted.
fn a_tap_comes_and_goes(rig: &Rig) {
    sh(&rig.r, "ip link set lan down");
    rig.says("ether2: the link of lan is down: it is switched off");
    behind_a_tap(rig);
    rig.says("ether2: the link of lan is up");
    rig.pings(1);
    sh(&rig.r, "ip link del lan");
    rig.says("ether2: the interface lan is gone");
    rig.says("ether2: open again: lan");
    behind_a_tap(rig);
}

/// Where host b is, as seen from the router.
enum Behind {
    Cable,
    Namespace,
    Tap,
}

/// Under load the way to host b goes and comes back: what came in was received or counted as lost, and
/// what was received has arrived or is counted as lost.
#[test]
fn what_is_lost_while_links_come_and_go_is_counted() {
    use Behind::{Cable, Namespace, Tap};
    let cases = [
        ("xdp", "xdp:eth2", Cable, &[][..]),
        ("xdp", "xdp:eth2", Cable, &["--workers", "1"]),
        ("packet", "packet:eth2", Cable, &[]),
        ("xdp", "xdp:eth2", Namespace, &[]),
        ("packet", "packet:eth2", Namespace, &["--workers", "1"]),
        ("xdp", "tap:lan", Tap, &[]),
        ("packet", "tap:lan,offload=yes", Tap, &[]),
    ];
    for (near, far, behind, more) in cases {
        let Some(mut rig) = Rig::new("counted", &["ping", "python3"]) else { return };
        let mut ports = [format!("ether1={near}:eth1"), format!("ether2={far}")];
        let mut named = None;
        if let Namespace = behind {
            let there = Named::new(&format!("ws-counted-{}", std::process::id()));
            there.takes(&rig.r, "eth2");
            ports[1] += &format!("@{}", there.name);
            named = Some(there);
        }
        rig.start(&[&["--port", &ports[0], "--port", &ports[1]], more].concat());
        if let Tap = behind {
            behind_a_tap(&rig);
        }
        rig.pings(1);
        let flood = Program::start(&rig.a, &["python3", "-c", FLOOD]);
        assert_eq!(flood.line(), "begins");
        match behind {
            Cable => links_come_and_go(&rig),
            Namespace => named = named.map(|there| a_namespace_goes(&rig, there)),
            Tap => a_tap_comes_and_goes(&rig),
        }
        rig.pings(1);
        flood.signal("TERM");
        let flood: u64 = flood.line().parse().unwrap();
        rig.pings(1);
        rig.signal("TERM");
        assert_eq!(rig.ended(), Some(0), "{}", rig.all());
        rig.nothing_is_attached();
        let [rx, lost, unsent] =
            [("ether1", "rx-packet"), ("ether1", "rx-drop"), ("ether2", "tx-drop")]
                .map(|(interface, name)| rig.counter(interface, name));
        let state = || format!("{ports:?} {more:?}\n{}", rig.all());
        assert_eq!(rx + lost, rig.sent(&rig.a, "a0"), "{}", state());
        // Other packets may be among those that are counted: questions for addresses, answers.
        let host = if let Tap = behind { &rig.r } else { &rig.b };
        let (arrived, counted) = (rig.arrived(host), lost + unsent + rig.all_discarded());
        let account = format!("{flood} sent, {arrived} arrived, {counted} counted");
        assert!(counted > 0 && arrived <= flood, "{account}\n{}", state());
        assert!(flood <= arrived + counted, "{account}\n{}", state());
        drop(named);
    }
}
