//! `wirespeed router` on real interfaces, in namespaces of its own: what it does when all is well, and
//! when it is not.
//!
//! ```text
//!  host a ── a0 ══ eth1 ── router ── eth2 ══ b0 ── host b
//!  10.0.1.2      10.0.1.1         10.0.2.1     10.0.2.2
//! ```
use crate::rig;
use port::linux::interface::Interface;
use rig::program::{Named, Program};
use rig::{PATIENCE, Rig, sh};

/// Two ports by AF_XDP.
const XDP: &[&str] = &["--port", "ether1=xdp:eth1", "--port", "ether2=xdp:eth2"];

#[test]
fn it_forwards_is_reached_and_ends_when_asked() {
    let mixed = &["--port", "ether1=packet:eth1", "--port", "xdp:eth2", "--workers", "2"];
    let workers = [XDP, &["--workers", "1"]].concat();
    for (name, ports) in [("one", XDP), ("two", &workers), ("mixed", mixed)] {
        let Some(mut rig) = Rig::new(name, &["ping"]) else { return };
        rig.start(ports);
        assert!(rig.out().contains("ether1: eth1"), "{}", rig.out());
        rig.pings(5);
        let stats = rig.console("/interface print stats");
        assert!(stats.contains("ether1") && stats.contains("ether2"), "{stats}");
        let listed = rig.wirespeed(&["lab", "list"]);
        assert!(listed.1.contains("router edge is up since"), "{}", listed.1);
        rig.wirespeed_says(
            &["router", &rig.config(), "--port", "xdp:eth1"],
            3,
            "edge is up already",
        );
        rig.signal("TERM");
        assert_eq!(rig.ended(), Some(0), "{}", rig.all());
        for line in ["ether1: rx-packet=", "ether2: rx-packet="] {
            assert!(rig.out().contains(line), "{}", rig.all());
        }
        rig.nothing_is_attached();
        // `lab down` ends it as well.
        rig.start(XDP);
        let (code, text) = rig.wirespeed(&["lab", "down", "edge"]);
        assert_eq!((code, rig.ended()), (0, Some(0)), "{text}{}", rig.all());
    }
}

#[test]
fn what_is_killed_under_load_leaves_nothing() {
    for backend in ["xdp", "packet"] {
        let Some(mut rig) = Rig::new(&format!("kill-{backend}"), &["ping"]) else { return };
        let ports = [1, 2].map(|n| format!("ether{n}={backend}:eth{n}"));
        let ports = ["--port", &ports[0], "--port", &ports[1], "--port", "ether3=tap:lan"];
        rig.start(&ports);
        let load = rig.load();
        rig.pings(2);
        rig.signal("KILL");
        assert_eq!(rig.ended(), None);
        drop(load);
        rig.nothing_is_attached();
        rig.the_kernel_works();
        // Its place, its lock and its interfaces are free.
        let before = rig.received(&rig.b, "b0");
        rig.start(&ports);
        rig.pings(2);
        let load = rig.load();
        rig.pings(2);
        rig.signal("TERM");
        assert_eq!(rig.ended(), Some(0), "{}", rig.all());
        drop(load);
        rig.nothing_is_attached();
        rig.the_kernel_works();
        // What it says it has sent has arrived, to the last frame.
        let [sent, lost] = ["tx-packet", "tx-drop"].map(|name| rig.counter("ether2", name));
        let arrived = rig.received(&rig.b, "b0") - before;
        assert!(arrived <= sent && sent <= arrived + lost, "{arrived}\n{}", rig.all());
    }
}

