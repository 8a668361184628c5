//! The iperf3 method with real processes, a second each.

mod rig;

use lab::iperf3::{Iperf3Error, Options, PairError, plan, run};
use lab::live::Interrupt;
use measure::Environment;
use measure::iperf3::{Direction, Results};
use rig::can_have_hosts;

fn options(text: &str) -> Options {
    Options {
        text: text.to_string(),
        script: String::new(),
        quick: false,
        interrupt: Interrupt::default(),
        environment: Environment::default(),
    }
}

/// Runs a plan; `None` where iperf3 is not installed, except when `CI` is set.
fn results(text: &str) -> Option<Results> {
    let plan = plan::read(text).unwrap_or_else(|why| panic!("{why}\n{text}"));
    match run(&plan, &options(text), |_| {}) {
        Err(Iperf3Error::Pair(lacking @ PairError::NotInstalled(_)))
            if std::env::var_os("CI").is_none() =>
        {
            eprintln!("skipped: {lacking}");
            None
        }
        results => Some(results.unwrap_or_else(|error| panic!("{error}"))),
    }
}

/// Node to node over a wire with a rate, both ways: what the processes say is taken apart by pair and
/// way. How near to the wire's rate they come depends on the machine's pauses: no test asks.
#[test]
fn both_ways_have_pairs_of_their_own() {
    if !can_have_hosts() {
        return;
    }
    let text = "name = \"t\"\ndevices = [\"direct\"]\npackets = [1500]\npairs = 2\nstreams = 2\n\
                duration = \"1s\"\nwarm-up = \"1s\"\nlink = \"20M\"\ndirections = [\"both-ways\"]\n";
    let Some(results) = results(text) else { return };
    assert_eq!(results.incomplete_because, None);
    assert_eq!(results.rows.len(), 1);
    for row in &results.rows {
        assert!(row.l3_mbps > 0.0 && row.most_l3_mbps().is_some(), "{}", row.l3_mbps);
        assert_eq!(row.setting.direction, Direction::BothWays);
        let reverse = row.pairs_run.iter().filter(|pair| pair.reverse).count();
        assert_eq!((row.pairs_run.len(), reverse), (4, 2));
        assert_eq!(row.pairs_run[0].figures.mss, Some(row.mss));
    }
    let commands = results.setups[0].commands.join("\n");
    assert!(commands.contains("rate 20000000bit") && commands.contains("gso_max_segs 1"));
}

/// Through the kernel and through our router: what was sent has come, or is counted as lost, in packets
/// as long as they were to be.
#[test]
fn routers_carry_udp_of_the_length_asked_for() {
    if !can_have_hosts() {
        return;
    }
    let text = "name = \"t\"\ndevices = [\"linux\", \"wirespeed\"]\nprotocols = [\"udp\"]\n\
                packets = [128]\npairs = 1\nstreams = 1\nduration = \"1s\"\nwarm-up = \"1s\"\n\
                udp-rate = \"1M\"\n";
    let Some(results) = results(text) else { return };
    assert_eq!(results.incomplete_because, None);
    let devices: Vec<_> = results.rows.iter().map(|row| row.setting.device.as_str()).collect();
    assert_eq!(devices, ["linux kernel", "wirespeed router"]);
    for row in &results.rows {
        assert_eq!(row.faults(), [], "{row:?}");
        let sent = row.pairs_run[0].figures.packets_sent.unwrap();
        let (lost, arrived) = (row.lost.unwrap() as u64, row.arrived.unwrap().frames);
        assert!(sent > 0 && lost < sent && arrived > 0, "{row:?}");
    }
}

