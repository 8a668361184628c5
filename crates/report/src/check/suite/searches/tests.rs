//! What searches really find is silent, and each figure of it that is another is told.

use super::check;
use measure::mlrsearch::{Goal, MlrSearch};
use measure::procedure::throughput::{Bisection, Throughput, bisection, goals};
use measure::procedure::{Measurer, Run, Stop, TrialInput, TrialOutput};
use measure::suite_result::{Cell, Figure, TrialRecord};
use measure::trial::{Conditions, Counts, Trial};
use std::time::Duration;
use wire::PacketRate;

/// Loses what is above its capacity, and now and then a frame more; the tester now and then falls short.
struct Device {
    capacity: f64,
    flaky: u64,
    short: u64,
    n: u64,
}

impl Measurer for Device {
    fn trial(&mut self, input: &TrialInput) -> Result<TrialOutput, Stop> {
        let TrialInput::Steady { load, duration, .. } = *input else { panic!("{input:?}") };
        self.n += 1;
        let intended = (load.0 * duration.as_secs_f64()) as u64;
        let sent = if self.n.is_multiple_of(self.short) { intended / 2 } else { intended };
        let most = (self.capacity * duration.as_secs_f64()) as u64;
        let flaky = u64::from(self.n.is_multiple_of(self.flaky));
        let received = sent.min(most).saturating_sub(flaky);
        let counts = Counts { intended, sent, received, ..Counts::default() };
        Ok(TrialOutput::of(Trial::judge(duration, counts, &Conditions::default())))
    }
}

/// By these goals, and by so many bisections, the second of which asks again.
fn searched(device: Device, by: &[Goal], bisections: u32) -> Cell {
    let mut device = device;
    let mut run = Run::new(&mut device);
    let (lowest, highest) = (PacketRate(1000.0), PacketRate(148_810.0));
    let mut found: Vec<Throughput> = vec![];
    if !by.is_empty() {
        let search = MlrSearch {
            goals: by.to_vec(),
            lowest,
            highest,
            warm_up: Duration::from_millis(50),
            ..MlrSearch::default()
        };
        found = goals(&mut run, &search).unwrap();
    }
    for verify in 0..bisections {
        let (trial, confirmation) = (Duration::from_millis(100), Duration::from_millis(200));
        let precision = 0.001;
        let search = Bisection { lowest, highest, precision, trial, confirmation, verify };
        found.push(bisection(&mut run, &search).unwrap());
    }
    let figure =
        |name: &str, rate: Option<PacketRate>| Figure::of(name, rate.map(|rate| rate.0), "fps");
    let mut figures: Vec<Figure> = found.iter().map(|one| figure(&one.metric, one.rate)).collect();
    for one in found.iter().filter(|one| one.conditional.is_some()) {
        for (what, rate) in [("upper bound", one.above), ("conditional", one.conditional)] {
            figures.extend(rate.map(|_| figure(&format!("{what} {}", one.metric), rate)));
        }
    }
    let stored = crate::suite::read(include_str!("../../../../data/test-2.json")).unwrap();
    let cell = stored.cells.into_iter().find(|cell| cell.procedure == "throughput").unwrap();
    let trials = run.journal.iter().map(TrialRecord::of).collect();
    Cell { figures, trials, remarks: vec![], ..cell }
}

fn found(cell: &Cell) -> String {
    let mut told = String::new();
    check(cell, &mut |text| told += &(text + "\n"));
    told
}

fn four() -> [Goal; 4] {
    let goals = [Goal::mikrotik(), Goal::csit_ndr(), Goal::csit_pdr(), Goal::tst009()];
    goals.map(|goal| goal.lasting(Duration::from_millis(100)))
}

const NEVER: u64 = u64::MAX;

#[test]
fn what_searches_find() {
    let third = Goal { preset: "a third".into(), exceed_ratio: 1.0 / 3.0, ..four()[0].clone() };
    for by in [vec![], four().to_vec(), vec![third]] {
        for capacity in [1.0, 70_000.0, 100_000.0, 1e6] {
            for (flaky, short) in [(NEVER, NEVER), (5, NEVER), (3, 11), (NEVER, 7)] {
                for bisections in 0..3 {
                    let device = Device { capacity, flaky, short, n: 0 };
                    let cell = searched(device, &by, bisections);
                    let what = (capacity, flaky, short, bisections);
                    assert_eq!(found(&cell), "", "{what:?} {:?}\n{:?}", cell.figures, cell.trials);
                }
            }
        }
    }
}

#[test]
fn figures_of_no_search() {
    let device = || Device { capacity: 100_000.0, flaky: 5, short: NEVER, n: 0 };
    let honest = searched(device(), &four(), 2);
    assert_eq!(found(&honest), "");
    // Each by itself, beside all the others.
    for i in 0..honest.figures.len() {
        for times in [0.5, 0.9, 0.99, 1.01, 1.1] {
            let mut cell = honest.clone();
            *cell.figures[i].value.as_mut().unwrap() *= times;
            let name = &cell.figures[i].name;
            assert!(!found(&cell).is_empty(), "{name} x {times}");
        }
    }
    type Change = fn(&mut Cell);
    let cases: [(Change, &str); 7] = [
        (|cell| cell.figures[0].value = None, "]: no load met it, and by its trials "),
        (|cell| cell.figures[0].value = Some(1000.0), "]: no trial was of 1000 fps, its lower"),
        (
            |cell| cell.figures[4].value = Some(148_000.0),
            "throughput[rfc2544 0.2s 0 loss]: no trial passed at 148000 fps in full length",
        ),
        (
            |cell| cell.figures[0].name = "throughput[mikrotik 10s/10s 0.01% exceed 0%]".into(),
            "throughput[mikrotik 10s/10s 0.01% exceed 0%]: by its trials",
        ),
        (
            |cell| cell.figures[0].name = "throughput[mikrotik 10s 0.01 % loss]".into(),
            "conditional throughput[mikrotik 0.1s/0.1s 0.01% exceed 0%]: there is no throughput[",
        ),
        (
            |cell| {
                let lost = cell.trials.iter_mut().filter(|trial| trial.load > 99_000.0);
                lost.for_each(|trial| (trial.received, trial.outcome) = (0, "fail".into()));
            },
            " fps is no lower bound",
        ),
        (
            |cell| {
                let passed = |trial: &&mut TrialRecord| trial.outcome == "fail";
                for trial in cell.trials.iter_mut().filter(passed) {
                    (trial.received, trial.outcome) = (trial.sent, "pass".into());
                }
            },
            " fps is no upper bound",
        ),
    ];
    for (change, expected) in cases {
        let mut cell = honest.clone();
        change(&mut cell);
        let told = found(&cell);
        assert!(told.contains(expected), "{expected}: {told}");
    }
}