#[test]
fn links_go_down_and_up_under_load() {
    let Some(mut rig) = Rig::new("links", &["ping"]) else { return };
    rig.start(XDP);
    let load = rig.load();
    rig.pings(2);
    sh(&rig.a, "ip link set a0 down");
    rig.says("ether1: the link of eth1 is down: its wire does not carry");
    rig.still_answers_b();
    let routes = rig.console("/ip route print where active");
    assert!(routes.contains("10.0.2.0/24") && !routes.contains("10.0.1.0/24"), "{routes}");
    sh(&rig.a, "ip link set a0 up; ip route replace default via 10.0.1.1");
    rig.says("ether1: the link of eth1 is up");
    rig.pings(2);
    sh(&rig.r, "ip link set eth2 down");
    rig.says("ether2: the link of eth2 is down: it is switched off");
    sh(&rig.r, "ip link set eth2 up");
    rig.says("ether2: the link of eth2 is up");
    rig.pings(2);
    sh(&rig.r, "ip link set eth2 down; ip link set eth2 name wan0; ip link set wan0 up");
    rig.says(
        "ether2: eth2 is called wan0 now, and stays the port; when it is opened again, eth2 is",
    );
    rig.says("ether2: the link of wan0 is up");
    rig.pings(2);
    sh(&rig.r, "ip link set eth1 mtu 1400");
    rig.says("ether1: the mtu of eth1 is 1400, it was 1500");
    drop(load);
    let refused = sh(&rig.b, "ping -c 1 -w 5 -s 1400 -M do 10.0.1.2 || true");
    assert!(refused.contains("Frag needed") && refused.contains("1400"), "{refused}");
    assert_eq!(rig.console(":put [/interface get ether1 link-downs]").trim(), "1");
    let log = rig.console("/log print");
    assert!(log.contains("the link of eth1 is down"), "{log}");
}

#[test]
fn interfaces_and_namespaces_that_go_are_taken_up_again() {
    for more in [&[][..], &["--workers", "1"]] {
        let Some(mut rig) = Rig::new("gone", &["ping"]) else { return };
        rig.start(&[XDP, more].concat());
        let load = rig.load();
        rig.pings(2);
        sh(&rig.a, "ip link del a0");
        rig.says("ether1: the interface eth1 is gone");
        rig.still_answers_b();
        drop(load);
        rig.connect_a();
        rig.says("ether1: open again: eth1");
        rig.pings(2);
        // A namespace takes its end of the cable with it, and so the other one.
        rig.renew_a();
        rig.says("ether1: the interface eth1 is gone");
        rig.still_answers_b();
        rig.connect_a();
        rig.says("ether1: open again: eth1");
        rig.pings(2);
        rig.signal("INT");
        assert_eq!(rig.ended(), Some(0), "{}", rig.all());
    }
}

