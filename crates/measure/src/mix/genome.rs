//! Genomes of RFC 6985: read, and written so that they are read as the same again.
//!
//! ```text
//!  IMIX - aaafg                          §4: a letter a frame
//!  CUSTOM IMIX - AAAGG (A=64 G=1020)     §5: letters of one's own, with the lengths they stand for
//!  IMIX - az (z=9018)                    §4: z is the MTU, and its length is told
//!  IMIX - 20 abcd, 5 ggga, 10 dcba       §6.1: counts, each of the letters behind it
//! ```
//!
//! The RFC has counts and sequences in a table; here its rows stand one behind the other. A count is
//! of the letters up to the next count, blank or comma; letters without one are there once. What is
//! long is written with counts where that is shorter.

use super::{BadMix, LETTERS, MOST};
use crate::template::FRAME_LENGTHS;
use std::fmt::Write as _;
use wire::FrameLen;

/// Longer sequences are written with counts, if that is shorter.
const AT_LENGTH: usize = 64;

/// The longest sequence that is looked for again behind itself.
const PERIOD: usize = 64;

/// What letters stand for.
type Table = Vec<(char, FrameLen)>;

/// A genome as one writes it: its letters with their counts, and what letters stand for.
///
/// # Errors
/// [`BadMix`]: a table that is none.
pub(super) fn split(text: &str) -> Result<(&str, Table), BadMix> {
    let text = text.trim();
    let (text, is_custom) = match text.strip_prefix("CUSTOM ") {
        Some(rest) => (rest.trim_start(), true),
        None => (text, false),
    };
    let sequence = ["IMIX -", "IMIX –"].iter().find_map(|name| text.strip_prefix(name));
    let text = match (sequence, is_custom) {
        (Some(sequence), _) => sequence,
        (None, false) => text,
        (None, true) => return Err(BadMix::Custom),
    };
    let Some((genome, table)) = text.split_once('(') else { return Ok((text.trim(), vec![])) };
    let table = table.trim().strip_suffix(')').ok_or(BadMix::Open)?;
    let mut letters: Table = vec![];
    for entry in table.split([' ', ',']).filter(|entry| !entry.is_empty()) {
        let (letter, frame) = meaning(entry)?;
        if letters.iter().any(|(known, _)| *known == letter) {
            return Err(BadMix::Twice(letter));
        }
        letters.push((letter, frame));
    }
    Ok((genome.trim(), letters))
}

/// `A=100`; `g=1518`, too, since results say what all letters stand for.
fn meaning(entry: &str) -> Result<(char, FrameLen), BadMix> {
    let bad = || BadMix::Entry(entry.to_string());
    let (letter, bytes) = entry.split_once('=').ok_or_else(bad)?;
    let mut chars = letter.chars();
    let (Some(letter), None) = (chars.next(), chars.next()) else { return Err(bad()) };
    let bytes = bytes.parse::<u32>().map_err(|_| bad())?;
    match LETTERS.iter().find(|(known, _)| *known == letter) {
        Some((_, fixed)) if *fixed != bytes => return Err(BadMix::Fixed(letter, *fixed)),
        None if letter != 'z' && !letter.is_ascii_uppercase() => return Err(BadMix::Own(letter)),
        _ => {}
    }
    let (least, most) = (FRAME_LENGTHS.0.l2(), FRAME_LENGTHS.1.l2());
    match (least..=most).contains(&bytes) {
        true => Ok((letter, FrameLen::with_fcs(bytes))),
        false => Err(BadMix::Bytes(bytes)),
    }
}

/// A letter a frame of what may have counts.
///
/// # Errors
/// [`BadMix`]: something that is neither letter nor count, a count of nothing, too long a sequence.
pub(super) fn letters(genome: &str) -> Result<Vec<char>, BadMix> {
    let mut all = vec![];
    let mut count: Option<usize> = None;
    let mut rest = genome;
    while let Some(first) = rest.chars().next() {
        let of = |is: fn(char) -> bool| rest.find(|c: char| !is(c)).unwrap_or(rest.len());
        let is_digit = |c: char| c.is_ascii_digit();
        let is_letter = |c: char| c.is_ascii_alphabetic();
        let end = if is_digit(first) {
            let end = of(is_digit);
            let number = rest[..end].parse::<usize>().unwrap_or(usize::MAX);
            if let Some(before) = count.replace(number) {
                return Err(BadMix::Count(before));
            }
            end
        } else if is_letter(first) {
            let end = of(is_letter);
            let times = count.take().unwrap_or(1);
            let frames = times.saturating_mul(end).saturating_add(all.len());
            if times == 0 {
                return Err(BadMix::Count(0));
            }
            if frames > MOST {
                return Err(BadMix::Length(frames));
            }
            (0..times).for_each(|_| all.extend(rest[..end].chars()));
            end
        } else if first.is_whitespace() || first == ',' {
            first.len_utf8()
        } else {
            return Err(BadMix::Letter(first));
        };
        rest = &rest[end..];
    }
    count.map_or(Ok(all), |count| Err(BadMix::Count(count)))
}

/// The letters as one reads them: as they are, or with counts.
pub(crate) fn written(letters: &[char]) -> String {
    let plain: String = letters.iter().collect();
    if letters.len() <= AT_LENGTH {
        return plain;
    }
    let short = counted(letters);
    if short.len() < plain.len() { short } else { plain }
}

/// With a count before whatever comes several times on end, the longest stretch first.
fn counted(letters: &[char]) -> String {
    let mut text = String::new();
    let mut once = String::new();
    let mut at = 0;
    while at < letters.len() {
        let rest = &letters[at..];
        let times = |period: usize| {
            let again = rest.chunks_exact(period).skip(1);
            1 + again.take_while(|next| *next == &rest[..period]).count()
        };
        let periods = (1..=PERIOD.min(rest.len() / 2)).map(|period| (period, times(period)));
        // What it covers beyond what it takes to write; of several the one with the shortest period.
        let saved = |&(period, times): &(usize, usize)| {
            (period * times).saturating_sub(period + times.to_string().len() + 3)
        };
        let best = periods.rev().max_by_key(saved).filter(|best| saved(best) > 0);
        let Some((period, times)) = best else {
            once.push(rest[0]);
            at += 1;
            continue;
        };
        flush(&mut text, &mut once);
        let sequence: String = rest[..period].iter().collect();
        let comma = if text.is_empty() { "" } else { ", " };
        let _ = write!(text, "{comma}{times} {sequence}");
        at += period * times;
    }
    flush(&mut text, &mut once);
    text
}

fn flush(text: &mut String, once: &mut String) {
    if !once.is_empty() {
        let comma = if text.is_empty() { "" } else { ", " };
        let _ = write!(text, "{comma}{once}");
        once.clear();
    }
}
