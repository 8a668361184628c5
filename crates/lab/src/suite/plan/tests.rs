//! Plans that can be, and plans that cannot.

use super::*;
use crate::plans::Kind;
use measure::mlrsearch::Goal;
use measure::procedure::Latency;
use std::time::Duration;
use wire::FrameLen;

const GOOD: &str = r#"
name = "a test"
[device]
modifiers = ["none", "25-filters-permit-middle"]
[medium]
link = "1G"
[traffic]
frame-sizes = [512, 64]
flows = "pair"
networks = ["198.18.1.0/24", "198.19.1.0/24"]
[[procedure]]
kind = "throughput"
criteria = ["bisection", "verified", "csit-ndr", "mikrotik"]
lowest = "1%"
precision = "0.5%"
[[procedure]]
kind = "latency"
[quick]
divide-durations-by = 100.0
repetitions-at-most = 2
"#;

fn refused(change: impl FnOnce(&str) -> String, allowed: Allowed) -> String {
    read(&change(GOOD), allowed).unwrap_err().to_string()
}

#[test]
fn a_plan_is_read() {
    let plan = read(GOOD, Allowed::default()).unwrap();
    assert_eq!(plan.sizes, [64, 512].map(|l2| FrameSize::One(FrameLen::with_fcs(l2))));
    assert_eq!(plan.modifiers, [Modifier::None, Modifier::FiltersMiddle]);
    assert_eq!((plan.link, plan.ports), (BitRate::gbps(1.0), 2));
    let Procedure::Throughput { criteria, confirmation, lowest, precision, .. } =
        &plan.procedures[0]
    else {
        panic!("{plan:?}")
    };
    let expected = (Duration::from_secs(60), Offer::Share(0.01), 0.005);
    assert_eq!((*confirmation, *lowest, *precision), expected);
    assert_eq!(criteria[1], Criterion::Verified(2));
    assert_eq!(criteria[3], Criterion::Goal(Goal::mikrotik()));
    let latency = Procedure::Latency(Latency {
        duration: Duration::from_secs(120),
        after: Duration::from_secs(60),
        tagged: 1,
        repetitions: 20,
    });
    assert_eq!(plan.procedures[1], latency);

    let quick = plan.clone().scaled(&plan.quick);
    let Procedure::Latency(Latency { duration, after, repetitions, .. }) = quick.procedures[1]
    else {
        panic!("{quick:?}")
    };
    let ms = Duration::from_millis;
    assert_eq!((duration, after, repetitions), (ms(1200), ms(600), 2));
    let Procedure::Throughput { criteria, .. } = &quick.procedures[0] else { panic!("{quick:?}") };
    let Criterion::Goal(goal) = &criteria[2] else { panic!("{criteria:?}") };
    assert_eq!(goal.check(), Ok(()), "a goal that was made short makes sense: {goal:?}");
}

