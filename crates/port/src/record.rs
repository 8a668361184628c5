//! Records of capture files, and the errors of reading them.
//!
//! ```text
//!  impl Read ─► Reader ─┬─ pcap::Reader ───┬─► Record { timestamp_ns, original_len, bytes }
//!                       └─ pcapng::Reader ─┘
//! ```
//!
//! [`Reader`] looks at the first four bytes and takes the format they name. Bytes from a file are
//! as hostile as bytes from a wire: every length is checked before it is believed, and what is
//! wrong is said with its place. Nobody here opens a file: callers bring `Read` and `Write`.
//!
//! Missing: **compressed captures**, **modified pcap** (Kuznetzov's), **seeking**.

use crate::{pcap, pcapng};
use std::io::{self, Read};

/// The longest record that is read or written: libpcap's limit, 256 KiB.
pub const MAX_RECORD: u32 = 262_144;

/// The link type of Ethernet in both formats (LINKTYPE_ETHERNET).
pub const ETHERNET: u16 = 1;

/// One captured frame. Bytes are L2 without FCS: if the file says that its frames have one, the
/// reader takes it off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    /// Nanoseconds since 1970-01-01 00:00 UTC. A pcapng Simple Packet Block has no time of its own
    /// and repeats that of the record before it.
    pub timestamp_ns: u64,
    /// The frame's length on the wire; `bytes` may be fewer.
    pub original_len: u32,
    /// What the frame begins with: 1 is [`ETHERNET`].
    pub link_type: u16,
    /// Which of its section's interfaces it was captured at, from 0; a pcap file has one.
    pub interface: u32,
    /// Which way it went, where that is known (pcapng alone can tell).
    pub direction: Option<Direction>,
    /// What was captured.
    pub bytes: &'a [u8],
}

impl<'a> Record<'a> {
    /// A whole Ethernet frame.
    pub fn ethernet(timestamp_ns: u64, bytes: &'a [u8]) -> Record<'a> {
        let original_len = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        let (link_type, interface, direction) = (ETHERNET, 0, None);
        Record { timestamp_ns, original_len, link_type, interface, direction, bytes }
    }

    /// How many bytes there are, if a writer can take them.
    pub(crate) fn check_writable(&self) -> io::Result<u32> {
        let invalid = |what| io::Error::new(io::ErrorKind::InvalidInput, what);
        if self.link_type != ETHERNET {
            return Err(invalid("only Ethernet frames can be written to a capture"));
        }
        let len = u32::try_from(self.bytes.len()).ok().filter(|&len| len <= MAX_RECORD);
        len.ok_or_else(|| invalid("a record of a capture has at most 262144 bytes"))
    }
}

/// Which way a frame went, seen from the port that captured it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// It was received.
    In,
    /// It was sent.
    Out,
}

/// The order of bytes in a file's numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Endian {
    /// Least significant byte first, as x86 and ARM write it.
    #[default]
    Little,
    /// Most significant byte first.
    Big,
}

impl Endian {
    pub(crate) fn u16(self, bytes: [u8; 2]) -> u16 {
        match self {
            Endian::Little => u16::from_le_bytes(bytes),
            Endian::Big => u16::from_be_bytes(bytes),
        }
    }

    pub(crate) fn u32(self, bytes: [u8; 4]) -> u32 {
        match self {
            Endian::Little => u32::from_le_bytes(bytes),
            Endian::Big => u32::from_be_bytes(bytes),
        }
    }

    pub(crate) fn put_u16(self, to: &mut Vec<u8>, value: u16) {
        to.extend(match self {
            Endian::Little => value.to_le_bytes(),
            Endian::Big => value.to_be_bytes(),
        });
    }

    pub(crate) fn put_u32(self, to: &mut Vec<u8>, value: u32) {
        to.extend(match self {
            Endian::Little => value.to_le_bytes(),
            Endian::Big => value.to_be_bytes(),
        });
    }
}

/// Why a capture cannot be read (on), and where.
#[derive(Debug)]
pub struct ReadError {
    /// How many bytes from the beginning the piece starts that is wrong.
    pub at: u64,
    /// What is wrong with it.
    pub kind: ReadErrorKind,
}

