//! `frame-sizes`: lengths, and mixes of lengths as streams have them.
//!
//! ```text
//!  [64, 1518, "imix"] ─► 64, 1518 (in their order), imix (mixes behind them, in the file's)
//!                           └ each a size of its own: its own self-test, its own cells
//! ```
//!
//! A mix's `z`, where it does not say how long, is the longest length beside it, as devices are given an
//! MTU for that, and 1518 if there is none longer.
//!
//! A range of random lengths is none: what a wire carries of them is not known beforehand. What is of
//! one length by its nature (a connection opened by a frame, TCP's segments, what is measured with the
//! smallest frames only) is refused with a mix, and told what to name instead.

use super::stream::sizes as lengths;
use super::value::{Number, Source};
use super::{BadPlan, Procedure};
use measure::template::FRAME_LENGTHS;
use measure::{FrameSize, Lengths};
use std::sync::Arc;
use toml::Spanned;
use wire::FrameLen;

/// As a file has them.
pub(super) type Table = Spanned<Vec<Spanned<Number>>>;

/// Reads them: lengths ascending, then mixes; none twice.
///
/// # Errors
/// [`BadPlan`].
pub(super) fn read(source: Source<'_>, list: &Table) -> Result<Vec<FrameSize>, BadPlan> {
    let (mut sizes, mut mixes) = (vec![], vec![]);
    let lengths = list.get_ref().iter().filter_map(|value| lengths::one(value.get_ref()));
    let mtu = lengths.fold(FrameLen::MAX, FrameLen::max);
    for value in list.get_ref() {
        match one(source, value, mtu)? {
            FrameSize::One(frame) => sizes.push(frame),
            mix if mixes.contains(&mix) => {}
            mix if mixes.iter().any(|other: &FrameSize| other.to_string() == mix.to_string()) => {
                let why = format!("two mixes that tables would call {mix}: leave one out");
                return Err(source.bad(value, why));
            }
            mix => mixes.push(mix),
        }
    }
    sizes.sort_unstable();
    sizes.dedup();
    let sizes: Vec<FrameSize> = sizes.into_iter().map(FrameSize::One).chain(mixes).collect();
    if sizes.is_empty() {
        return Err(source.bad(list, "at least one frame size"));
    }
    Ok(sizes)
}

fn one(source: Source<'_>, value: &Spanned<Number>, mtu: FrameLen) -> Result<FrameSize, BadPlan> {
    let least = FRAME_LENGTHS.0.l2();
    if let Number::Whole(bytes) = value.get_ref()
        && *bytes < i64::from(least)
    {
        let why = format!(
            "frames of {bytes} bytes: the smallest Ethernet frame has {least}, its FCS counted"
        );
        return Err(source.bad(value, why));
    }
    match lengths::read(source, value, mtu)? {
        (_, Some(mix)) => Ok(FrameSize::Mix(Arc::new(mix))),
        (Lengths::Even(least, most), None) if least == most => Ok(FrameSize::One(least)),
        _ => {
            let why = "random lengths, of which it is not known how many a wire carries: give them \
                       weights, \"64:7,570:4,1518:1\"";
            Err(source.bad(value, why))
        }
    }
}

/// Whether a procedure can be run with these sizes.
///
/// # Errors
/// It is of one length, and there is a mix; or of the smallest frames, and there is no length.
pub(super) fn suit(
    source: Source<'_>,
    kind: &Spanned<String>,
    procedure: &Procedure,
    sizes: &[FrameSize],
) -> Result<(), BadPlan> {
    let Some(mix) = sizes.iter().find(|size| size.mix().is_some()) else { return Ok(()) };
    let name = procedure.name();
    let no_length = sizes.iter().all(|size| size.mix().is_some());
    let why = match procedure {
        Procedure::Establishment(_) | Procedure::TearDown { .. } | Procedure::Capacity(_) => {
            format!(
                "{name} opens each connection by one frame (RFC 9693): frame-sizes = [64] instead of \
             {mix}; what a table of connections costs a mix, throughput tells"
            )
        }
        Procedure::Tcp(_) => format!(
            "{name}: TCP makes segments of its own lengths: frame-sizes = [1518], the longest, \
             instead of {mix}"
        ),
        Procedure::Reset { .. }
        | Procedure::AddressCaching { .. }
        | Procedure::AddressLearning { .. }
            if no_length =>
        {
            format!("{name} is of the smallest frames: name a length, too: [64, \"{mix}\"]")
        }
        _ => return Ok(()),
    };
    Err(source.bad(kind, why))
}
