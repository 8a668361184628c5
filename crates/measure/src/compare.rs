//! Two devices measured by turns: their ratio, its spread, and whether it says anything.
//!
//! ```text
//!  time ──►   base   device │ base   device │ base   device │ …
//!             └── ratio ──┘   └── ratio ──┘   └── ratio ──┘
//! ```
//!
//! A machine that is busy for a while is so for both trials of a pair; so the ratios of pairs are
//! looked at, not the ratio of two means. The verdict is the sign test: were the devices equal, each
//! would be ahead in a pair as often as the other, and `n` pairs would all go one way once in
//! 2ⁿ⁻¹ runs. Nothing is assumed about how rates are distributed. A pair with an invalid trial says
//! nothing of its device: it is left out of everything, and counted.
//!
//! What was measured in separate runs has no pairs ([`Unpaired`]): there the ranks of all rates
//! together are looked at (Mann and Whitney), which needs four runs of each before it can say
//! anything, and cannot know whether the machine was the same.
//!
//! Never says that devices are equal: where there is no verdict, more pairs may bring one.

use crate::trial::{Outcome, Trial};
use serde::{Deserialize, Serialize};
use std::fmt;

/// What is said of two devices is wrong at most this often, by chance alone.
pub const SIGNIFICANT: f64 = 0.05;

/// Rates of two devices, a pair for each turn, and what follows from them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// Frames per second of the device compared with, in the order of the turns.
    pub base_pps: Vec<f64>,
    /// Of the device compared.
    pub device_pps: Vec<f64>,
    /// The median of the ratios: above 1 where the device is faster. `None` without a ratio.
    pub ratio: Option<f64>,
    /// The least and the greatest ratio.
    pub spread: Option<(f64, f64)>,
    /// How often as clear a difference comes of equal devices (0 to 1).
    pub chance: f64,
    /// What may be said.
    pub verdict: Ahead,
    /// Turns left out of all this: a trial of theirs was invalid.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub left_out: u32,
}

/// What need not stand in a file.
#[allow(clippy::trivially_copy_pass_by_ref)] // as serde calls it
fn is_zero(n: &u32) -> bool {
    *n == 0
}

/// Who is ahead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ahead {
    /// The device compared.
    Device,
    /// The one compared with.
    Base,
    /// It cannot be said.
    Unclear,
}

impl fmt::Display for Ahead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Ahead::Device => "faster",
            Ahead::Base => "slower",
            Ahead::Unclear => "unclear",
        })
    }
}

impl Comparison {
    /// Of turns: the rate of the device compared with, and the rate of the device compared. Turns
    /// in which one of them is zero or no number have no ratio.
    pub fn of(turns: impl IntoIterator<Item = (f64, f64)>) -> Comparison {
        let (base_pps, device_pps): (Vec<f64>, Vec<f64>) = turns.into_iter().unzip();
        let counts = |rate: f64| rate > 0.0 && rate.is_finite();
        let mut ratios: Vec<f64> = base_pps
            .iter()
            .zip(&device_pps)
            .filter(|&(&base, &device)| counts(base) && counts(device))
            .map(|(base, device)| device / base)
            .collect();
        ratios.sort_by(f64::total_cmp);
        let ratio = median(&ratios);
        let spread = ratios.first().copied().zip(ratios.last().copied());
        let ahead = ratios.iter().filter(|&&ratio| ratio > 1.0).count() as u32;
        let behind = ratios.iter().filter(|&&ratio| ratio < 1.0).count() as u32;
        let chance = sign_test(ahead, behind);
        let verdict = match chance < SIGNIFICANT {
            true if ahead > behind => Ahead::Device,
            true => Ahead::Base,
            false => Ahead::Unclear,
        };
        Comparison { base_pps, device_pps, ratio, spread, chance, verdict, left_out: 0 }
    }

    /// Of turns: the trial of the device compared with, and the trial of the device compared.
    pub fn of_trials<'a>(turns: impl IntoIterator<Item = (&'a Trial, &'a Trial)>) -> Comparison {
        let sound = |trial: &Trial| !matches!(trial.outcome, Outcome::Invalid(_));
        let (sound, invalid): (Vec<_>, Vec<_>) =
            turns.into_iter().partition(|(base, device)| sound(base) && sound(device));
        let rate = |trial: &Trial| trial.forwarding_rate().0;
        let rates = sound.into_iter().map(|(base, device)| (rate(base), rate(device)));
        Comparison { left_out: invalid.len() as u32, ..Comparison::of(rates) }
    }
}

