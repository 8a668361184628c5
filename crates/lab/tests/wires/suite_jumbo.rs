//! Suites of frames above an MTU of 1500: in virtual time, in memory by the clock, between veths and
//! behind interfaces. None of them is cut: each comes back as long as it was sent.
//!
//! How fast a machine is nobody knows: by the clock, counts and words are asserted.

use crate::left_out;
use lab::bench::veth::{DEVICE_ENDS, Rig};
use lab::kernel::ask;
use lab::placement::{self, Pair};
use lab::suite::plan::{self, Allowed, Modifier, Plan};
use lab::suite::{Device, External, Options, fit, run, scaled};
use measure::result::Limit;
use measure::suite_result::TrialRecord;
use measure::{Environment, SuiteResults};
use port::linux::Namespace;
use port::pcap;
use port::record::Record;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use wire::{FrameLen, craft};

const ROUTER: &str = "/ip address add address=198.18.1.1/24 interface=ether1
/ip address add address=198.19.1.1/24 interface=ether2
/ip route add dst-address=198.18.0.0/16 gateway=198.18.1.10
/ip route add dst-address=198.19.0.0/16 gateway=198.19.1.10";

/// Its interfaces have other names, and MTUs of their owner's.
const OTHER: &str = "/ip address add address=198.18.1.1/24 interface=ether1
/ip address add address=198.19.1.1/24 interface=ether2
/interface ethernet
set ether1 name=wan mtu=1400
set ether2 name=lan mtu=9842";

const BRIDGE: &str = "/interface bridge add name=bridge1 protocol-mode=none
/interface bridge port
add bridge=bridge1 interface=ether1
add bridge=bridge1 interface=ether2";

/// Wires of 10 Gbit/s, a device that is quicker than they are with any frame above 500 bytes.
fn read(traffic: &str, more: &str) -> Plan {
    let text = format!(
        "name = \"jumbo\"\n[device]\n[medium]\nlink = \"1G\"\n[traffic]\n{traffic}\n{more}\n\
         [quick]\ndivide-durations-by = 3000.0\nshortest = \"20ms\"\nrepetitions-at-most = 1\n\
         precision = \"50%\"\n\
         [virtual]\nlink = \"10G\"\nframe = \"100ns\"\nbyte-ps = 1\npause-every = \"10s\"\n\
         pause = \"1ns\"\n\
         [virtual.scaling]\ndivide-durations-by = 6000.0\nshortest = \"10ms\"\n\
         repetitions-at-most = 2\nprecision = \"1%\"\n"
    );
    let open = |_: &str| Ok(capture());
    let allowed = Allowed { external: true, any_address: false };
    plan::read_with(&text, allowed, None, &open).unwrap_or_else(|bad| panic!("{bad}\n{text}"))
}

/// Frames of two hosts, the longest there are among them.
fn capture() -> Vec<u8> {
    let hosts = [[198, 18, 1, 9], [198, 19, 1, 9]].map(u32::from_be_bytes);
    let mut file = pcap::Writer::new(vec![]).unwrap();
    for (n, l2) in [(0, 100), (1, 9018), (2, 9860), (3, 1518), (4, 9860)] {
        let (src, dst) = (hosts[n % 2], hosts[1 - n % 2]);
        // Ethernet, IP, UDP and FCS have 46 bytes.
        let payload = vec![n as u8; l2 - 46];
        let udp = craft::udp(src, 4000, dst, 53);
        let frame = craft::Frame { ident: n as u16, payload: &payload, ..udp }.build();
        file.write(&Record::ethernet(n as u64 * 1_000_000, &frame)).unwrap();
    }
    file.finish().unwrap()
}

fn procedures(kinds: &[&str]) -> String {
    kinds.iter().map(|kind| format!("[[procedure]]\nkind = \"{kind}\"\n")).collect()
}

fn measure(plan: &Plan, device: Device, script: &str, pair: Option<Pair>) -> SuiteResults {
    let plan = fit(plan, &device, None).unwrap();
    let options = Options {
        device,
        text: String::new(),
        script: script.to_string(),
        quick: true,
        pair,
        interrupt: Arc::new(AtomicBool::new(false)),
        environment: Environment::default(),
    };
    let (plan, scaling) = scaled(&plan, &options);
    let results = run(&plan, scaling, &options, |_| {});
    assert_eq!((results.complete, &results.incomplete_because), (true, &None));
    assert_eq!(results.faults(), [""; 0], "{results:?}");
    results
}

fn trials(results: &SuiteResults) -> impl Iterator<Item = &TrialRecord> {
    results.cells.iter().flat_map(|cell| &cell.trials)
}

const SIZES: &str = "frame-sizes = [1518, 1519, 9018, 9860, \"64:1,9018:7\", \"IMIX - gii\"]";