#[test]
fn what_cannot_be_is_said_and_nothing_is_touched() {
    let Some(mut rig) = Rig::new("refused", &["ping"]) else { return };
    let config = rig.file("empty.rsc", "");
    let wrong = rig.file("wrong.rsc", "/ip address\nadd adress=1.1.1.1\n");
    const SAME: &str = "two ports are the same interface, ether1 is it too; leave out one";
    sh(&rig.r, "ip link property add dev eth1 altname wan0");
    let port = &["--port", "xdp:eth1"];
    let with = |config: &str, more: &[&str]| -> Vec<String> {
        ["router", config].iter().chain(more).map(|word| (*word).to_string()).collect()
    };
    for (words, code, expected) in [
        (with(&wrong, port), 1, "wrong.rsc:2:5: expected end of command"),
        (with(&config, &[port, &["--ready-fd", "77"][..]].concat()), 3, "--ready-fd 77: No such"),
        (with("nosuch.rsc", port), 3, "reading nosuch.rsc"),
        (with(&config, &["--port", "eth1"]), 2, "a port is NAME=BACKEND:INTERFACE"),
        (with(&config, &["--port", "xdp:eth9"]), 3, "ether1: cannot look at the interface eth9"),
        // The configuration is read first.
        (with(&wrong, &["--port", "xdp:eth9"]), 1, "wrong.rsc:2:5: expected end of command"),
        (with(&config, &["--port", "xdp:lo"]), 3, "it has no MAC address; take an Ethernet"),
        (with(&config, &["--port", "xdp:eth1@nosuch"]), 3, "namespace nosuch: No such file"),
        (with(&config, &["--port", "xdp:eth1", "--port", "xdp:eth1"]), 2, "the same interface"),
        (with(&config, &["--port", "tap:e%d"]), 2, "say the whole name, as e0"),
        // The same interface, by another way to its namespace and by its other name.
        (
            with(&config, &[port, &["--port", "packet:eth1@/proc/self/ns/net"][..]].concat()),
            3,
            SAME,
        ),
        (with(&config, &[port, &["--port", "packet:wan0"][..]].concat()), 3, SAME),
        (
            with(&config, &["--port", "xdp:eth1,queues=7"]),
            3,
            "eth1 has 1 at most: leave out queues=",
        ),
        (with(&config, &["--port", "xdp:eth1", "--cores", "9999"]), 3, "processor 9999"),
        (with(&config, &["--port", "xdp:eth2,copy=no"]), 3, "no zero-copy"),
        (with(&config, &["--port", "tap:eth2"]), 3, "it is no TAP interface"),
        (with(&config, &[port, &["--kernel-routes=nons"][..]].concat()), 3, "namespace nons"),
    ] {
        let mut words: Vec<&str> = words.iter().map(String::as_str).collect();
        rig.wirespeed_says(&words, code, expected);
        rig.nothing_is_attached();
        // What was said before it is tried is what happens.
        words.push("--check");
        rig.wirespeed_says(&words, code, "");
    }
    // Each line says what it is about.
    for (ports, expected) in [
        (["xdp:eth9", "xdp:eth2"], "STOP    cannot look at the interface eth9: No such device"),
        (["xdp:eth1@nosuch", "xdp:eth2"], "STOP    cannot open the network namespace nosuch: No"),
        (
            ["xdp:eth1", "packet:wan0"],
            "ether2   interface      STOP    cannot take the interface wan0",
        ),
    ] {
        let words = ["router", &config, "--check", "--port", ports[0], "--port", ports[1]];
        rig.wirespeed_says(&words, 3, expected);
    }
    rig.wirespeed_says(&["console", "edge"], 3, "no router edge runs here");
    // No place where it would be found: one line among the others.
    let nowhere = ["env", "XDG_RUNTIME_DIR=/nonexistent/x"];
    let words = ["router", &config, "--port", "xdp:eth1"];
    let says = "cannot make /nonexistent/x/wirespeed: No such file or directory (os error 2)";
    rig.wrapped_says(&nowhere, &words, 3, &format!("{says}; set XDG_RUNTIME_DIR"));
    let (code, text) = rig.wrapped(&nowhere, &[&words[..], &["--check"]].concat());
    let told = text.contains(&format!("STOP    {says}\n")) && text.contains("native XDP");
    assert!(code == 3 && told && text.contains("  set XDG_RUNTIME_DIR"), "{text}");
    // Too few descriptors.
    let words = [&["router", &config][..], XDP].concat();
    for more in [&[][..], &["--check"]] {
        let words = [&words[..], more].concat();
        rig.wrapped_says(&["prlimit", "--nofile=24"], &words, 3, "`ulimit -n 1024` or more");
        rig.nothing_is_attached();
        let words = [&words[..], &["--files", "/nonexistent/x"]].concat();
        rig.wirespeed_says(&words, 3, "--files /nonexistent/x: No such file or directory");
    }
    // Root in name only.
    let without = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"];
    rig.wrapped_says(&without, &words, 3, "run as root");
    let check = |words: &[&str]| [words, &["--check"][..]].concat().join(" ");
    let checked = check(&words);
    let checked: Vec<&str> = checked.split(' ').collect();
    rig.wrapped_says(&without, &checked, 3, "cap_net_admin,cap_net_raw,cap_bpf,cap_ipc_lock");
    // As much memory as it asks for, and no less.
    let little =
        ["prlimit", "--memlock=65536", "setpriv", "--bounding-set=-ipc_lock,-sys_resource"];
    let (code, text) = rig.wrapped(&little, &words);
    let asked = text.split("`ulimit -l ").nth(1).and_then(|text| text.split('`').next());
    let asked = asked.unwrap_or_else(|| panic!("{code} {text}"));
    assert_eq!(code, 3, "{text}");
    rig.wrapped_says(&little, &checked, 3, &format!("`ulimit -l {asked}`"));
    rig.nothing_is_attached();
    // Longer than any frame here.
    sh(&rig.r, "ip link set eth1 mtu 65535");
    rig.wirespeed_says(&words, 3, "`ip link set eth1 mtu 65130`, or less");
    rig.wirespeed_says(&checked, 3, "`ip link set eth1 mtu 65130`, or less");
    sh(&rig.r, "ip link set eth1 mtu 1500");
    // In use.
    rig.start(XDP);
    let again = [&["router", &config][..], XDP, &["--name", "other"]].concat();
    rig.wirespeed_says(&again, 3, "cannot take the interface eth1: process ");
    rig.pings(2);
}