#[test]
fn goals_of_ones_own() {
    let with = |criteria: &str, goals: &str| {
        let text = GOOD.replace("\"csit-ndr\"", criteria);
        read(&text.replace("[quick]", &format!("{goals}\n[quick]")), Allowed::default())
    };
    let own = "[[goal]]\nname = \"voice\"\nloss-ratio = \"0.1%\"\nexceed-ratio = 0.25\n\
               final-trial = \"2s\"\nduration-sum = \"40s\"";
    let plan = with("\"voice\"", own).unwrap();
    let Procedure::Throughput { criteria, .. } = &plan.procedures[0] else { panic!("{plan:?}") };
    let Criterion::Goal(goal) = &criteria[2] else { panic!("{criteria:?}") };
    assert_eq!(goal.name(), "throughput[voice 2s/40s 0.1% exceed 25%]");
    let least = with("\"none\"", "[[goal]]\nname = \"none\"\nloss-ratio = \"0%\"").unwrap();
    let Procedure::Throughput { criteria, .. } = &least.procedures[0] else { panic!("{least:?}") };
    let Criterion::Goal(goal) = &criteria[2] else { panic!("{criteria:?}") };
    assert_eq!(*goal, Goal { preset: "none".into(), ..Goal::rfc2544() });
    for (criteria, goals, expected) in [
        ("\"voice\"", "", "13:38: \"voice\": criteria are bisection, verified (by TST 009), the"),
        ("\"csit-ndr\"", own, "19:8: no throughput has \"voice\" among its criteria"),
        ("\"a b\"", "[[goal]]\nname = \"a b\"", "19:8: \"a b\" is no name"),
        ("\"csit-pdr\"", "[[goal]]\nname = \"csit-pdr\"", "19:8: \"csit-pdr\" has another"),
        ("\"v\"", "[[goal]]\nname = \"v\"\nwidth = 0", "19:8: the width is above 0 and below 1"),
        ("\"v\"", "[[goal]]\nname = \"v\"\nloss-ratio = 1.5", "20:14: a ratio is a share"),
        ("\"v\"", "[[goal]]\nname = \"v\"\nloss-ratio = 1", "19:8: the loss ratio is 0 or more"),
        (
            "\"v\"",
            "[[goal]]\nname = \"v\"\nfinal-trial = \"2m\"",
            "19:8: trials have a length, the first are not longer than the last",
        ),
        ("\"v\"", "[[goal]]\nname = \"v\"\nloss = 1", "20:1: unknown field `loss`"),
    ] {
        let bad = with(criteria, goals).unwrap_err().to_string();
        assert!(bad.starts_with(expected), "{goals}: {bad}");
    }
}

#[test]
fn shares_of_ipv6() {
    let plan = |traffic: &str, kind: &str| {
        let text = format!(
            "name = \"x\"\n[device]\n[medium]\nlink = \"1G\"\n[traffic]\n{traffic}\n\
             [[procedure]]\nkind = \"{kind}\"\n"
        );
        read(&text, Allowed::default())
    };
    let of = |ipv6: &str| format!("frame-sizes = [84]\nflows = \"pair\"\nipv6 = \"{ipv6}\"");
    for (ipv6, families) in
        [("0%", "4"), ("10%", "4444444446"), ("50%", "46"), ("70%", "4664664666"), ("100%", "6")]
    {
        let traffic = plan(&of(ipv6), "throughput").unwrap().traffic;
        let family = |turn| if traffic.family(turn) == Family::Ipv6 { '6' } else { '4' };
        let by_turns: String = (0..traffic.destinations()).map(family).collect();
        assert_eq!(by_turns, families, "{ipv6}");
    }
    let (hosts, short) = (of("50%").replace("pair", "hosts"), of("50%").replace("84", "64"));
    for (traffic, kind, expected) in [
        (of("5%"), "throughput", "8:8: ipv6 is a share of the frames in tens"),
        (of("110%"), "throughput", "8:8: ipv6 is a share of the frames in tens"),
        (hosts, "throughput", "7:9: a share of IPv6 is of flows = \"pair\" alone"),
        (short, "throughput", "8:8: a test frame of IPv6 has 84 bytes at least, not 64"),
        (of("50%"), "capacity", "8:8: capacity is not implemented for IPv6"),
    ] {
        let bad = plan(&traffic, kind).unwrap_err().to_string();
        assert!(bad.starts_with(expected), "{traffic}: {bad}");
    }
}

