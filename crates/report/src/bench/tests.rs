//! Tables as they are printed: cells, marks, notes and the tax.

use super::*;
use measure::result::{Met, kind};
use measure::suite_result::TrialRecord;
use measure::{Conditions, Counts, Environment, Family, Measured, Mode, Trial};
use std::time::Duration;
use wire::{BitRate, FrameLen, PacketRate};

fn environment() -> Environment {
    Environment {
        cpu: "TILE-Gx72 @ 1.2GHz".into(),
        kernel: "RouterOS v6.31rc2".into(),
        build: "release".into(),
        commit: "0123456789ab".into(),
        timestamp: "2016-05-19T09:00:00Z".into(),
        ..Environment::default()
    }
}

/// A row that forwarded so many thousands a second for ten seconds, through 80 Gbit/s.
fn measured(mode: Mode, configuration: &str, size: u32, kpps: f64) -> Measured {
    let received = (kpps * 1e4).round() as u64;
    let counts = Counts { intended: received, sent: received, received, ..Counts::default() };
    Measured {
        device: "CCR1072".into(),
        mode,
        family: Family::Ipv4,
        configuration: configuration.into(),
        frame: FrameLen::with_fcs(size),
        cores: 72,
        trial: Trial::judge(Duration::from_secs(10), counts, &Conditions::default()),
        router_time: None,
        fast_path_share: None,
        wire: Some(BitRate::gbps(80.0)),
        met: None,
        tester: None,
        latency: measure::receive::latency([]),
        trials: vec![],
        medium: Default::default(),
        environment: environment(),
    }
}

fn results(rows: impl IntoIterator<Item = Measured>) -> Results {
    let rows = rows.into_iter().map(Measured::row).collect();
    Results::of(environment(), rows)
}

/// The table of source 003 (and routeros/J-seed-numbers.md J.5), of which every number comes out
/// as it was printed, and the same cells are at wire speed. (But for 1518 byte: 6,502.0, which was
/// printed there, is 0.05 kpps more than eight wires carry.)
#[test]
fn the_table_of_2016() {
    let printed = [
        (Mode::Routing, "25-filter-rules", [6104.0, 6125.5, 5247.6]),
        (Mode::Bridging, "none", [119_047.6, 18_790.0, 6501.9]),
        (Mode::Bridging, "25-filter-rules", [10_432.3, 9099.2, 6501.9]),
        (Mode::Routing, "none", [94_668.4, 18_790.0, 6501.9]),
        (Mode::Routing, "25-simple-queues", [13_683.5, 13_500.0, 6501.9]),
    ];
    let rows = printed.iter().flat_map(|&(mode, configuration, kpps)| {
        [64, 512, 1518].into_iter().zip(kpps).map(move |(s, k)| measured(mode, configuration, s, k))
    });
    let expected = "\
CCR1072
TILE-Gx72 @ 1.2GHz, RouterOS v6.31rc2, release build of 0123456789ab, 2016-05-19T09:00:00Z

CCR1072: 72 cores, real time; forwarding rate at the highest load offered
                                           64 byte                    512 byte                  1518 byte
Mode      Configuration                kpps   Mbps(L2)    tax      kpps   Mbps(L2)   tax     kpps   Mbps(L2)   tax
Bridging  none (fast path)        119,047.6w  60,952.4      -  18,790.0w  76,963.8     -  6,501.9w  78,959.1     -
Bridging  25 bridge filter rules   10,432.3    5,341.3  11.41   9,099.2   37,270.3  2.07  6,501.9w  78,959.1  1.00
Routing   none (fast path)         94,668.4   48,470.2      -  18,790.0w  76,963.8     -  6,501.9w  78,959.1     -
Routing   25 simple queues         13,683.5    7,006.0   6.92  13,500.0   55,296.0  1.39  6,501.9w  78,959.1  1.00
Routing   25 ip filter rules        6,104.0    3,125.2  15.51   6,125.5   25,090.0  3.07  5,247.6   63,726.9  1.24

Mbps(L2): 10^6 bit/s of frames with FCS
tax: the rate of plain forwarding divided by this one
w  wire speed reached
";
    let text = document(&results(rows)).text();
    assert_eq!(text, expected, "\n{text}");
}