/// In virtual time: the wire carries what the arithmetic says, to the frame, and nothing is lost.
#[test]
fn the_wire_carries_what_it_carries_of_them() {
    let _turn = crate::turn();
    let raised = "/interface ethernet set [find mtu<9842] mtu=9842";
    let kinds = ["throughput", "latency", "frame-loss", "back-to-back", "recovery"];
    for (flows, script, more) in [
        ("pair", ROUTER, &kinds[..]),
        ("pair", OTHER, &kinds[..1]),
        ("networks", ROUTER, &["throughput", "delay-variation"]),
        ("hosts", BRIDGE, &["throughput", "frame-loss", "forwarding"]),
    ] {
        let plan = read(&format!("{SIZES}\nflows = \"{flows}\""), &procedures(more));
        let results = measure(&plan, Device::BuiltIn, script, None);
        assert_eq!(results.cells.len(), 6 * more.len());
        let typed = &results.configurations[0].script;
        assert!(typed.contains(raised), "{typed}");
        for cell in &results.cells {
            let wire = results.wire_rate(cell.size()).0;
            if cell.mix.is_none() {
                let expected = 1e10 / 8.0 / f64::from(cell.frame_size + 20);
                assert!((wire / expected - 1.0).abs() < 1e-12, "{wire} of {expected}");
            }
            match cell.procedure.as_str() {
                "throughput" => {
                    let rate = cell.figures[0].value.unwrap();
                    assert!((rate / wire - 1.0).abs() < 1e-6, "{rate} of {wire}: {cell:?}");
                    assert_eq!(cell.limited_by, Some(Limit::Wire), "{cell:?}");
                }
                "frame-loss" => assert_eq!(cell.figures[0].value, Some(0.0), "{cell:?}"),
                _ => {}
            }
        }
        for trial in trials(&results) {
            let TrialRecord { sent, received, corrupt, duplicate, .. } = *trial;
            assert_eq!((received, corrupt, duplicate), (sent, 0, 0), "{trial:?}");
        }
    }
}

/// Streams and replays of any length, each known again.
#[test]
fn streams_and_replays_come_back_whole() {
    let _turn = crate::turn();
    let stream = |stack, sizes| {
        format!(
            "[[stream]]\nstack = \"{stack}\"\nsizes = {sizes}\nrate = \"1kpps\"\npackets = 50\n"
        )
    };
    let streams = stream("eth/ipv4/udp", "\"1500-9860\"") + &stream("eth/ipv4/udp", "9018");
    let tagged = stream("eth/svlan/vlan/ipv4/udp", "9860");
    let replay = "[[replay]]\nfile = \"long.pcap\"\nspeed = 1.0\n";
    for (flows, script, more, expected) in [
        ("pair", ROUTER, streams.clone(), 100),
        ("pair", ROUTER, replay.to_string(), 5),
        ("hosts", BRIDGE, streams + &tagged, 150),
        ("hosts", BRIDGE, replay.to_string(), 5),
    ] {
        let more = procedures(&["streams"]) + &more;
        let plan = read(&format!("flows = \"{flows}\""), &more);
        assert_eq!(plan.longest(), FrameLen::with_fcs(9860));
        let results = measure(&plan, Device::BuiltIn, script, None);
        let trial = trials(&results).last().unwrap();
        assert_eq!(
            (trial.sent, trial.received, trial.corrupt),
            (expected, expected, 0),
            "{trial:?}"
        );
        for stream in &trial.streams {
            let wrong = stream.lost + stream.altered() + stream.wrong_size + stream.bad_checksum;
            assert_eq!((stream.received, wrong), (stream.sent, 0), "{stream:?}");
        }
    }
}

/// TCP with an MSS of 8960: through the router, and back, byte for byte.
#[test]
fn connections_of_long_segments() {
    let _turn = crate::turn();
    let talk = "[[procedure]]\nkind = \"tcp-connections\"\nrequest = 64\nresponse = 20000\n\
                [[procedure]]\nkind = \"tcp-transactions\"\nconnections = 5\ntransactions = 5\n\
                response = 200000\nwindow = 1000000\n[[procedure]]\nkind = \"tcp-path\"\n\
                duration = \"1s\"\n";
    let plan = read("frame-sizes = [9018]\nflows = \"pair\"", talk);
    let results = measure(&plan, Device::BuiltIn, ROUTER, None);
    let sums = |kind: &str| {
        let cell = results.cells.iter().find(|cell| cell.procedure == kind).unwrap();
        let passed = cell.trials.iter().filter(|trial| trial.outcome == "pass");
        let tcp: Vec<_> = passed.filter_map(|trial| trial.tcp).collect();
        assert!(!tcp.is_empty(), "{cell:?}");
        tcp
    };
    for (kind, each) in [("tcp-connections", 20_064), ("tcp-transactions", 5 * 200_064)] {
        for tcp in sums(kind) {
            assert_eq!((tcp.closed, tcp.bytes_received), (tcp.due, each * tcp.due), "{tcp:?}");
        }
    }
    let path = results.cells.iter().find(|cell| cell.procedure == "tcp-path").unwrap();
    assert_eq!(path.figures[0].value, Some(9000.0), "{path:?}");
}