/// By turns through the kernel and through our router: each packet is answered, or lost.
#[test]
fn packets_are_timed_by_turns() {
    if !can_have_hosts() {
        return;
    }
    let text = "name = \"t\"\ndevices = [\"linux\", \"wirespeed\", \"linux\", \"wirespeed\"]\n\
                packets = []\nlatency = [\"ping\", \"irtt\"]\nduration = \"1s\"\n";
    let Some(results) = results(text) else { return };
    assert_eq!((&results.incomplete_because, results.rows.len()), (&None, 0));
    let asked: Vec<_> =
        results.latencies.iter().map(|l| (l.device.as_str(), l.tool.to_string())).collect();
    let turn = ["linux kernel", "wirespeed router"]
        .map(|device| ["ping", "irtt"].map(|tool| (device, tool.to_string())));
    assert_eq!(asked, [turn.concat(), turn.concat()].concat());
    for of in &results.latencies {
        assert!(of.received > 0 && of.received <= of.sent, "{of:?}");
        assert!(of.min_ns <= of.median_ns && of.median_ns <= of.p99_ns, "{of:?}");
        assert!(of.p99_ns <= of.max_ns && of.min_ns <= of.mean_ns, "{of:?}");
    }
}

/// RFC 6349 between two kernels, through the kernel and through our router: the path is found, and each
/// transfer is reckoned by it.
#[test]
fn what_tcp_makes_of_a_path() {
    if !can_have_hosts() {
        return;
    }
    let text = "name = \"t\"\ndevices = [\"linux\", \"wirespeed\"]\npackets = []\nstreams = 2\n\
                windows = [4096, 65536]\nlink = \"20M\"\nduration = \"1s\"\n";
    let Some(results) = results(text) else { return };
    assert_eq!((&results.incomplete_because, results.rows.len()), (&None, 0));
    let devices: Vec<_> = results.paths.iter().map(|path| path.device.as_str()).collect();
    assert_eq!(devices, ["linux kernel", "wirespeed router"]);
    for path in &results.paths {
        assert_eq!((path.mtu, path.mtu_is_limit), (1500, false), "{path:?}");
        assert!(path.rtt_ns > 0 && path.packets_per_second > 0.0, "{path:?}");
        let of: Vec<_> = path.transfers.iter().map(|t| (t.window, t.connections)).collect();
        assert_eq!(of, [(4096, 2), (65536, 2)], "{path:?}");
        for transfer in &path.transfers {
            assert!(transfer.bytes > 0 && transfer.rtt_us.is_some(), "{transfer:?}");
            assert!(transfer.ratio > 0.0 && transfer.ratio.is_finite(), "{transfer:?}");
            assert!((0.0..=100.0).contains(&transfer.efficiency), "{transfer:?}");
        }
    }
}

/// What hosts leave to others passes the router's own taps whole.
#[test]
fn super_frames_pass_taps() {
    if !can_have_hosts() {
        return;
    }
    let text = "name = \"t\"\ndevices = [\"wirespeed\"]\npackets = [1500]\npairs = 1\nstreams = 1\n\
                duration = \"1s\"\nwarm-up = \"1s\"\noffloads = true\nbackend = \"tap\"\nplacement = \"free\"\n\
                workers = 1\n";
    let Some(results) = results(text) else { return };
    assert_eq!((results.incomplete_because, results.rows.len()), (None, 1));
    assert!(results.rows[0].payload_mbps > 0.0);
    let facts = results.setups[0].facts.join("\n");
    assert!(facts.contains("t0 (tap, made): queues 1, offload"), "{facts}");
    let long = text.replace("[1500]", "[1501]");
    assert_eq!(plan::read(&long).unwrap_err(), "packets of 1501 bytes: a tap's MTU is 1500");
}

/// Somebody wants an end: it comes at once, and says what it is.
#[test]
fn an_interrupted_run_is_incomplete() {
    if !can_have_hosts() {
        return;
    }
    let text = "name = \"t\"\ndevices = [\"direct\"]\npackets = [1500]\npairs = 1\nstreams = 1\n\
                duration = \"60s\"\nwarm-up = \"1s\"\n";
    let options = options(text);
    options.interrupt.raise();
    match run(&plan::read(text).unwrap(), &options, |_| {}) {
        Ok(results) => {
            assert_eq!(results.incomplete_because.as_deref(), Some("interrupted"));
            assert!(results.rows.is_empty());
        }
        Err(Iperf3Error::Pair(PairError::NotInstalled(_))) => {}
        Err(error) => panic!("{error}"),
    }
}