/// Rates of two devices from separate runs, and what follows from them.
#[derive(Clone, Debug, PartialEq)]
pub struct Unpaired {
    /// Least, median and greatest rate of the one compared with, in frames per second.
    pub base: [f64; 3],
    /// Of the one compared.
    pub device: [f64; 3],
    /// How many rates there are of each.
    pub runs: (usize, usize),
    /// The ratio of the medians: above 1 where the device is faster. None if one of them is not above
    /// zero: ranks can be compared all the same.
    pub ratio: Option<f64>,
    /// How often as clear a difference comes of equal devices (0 to 1).
    pub chance: f64,
    /// What may be said.
    pub verdict: Ahead,
}

/// The most runs of each that are looked at; of more, the first.
const RUNS: usize = 100;

impl Unpaired {
    /// Of the rates of each, those of zero too; `None` if one has no rate.
    pub fn of(base: &[f64], device: &[f64]) -> Option<Unpaired> {
        let [base, device] = [base, device].map(|rates| {
            let rates = rates.iter().filter(|rate| rate.is_finite());
            let mut rates: Vec<f64> = rates.take(RUNS).copied().collect();
            rates.sort_by(f64::total_cmp);
            rates
        });
        let three = |rates: &[f64]| Some([*rates.first()?, median(rates)?, *rates.last()?]);
        let (least, most) = (three(&base)?, three(&device)?);
        // How often the device was ahead of the other; equal ones count half, kept doubled.
        let won: usize = device
            .iter()
            .flat_map(|device| base.iter().map(move |base| (device, base)))
            .map(|(device, base)| usize::from(device > base) + usize::from(device >= base))
            .sum();
        let pairs = base.len() * device.len();
        // Towards the middle: halves are never in favour of a verdict.
        let extreme = won.max(2 * pairs - won) / 2;
        let chance = rank_test(base.len(), device.len(), extreme);
        let verdict = match chance < SIGNIFICANT {
            true if won > pairs => Ahead::Device,
            true => Ahead::Base,
            false => Ahead::Unclear,
        };
        let (base, device, runs) = (least, most, (base.len(), device.len()));
        let ratio = (base[1] > 0.0 && device[1] > 0.0).then(|| device[1] / base[1]);
        Some(Unpaired { base, device, runs, ratio, chance, verdict })
    }
}

/// The two-sided test of Mann and Whitney (1947), exact: how often, of all orders of `n` and `m`
/// equal things, one kind is ahead of the other in at least `extreme` of the `n · m` pairs.
fn rank_test(n: usize, m: usize, extreme: usize) -> f64 {
    // ways[j][u]: the share of the orders of i of one and j of the other that have u such pairs.
    let mut ways = vec![vec![1.0]; m + 1];
    for i in 1..=n {
        let mut next: Vec<Vec<f64>> = vec![vec![1.0]];
        for j in 1..=m {
            let (last_is_one, last_is_other) = (i as f64, j as f64);
            let all = last_is_one + last_is_other;
            let mut row = vec![0.0; i * j + 1];
            for (u, share) in ways[j].iter().enumerate() {
                row[u + j] += share * last_is_one / all;
            }
            for (u, share) in next[j - 1].iter().enumerate() {
                row[u] += share * last_is_other / all;
            }
            next.push(row);
        }
        ways = next;
    }
    let tail: f64 = ways[m].iter().skip(extreme).sum();
    (2.0 * tail).min(1.0)
}

/// The least that [`Unpaired::chance`] can be with so many runs of each: all of one are ahead of all of
/// the other. Where that is not below [`SIGNIFICANT`], no verdict is possible.
pub fn least_chance((n, m): (usize, usize)) -> f64 {
    rank_test(n, m, n * m)
}

