//! Lengths of frames: one, a range, weights, a mix by its name or its genome.
//!
//! ```text
//!  64                    "64-1518"        "64:7,570:4,1518:1"
//!  "imix" (simple: IP 40 × 7, 576 × 4, 1500 × 1)   "csit"   "trex"
//!  "IMIX - aaafg" (RFC 6985), with letters of one's own: "IMIX - aA (A=100)"; "IMIX - az (z=9018)"
//!  "IMIX - 20 abcd, 5 ggga": with counts, each of the letters behind it
//!  "imix shuffled 7": in an order that is drawn with this seed
//! ```
//!
//! All in bytes, L2 with FCS, the MTU's frame `z` as well; the simple mix counts IP packets and says so.

use crate::suite::plan::BadPlan;
use crate::suite::plan::value::{Number, Source};
use measure::template::FRAME_LENGTHS;
use measure::{Lengths, Mix};
use toml::Spanned;
use wire::FrameLen;

/// Reads lengths. A genome that does not say how long `z` is means the longest frame of the MTU.
///
/// # Errors
/// [`BadPlan`]: they are no lengths, or an Ethernet has none like these.
pub(in crate::suite::plan) fn read(
    source: Source<'_>,
    value: &Spanned<Number>,
    mtu: FrameLen,
) -> Result<(Lengths, Option<Mix>), BadPlan> {
    let read = match value.get_ref() {
        Number::Whole(bytes) => length(&bytes.to_string()).map(|one| (one.into(), None)),
        Number::Float(_) => Err("a length is a whole number of bytes".to_string()),
        Number::Text(text) => of(text.trim(), mtu),
    };
    read.map_err(|why| source.bad(value, why))
}

/// The length that a value is, if it is one.
pub(in crate::suite::plan) fn one(value: &Number) -> Option<FrameLen> {
    match value {
        Number::Whole(bytes) => length(&bytes.to_string()).ok(),
        Number::Float(_) => None,
        Number::Text(text) => length(text).ok(),
    }
}

fn of(text: &str, mtu: FrameLen) -> Result<(Lengths, Option<Mix>), String> {
    if let Some((text, seed)) = text.rsplit_once(" shuffled ") {
        let seed = seed.trim().parse::<u64>();
        let seed = seed.map_err(|_| format!("{text} shuffled by a number: {text} shuffled 7"))?;
        let (_, mix) = of(text.trim(), mtu)?;
        let mix = mix.ok_or_else(|| format!("{text} is no mix that could be shuffled"))?;
        return Ok(mixed(mix.shuffled(seed)));
    }
    if text.starts_with(|first: char| first.is_ascii_digit()) {
        if text.contains(':') {
            return weighted(text).map(mixed);
        }
        return match text.split_once('-') {
            None => length(text).map(|one| (one.into(), None)),
            Some((least, most)) => {
                let (least, most) = (length(least)?, length(most)?);
                if least > most {
                    return Err(format!("{text}: from the shortest to the longest"));
                }
                Ok((Lengths::Even(least, most), None))
            }
        };
    }
    Mix::read(text, mtu).map(mixed).map_err(|bad| bad.to_string())
}

fn mixed(mix: Mix) -> (Lengths, Option<Mix>) {
    (Lengths::InTurn(mix.sequence().to_vec()), Some(mix))
}

fn length(text: &str) -> Result<FrameLen, String> {
    let (least, most) = (FRAME_LENGTHS.0.l2(), FRAME_LENGTHS.1.l2());
    match text.trim().parse::<u32>() {
        Ok(bytes) if (least..=most).contains(&bytes) => Ok(FrameLen::with_fcs(bytes)),
        Ok(bytes) => Err(format!("frames of {bytes} bytes: {least} to {most}, their FCS counted")),
        Err(_) => Err(format!(
            "{text:?} is no length: 64, \"64-1518\", \"64:7,570:4,1518:1\", imix, csit, trex, or a \
             genome, \"IMIX - aaafg\", \"IMIX - 20 abcd, 5 ggga\""
        )),
    }
}

/// `64:7,570:4,1518:1`.
fn weighted(text: &str) -> Result<Mix, String> {
    let mut shares: Vec<(FrameLen, u32)> = vec![];
    for share in text.split(',') {
        let (bytes, weight) = share.split_once(':').unwrap_or((share, ""));
        let weight = weight.trim().parse::<u32>();
        let weight = weight.map_err(|_| format!("{share:?}: a length and its weight, 64:7"))?;
        shares.push((length(bytes)?, weight));
    }
    shares.sort_unstable();
    if let Some(twice) = shares.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        return Err(format!("{} bytes have two weights", twice[0].0.l2()));
    }
    Mix::weighted("weighted", "L2", &shares).map_err(|bad| bad.to_string())
}