/// Root is not needed, only what root may do here; `--check` says so before.
#[test]
fn some_capabilities_are_enough() {
    let Some(mut rig) = Rig::new("capable", &["ping"]) else { return };
    let by = ["setpriv", "--bounding-set=-all,+net_admin,+net_raw,+bpf,+ipc_lock"];
    let config = rig.config();
    let packet = ["--port", "packet:eth1", "--port", "packet:eth2"];
    let tap = [XDP, &["--port", "tap:lan"]].concat();
    for ports in [XDP, &packet, &tap] {
        let check = [&["router", config.as_str()][..], ports, &["--check"]].concat();
        rig.wrapped_says(&by, &check, 0, "granted");
        rig.start_by(&by, ports, &[]);
        rig.pings(2);
        rig.signal("TERM");
        assert_eq!(rig.ended(), Some(0), "{}", rig.all());
    }
    // Who owns a TAP needs nothing; of another's it is said whose it is, and what helps.
    sh(
        &rig.r,
        "for name in one two; do ip tuntap add dev $name mode tap user 0; done
         ip tuntap add dev his mode tap user 1234",
    );
    let none = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"];
    let own = ["--port", "tap:one", "--port", "tap:two"];
    rig.wrapped_says(
        &none,
        &[&["router", &config][..], &own, &["--check"]].concat(),
        0,
        "is there",
    );
    rig.start_by(&none, &own, &[]);
    rig.signal("TERM");
    assert_eq!(rig.ended(), Some(0), "{}", rig.all());
    let anew = "`ip tuntap del dev his mode tap && ip tuntap add dev his mode tap user 0`";
    let his = format!(
        "his is user 1234's: run it as that, or have root make it anew for this user: {anew}"
    );
    for (port, says) in [
        ("tap:his", his.as_str()),
        ("tap:new", "have root make it for this user: `ip tuntap add dev new mode tap user 0`"),
    ] {
        let words = ["router", config.as_str(), "--port", "tap:one", "--port", port];
        rig.wrapped_says(&none, &words, 3, says);
        rig.wrapped_says(&none, &[&words[..], &["--check"]].concat(), 3, says);
    }
    // Who may administer the system needs no CAP_NET_ADMIN.
    let rest = ["setpriv", "--bounding-set=-net_admin", "--inh-caps=-net_admin"];
    let ports = ["--port", "xdp:eth1", "--port", "packet:eth2"];
    rig.wrapped_says(
        &rest,
        &[&["router", &config][..], &ports, &["--check"]].concat(),
        0,
        "granted",
    );
    rig.start_by(&rest, &ports, &[]);
    rig.signal("TERM");
    assert_eq!(rig.ended(), Some(0), "{}", rig.all());
    // Namespaces take more to be entered.
    let named = Named::new(&format!("ws-capable-{}", std::process::id()));
    named.takes(&rig.r, "eth1");
    let port = format!("xdp:eth1@{}", named.name);
    let words = ["router", config.as_str(), "--port", &port, "--port", "xdp:eth2"];
    rig.wrapped_says(&by, &words, 3, "CAP_SYS_ADMIN");
    rig.wrapped_says(&by, &[&words[..], &["--check"]].concat(), 3, "cap_sys_admin");
}