/// What is wrong with a capture.
#[derive(Debug)]
pub enum ReadErrorKind {
    /// The source itself failed.
    Io(io::Error),
    /// These first four bytes begin neither a pcap nor a pcapng file.
    NotACapture([u8; 4]),
    /// A version that we do not know.
    Version {
        /// The number before the point.
        major: u16,
        /// The number after it.
        minor: u16,
    },
    /// The file ends inside something.
    Truncated {
        /// Inside what.
        what: &'static str,
        /// How many bytes it has.
        len: u64,
        /// How many of them are there.
        got: u64,
    },
    /// A length that cannot be.
    Length {
        /// The length of what.
        what: &'static str,
        /// What the file says.
        len: u64,
        /// The least it could be.
        least: u64,
        /// The most it could be.
        most: u64,
    },
    /// A pcapng byte-order magic that is none.
    ByteOrder(u32),
    /// A pcapng packet of an interface that has not been described.
    Interface {
        /// The packet's interface.
        id: u32,
        /// How many have been described.
        described: usize,
    },
    /// The length behind a pcapng block differs from that in front of it.
    Trailer {
        /// In front.
        front: u32,
        /// Behind.
        back: u32,
    },
}

impl std::fmt::Display for ReadError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "at byte {}: ", self.at)?;
        match &self.kind {
            ReadErrorKind::Io(error) => write!(f, "cannot read: {error}"),
            ReadErrorKind::NotACapture(magic) => {
                write!(f, "neither pcap nor pcapng: it begins with {magic:02x?}")
            }
            ReadErrorKind::Version { major, minor } => {
                write!(f, "version {major}.{minor} of the format is not known")
            }
            ReadErrorKind::Truncated { what, len, got } => {
                write!(f, "the file ends inside {what}: {got} of {len} bytes")
            }
            ReadErrorKind::Length { what, len, least, most } => {
                write!(f, "{what} of {len} bytes: it can have {least} to {most}")
            }
            ReadErrorKind::ByteOrder(magic) => write!(f, "{magic:08x} is no byte-order magic"),
            ReadErrorKind::Interface { id, described } => {
                write!(f, "a packet of interface {id}, but {described} are described")
            }
            ReadErrorKind::Trailer { front, back } => {
                write!(f, "a block has length {front} in front and {back} behind")
            }
        }
    }
}

impl std::error::Error for ReadError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.kind {
            ReadErrorKind::Io(error) => Some(error),
            _ => None,
        }
    }
}

/// A source that counts, so that errors can say where.
pub(crate) struct Source<R> {
    read: R,
    /// Bytes read so far.
    pub(crate) at: u64,
}

impl<R: Read> Source<R> {
    pub(crate) fn new(read: R) -> Source<R> {
        Source { read, at: 0 }
    }

    /// Reads the next `len` bytes into `buffer`, emptied before, and returns whether they are
    /// there; `false` if the file ends before the first. Allocates no more than there is to read.
    pub(crate) fn fill(
        &mut self,
        buffer: &mut Vec<u8>,
        len: u64,
        what: &'static str,
    ) -> Result<bool, ReadError> {
        buffer.clear();
        let at = self.at;
        let got = (&mut self.read).take(len).read_to_end(buffer);
        let got = got.map_err(|error| ReadError { at, kind: ReadErrorKind::Io(error) })? as u64;
        self.at += got;
        match got {
            _ if got == len => Ok(true),
            0 => Ok(false),
            _ => Err(ReadError { at, kind: ReadErrorKind::Truncated { what, len, got } }),
        }
    }

    /// Reads bytes that must be there.
    pub(crate) fn need(
        &mut self,
        buffer: &mut Vec<u8>,
        len: u64,
        what: &'static str,
    ) -> Result<(), ReadError> {
        let at = self.at;
        match self.fill(buffer, len, what)? {
            true => Ok(()),
            false => Err(ReadError { at, kind: ReadErrorKind::Truncated { what, len, got: 0 } }),
        }
    }

    /// Reads a number's bytes, as they stand.
    pub(crate) fn array<const N: usize>(
        &mut self,
        what: &'static str,
    ) -> Result<[u8; N], ReadError> {
        let mut buffer = Vec::with_capacity(N);
        self.need(&mut buffer, N as u64, what)?;
        let mut array = [0; N];
        array.copy_from_slice(&buffer);
        Ok(array)
    }
}

