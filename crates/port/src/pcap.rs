//! Classic pcap files, read and written: both byte orders, micro- and nanoseconds.
//!
//! ```text
//! | magic 4 | major 2 | minor 2 | reserved 8 | snaplen 4 | link type 4 |        file header, 24 bytes
//! | seconds 4 | micro- or nanoseconds 4 | captured 4 | original 4 | bytes … |    each record
//! ```
//!
//! The magic is a1b2c3d4 for microseconds and a1b23c4d for nanoseconds; read the other way round it
//! says that the writer's byte order is the other one. (draft-ietf-opsawg-pcap)
//!
//! The link type is told, not judged: callers decide whether they can use anything but Ethernet.
//! Only Ethernet is written.

use crate::record::{Endian, MAX_RECORD, ReadError, ReadErrorKind, Record, Source, without_fcs};
use std::io::{self, Read, Write};

/// What a file's fractions of seconds count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Resolution {
    /// Microseconds: the original format; older tools read nothing else.
    Micro,
    /// Nanoseconds.
    #[default]
    Nano,
}

impl Resolution {
    fn magic(self) -> u32 {
        match self {
            Resolution::Micro => 0xa1b2_c3d4,
            Resolution::Nano => 0xa1b2_3c4d,
        }
    }

    fn unit_ns(self) -> u32 {
        match self {
            Resolution::Micro => 1000,
            Resolution::Nano => 1,
        }
    }
}

/// Reads a pcap file.
pub struct Reader<R> {
    source: Source<R>,
    endian: Endian,
    resolution: Resolution,
    link_type: u16,
    snaplen: u32,
    /// Bytes of FCS at each frame's end.
    fcs: u32,
    buffer: Vec<u8>,
    done: bool,
}

impl<R: Read> Reader<R> {
    /// Reads the file header.
    ///
    /// # Errors
    /// [`ReadError`] if it is not that of a pcap file of version 2.
    pub fn new(read: R) -> Result<Reader<R>, ReadError> {
        let mut source = Source::new(read);
        let magic = source.array("the file's magic")?;
        Reader::after_magic(source, magic)
    }

    pub(crate) fn after_magic(
        mut source: Source<R>,
        magic: [u8; 4],
    ) -> Result<Reader<R>, ReadError> {
        let (endian, resolution) = [Endian::Little, Endian::Big]
            .into_iter()
            .flat_map(|endian| [(endian, Resolution::Micro), (endian, Resolution::Nano)])
            .find(|(endian, resolution)| endian.u32(magic) == resolution.magic())
            .ok_or(ReadError { at: 0, kind: ReadErrorKind::NotACapture(magic) })?;
        let at = source.at;
        let header: [u8; 20] = source.array("the file header")?;
        let u32_at = |i| field(endian, &header, i);
        let major = endian.u16([header[0], header[1]]);
        let minor = endian.u16([header[2], header[3]]);
        if major != 2 {
            return Err(ReadError { at, kind: ReadErrorKind::Version { major, minor } });
        }
        let link = u32_at(16);
        // Bit 26 says that bits 28 to 31 hold the length of the FCS in 16-bit words.
        let fcs = if link & 1 << 26 == 0 { 0 } else { (link >> 28) * 2 };
        Ok(Reader {
            source,
            endian,
            resolution,
            link_type: link as u16,
            snaplen: u32_at(12),
            fcs,
            buffer: Vec::new(),
            done: false,
        })
    }

