//! A capture's frames, if all of them can be sent.
//!
//! ```text
//!  record ─► Ethernet? ─► whole? ─► 14 bytes to the longest? ─► zeros up to 60 ─► Captured
//!               └ the number of the first that is not, and why
//! ```
//!
//! A frame of which the capture holds the beginning only is refused: whatever were made up for the
//! rest would be sent under the capture's name.

use crate::template::FRAME_LENGTHS;
use port::record::{ETHERNET, ReadError, Reader};
use std::fmt;
use wire::FrameLen;

/// The frames of a capture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capture {
    /// In the file's order.
    pub frames: Vec<Captured>,
    /// How many were shorter than a wire has them, and have zeros behind them now: whoever captures
    /// at the sender sees frames before that is done.
    pub padded: u64,
}

/// A frame of a capture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Captured {
    /// Nanoseconds after the first. A time before the one in front of it is its: frames keep their
    /// order.
    pub time_ns: u64,
    /// Which of the file's interfaces saw it.
    pub interface: u32,
    /// Without FCS.
    pub bytes: Vec<u8>,
}

/// Why a capture cannot be replayed; frames are counted from 1, as Wireshark does.
#[derive(Debug)]
pub enum BadCapture {
    /// The file is none, or ends within a record.
    Unreadable(ReadError),
    /// It has no frames.
    Empty,
    /// A frame of another link type.
    NotEthernet(usize, u16),
    /// A frame of which it has not all bytes: how many, and of how many.
    CutShort(usize, usize, u32),
    /// A frame with so many bytes, its FCS counted.
    Length(usize, u32),
}

impl fmt::Display for BadCapture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BadCapture::Unreadable(error) => error.fmt(f),
            BadCapture::Empty => f.write_str("it holds no frames"),
            BadCapture::NotEthernet(number, link) => write!(
                f,
                "frame {number} is no Ethernet frame but of link type {link}: capture at an Ethernet \
                 interface, not at \"any\""
            ),
            BadCapture::CutShort(number, captured, original) => write!(
                f,
                "frame {number} was captured in part, {captured} of {original} bytes: capture whole \
                 frames (tcpdump -s 0)"
            ),
            BadCapture::Length(number, l2) => {
                let (_, most) = FRAME_LENGTHS;
                write!(
                    f,
                    "frame {number} has {l2} bytes with FCS: 18 to {}; longer ones come of offloads \
                     (ethtool -K eth0 gro off tso off gso off before capturing)",
                    most.l2()
                )
            }
        }
    }
}

impl std::error::Error for BadCapture {}

impl Capture {
    /// Reads a file, pcap or pcapng.
    ///
    /// # Errors
    /// [`BadCapture`].
    pub fn read(file: &[u8]) -> Result<Capture, BadCapture> {
        let (least, most) = FRAME_LENGTHS;
        let mut reader = Reader::new(file).map_err(BadCapture::Unreadable)?;
        let mut capture = Capture { frames: vec![], padded: 0 };
        let (mut first, mut last) = (None, 0);
        while let Some(record) = reader.read().map_err(BadCapture::Unreadable)? {
            let (number, len) = (capture.frames.len() + 1, record.bytes.len());
            if record.link_type != ETHERNET {
                return Err(BadCapture::NotEthernet(number, record.link_type));
            }
            let l2 = FrameLen::without_fcs(record.original_len).l2();
            if record.original_len < 14 || l2 > most.l2() {
                return Err(BadCapture::Length(number, l2));
            }
            if len < record.original_len as usize {
                return Err(BadCapture::CutShort(number, len, record.original_len));
            }
            let time = record.timestamp_ns;
            last = time.saturating_sub(*first.get_or_insert(time)).max(last);
            let mut bytes = record.bytes.to_vec();
            let least = least.in_memory() as usize;
            capture.padded += u64::from(len < least);
            bytes.resize(len.max(least), 0);
            capture.frames.push(Captured { time_ns: last, interface: record.interface, bytes });
        }
        if capture.frames.is_empty() { Err(BadCapture::Empty) } else { Ok(capture) }
    }
}