/// A process that stops reading: what comes meanwhile is lost, and counted; then it goes on.
#[test]
fn a_stopped_router_counts_what_it_lost_and_goes_on() {
    for more in [&[][..], &["--workers", "1"]] {
        let Some(mut rig) = Rig::new("stopped", &["ping"]) else { return };
        let ports = &["--port", "xdp:eth1,ring=64", "--port", "xdp:eth2,ring=64"];
        rig.start(&[ports, more].concat());
        rig.pings(2);
        rig.signal("STOP");
        sh(&rig.a, "ping -q -f -l 1500 -c 1500 -W 1 10.0.2.2 || true");
        rig.signal("CONT");
        rig.pings(3);
        rig.signal("TERM");
        assert_eq!(rig.ended(), Some(0), "{}", rig.all());
        let lost = rig.counter("ether1", "rx-drop");
        let (rx, tx) = (rig.counter("ether1", "rx-packet"), rig.counter("ether2", "tx-packet"));
        // 64 in the rings, some requests for addresses; the others were lost. On a busy machine the
        // veth pair itself drops some, before they are on the wire.
        assert!(lost > 0, "{}", rig.all());
        assert_eq!(rx + lost, rig.sent(&rig.a, "a0"), "{}", rig.all());
        assert!(tx <= rx + 10, "{}", rig.all());
    }
}

/// A program on a host that stops reading: its connection waits, nobody else does.
#[test]
fn a_host_that_stops_reading_holds_up_nobody() {
    const BYTES: &str = "8000000";
    let reads = "import os, signal, socket
s = socket.create_server(('', 7)); print('up', flush=True)
c, _ = s.accept(); n = 0; print('has', flush=True)
os.kill(os.getpid(), signal.SIGSTOP)
while data := c.recv(65536): n += len(data)
print(n)";
    let writes = format!(
        "import socket; c = socket.create_connection(('10.0.2.2', 7), 60); c.sendall(bytes({BYTES}))"
    );
    let Some(mut rig) = Rig::new("reader", &["ping", "python3"]) else { return };
    rig.start(XDP);
    rig.pings(1);
    let mut reader = Program::start(&rig.b, &["python3", "-c", reads]);
    assert_eq!(reader.line(), "up");
    let mut writer = Program::start(&rig.a, &["python3", "-c", &writes]);
    assert_eq!(reader.line(), "has");
    rig.pings(20);
    rig.still_answers_b();
    assert!(writer.goes_on(), "so much is buffered nowhere");
    reader.signal("CONT");
    assert_eq!(reader.line(), BYTES);
    assert!(writer.ended() && reader.ended());
    rig.signal("TERM");
    assert_eq!(rig.ended(), Some(0), "{}", rig.all());
}

/// What the interface carries counts, whatever the configuration says, from the first packet on.
#[test]
fn an_mtu_that_is_not_the_configurations_is_followed_from_the_start() {
    let Some(mut rig) = Rig::new("mtu", &["ping"]) else { return };
    sh(&rig.r, "ip link set eth1 mtu 1400");
    sh(&rig.a, "ip link set a0 mtu 1400");
    rig.start(XDP);
    rig.says("ether1: the mtu of eth1 is 1400, not 1500");
    rig.pings(1);
    let refused = sh(&rig.b, "ping -c 1 -w 30 -s 1400 -M do 10.0.1.2 || true");
    assert!(refused.contains("Frag needed") && refused.contains("1400"), "{refused}");
    sh(&rig.b, "ip route flush cache; ping -q -c 1 -w 30 -s 1372 -M do 10.0.1.2");
    // What may be cut is cut.
    sh(&rig.b, "ip route flush cache; ping -q -c 1 -w 30 -s 3000 -M dont 10.0.1.2");
    assert_eq!(rig.console(":put [/interface get ether1 actual-mtu]").trim(), "1400");
    sh(&rig.r, "ip link set eth1 mtu 1500");
    sh(&rig.a, "ip link set a0 mtu 1500");
    rig.says("ether1: the mtu of eth1 is 1500, it was 1400");
    sh(&rig.b, "ip route flush cache; ping -q -c 1 -w 30 -s 1472 -M do 10.0.1.2");
}