/// Where no frame is longer than usual, nothing of it is typed.
#[test]
fn usual_frames_change_nothing() {
    let _turn = crate::turn();
    let plan = read("frame-sizes = [64, 1518]\nflows = \"pair\"", &procedures(&["throughput"]));
    let results = measure(&plan, Device::BuiltIn, ROUTER, None);
    assert_eq!(results.configurations[0].script.trim_end(), ROUTER);
}

const FEW: &str = "frame-sizes = [1518, 9018, 9860]\nflows = \"pair\"";
const CARRIED: &str = "[[procedure]]\nkind = \"throughput\"\nhighest = \"5%\"\n";

/// Frames of every length came back, whatever was lost of them on a busy machine; none of them was cut,
/// which would have made it a damaged one.
fn every_length_came(results: &SuiteResults) {
    assert_eq!(results.cells.len(), 3);
    for cell in &results.cells {
        let received: u64 = cell.trials.iter().map(|trial| trial.received).sum();
        assert!(received > 0, "{cell:?}");
        assert!(cell.trials.iter().all(|trial| trial.corrupt == 0), "{cell:?}");
    }
    assert_eq!(results.self_tests.len(), 3);
    assert!(results.self_tests.iter().all(|alone| alone.rate > 0.0), "{results:?}");
}

#[test]
fn by_the_clock_in_memory() {
    let _turn = crate::turn();
    let Some(pair) = placement::pair() else { return left_out::left_out("one processor") };
    let results = measure(&read(FEW, CARRIED), Device::BuiltIn, ROUTER, Some(pair));
    every_length_came(&results);
}

/// Two processors, the right to make namespaces, and what the kernel is told by there; none, said.
fn allowed(programs: &[&str]) -> Option<Pair> {
    if left_out::lacks(&[&["ip", "sysctl"], programs].concat()) {
        return None;
    }
    if let Err(unavailable) = Namespace::new() {
        left_out::left_out(unavailable);
        return None;
    }
    let pair = placement::pair();
    if pair.is_none() {
        left_out::left_out("one processor");
    }
    pair
}

#[test]
fn the_kernels_interfaces_are_given_the_mtu() {
    let _turn = crate::turn();
    let Some(pair) = allowed(&[]) else { return };
    for (flows, line) in [("pair", "ip address add"), ("hosts", "master br0")] {
        let plan = read(&FEW.replace("pair", flows), CARRIED);
        let results = measure(&plan, Device::Linux, "", Some(pair));
        every_length_came(&results);
        let script = &results.configurations[0].script;
        for expected in ["mtu 9842 type veth peer name t0", "mtu 9842 type veth peer name t1", line]
        {
            assert!(script.contains(expected), "{expected} in {script}");
        }
    }
}

/// By AF_XDP in several buffers, and by AF_PACKET; interfaces that do not carry them are refused.
#[test]
fn interfaces_carry_them_or_are_refused() {
    let _turn = crate::turn();
    let Some(pair) = allowed(&[]) else { return };
    let plan = read(FEW, CARRIED);
    for (longest, refused) in [(9860, None), (9018, Some("9000, which carries frames of 9018"))] {
        let rig = Rig::for_frames(FrameLen::with_fcs(longest), 2, Some(pair)).unwrap();
        ask(&rig.device, "sysctl -qw net.ipv4.ip_forward=1").unwrap();
        for (end, address) in DEVICE_ENDS.into_iter().zip(["198.18.1.1/24", "198.19.1.1/24"]) {
            ask(&rig.device, &format!("ip address add {address} dev {end}")).unwrap();
        }
        let port = |((namespace, end), name): ((&Namespace, &str), &str)| {
            format!("{name}:{end}@{}", namespace.path().display()).parse().unwrap()
        };
        let ports = rig.outer().zip(["a=xdp", "b=packet"]).map(port).collect();
        let external = External { ports, modifier: Modifier::None, reset: None };
        let device = Device::External(Box::new(external));
        match refused {
            None => every_length_came(&measure(&plan, device, "", Some(pair))),
            Some(mtu) => {
                let said = fit(&plan, &device, None).unwrap_err().to_string();
                let line = "ip link set t0 mtu 9842`, and give the device's interfaces the same";
                for part in ["cannot send frames of 9860 bytes by t0", "`nsenter --net=", mtu, line]
                {
                    assert!(said.contains(part), "{part}: {said}");
                }
            }
        }
    }
}