#[test]
fn impossible_plans() {
    let here = Allowed::default();
    let outside = Allowed { external: true, any_address: false };
    let replace = |from: &'static str, to: &'static str| {
        move |text: &str| {
            assert!(text.contains(from), "{from}");
            text.replace(from, to)
        }
    };
    for (from, to, allowed, expected) in [
        ("[512, 64]", "[512, 63]", here, "8:21: frames of 63 bytes: the smallest Ethernet frame"),
        ("[512, 64]", "[9861]", here, "8:16: frames of 9861 bytes: 64 to 9860"),
        ("[512, 64]", "[]", here, "8:15: at least one frame size"),
        (
            "\"1%\"",
            "2000000",
            here,
            "14:10: a rate above the wire: 1000.0 Mbps carries 1 488 095 pps of 64",
        ),
        ("[512, 64]", "[64, \"imux\"]", here, "8:20: m stands for no length"),
        ("[512, 64]", "[64, \"64-512\"]", here, "8:20: random lengths, of which it is not known"),
        ("[512, 64]", "[\"64:7,9900:1\"]", here, "8:16: frames of 9900 bytes: 64 to 9860"),
        ("[512, 64]", "[\"64 shuffled 7\"]", here, "8:16: 64 is no mix that could be shuffled"),
        ("[512, 64]", "[\"imix shuffled x\"]", here, "8:16: imix shuffled by a number"),
        ("[512, 64]", "[\"IMIX - 20\"]", here, "8:16: 20 times what: a count stands before its"),
        ("[512, 64]", "[\"az (z=60)\"]", here, "8:16: frames of 60 bytes: 64 to 9860, their FCS"),
        ("[512, 64]", "[\"20 abcd\"]", here, "8:16: \"20 abcd\" is no length"),
        ("[512, 64]", "[1.5]", here, "8:16: a length is a whole number of bytes"),
        ("\"1%\"", "\"101%\"", here, "14:10: a rate above the wire"),
        ("\"1%\"", "300000", here, "14:10: the bounds of the search cross: of 512 byte"),
        ("\"csit-ndr\"", "\"verified\"", here, "13:38: \"verified\" is asked for already"),
        ("\"1%\"", "\"100%\"", here, "14:10: the bounds of the search cross"),
        ("\"1%\"", "-5", here, "14:10: a rate is frames per second"),
        ("198.19.1.0/24", "10.0.0.0/24", outside, "10:30: 10.0.0.0/24 is not for tests"),
        ("198.19.1.0/24", "198.18.1.0/28", here, "10:30: 198.18.1.0/28 and 198.18.1.0/24 overlap"),
        ("198.19.1.0/24", "x", here, "10:30: \"x\" is no network"),
        ("\"pair\"", "\"hosts\"", here, "4:22: modifiers are for routers"),
        ("\"pair\"", "\"many\"", here, "9:9: flows are"),
        ("\"latency\"", "\"lateness\"", here, "17:8: kinds are throughput, latency"),
        ("\"latency\"", "\"broadcast\"", here, "17:8: broadcast is for bridges"),
        ("\"latency\"", "\"latency\"\nstep = 1", here, "18:8: latency takes duration, after"),
        ("\"latency\"", "\"latency\"\nafter = \"3m\"", here, "18:9: the frame is tagged before"),
        ("\"latency\"", "\"latency\"\nduration = \"60\"", here, "18:12: \"60\" is no time"),
        ("\"latency\"", "\"frame-loss\"\nstep = 0.2", here, "18:8: the step is 10 %"),
        ("\"latency\"", "\"back-to-back\"\nlongest = \"31s\"", here, "18:11: a burst takes 30"),
        (
            "\"latency\"",
            "\"capacity\"\nfirst = 9\nmost = 8",
            here,
            "18:9: the bounds of the search cross",
        ),
        (
            "[\"bisection\", \"verified\", \"csit-ndr\", \"mikrotik\"]",
            "[]",
            here,
            "13:12: a throughput by no",
        ),
        (
            "\"bisection\", \"verified\", ",
            "",
            here,
            "15:13: precision is of the criteria bisection and",
        ),
        (
            "\"verified\", \"csit-ndr\", \"mikrotik\"]",
            "\"mikrotik\"]\nverify = 1",
            here,
            "14:10: verify is of the criteria verified, and none",
        ),
        ("csit-ndr", "ndr", here, "13:38: \"ndr\": criteria are bisection, verified"),
        ("\"1G\"", "\"1X\"", here, "6:8: \"1X\" is no rate"),
        ("100.0", "0.0", here, "19:23: durations are divided by 1 to"),
        ("name =", "nme =", here, "2:1: unknown field `nme`"),
        ("\"none\",", "\"none\"", here, "4:"),
    ] {
        let why = refused(replace(from, to), allowed);
        assert!(why.starts_with(expected), "{from} → {to}: {why}");
    }
    let anywhere = Allowed { external: true, any_address: true };
    let other = GOOD.replace("198.19.1.0/24", "10.0.0.0/24");
    assert!(read(&other, anywhere).is_ok() && read(&other, here).is_ok());
}