/// Takes the FCS off a record that has `fcs` bytes of it on the wire.
pub(crate) fn without_fcs(record: Record<'_>, fcs: u32) -> Record<'_> {
    let original_len = record.original_len.saturating_sub(fcs);
    let captured = record.bytes.len().min(original_len as usize);
    Record { original_len, bytes: &record.bytes[..captured], ..record }
}

/// A capture in either format.
pub enum Reader<R> {
    /// Classic pcap.
    Pcap(pcap::Reader<R>),
    /// pcapng.
    Pcapng(pcapng::Reader<R>),
}

impl<R: Read> Reader<R> {
    /// Reads the beginning of a capture.
    ///
    /// # Errors
    /// [`ReadError`] if it is not one.
    pub fn new(read: R) -> Result<Reader<R>, ReadError> {
        let mut source = Source::new(read);
        let magic = source.array("the file's magic")?;
        if magic == pcapng::SECTION_MAGIC {
            return pcapng::Reader::after_magic(source).map(Reader::Pcapng);
        }
        pcap::Reader::after_magic(source, magic).map(Reader::Pcap)
    }

    /// The next record; `None` at the end, and after an error.
    ///
    /// # Errors
    /// [`ReadError`] if the rest is not a capture. Nothing can be read after that.
    pub fn read(&mut self) -> Result<Option<Record<'_>>, ReadError> {
        match self {
            Reader::Pcap(reader) => reader.read(),
            Reader::Pcapng(reader) => reader.read(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_magic_names_the_format() {
        let check = |bytes: &[u8], expected: &str| {
            let got = match Reader::new(bytes) {
                Ok(Reader::Pcap(_)) => "pcap".to_string(),
                Ok(Reader::Pcapng(_)) => "pcapng".to_string(),
                Err(error) => error.to_string(),
            };
            assert_eq!(got, expected, "{bytes:02x?}");
        };
        check(pcap::Writer::new(vec![]).unwrap().finish().unwrap().as_slice(), "pcap");
        check(pcapng::Writer::new(vec![]).unwrap().finish().unwrap().as_slice(), "pcapng");
        check(b"", "at byte 0: the file ends inside the file's magic: 0 of 4 bytes");
        check(b"abc", "at byte 0: the file ends inside the file's magic: 3 of 4 bytes");
        check(
            &[0x1f, 0x8b, 8, 0, 0],
            "at byte 0: neither pcap nor pcapng: it begins with [1f, 8b, 08, 00]",
        );
    }

    struct Broken;

    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("the disk is gone"))
        }
    }

    #[test]
    fn a_failing_source_is_named() {
        let mut good = pcap::Writer::new(vec![]).unwrap().finish().unwrap();
        good.extend([0; 16]);
        let mut reader = Reader::new(good.as_slice().chain(Broken)).unwrap();
        assert!(reader.read().unwrap().is_some(), "an empty record is one");
        let error = reader.read().unwrap_err();
        assert_eq!(error.to_string(), "at byte 40: cannot read: the disk is gone");
        assert!(reader.read().unwrap().is_none());
    }

    /// Reads all there is; hostile bytes may end in an error, but not in anything else.
    fn read_all(bytes: &[u8]) -> Result<usize, ReadError> {
        let mut reader = Reader::new(bytes)?;
        let mut n = 0;
        while let Some(record) = reader.read()? {
            assert!(record.bytes.len() <= record.original_len as usize, "{record:?}");
            assert!(record.bytes.len() <= bytes.len());
            n += 1;
        }
        assert!(reader.read().unwrap().is_none());
        Ok(n)
    }

    proptest! {
        /// No bytes make a reader panic, loop or return more than it read.
        #[test]
        fn any_bytes(format in 0usize..3, mut bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let heads: [&[u8]; 3] = [
                &[0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0],
                &[0x0a, 0x0d, 0x0d, 0x0a, 0, 0, 0, 28, 0x1a, 0x2b, 0x3c, 0x4d, 0, 1, 0, 0],
                &[],
            ];
            bytes.splice(..0, heads[format].iter().copied());
            let _ = read_all(&bytes);
        }

        /// Good files with a few bytes changed or an end cut off: the same.
        #[test]
        fn harmed_files(
            ng: bool,
            big: bool,
            lens in prop::collection::vec(0usize..100, 0..6),
            harms in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
            cut in any::<prop::sample::Index>(),
        ) {
            let endian = if big { Endian::Big } else { Endian::Little };
            let bytes = [0x5a; 100];
            let records = lens.iter().map(|&len| Record {
                direction: Some(Direction::In),
                ..Record::ethernet(1, &bytes[..len])
            });
            let mut file = if ng {
                let mut writer = pcapng::Writer::with(vec![], endian).unwrap();
                for record in records { writer.write(&record).unwrap(); }
                writer.finish().unwrap()
            } else {
                let mut writer = pcap::Writer::with(vec![], endian, pcap::Resolution::Micro).unwrap();
                for record in records { writer.write(&record).unwrap(); }
                writer.finish().unwrap()
            };
            prop_assert_eq!(read_all(&file).unwrap(), lens.len());
            for (place, byte) in harms {
                let place = place.index(file.len());
                file[place] = byte;
            }
            let _ = read_all(&file);
            let _ = read_all(&file[..cut.index(file.len())]);
        }
    }
}
