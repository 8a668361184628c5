//! Arguments that are no plain words or numbers.

use lab::bench::Generator;
pub(crate) use lab::bench::plan::time as duration;
use measure::Mode;
use measure::template::FRAME_LENGTHS;
use wire::FrameLen;

/// A frame size of what is sent: bytes with FCS, as far as a slot holds.
pub(crate) fn frame_len(text: &str) -> Result<FrameLen, String> {
    let (least, most) = (FRAME_LENGTHS.0.l2(), FRAME_LENGTHS.1.l2());
    match text.parse() {
        Ok(bytes) if bytes < least => Err(format!(
            "the smallest Ethernet frame has {least} bytes, its FCS counted; use {least} to {most}"
        )),
        Ok(bytes) if bytes > most => Err(format!(
            "the largest frame that is sent here has {most} bytes, its FCS counted; use {least} to \
             {most}"
        )),
        Ok(bytes) => Ok(FrameLen::with_fcs(bytes)),
        Err(_) => Err(format!("a frame size is a number of bytes, {least} to {most}")),
    }
}

/// A frame size for arithmetic: bytes with FCS, jumbo frames included.
pub(crate) fn any_frame_len(text: &str) -> Result<FrameLen, String> {
    let range = FrameLen::MIN.l2()..=u32::from(u16::MAX) + 18;
    let bytes = text.parse().ok().filter(|bytes| range.contains(bytes));
    bytes.map(FrameLen::with_fcs).ok_or_else(|| {
        format!(
            "a frame size is a number of bytes, its FCS counted: {} (the smallest Ethernet frame) to {} \
             (the largest IP packet in one)",
            range.start(),
            range.end()
        )
    })
}

/// A mode.
pub(crate) fn mode(text: &str) -> Result<Mode, String> {
    match text {
        "bridging" => Ok(Mode::Bridging),
        "routing" => Ok(Mode::Routing),
        _ => Err("the modes are: bridging, routing".to_string()),
    }
}

/// Who sends between veths.
pub(crate) fn generator(text: &str) -> Result<Generator, String> {
    match text {
        "kernel" => Ok(Generator::Kernel),
        "user" => Ok(Generator::User),
        _ => Err("the generators are: kernel, user".to_string()),
    }
}

/// The name of a configuration.
pub(crate) fn configuration(text: &str) -> Result<&'static str, String> {
    let names = lab::configuration::names();
    let known = names.iter().copied().find(|name| *name == text);
    known.ok_or_else(|| format!("the configurations are: {}", names.join(", ")))
}

/// A number with k, M, G or T: 10⁹ is `1G`.
pub(crate) fn quantity(text: &str) -> Result<f64, String> {
    lab::plans::quantity(text)
        .ok_or_else(|| "a number above zero, with k, M, G or T for 10^3 to 10^12".to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn durations() {
        for (text, ms) in [("500ms", 500), ("2s", 2000), ("1.5s", 1500), ("1m", 60_000)] {
            assert_eq!(duration(text), Ok(Duration::from_millis(ms)), "{text}");
        }
        for text in ["", "2", "s", "2h", "-1s", "0s", "1e9s", "61m", "NaNs", "infs", "2 s x"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn quantities() {
        for (text, value) in [("10G", 1e10), ("1.5k", 1500.0), ("7", 7.0), ("2T", 2e12)] {
            assert_eq!(quantity(text), Ok(value), "{text}");
        }
        for text in ["", "G", "-1", "0", "1g", "1GG", "NaN", "inf", "1e999", "µ"] {
            assert!(quantity(text).is_err(), "{text}");
        }
    }

    #[test]
    fn frame_lengths() {
        for (text, expected) in [
            ("64", Ok(FrameLen::MIN)),
            ("1518", Ok(FrameLen::MAX)),
            ("63", Err("smallest Ethernet frame has 64 bytes")),
            ("9860", Ok(FRAME_LENGTHS.1)),
            ("9861", Err("the largest frame that is sent here has 9860 bytes")),
            ("-1", Err("a number of bytes")),
            ("", Err("a number of bytes")),
        ] {
            match (frame_len(text), expected) {
                (Ok(len), Ok(expected)) => assert_eq!(len, expected),
                (Err(error), Err(expected)) => assert!(error.contains(expected), "{error}"),
                (got, _) => panic!("{text}: {got:?}"),
            }
        }
    }
}