/// Wires of any kind carry 1 kbit/s to 10 Tbit/s.
#[test]
fn rates_of_wires() {
    for (rate, link) in [
        ("1k", Some(1e3)),
        ("1000", Some(1e3)),
        ("10T", Some(1e13)),
        ("10000G", Some(1e13)),
        ("0.999k", None),
        ("10.001T", None),
        ("0", None),
        ("-1G", None),
        ("nan", None),
        ("inf", None),
        ("1e300", None),
    ] {
        let medium = GOOD.replace("link = \"1G\"", &format!("link = {rate:?}"));
        let simulated = format!("{GOOD}[virtual]\nlink = {rate:?}\n");
        let bottleneck = format!("{GOOD}[virtual]\nbottleneck = {rate:?}\n");
        for (text, place) in [(medium, "6:8"), (simulated, "22:8"), (bottleneck, "22:14")] {
            match (link, read(&text, Allowed::default())) {
                (Some(link), Ok(plan)) => {
                    let narrow = plan.simulated.bottleneck.map(|(rate, _)| rate);
                    let all = [Some(plan.link), Some(plan.simulated.link), narrow];
                    assert!(all.contains(&Some(BitRate(link))), "{rate}: {all:?}");
                }
                (None, Err(bad)) => {
                    let expected =
                        format!("{place}: {rate:?} is no rate of a wire: 100M, 10G; 1k to 10T");
                    assert_eq!(bad.to_string(), expected);
                }
                (_, read) => panic!("{rate}: {read:?}"),
            }
        }
    }
}