/// Jumbo frames are routed where the configuration says so; what a bridge has for a shorter interface
/// is dropped, and counted once.
#[test]
fn jumbo_frames_are_routed_and_what_is_too_long_is_counted() {
    for far in ["xdp", "packet"] {
        let Some(mut rig) = Rig::new(&format!("jumbo-{far}"), &["ping"]) else { return };
        sh(&rig.a, "ip link set a0 mtu 9000");
        sh(&rig.b, "ip link set b0 mtu 9000");
        sh(&rig.r, "ip link set eth1 mtu 9000; ip link set eth2 mtu 9000");
        rig.start(&["--port", "ether1=xdp:eth1", "--port", &format!("ether2={far}:eth2")]);
        rig.says("ether1: eth1 carries packets of 9000 bytes; 1500 are routed");
        rig.console("/interface ethernet set [find] mtu=9000");
        assert_eq!(rig.console(":put [/interface get ether1 actual-mtu]").trim(), "9000");
        sh(&rig.a, "ping -q -c 3 -i 0.05 -w 30 -M do -s 8972 10.0.2.2");
        // A bridge of both, and host b's cable is a short one.
        sh(&rig.r, "ip link set eth2 mtu 1500");
        rig.says("ether2: the mtu of eth2 is 1500");
        rig.console(
            "/interface bridge add name=lan protocol-mode=none
             /interface bridge port add bridge=lan interface=ether1
             /interface bridge port add bridge=lan interface=ether2",
        );
        sh(&rig.b, "ip address add 10.0.1.3/24 dev b0");
        sh(&rig.a, "ping -q -c 1 -w 30 -M do -s 1472 10.0.1.3");
        sh(&rig.a, "ping -q -c 2 -i 0.05 -W 1 -M do -s 4000 10.0.1.3 || true");
        let told = rig.console(":put [/tool discard get too-long packets]");
        assert_eq!(told.trim(), "2", "{}", rig.all());
        rig.signal("TERM");
        assert_eq!(rig.ended(), Some(0), "{}", rig.all());
        assert_eq!((rig.discarded("too-long"), rig.counter("ether2", "tx-drop")), (2, 0));
    }
}

/// Frames, or tables, that there is no memory for: a sentence, and nothing is touched.
#[test]
fn too_little_memory_is_said() {
    let Some(rig) = Rig::new("memory", &[]) else { return };
    let config = rig.config();
    for (limit, ports, expected) in [
        ("600000", ["xdp:eth1,ring=65536", "packet:eth2,offload=yes"], "MiB of memory for frames"),
        ("450000", ["xdp:eth1", "packet:eth2"], "its address space may be 439 MiB (`ulimit -v`)"),
    ] {
        let limited = ["sh", "-c", &format!("ulimit -v {limit}; exec \"$@\""), "sh"];
        for more in [&[][..], &["--check"]] {
            let port = ["--port", ports[0], "--port", ports[1]];
            let words = [&["router", config.as_str()][..], &port, more].concat();
            rig.wrapped_says(&limited, &words, 3, expected);
            rig.nothing_is_attached();
        }
    }
}

/// A tap of its own, and an interface in a namespace with a name, which goes and comes back.
#[test]
fn taps_and_named_namespaces_are_ports() {
    let Some(mut rig) = Rig::new("named", &["ping"]) else { return };
    let named = Named::new(&format!("ws-router-{}", std::process::id()));
    named.takes(&rig.r, "eth1");
    let at = format!("ether1=xdp:eth1@{}", named.name);
    let ports =
        ["--port", &at, "--port", "ether2=xdp:eth2", "--port", "ether3=tap:lan,offload=yes"];
    rig.start(&ports);
    assert!(rig.out().contains("ether3: lan (tap, made)"), "{}", rig.out());
    rig.pings(2);
    // Which port it is that keeps packets off FastPath.
    for (interface, can) in [("ether1", "true"), ("ether3", "false")] {
        let line = format!(":put [/interface get {interface} fast-path]");
        assert_eq!(rig.console(&line).trim(), can, "{interface}");
    }
    // The router's own host is one of its neighbours then.
    rig.console("/ip address add address=10.0.3.1/24 interface=ether3");
    sh(
        &rig.r,
        "ip link set lan up
         ip address add 10.0.3.2/24 dev lan
         ip route add 10.0.2.0/24 via 10.0.3.1
         ping -q -c 3 -i 0.05 -w 30 10.0.2.2",
    );
    let name = named.name.clone();
    drop(named);
    rig.says(&format!("ether1: the network namespace {name} is gone"));
    rig.still_answers_b();
    sh(&rig.r, "ping -q -c 3 -i 0.05 -w 30 10.0.2.2");
    let named = Named::new(&name);
    // With the namespace went its end of the cable, and so the other.
    rig.connect_a();
    named.takes(&rig.r, "eth1");
    rig.says("ether1: open again: eth1");
    rig.pings(2);
    rig.signal("TERM");
    assert_eq!(rig.ended(), Some(0), "{}", rig.all());
    assert!(rig.counter("ether3", "rx-packet") >= 6, "{}", rig.all());
    let links = sh(&rig.r, "ip link");
    assert!(!links.contains("lan:"), "{links}");
}