/// All marks, the second table, an unknown configuration, a cell that was not measured, two devices.
#[test]
fn everything_else() {
    let routing = |configuration, size, kpps| Measured {
        device: "router".into(),
        cores: 1,
        router_time: Some(Duration::from_secs(10)),
        wire: None,
        ..measured(Mode::Routing, configuration, size, kpps)
    };
    let moved = Conditions { placement_ns: Some((90, 500)), ..Conditions::default() };
    let counts = Counts { intended: 9, sent: 8, received: 8, ..Counts::default() };
    let invalid = |c: &Conditions| Trial::judge(Duration::from_secs(1), counts, c);
    let late = |load| {
        let trial = invalid(&Conditions::default());
        TrialRecord::plain(kind::SEARCH, load, trial.duration, &trial, None)
    };
    let rows = [
        routing("none", 64, 50_000.0),
        Measured { tester: Some(PacketRate(51e6)), ..routing("none", 128, 50_000.0) },
        Measured {
            met: Some(Met { criterion: String::new(), pps: Some(9.5e6) }),
            ..routing("conntrack", 64, 10_000.0)
        },
        Measured { trial: invalid(&Conditions::default()), ..routing("bgp-table", 64, 0.0) },
        Measured {
            trial: Trial::judge(Duration::from_secs(1), Counts { sent: 9, ..counts }, &moved),
            ..routing("fasttrack", 64, 0.0)
        },
        routing("my-own", 64, 25_000.0),
        Measured {
            met: Some(Met { criterion: String::new(), pps: Some(8e6) }),
            trials: vec![late(9e6), late(9e6)],
            ..routing("25-simple-queues", 64, 10_000.0)
        },
        Measured {
            device: "linux".into(),
            wire: None,
            ..measured(Mode::Bridging, "none", 64, 1.0)
        },
    ];
    let expected = "\
router, linux
TILE-Gx72 @ 1.2GHz, RouterOS v6.31rc2, release build of 0123456789ab, 2016-05-19T09:00:00Z
2 trials; 2 of them were invalid";
    let text = document(&results(rows)).text();
    assert!(text.starts_with(expected), "\n{text}");
    for line in [
        "router: 1 core, fed from memory: only the device's own time counts; forwarding rate at the highest",
        "Routing  none (fast path)               50,000.0   25,600.0     -  50,000.0t  51,200.0    -",
        "Routing  connection tracking            10,000.0    5,120.0  5.00         -          -    -",
        "Routing  fasttrack, 25 ip filter rules         -p         -     -",
        "Routing  full BGP table (fast path)            -x         -     -",
        "Routing  my-own                         25,000.0   12,800.0  2.00",
        "Routing  none (fast path)                    20.0             -        20.0             -",
        "Routing  connection tracking                100.0       9,500.0           -             -",
        "Routing  25 simple queues                   100.0       8,000.0t          -             -",
        "kpps(0 loss): the highest load of which nothing was lost; t: a lower bound: the tester could not",
        "t  the tester was the bottleneck",
        "p  the cores moved",
        "x  invalid",
        "Routing, full BGP table (fast path), 64 byte: the tester sent 8 frames instead of 9",
        "Routing, fasttrack, 25 ip filter rules, 64 byte: the cores moved during the trial: 90 ns apart, then 500 ns",
        "linux: 72 cores, real time; forwarding rate at the highest load offered",
        "Bridging  none (fast path)   1.0       0.5",
    ] {
        assert!(text.lines().any(|found| found.starts_with(line)), "{line:?} in\n{text}");
    }
    assert!(!text.contains("w  wire"), "no such row\n{text}");
    assert!(text.lines().all(|line| line.trim_end() == line), "blanks at a line's end\n{text}");
}

/// A line of IPv6 beside the same of IPv4: its name, what of the other's rate it has, its shortest frame.
#[test]
fn families() {
    let six = |configuration, size, kpps| Measured {
        family: Family::Ipv6,
        ..measured(Mode::Routing, configuration, size, kpps)
    };
    let rows = || {
        [
            measured(Mode::Bridging, "none", 64, 2000.0),
            measured(Mode::Routing, "none", 64, 1000.0),
            measured(Mode::Routing, "none", 84, 1000.0),
            six("25-filter-rules", 84, 250.0),
            six("none", 84, 500.0),
        ]
    };
    let mut results = results(rows());
    for row in results.rows.iter_mut().filter(|row| row.family == Family::Ipv6) {
        row.remark = Some("in place of 64 byte".into());
    }
    let text = document(&results).text();
    let expected = "\
                                               64 byte                          84 byte
Mode          Configuration            kpps  Mbps(L2)  tax  by IPv4     kpps  Mbps(L2)   tax  by IPv4
Bridging      none (fast path)      2,000.0   1,024.0    -        -        -         -     -        -
Routing       none (fast path)      1,000.0     512.0    -        -  1,000.0     672.0     -        -
Routing IPv6  none (fast path)            -         -    -        -    500.0     336.0     -     0.50
Routing IPv6  25 ipv6 filter rules        -         -    -        -    250.0     168.0  2.00        -

Mbps(L2): 10^6 bit/s of frames with FCS
tax: the rate of plain forwarding divided by this one
by IPv4: the rate of IPv6 divided by that of IPv4, all else the same
Routing IPv6, 84 byte: in place of 64 byte
";
    assert!(text.contains(expected), "{text}");
    assert!(
        document(&results).page().contains("Routing IPv6: forwarding rate at the highest load")
    );
    let csv = crate::export::bench(&results).csv();
    let lines = csv.lines().map(|line| line.split(',').take(5).collect::<Vec<_>>().join(","));
    let lines: Vec<String> = lines.collect();
    assert_eq!(lines[0], "device,mode,family,configuration,frame_size_l2_with_fcs");
    assert_eq!(lines[1], "CCR1072,bridging,,none,64");
    assert_eq!(lines[2], "CCR1072,routing,ipv4,none,64");
    assert_eq!(lines[5], "CCR1072,routing,ipv6,none,84");
}

/// On wires a device is never fed from memory, however many processors there were.
#[test]
fn how_it_was_measured() {
    for (wire, cores, expected) in [
        ("memory", 1, "1 core, fed from memory: only the device's own time counts"),
        ("memory", 2, "2 cores, real time"),
        ("veth", 1, "tester and device on whichever processors, real time, through veth"),
        ("veth", 2, "2 cores, real time, through veth"),
    ] {
        let medium = measure::result::Medium { wire: wire.into(), ..Default::default() };
        let row = Measured { cores, medium, ..measured(Mode::Routing, "none", 64, 1.0) }.row();
        assert_eq!(how(&row), expected);
        let page = document(&Results::of(environment(), vec![row])).page();
        assert!(page.contains(&format!("<h2>CCR1072: {expected}; forwarding")), "{page}");
    }
}

#[test]
fn nothing() {
    assert_eq!(
        document(&Results::of(Default::default(), vec![])).text(),
        "no results\n, ,  build of , \n"
    );
}