/// A mesh is of a bridge's ports, of as many as it takes, and of all of them.
#[test]
fn meshes() {
    let plan = |ports: &str, traffic: &str, kind: &str| {
        let text = format!(
            "name = \"x\"\n[device]\n{ports}\n[medium]\nlink = \"1G\"\n[traffic]\n\
             frame-sizes = [64]\n{traffic}\n[[procedure]]\nkind = \"throughput\"\n\
             [[procedure]]\nkind = \"{kind}\"\n"
        );
        read(&text, Allowed::default())
    };
    let mesh = "flows = \"hosts\"\ndistribution = \"fully-meshed\"";
    for (ports, traffic, senders, destinations) in [
        ("ports = 4", mesh, 4, 3),
        ("ports = 2", mesh, 2, 1),
        ("ports = 16", mesh, 16, 15),
        ("ports = 4", "flows = \"hosts\"\ndistribution = \"non-meshed\"", 2, 1),
        ("ports = 4", "flows = \"hosts\"\ndistribution = \"one-to-many\"", 1, 3),
        ("ports = 4", "flows = \"hosts\"\ndistribution = \"many-to-one\"", 3, 1),
        (
            "ports = 6",
            "flows = \"hosts\"\ndistribution = \"partially-meshed-unidirectional\"",
            3,
            3,
        ),
        ("ports = 4", "flows = \"hosts\"", 2, 1),
    ] {
        let traffic = plan(ports, traffic, "forwarding").unwrap().traffic;
        assert_eq!((traffic.senders(), traffic.destinations()), (senders, destinations));
    }
    let of_four = |name| {
        let mesh = mesh.replace("fully-meshed", name);
        let traffic = plan("ports = 4", &mesh, "throughput").unwrap().traffic;
        let to = |from| (0..traffic.destinations()).map(move |n| traffic.destination(from, n));
        (0..traffic.senders()).map(|from| to(from).collect()).collect::<Vec<Vec<usize>>>()
    };
    assert_eq!(of_four("fully-meshed"), [[1, 2, 3], [2, 3, 0], [3, 0, 1], [0, 1, 2]]);
    assert_eq!(of_four("one-to-many"), [[1, 2, 3]]);
    assert_eq!(of_four("many-to-one"), [[3], [3], [3]]);
    assert_eq!(of_four("partially-meshed-unidirectional"), [[2, 3], [3, 2]]);
    assert!(plan("ports = 11", mesh, "recovery").is_ok());
    for (ports, traffic, kind, expected) in [
        ("ports = 1", mesh.to_string(), "forwarding", "3:9: 2 to 16 ports: a full mesh is of two"),
        ("ports = 17", mesh.to_string(), "forwarding", "3:9: 2 to 16 ports: a full mesh is of two"),
        ("ports = 3", mesh.to_string(), "congestion", "3:9: 4 to 16 ports (congestion needs so"),
        ("", mesh.to_string(), "forwarding", "9:16: a mesh is of all ports: say in [device]"),
        ("ports = 12", mesh.to_string(), "recovery", "9:16: recovery has two streams from each"),
        (
            "ports = 2",
            mesh.replace("hosts", "pair"),
            "throughput",
            "9:16: a mesh is for bridges, a router has two networks",
        ),
        (
            "ports = 4",
            mesh.replace("fully-meshed", "meshed"),
            "throughput",
            "9:16: \"meshed\": distributions are \"non-meshed\", \"fully-meshed\", \"one-to-many\", ",
        ),
        (
            "ports = 4",
            format!("{mesh}\nbidirectional = false"),
            "throughput",
            "10:17: each port of a full mesh sends and receives",
        ),
        (
            "ports = 4",
            format!("{}\nbidirectional = true", mesh.replace("fully-meshed", "one-to-many")),
            "throughput",
            "10:17: one-to-many goes one way",
        ),
        (
            "ports = 2",
            mesh.replace("fully-meshed", "many-to-one"),
            "throughput",
            "3:9: many-to-one: one and many are three at least",
        ),
        (
            "ports = 5",
            mesh.replace("fully-meshed", "partially-meshed-unidirectional"),
            "throughput",
            "3:9: partially-meshed-unidirectional: two halves, of two at least, are an even number",
        ),
    ] {
        let why = plan(ports, &traffic, kind).unwrap_err().to_string();
        assert!(why.starts_with(expected), "{ports} {traffic} {kind}: {why}");
    }
}