/// Told to end while it starts, it does not say that it is ready.
#[test]
fn a_start_is_ended_as_well() {
    let Some(rig) = Rig::new("slow", &[]) else { return };
    let config = rig.file("slow.rsc", ":delay 1h");
    let by = "\"$@\" & router=$!
        until [ -e \"$XDG_RUNTIME_DIR/wirespeed/slow/control\" ]; do sleep 0.05; done
        kill $router; wait $router";
    let words = [&["router", config.as_str()][..], XDP].concat();
    let (code, text) = rig.wrapped(&["sh", "-c", by, "sh"], &words);
    assert_eq!((code, text.as_str()), (0, "wirespeed: told to end before it was ready\n"));
    rig.nothing_is_attached();
}

/// Whoever started it is told when it forwards, and when it ends.
#[test]
fn whoever_waits_is_told() {
    use std::os::unix::net::UnixDatagram;
    let Some(mut rig) = Rig::new("told", &[]) else { return };
    let (file, socket) = (rig.file("ready", ""), rig.home().join("notify"));
    let notified = UnixDatagram::bind(&socket).unwrap();
    notified.set_read_timeout(Some(PATIENCE)).unwrap();
    let hear = || {
        let mut words = [0; 64];
        let n = notified.recv(&mut words).unwrap();
        String::from_utf8_lossy(&words[..n]).into_owned()
    };
    let by = ["sh", "-c", "exec \"$@\" 3>\"$READY\"", "sh"];
    let with = [("READY", file.as_str()), ("NOTIFY_SOCKET", socket.to_str().unwrap())];
    rig.start_by(&by, &[XDP, &["--ready-fd", "3"]].concat(), &with);
    assert_eq!(hear(), "READY=1");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "ready\n");
    rig.signal("TERM");
    assert_eq!(hear(), "STOPPING=1");
    assert_eq!(rig.ended(), Some(0), "{}", rig.all());
}

/// `--check` tells what there is, by exit code too, and leaves everything as it was.
#[test]
fn a_check_tells_and_touches_nothing() {
    let Some(mut rig) = Rig::new("check", &["ping"]) else { return };
    let is = |rig: &Rig| rig.r.run(|| Interface::of("eth1").unwrap()).unwrap();
    let before = is(&rig);
    let config = rig.config();
    let words = |more: &[&str]| [&["router", &config], XDP, &["--check"], more].concat().join(" ");
    let check = |rig: &Rig, more: &[&str]| {
        let words = words(more);
        rig.wirespeed(&words.split(' ').collect::<Vec<_>>())
    };
    let (code, text) = check(&rig, &[]);
    assert_eq!(code, 0, "{text}");
    for words in ["has no error", "CAP_NET_ADMIN", "ether1", "native XDP", "queues", "steal"] {
        assert!(text.contains(words), "{words} is not in\n{text}");
    }
    let (code, text) = check(&rig, &["--json", "--port", "packet:no-such-if"]);
    assert!(
        code == 3 && text.contains("\"stops\": true") && text.contains("No such device"),
        "{text}"
    );
    rig.nothing_is_attached();
    assert_eq!(is(&rig), before);
    // While a router has the interfaces, they are not to be had; who else had them is told.
    sh(&rig.r, "ip link add link eth2 name mac0 type macvlan");
    rig.start(XDP);
    rig.says("ether2: the kernel's mac0 is made on eth2: it gets no frames any more");
    let (code, text) = check(&rig, &[]);
    assert!(code == 3 && text.contains("has it") && text.contains("attached already"), "{text}");
    assert!(text.contains("STOP    edge is up already, process "), "{text}");
    let (code, text) = check(&rig, &["--name", "other"]);
    assert!(code == 3 && text.contains("other is free"), "{text}");
    rig.pings(2);
}