    /// The next record; `None` at the end, and after an error.
    ///
    /// # Errors
    /// [`ReadError`] if the rest is not a pcap file. Nothing can be read after that.
    pub fn read(&mut self) -> Result<Option<Record<'_>>, ReadError> {
        if self.done {
            return Ok(None);
        }
        self.done = true; // unless all goes well
        let at = self.source.at;
        if !self.source.fill(&mut self.buffer, 16, "a record's header")? {
            return Ok(None);
        }
        let [seconds, fraction, captured, original] =
            [0, 4, 8, 12].map(|i| field(self.endian, &self.buffer, i));
        if captured > MAX_RECORD {
            let (len, most) = (captured.into(), MAX_RECORD.into());
            let kind = ReadErrorKind::Length { what: "a record", len, least: 0, most };
            return Err(ReadError { at, kind });
        }
        self.source.need(&mut self.buffer, captured.into(), "a record's bytes")?;
        self.done = false;
        let fraction_ns = u64::from(fraction) * u64::from(self.resolution.unit_ns());
        let record = Record {
            // 2^32 seconds and 2^32 microseconds are less than 2^63 nanoseconds.
            timestamp_ns: u64::from(seconds) * 1_000_000_000 + fraction_ns,
            // Some writers leave the original length 0.
            original_len: original.max(captured),
            link_type: self.link_type,
            interface: 0,
            direction: None,
            bytes: &self.buffer,
        };
        Ok(Some(without_fcs(record, self.fcs)))
    }

    /// What the frames begin with: 1 is [Ethernet](crate::record::ETHERNET).
    pub fn link_type(&self) -> u16 {
        self.link_type
    }

    /// The most bytes of a frame that the writer meant to keep.
    pub fn snaplen(&self) -> u32 {
        self.snaplen
    }

    /// The file's byte order.
    pub fn endian(&self) -> Endian {
        self.endian
    }

    /// What the file's timestamps count.
    pub fn resolution(&self) -> Resolution {
        self.resolution
    }
}

/// The number at `i` of a header that has been read whole.
fn field(endian: Endian, header: &[u8], i: usize) -> u32 {
    endian.u32([header[i], header[i + 1], header[i + 2], header[i + 3]])
}

/// Writes a pcap file of Ethernet frames. Unbuffered: give it a `BufWriter`.
pub struct Writer<W> {
    write: W,
    endian: Endian,
    resolution: Resolution,
    buffer: Vec<u8>,
}

impl<W: Write> Writer<W> {
    /// Begins a little-endian file with nanoseconds.
    ///
    /// # Errors
    /// Those of `write`.
    pub fn new(write: W) -> io::Result<Writer<W>> {
        Writer::with(write, Endian::default(), Resolution::default())
    }

    /// Begins a file.
    ///
    /// # Errors
    /// Those of `write`.
    pub fn with(mut write: W, endian: Endian, resolution: Resolution) -> io::Result<Writer<W>> {
        let mut buffer = Vec::new();
        endian.put_u32(&mut buffer, resolution.magic());
        endian.put_u16(&mut buffer, 2);
        endian.put_u16(&mut buffer, 4);
        for number in [0, 0, MAX_RECORD, crate::record::ETHERNET.into()] {
            endian.put_u32(&mut buffer, number);
        }
        write.write_all(&buffer)?;
        Ok(Writer { write, endian, resolution, buffer })
    }

    /// Adds a record. Microsecond files lose the last three digits of its time; its direction has
    /// no place in this format.
    ///
    /// # Errors
    /// Those of `write`; `InvalidInput` for a time after 2106, more than [`MAX_RECORD`] bytes or
    /// another link type than Ethernet.
    pub fn write(&mut self, record: &Record<'_>) -> io::Result<()> {
        let captured = record.check_writable()?;
        let seconds = u32::try_from(record.timestamp_ns / 1_000_000_000).map_err(|_| {
            io::Error::new(io::ErrorKind::InvalidInput, "pcap has no room for times after 2106")
        })?;
        let fraction = (record.timestamp_ns % 1_000_000_000) as u32 / self.resolution.unit_ns();
        self.buffer.clear();
        for number in [seconds, fraction, captured, record.original_len.max(captured)] {
            self.endian.put_u32(&mut self.buffer, number);
        }
        self.buffer.extend(record.bytes);
        self.write.write_all(&self.buffer)
    }