/// Mixes are sizes like lengths, in the plan and in what makes it short; not for what is of one
/// length.
#[test]
fn sizes_are_lengths_and_mixes() {
    let plan = |sizes: &str, kind: &str| {
        let text = GOOD.replace("[512, 64]", sizes).replace("\"latency\"", &format!("{kind:?}"));
        read(&text, Allowed::default())
    };
    for (sizes, expected) in [
        ("[512, 64, 512, \"64\"]", "64 512"),
        ("[\"imix\", 1518, \"csit\", 64, \"imix\"]", "64 1518 imix csit"),
        ("[\"64:7,570:4,1518:1\"]", "64:7,570:4,1518:1"),
        (
            "[\"IMIX - aaafg\", \"trex shuffled 7\", \"aA (A=100)\", 9018, \"agi\"]",
            "9018 aaafg trex shuffled 7 aA (A=100) agi",
        ),
        // The MTU's frame, as long as the plan's longest, and as long as it is said to be.
        ("[64, \"IMIX - az\"]", "64 az (z=1518)"),
        ("[\"az\", \"9018\", \"az (z=2000)\"]", "9018 az (z=9018) az (z=2000)"),
        (
            "[\"IMIX - 20 abcd, 5 ggga\", \"CUSTOM IMIX - 3AG (A=64 G=1020)\"]",
            "IMIX - 20 abcd, 5 ggga IMIX - 3AG (A=64 G=1020)",
        ),
    ] {
        let plan = plan(sizes, "latency").unwrap();
        let found: Vec<String> = plan.sizes.iter().map(ToString::to_string).collect();
        assert_eq!(found.join(" "), expected, "{sizes}");
    }
    let short = format!("{GOOD}frame-sizes = [64, \"imix\"]\n");
    let short = read(&short, Allowed::default()).unwrap();
    assert_eq!(short.quick.sizes[1].rounded(), 362);
    for (sizes, kind, expected) in [
        ("[64, \"imix\"]", "establishment", "17:8: establishment opens each connection by one"),
        ("[64, \"imix\"]", "tear-down", "17:8: tear-down opens"),
        ("[64, \"csit\"]", "capacity", "17:8: capacity opens"),
        ("[1518, \"imix\"]", "tcp-connections", "17:8: tcp-connections: TCP makes segments"),
        ("[1518, \"imix\"]", "tcp-throughput", "17:8: tcp-throughput: TCP makes segments"),
        ("[\"imix\"]", "reset", "17:8: reset is of the smallest frames: name a length, too"),
        ("[\"aA (A=100)\", \"aB (B=100)\"]", "reset", "17:8: reset is"),
    ] {
        let why = plan(sizes, kind).unwrap_err().to_string();
        assert!(why.starts_with(expected), "{sizes}, {kind}: {why}");
    }
    for kind in ["reset", "recovery", "back-to-back", "frame-loss", "delay-variation", "forwarding"]
    {
        assert!(plan("[64, \"imix\"]", kind).is_ok(), "{kind}");
    }
    for (kind, first) in [("latency", "throughput"), ("tcp-throughput", "tcp-path")] {
        let own = ["criteria = [", "lowest = ", "precision = "];
        let lines = GOOD.lines().filter(|line| !own.iter().any(|start| line.starts_with(start)));
        let alone =
            lines.collect::<Vec<_>>().join("\n").replace("\"throughput\"", "\"frame-loss\"");
        let alone = alone.replace("[512, 64]", "[512]");
        let why = read(&alone.replace("\"latency\"", &format!("{kind:?}")), Allowed::default());
        let expected = format!("{kind} is run by what {first} finds, which comes before");
        let why = why.unwrap_err().to_string();
        assert!(why.ends_with(&expected), "{why}");
    }
    let twice = format!("[\"{0}a\", \"{0}b\"]", "ag".repeat(20));
    let why = plan(&twice, "latency").unwrap_err().to_string();
    assert!(why.contains("two mixes that tables would call agagag"), "{why}");
}

#[test]
fn filters_are_as_many_as_they_say() {
    let plan = read(GOOD, Allowed::default()).unwrap();
    for (modifier, rules, permit) in [
        (Modifier::None, 0, 0),
        (Modifier::OneFilter, 1, 1),
        (Modifier::FiltersMiddle, 25, 13),
        (Modifier::FiltersLast, 25, 25),
    ] {
        let commands = modifier.commands(plan.ends);
        let rules_of: Vec<&str> = commands.lines().skip(1).collect();
        assert_eq!(rules_of.len(), rules, "{commands}");
        let at = rules_of.iter().position(|line| line.contains("action=accept"));
        assert_eq!(at.map_or(0, |at| at + 1), permit, "{commands}");
    }
}

/// The plans that come with the program can be carried out.
#[test]
fn committed_plans() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../plans");
    let mut n = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|end| end == "toml") {
            let text = std::fs::read_to_string(&path).unwrap();
            match crate::plans::kind(&text) {
                Kind::Programs => {
                    crate::iperf3::plan::read(&text).unwrap_or_else(|bad| panic!("{bad}"));
                    continue;
                }
                Kind::Table => {
                    crate::bench::plan::read(&text, false, false).unwrap();
                    continue;
                }
                Kind::Suite => {}
            }
            let outside = Allowed { external: true, any_address: false };
            let open = |file: &str| {
                std::fs::read(path.with_file_name(file)).map_err(|error| error.to_string())
            };
            let plan = read_with(&text, outside, None, &open);
            let plan = plan.unwrap_or_else(|bad| panic!("{}:{bad}", path.display()));
            if let Some(file) = &plan.configuration {
                assert!(path.with_file_name(file).is_file(), "{file} of {}", path.display());
            }
            n += 1;
        }
    }
    assert!(n >= 5, "{n} plans");
}
