//! Comparisons as they are printed: verdicts only where there are some, and what to know about them.

use super::*;
use measure::{Conditions, Counts, Measured, Trial};
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
        configuration: configuration.into(),
        frame: FrameLen::with_fcs(64),
        cores: 1,
        trial: Trial::judge(Duration::from_secs(1), counts, &Conditions::default()),
        router_time: None,
        fast_path_share: None,
        wire: None,
        met: None,
        tester: None,
        latency: None,
        medium: Default::default(),
        environment: environment.clone(),
    };
    Results::of(environment, vec![measured.row()])
}

fn runs(cpu: &str, kpps: &[f64]) -> Vec<Results> {
    kpps.iter().map(|&kpps| run(cpu, "conntrack", kpps)).collect()
}

#[test]
fn what_is_said() {
    let four = runs("A", &[1000.0, 1010.0, 1020.0, 1030.0]);
    let faster = runs("A", &[1100.0, 1110.0, 1120.0, 1130.0]);
    let cases = [
        (
            &four,
            faster.clone(),
            "\
Mode     Configuration        size  cores                   base kpps                        kpps  ratio  runs  verdict
Routing  connection tracking    64      1  1,015.0 (1,000.0..1,030.0)  1,115.0 (1,100.0..1,130.0)  1.099   4:4  faster (p 0.029)
",
        ),
        (
            &four,
            runs("B", &[2000.0, -5.0]),
            "\
Mode     Configuration        size  cores                   base kpps     kpps  ratio  runs  verdict
Routing  connection tracking    64      1  1,015.0 (1,000.0..1,030.0)  2,000.0  1.970   4:1  unclear

unclear: fewer than four runs of each can say nothing; the ratio is of medians
left out: 0 and 1 rows whose trial was invalid
tester-limited: 0 and 1 rows; their ratio is the testers' as much as the devices'
different processors: A and B
",
        ),
        (
            &four,
            vec![run("A", "none", 7.0)],
            "\
Mode  Configuration  size  cores  base kpps  kpps  ratio  runs  verdict

left out: 2 cells that only one side has, or has valid
",
        ),
    ];
    for (base, device, expected) in cases {
        let text = render(base, &device);
        assert_eq!(text, expected, "\n{text}");
    }
    let slower = render(&faster, &four);
    assert!(slower.contains("0.910   4:4  slower (p 0.029)"), "{slower}");
}