    /// Ends the file and gives the writer back.
    ///
    /// # Errors
    /// Those of flushing it.
    pub fn finish(mut self) -> io::Result<W> {
        self.write.flush()?;
        Ok(self.write)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LITTLE_MICRO: &[u8] = &[
        0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 1, 0, 0, 0, //
        5, 0, 0, 0, 7, 0, 0, 0, 3, 0, 0, 0, 64, 0, 0, 0, 0xaa, 0xbb, 0xcc,
    ];
    const BIG_NANO: &[u8] = &[
        0xa1, 0xb2, 0x3c, 0x4d, 0, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 1, //
        0, 0, 0, 5, 0, 0, 0, 7, 0, 0, 0, 3, 0, 0, 0, 64, 0xaa, 0xbb, 0xcc,
    ];

    /// The formats byte by byte, in both directions.
    #[test]
    fn known_files() {
        let check = |file: &[u8], endian, resolution, timestamp_ns| {
            let bytes = &[0xaa, 0xbb, 0xcc];
            let record = Record { original_len: 64, ..Record::ethernet(timestamp_ns, bytes) };
            let mut reader = Reader::new(file).unwrap();
            assert_eq!((reader.endian(), reader.resolution()), (endian, resolution));
            assert_eq!((reader.link_type(), reader.snaplen()), (1, MAX_RECORD));
            assert_eq!(reader.read().unwrap(), Some(record));
            assert_eq!(reader.read().unwrap(), None);

            let mut writer = Writer::with(vec![], endian, resolution).unwrap();
            writer.write(&record).unwrap();
            assert_eq!(writer.finish().unwrap(), file);
        };
        check(LITTLE_MICRO, Endian::Little, Resolution::Micro, 5_000_007_000);
        check(BIG_NANO, Endian::Big, Resolution::Nano, 5_000_000_007);
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        let check = |change: &[(usize, u8)], len: usize, expected: &str| {
            let mut file = LITTLE_MICRO.to_vec();
            for &(place, byte) in change {
                file[place] = byte;
            }
            file.truncate(len);
            let error = Reader::new(file.as_slice()).and_then(|mut reader| {
                while reader.read()?.is_some() {}
                Ok(())
            });
            assert_eq!(error.unwrap_err().to_string(), expected);
        };
        check(&[(4, 9)], 99, "at byte 4: version 9.4 of the format is not known");
        check(&[], 20, "at byte 4: the file ends inside the file header: 16 of 20 bytes");
        check(&[], 30, "at byte 24: the file ends inside a record's header: 6 of 16 bytes");
        check(&[], 40, "at byte 40: the file ends inside a record's bytes: 0 of 3 bytes");
        check(&[], 42, "at byte 40: the file ends inside a record's bytes: 2 of 3 bytes");
        let huge = [(32, 0xff), (33, 0xff), (34, 0xff), (35, 0xff)];
        check(&huge, 99, "at byte 24: a record of 4294967295 bytes: it can have 0 to 262144");
    }

    #[test]
    fn a_frame_check_sequence_comes_off() {
        let mut file = LITTLE_MICRO.to_vec();
        file[23] = 0x24; // two words of FCS, and the bit that says so
        file[36] = 6; // original length: of 3 captured bytes, 2 are frame
        let mut reader = Reader::new(file.as_slice()).unwrap();
        assert_eq!(reader.link_type(), 1);
        let record = reader.read().unwrap().unwrap();
        assert_eq!((record.original_len, record.bytes), (2, &[0xaa, 0xbb][..]));
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let mut writer = Writer::new(vec![]).unwrap();
        let long = vec![0; MAX_RECORD as usize + 1];
        let radio = Record { link_type: 127, ..Record::ethernet(0, &[]) };
        for bad in [Record::ethernet(u64::MAX, &[]), Record::ethernet(0, &long), radio] {
            assert_eq!(writer.write(&bad).unwrap_err().kind(), io::ErrorKind::InvalidInput);
        }
        assert_eq!(writer.finish().unwrap().len(), 24, "nothing half-written");
    }

    proptest! {
        /// What is written is read, to the file's resolution.
        #[test]
        fn round_trip(
            big: bool,
            micro: bool,
            records in prop::collection::vec(
                (0u64..4_294_967_296_000_000_000, prop::collection::vec(any::<u8>(), 0..80), 0u32..2000),
                0..10,
            ),
        ) {
            let endian = if big { Endian::Big } else { Endian::Little };
            let resolution = if micro { Resolution::Micro } else { Resolution::Nano };
            let mut writer = Writer::with(vec![], endian, resolution).unwrap();
            for (timestamp_ns, bytes, cut) in &records {
                let original_len = bytes.len() as u32 + cut;
                let record = Record { original_len, ..Record::ethernet(*timestamp_ns, bytes) };
                writer.write(&record).unwrap();
            }
            let file = writer.finish().unwrap();
            let mut reader = Reader::new(file.as_slice()).unwrap();
            for (timestamp_ns, bytes, cut) in &records {
                let timestamp_ns = timestamp_ns - timestamp_ns % u64::from(resolution.unit_ns());
                let original_len = bytes.len() as u32 + cut;
                let expected = Record { original_len, ..Record::ethernet(timestamp_ns, bytes) };
                prop_assert_eq!(reader.read().unwrap(), Some(expected));
            }
            prop_assert_eq!(reader.read().unwrap(), None);
        }
    }
}
