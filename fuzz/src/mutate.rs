//! Mutation of inputs without a fuzzer: a few random changes to one of the seeds.
//!
//! Blind, unlike libFuzzer: nothing is learnt from coverage. What it finds it finds because the
//! seeds are good and the targets read their input in small, independent pieces.

use measure::Prng;

/// Inputs longer than this are cut.
const MAX_LEN: usize = 4096;

/// Numbers that lengths and counts go wrong at.
const NUMBERS: &[u8] = &[0, 1, 4, 5, 14, 15, 20, 0x40, 0x45, 0x7f, 0x80, 0xff];

/// A new input from the seeds.
pub fn mutate(prng: &mut Prng, seeds: &[Vec<u8>], words: &[Vec<u8>]) -> Vec<u8> {
    let mut input = pick(prng, seeds).cloned().unwrap_or_default();
    for _ in 0..=prng.below(8) {
        change(prng, &mut input, seeds, words);
    }
    input.truncate(MAX_LEN);
    input
}

fn change(prng: &mut Prng, input: &mut Vec<u8>, seeds: &[Vec<u8>], words: &[Vec<u8>]) {
    let at = below(prng, input.len() + 1);
    let end = at + below(prng, (input.len() - at).min(32) + 1);
    match prng.below(9) {
        0 => drop(input.drain(at..end)),
        1 => input.truncate(at),
        2 => {
            let again = input[at..end].to_vec();
            input.splice(at..at, again);
        }
        3 => {
            let piece = pick(prng, words).or(pick(prng, seeds)).cloned().unwrap_or_default();
            input.splice(at..at, piece);
        }
        4 => {
            let other = pick(prng, seeds).cloned().unwrap_or_default();
            let from = below(prng, other.len() + 1);
            input.truncate(at);
            input.extend(&other[from..]);
        }
        5 => {
            let random: Vec<u8> = (0..prng.below(8)).map(|_| prng.next() as u8).collect();
            input.splice(at..at, random);
        }
        6 => each(input.get_mut(at), |byte| *byte = prng.next() as u8),
        7 => each(input.get_mut(at), |byte| *byte ^= 1 << prng.below(8)),
        _ => each(input.get_mut(at), |byte| *byte = NUMBERS[below(prng, NUMBERS.len())]),
    }
}

fn each<T>(place: Option<T>, change: impl FnOnce(T)) {
    if let Some(place) = place {
        change(place);
    }
}

fn pick<'a>(prng: &mut Prng, from: &'a [Vec<u8>]) -> Option<&'a Vec<u8>> {
    from.get(below(prng, from.len()))
}

fn below(prng: &mut Prng, n: usize) -> usize {
    prng.below(n as u64) as usize
}