/// Chances of several comparisons together (Benjamini and Hochberg 1995): of all that are then below
/// [`SIGNIFICANT`] so small a share is to be wrong by chance. Twenty comparisons of equal devices have
/// one below it on the average, each by itself.
pub fn together(chances: &[f64]) -> Vec<f64> {
    let n = chances.len();
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|a, b| chances[*b].total_cmp(&chances[*a]));
    let (mut adjusted, mut least) = (vec![1.0; n], 1.0f64);
    for (behind, &i) in order.iter().enumerate() {
        let rank = n - behind;
        least = least.min(chances[i] * n as f64 / rank as f64);
        adjusted[i] = least;
    }
    adjusted
}

/// The middle of values in order, or the mean of the two in the middle.
pub fn median(sorted: &[f64]) -> Option<f64> {
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        n if n % 2 == 1 => Some(sorted[middle]),
        _ => Some(f64::midpoint(sorted[middle - 1], sorted[middle])),
    }
}

/// The two-sided sign test: how often a fair coin is at least as one-sided.
fn sign_test(heads: u32, tails: u32) -> f64 {
    let n = heads + tails;
    let most = heads.max(tails);
    let (mut term, mut sum) = (1.0, 0.0);
    // C(n, k) / 2ⁿ from k = n down, each term from the one before.
    for k in (most..=n).rev() {
        sum += term;
        term *= f64::from(k) / f64::from(n - k + 1);
    }
    (2.0 * sum * 0.5f64.powi(n as i32)).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::{Conditions, Counts};
    use std::time::Duration;

    #[test]
    fn many_comparisons_together() {
        for (chances, expected) in [
            (&[][..], &[][..]),
            (&[0.03], &[0.03]),
            (&[0.03, 0.03, 0.03], &[0.03, 0.03, 0.03]),
            (&[0.01, 0.04, 0.03, 0.5], &[0.04, 0.16 / 3.0, 0.16 / 3.0, 0.5]),
            (&[1.0, 0.04], &[1.0, 0.08]),
        ] {
            let got = together(chances);
            let near = got.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12);
            assert!(near && got.len() == expected.len(), "{chances:?}: {got:?}");
        }
        assert!(least_chance((3, 4)) > SIGNIFICANT && least_chance((4, 4)) < SIGNIFICANT);
        assert!(least_chance((1, 100)) < SIGNIFICANT, "one that is ahead of a hundred");
    }

    #[test]
    fn the_sign_test_of_the_tables() {
        for (heads, tails, expected) in [
            (0, 0, 1.0),
            (1, 1, 1.0),
            (5, 0, 0.0625),
            (0, 6, 0.03125),
            (6, 0, 0.03125),
            (8, 1, 0.0390625),
            (7, 2, 0.1796875),
            (10, 2, 0.03857421875),
        ] {
            let chance = sign_test(heads, tails);
            assert!((chance - expected).abs() < 1e-12, "{heads}:{tails} {chance}");
        }
    }

    #[test]
    fn verdicts() {
        let turns = |ratios: &[f64]| Comparison::of(ratios.iter().map(|ratio| (1e6, 1e6 * ratio)));
        for (ratios, median, verdict) in [
            (&[1.01, 1.02, 1.5, 1.03, 1.01, 1.02][..], Some(1.02), Ahead::Device),
            (&[0.9; 6], Some(0.9), Ahead::Base),
            (&[2.0; 5], Some(2.0), Ahead::Unclear), // five may be chance
            (&[1.2, 0.9, 1.1, 1.3, 1.2, 1.1], Some(1.15), Ahead::Unclear),
            (&[1.0; 9], Some(1.0), Ahead::Unclear),
            (&[], None, Ahead::Unclear),
        ] {
            let comparison = turns(ratios);
            let near = |a: f64, b: f64| (a - b).abs() < 1e-9;
            let same = match (comparison.ratio, median) {
                (Some(a), Some(b)) => near(a, b),
                (a, b) => a == b,
            };
            assert!(same, "{comparison:?}");
            assert_eq!(comparison.verdict, verdict, "{comparison:?}");
        }
    }

    #[test]
    fn the_rank_test_of_the_tables() {
        // Critical values of U for 5 %, two-sided: 4 and 4: 0; 5 and 5: 2; 8 and 10: 17.
        for (n, m, least) in [(4, 4, 0), (5, 5, 2), (5, 6, 3), (8, 10, 17), (20, 20, 127)] {
            assert!(rank_test(n, m, n * m - least) < 0.05, "{n} {m}");
            assert!(rank_test(n, m, n * m - least - 1) >= 0.05, "{n} {m}");
        }
        assert!((rank_test(4, 4, 16) - 2.0 / 70.0).abs() < 1e-12);
        assert_eq!(rank_test(1, 1, 1), 1.0);
    }

    #[test]
    fn separate_runs() {
        for (base, device, verdict) in [
            (&[1.0, 1.1, 1.2, 1.3][..], &[1.4, 1.5, 1.6, 1.7][..], Ahead::Device),
            (&[1.4, 1.5, 1.6, 1.7], &[1.0, 1.1, 1.2, 1.3], Ahead::Base),
            (&[1.0, 1.1, 1.2], &[5.0, 5.1, 5.2], Ahead::Unclear), // one order in ten
            (&[1.0], &[9.0], Ahead::Unclear),
            (&[1.0, 1.0, 1.0, 1.0, 1.0], &[1.0, 1.0, 1.0, 1.0, 1.0], Ahead::Unclear),
            (&[1.0, 2.0, 3.0, 4.0, 5.0], &[1.5, 2.5, 3.5, 4.5, 5.5], Ahead::Unclear),
        ] {
            let compared = Unpaired::of(base, device).unwrap();
            assert_eq!(compared.verdict, verdict, "{compared:?}");
        }
        let compared = Unpaired::of(&[2.0, 4.0, f64::NAN], &[6.0, 0.0]).unwrap();
        assert_eq!((compared.base, compared.device), ([2.0, 3.0, 4.0], [0.0, 3.0, 6.0]));
        assert_eq!((compared.ratio, compared.runs), (Some(1.0), (2, 2)));
        let compared = Unpaired::of(&[0.0; 5], &[18.0; 5]).unwrap();
        assert_eq!((compared.ratio, compared.verdict), (None, Ahead::Device));
        assert_eq!(Unpaired::of(&[], &[1.0]), None);
    }

    #[test]
    fn a_turn_with_an_invalid_trial_is_left_out() {
        let trial = |received, tester_rx_drop| {
            let counts = Counts {
                intended: 3000,
                sent: 3000,
                received,
                tester_rx_drop,
                ..Counts::default()
            };
            Trial::judge(Duration::from_secs(1), counts, &Conditions::default())
        };
        let (slow, fast, broken) = (trial(1000, 0), trial(2000, 0), trial(100, 7));
        assert!(matches!(broken.outcome, Outcome::Invalid(_)), "{broken:?}");
        // Six sound turns, and as many in which one trial or both say nothing.
        let mut turns = vec![(&slow, &fast); 6];
        let sound = Comparison::of_trials(turns.clone());
        assert_eq!((sound.ratio, sound.verdict, sound.left_out), (Some(2.0), Ahead::Device, 0));
        turns.extend([(&broken, &fast), (&slow, &broken), (&broken, &broken)]);
        turns.extend([(&fast, &broken); 3]);
        let all = Comparison::of_trials(turns);
        assert_eq!(all, Comparison { left_out: 6, ..sound });
        assert_eq!(all.base_pps, [1000.0; 6]);
        let none = Comparison::of_trials([(&broken, &fast)]);
        assert_eq!((none.ratio, none.verdict, none.left_out), (None, Ahead::Unclear, 1));
        // A file from before says nothing of it.
        let text = serde_json::to_string(&none).unwrap();
        let before = text.replace(",\"left_out\":1", "");
        assert_ne!(before, text);
        let read: Comparison = serde_json::from_str(&before).unwrap();
        assert_eq!(read, Comparison { left_out: 0, ..none });
        assert_eq!(serde_json::to_string(&read).unwrap(), before);
    }

    #[test]
    fn a_turn_without_a_rate_has_no_ratio() {
        let comparison = Comparison::of([(0.0, 5.0), (4.0, 0.0), (4.0, 8.0), (f64::NAN, 1.0)]);
        assert_eq!((comparison.ratio, comparison.spread), (Some(2.0), Some((2.0, 2.0))));
        assert_eq!(comparison.base_pps.len(), 4, "what was measured is kept");
    }
}
