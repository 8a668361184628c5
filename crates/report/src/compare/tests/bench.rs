//! Comparisons as they are printed: verdicts only where there are some, and what to know about them.

use super::super::{Compared, compare};
use crate::file::File;
use measure::{Conditions, Counts, Measured, Trial};
use measure::{Environment, Family, Mode, Results};
use std::time::Duration;
use wire::FrameLen;

/// A run with one routing row of these thousands of frames a second; a negative rate is that of an
/// invalid trial.
fn run(cpu: &str, configuration: &str, kpps: f64) -> Results {
    let received = (kpps.abs() * 1e3).round() as u64;
    let intended = if kpps < 0.0 { received + 1 } else { received };
    let counts = Counts { intended, sent: received, received, ..Counts::default() };
    let environment = Environment { cpu: cpu.into(), ..Environment::default() };
    let measured = Measured {
        device: "wirespeed router".into(),
        mode: Mode::Routing,
        family: Family::Ipv4,
        configuration: configuration.into(),
        frame: FrameLen::with_fcs(64),
        cores: 1,
        trial: Trial::judge(Duration::from_secs(1), counts, &Conditions::default()),
        router_time: None,
        fast_path_share: None,
        wire: None,
        met: None,
        tester: None,
        latency: measure::receive::latency([]),
        trials: vec![],
        medium: Default::default(),
        environment: environment.clone(),
    };
    Results::of(environment, vec![measured.row()])
}

fn runs(cpu: &str, kpps: &[f64]) -> Vec<Results> {
    kpps.iter().map(|&kpps| run(cpu, "conntrack", kpps)).collect()
}

fn render(base: &[Results], device: &[Results]) -> Compared {
    let files = |side: &[Results]| side.iter().cloned().map(File::Bench).collect::<Vec<_>>();
    compare(&files(base), &files(device))
}

#[test]
fn what_is_said() {
    let four = runs("A", &[1000.0, 1010.0, 1020.0, 1030.0]);
    let faster = runs("A", &[1100.0, 1110.0, 1120.0, 1130.0]);
    let same = "connection tracking    64  1,015,000 fps (1,000,000 fps..1,030,000 fps)  ";
    let cases = [
        (faster.clone(), vec![same, "  1.099   4:4  higher (p 0.029)"]),
        (
            runs("B", &[2000.0, -5.0]),
            vec![
                "2,000,000 fps  1.970   4:1  unclear",
                "unclear: fewer than four runs of each can say nothing; the ratio is of medians",
                "left out: of a run of bench: invalid: wirespeed router, Routing, conntrack, 64 byte: ",
                "different processors: A | B",
            ],
        ),
        (
            vec![run("A", "none", 7.0)],
            vec![
                "nothing to compare: no figure of one is a figure of the other",
                "only the base has: Routing, 1 core: forwarding rate at the highest load: ",
            ],
        ),
    ];
    for (device, expected) in cases {
        let Compared { text, lines } = render(&four, &device);
        for part in expected {
            assert!(text.contains(part), "{part}\n{text}");
        }
        assert_eq!(lines == 0, text.starts_with("nothing to compare"), "{text}");
    }
    let slower = render(&faster, &four).text;
    assert!(slower.contains("0.910   4:4  lower (p 0.029)"), "{slower}");
    // The same run twice is one; over another wire it is none to compare with.
    let text = render(&four, &[faster[0].clone(), faster[0].clone()]).text;
    assert!(text.contains("4:1") && text.contains("are of 1 run: "), "{text}");
    let mut veth = faster.clone();
    veth.iter_mut().for_each(|run| run.rows[0].medium.wire = "veth".to_string());
    let text = render(&four, &veth).text;
    for part in ["4:4  not comparable", "Routing, conntrack: different wires: memory, sent by"] {
        assert!(text.contains(part), "{part}\n{text}");
    }
}

/// Of many comparisons of equal devices some are below a twentieth by chance.
#[test]
fn many_cells() {
    let run = |n: usize, ahead: f64| {
        let rows = (0..20).flat_map(|i| {
            // Only the first cell differs; in the others who is ahead goes by turns.
            let kpps = if i == 0 { 1000.0 + ahead } else { 1000.0 + ((n * 7 + i) % 20) as f64 };
            run("A", &format!("c{i}"), kpps).rows
        });
        Results::of(Environment { seed: n as u64, ..Environment::default() }, rows.collect())
    };
    let base: Vec<Results> = (0..4).map(|n| run(n, n as f64)).collect();
    let device: Vec<Results> = (4..8).map(|n| run(n, 100.0 + n as f64)).collect();
    let text = render(&base, &device).text;
    assert!(text.contains("unclear (p 0.029 alone)") && !text.contains("higher"), "{text}");
    assert!(text.contains("p: of 20 comparisons together"), "{text}");
}
