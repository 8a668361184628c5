//! pcapng files, read and written: sections of either byte order, interfaces, packets.
//!
//! ```text
//! block:  | type 4 | length 4 | body …, padded to 4 | length again 4 |
//!
//! file:   section header ─► interface description … ─► packets … ─► (next section header …)
//!         byte order          link type, if_tsresol       enhanced, simple, or the old kind
//! ```
//!
//! A section header begins everything anew: byte order and interfaces. A packet names its
//! interface, and that says what its time counts (`if_tsresol`, `if_tsoffset`) and how long the FCS
//! is (`if_fcslen`). Other blocks and options are passed over. (draft-ietf-opsawg-pcapng)
//!
//! The writer makes one section of Ethernet interfaces that count nanoseconds.
//!
//! Missing: **name resolution, statistics, decryption secrets, comments** (passed over when read,
//! never written).

use crate::record::{
    Direction, ETHERNET, Endian, MAX_RECORD, ReadError, ReadErrorKind, Record, Source, without_fcs,
};
use std::io::{self, Read, Write};
use std::ops::Range;

/// The longest block that is read: 16 MiB, Wireshark's limit.
pub const MAX_BLOCK: u32 = 16 << 20;

const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE_DESCRIPTION: u32 = 1;
const OLD_PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const ENHANCED_PACKET: u32 = 6;

/// A section header's type reads the same either way round.
pub(crate) const SECTION_MAGIC: [u8; 4] = SECTION_HEADER.to_be_bytes();
const BYTE_ORDER: u32 = 0x1a2b_3c4d;

const IF_NAME: u16 = 2;
const IF_TSRESOL: u16 = 9;
const IF_FCSLEN: u16 = 13;
const IF_TSOFFSET: u16 = 14;
const EPB_FLAGS: u16 = 2;

/// Reads a pcapng file.
pub struct Reader<R> {
    source: Source<R>,
    endian: Endian,
    /// Those of the present section.
    interfaces: Vec<Interface>,
    /// The present block, without its type and first length.
    buffer: Vec<u8>,
    /// The time of the last packet that had one.
    timestamp_ns: u64,
    done: bool,
}

/// What a section says of an interface.
#[derive(Clone, Copy, Debug)]
struct Interface {
    link_type: u16,
    snaplen: u32,
    /// As it stands in `if_tsresol`.
    resolution: u8,
    offset_seconds: i64,
    /// Bytes of FCS at each frame's end.
    fcs: u32,
}

/// A packet in the buffer.
struct Packet {
    id: u32,
    interface: Interface,
    bytes: Range<usize>,
    original_len: u32,
    direction: Option<Direction>,
}

impl<R: Read> Reader<R> {
    /// Reads the first section's header.
    ///
    /// # Errors
    /// [`ReadError`] if it is none of version 1.
    pub fn new(read: R) -> Result<Reader<R>, ReadError> {
        let mut source = Source::new(read);
        let magic = source.array("the file's magic")?;
        if magic != SECTION_MAGIC {
            return Err(ReadError { at: 0, kind: ReadErrorKind::NotACapture(magic) });
        }
        Reader::after_magic(source)
    }

    pub(crate) fn after_magic(source: Source<R>) -> Result<Reader<R>, ReadError> {
        let mut reader = Reader {
            source,
            endian: Endian::Little,
            interfaces: Vec::new(),
            buffer: Vec::new(),
            timestamp_ns: 0,
            done: false,
        };
        let length = reader.source.array("a section header")?;
        reader.section(0, length)?;
        Ok(reader)
    }

    /// The next record; `None` at the end, and after an error.
    ///
    /// # Errors
    /// [`ReadError`] if the rest is not a pcapng file. Nothing can be read after that.
    pub fn read(&mut self) -> Result<Option<Record<'_>>, ReadError> {
        if self.done {
            return Ok(None);
        }
        self.done = true; // unless all goes well
        let packet = loop {
            let at = self.source.at;
            if !self.source.fill(&mut self.buffer, 8, "a block's header")? {
                return Ok(None);
            }
            let length = array(&self.buffer, 4);
            if array(&self.buffer, 0) == SECTION_MAGIC {
                self.section(at, length)?;
                continue;
            }
            let kind = self.endian.u32(array(&self.buffer, 0));
            self.block(at, length, 8, 12, "a block")?;
            match kind {
                INTERFACE_DESCRIPTION => {
                    let interface = self.interface(at)?;
                    self.interfaces.push(interface);
                }
                ENHANCED_PACKET | OLD_PACKET => break self.packet(at, kind)?,
                SIMPLE_PACKET => break self.simple_packet(at)?,
                _ => {}
            }
        };
        self.done = false;
        let record = Record {
            timestamp_ns: self.timestamp_ns,
            original_len: packet.original_len,
            link_type: packet.interface.link_type,
            interface: packet.id,
            direction: packet.direction,
            bytes: &self.buffer[packet.bytes],
        };
        Ok(Some(without_fcs(record, packet.interface.fcs)))
    }

    /// Reads a section header, whose type and length have been read.
    fn section(&mut self, at: u64, length: [u8; 4]) -> Result<(), ReadError> {
        let magic = self.source.array("a section header")?;
        self.endian = match () {
            () if Endian::Little.u32(magic) == BYTE_ORDER => Endian::Little,
            () if Endian::Big.u32(magic) == BYTE_ORDER => Endian::Big,
            () => {
                let kind = ReadErrorKind::ByteOrder(u32::from_be_bytes(magic));
                return Err(ReadError { at: at + 8, kind });
            }
        };
        self.interfaces.clear();
        self.block(at, length, 12, 28, "a section header")?;
        let [major, minor] = [0, 2].map(|i| self.endian.u16(array(&self.buffer, i)));
        // Some writers took 1.2 for the version; the format is the same.
        if !matches!((major, minor), (1, 0 | 2)) {
            return Err(ReadError { at: at + 12, kind: ReadErrorKind::Version { major, minor } });
        }
        Ok(())
    }

    /// Reads the rest of a block, `had` bytes of which have been read, and takes off the length
    /// behind it.
    fn block(
        &mut self,
        at: u64,
        length: [u8; 4],
        had: u32,
        least: u32,
        what: &'static str,
    ) -> Result<(), ReadError> {
        let front = self.endian.u32(length);
        if !(least..=MAX_BLOCK).contains(&front) || !front.is_multiple_of(4) {
            return Err(bad_length(at, what, front.into(), least.into(), MAX_BLOCK.into()));
        }
        self.source.need(&mut self.buffer, (front - had).into(), what)?;
        let end = self.buffer.len() - 4;
        let back = self.endian.u32(array(&self.buffer, end));
        if back != front {
            return Err(ReadError { at, kind: ReadErrorKind::Trailer { front, back } });
        }
        self.buffer.truncate(end);
        Ok(())
    }

    /// The interface that the block in the buffer describes.
    fn interface(&self, at: u64) -> Result<Interface, ReadError> {
        let body = self.body(at, 8, "an interface description")?;
        let mut interface = Interface {
            link_type: self.endian.u16(array(body, 0)),
            snaplen: self.endian.u32(array(body, 4)),
            resolution: 6,
            offset_seconds: 0,
            fcs: 0,
        };
        self.options(at, &body[8..], |code, value| match (code, value) {
            (IF_TSRESOL, &[resolution]) => interface.resolution = resolution,
            (IF_TSOFFSET, &[a, b, c, d, e, f, g, h]) => {
                let [first, second] =
                    [[a, b, c, d], [e, f, g, h]].map(|half| self.endian.u32(half));
                let (low, high) = match self.endian {
                    Endian::Little => (first, second),
                    Endian::Big => (second, first),
                };
                interface.offset_seconds = (u64::from(high) << 32 | u64::from(low)) as i64;
            }
            (IF_FCSLEN, &[bits]) => interface.fcs = u32::from(bits).div_ceil(8),
            _ => {}
        })?;
        Ok(interface)
    }

    /// The enhanced or old packet in the buffer.
    fn packet(&mut self, at: u64, kind: u32) -> Result<Packet, ReadError> {
        let body = self.body(at, 20, "a packet block")?;
        let number = |i| self.endian.u32(array(body, i));
        let id = match kind {
            // The old kind has a count of drops beside a shorter interface number.
            OLD_PACKET => u32::from(self.endian.u16(array(body, 0))),
            _ => number(0),
        };
        let interface = self.described(at, id)?;
        let ticks = u64::from(number(4)) << 32 | u64::from(number(8));
        let (captured, original) = (number(12), number(16));
        let bytes = self.captured(at, 20, captured)?;
        let mut direction = None;
        let options = body.get(bytes.end.next_multiple_of(4)..).unwrap_or_default();
        self.options(at, options, |code, value| {
            if let (EPB_FLAGS, &[a, b, c, d]) = (code, value) {
                direction = match self.endian.u32([a, b, c, d]) & 3 {
                    1 => Some(Direction::In),
                    2 => Some(Direction::Out),
                    _ => None,
                };
            }
        })?;
        self.timestamp_ns = interface.nanoseconds(ticks);
        Ok(Packet { id, interface, bytes, original_len: original.max(captured), direction })
    }

    /// The simple packet in the buffer: one of the first interface, without a time.
    fn simple_packet(&self, at: u64) -> Result<Packet, ReadError> {
        let body = self.body(at, 4, "a simple packet block")?;
        let interface = self.described(at, 0)?;
        let original_len = self.endian.u32(array(body, 0));
        let captured = match interface.snaplen {
            0 => original_len,
            snaplen => original_len.min(snaplen),
        };
        let bytes = self.captured(at, 4, captured)?;
        Ok(Packet { id: 0, interface, bytes, original_len, direction: None })
    }

    /// The block's body, if it has `least` bytes.
    fn body(&self, at: u64, least: usize, what: &'static str) -> Result<&[u8], ReadError> {
        if self.buffer.len() < least {
            let len = self.buffer.len() as u64;
            return Err(bad_length(at, what, len + 12, least as u64 + 12, MAX_BLOCK.into()));
        }
        Ok(&self.buffer)
    }

    fn described(&self, at: u64, id: u32) -> Result<Interface, ReadError> {
        let described = self.interfaces.len();
        let interface = self.interfaces.get(id as usize).copied();
        interface.ok_or(ReadError { at, kind: ReadErrorKind::Interface { id, described } })
    }

    /// Where in the buffer the `captured` bytes from `start` on lie.
    fn captured(&self, at: u64, start: usize, captured: u32) -> Result<Range<usize>, ReadError> {
        let most = (self.buffer.len() - start).min(MAX_RECORD as usize);
        match captured as usize {
            len if len <= most => Ok(start..start + len),
            len => Err(bad_length(at, "a packet in its block", len as u64, 0, most as u64)),
        }
    }

    /// Calls `each` with the code and value of every option.
    fn options(
        &self,
        at: u64,
        mut options: &[u8],
        mut each: impl FnMut(u16, &[u8]),
    ) -> Result<(), ReadError> {
        while let Some((head, rest)) = options.split_first_chunk::<4>() {
            let [code, len] = [0, 2].map(|i| self.endian.u16(array(head, i)));
            if code == 0 {
                break;
            }
            let len = usize::from(len);
            let Some(value) = rest.get(..len) else {
                return Err(bad_length(at, "a block's option", len as u64, 0, rest.len() as u64));
            };
            each(code, value);
            // Bodies are multiples of four, so the padding is there; a hostile one may lack it.
            options = rest.get(len.next_multiple_of(4)..).unwrap_or_default();
        }
        Ok(())
    }
}

impl Interface {
    /// Nanoseconds since 1970 of a time in this interface's ticks, at the ends of `u64` if it lies
    /// beyond them.
    fn nanoseconds(&self, ticks: u64) -> u64 {
        let (ticks, exponent) = (i128::from(ticks), u32::from(self.resolution & 0x7f));
        let ns = if self.resolution & 0x80 != 0 {
            (ticks * 1_000_000_000) >> exponent // at most 127
        } else if exponent <= 9 {
            ticks * 10i128.pow(9 - exponent)
        } else {
            // 2^64 ticks of 10⁻²⁹ s or less are no nanosecond.
            10i128.checked_pow(exponent - 9).map_or(0, |ticks_per_ns| ticks / ticks_per_ns)
        };
        let ns = ns + i128::from(self.offset_seconds) * 1_000_000_000;
        ns.clamp(0, u64::MAX.into()) as u64
    }
}

fn bad_length(at: u64, what: &'static str, len: u64, least: u64, most: u64) -> ReadError {
    ReadError { at, kind: ReadErrorKind::Length { what, len, least, most } }
}

/// The bytes of a number in a body whose length has been checked.
fn array<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut array = [0; N];
    array.copy_from_slice(&bytes[at..at + N]);
    array
}

/// Writes a pcapng file. Unbuffered: give it a `BufWriter`.
pub struct Writer<W> {
    write: W,
    endian: Endian,
    buffer: Vec<u8>,
}

impl<W: Write> Writer<W> {
    /// Begins a little-endian file.
    ///
    /// # Errors
    /// Those of `write`.
    pub fn new(write: W) -> io::Result<Writer<W>> {
        Writer::with(write, Endian::default())
    }

    /// Begins a file.
    ///
    /// # Errors
    /// Those of `write`.
    pub fn with(write: W, endian: Endian) -> io::Result<Writer<W>> {
        let mut writer = Writer::section(write, endian)?;
        writer.describe(None)?;
        Ok(writer)
    }

    /// Begins a little-endian file of interfaces with these names.
    ///
    /// # Errors
    /// Those of `write`.
    pub fn with_interfaces(write: W, names: &[&str]) -> io::Result<Writer<W>> {
        let mut writer = Writer::section(write, Endian::default())?;
        names.iter().try_for_each(|name| writer.describe(Some(name)))?;
        Ok(writer)
    }

    fn section(write: W, endian: Endian) -> io::Result<Writer<W>> {
        let mut writer = Writer { write, endian, buffer: Vec::new() };
        writer.block(SECTION_HEADER, |endian, body| {
            endian.put_u32(body, BYTE_ORDER);
            endian.put_u16(body, 1);
            endian.put_u16(body, 0);
            body.extend([0xff; 8]); // the section's length: not known
        })?;
        Ok(writer)
    }

    /// Describes another interface.
    fn describe(&mut self, name: Option<&str>) -> io::Result<()> {
        self.block(INTERFACE_DESCRIPTION, |endian, body| {
            endian.put_u16(body, ETHERNET);
            endian.put_u16(body, 0);
            endian.put_u32(body, 0); // snaplen: no limit
            if let Some(name) = name {
                let name = &name.as_bytes()[..name.len().min(usize::from(u16::MAX))];
                endian.put_u16(body, IF_NAME);
                endian.put_u16(body, name.len() as u16);
                body.extend(name);
                body.resize(body.len().next_multiple_of(4), 0);
            }
            endian.put_u16(body, IF_TSRESOL);
            endian.put_u16(body, 1);
            body.extend([9, 0, 0, 0]); // nanoseconds, and padding
            body.extend([0; 4]); // end of options
        })
    }

    /// Adds a record.
    ///
    /// # Errors
    /// Those of `write`; `InvalidInput` for more than [`MAX_RECORD`] bytes or another link type
    /// than Ethernet.
    pub fn write(&mut self, record: &Record<'_>) -> io::Result<()> {
        self.write_from(0, record)
    }

    /// Adds a record of the interface of this number, counted from 0.
    ///
    /// # Errors
    /// Those of [`write`](Self::write).
    pub fn write_from(&mut self, interface: u32, record: &Record<'_>) -> io::Result<()> {
        let captured = record.check_writable()?;
        self.block(ENHANCED_PACKET, |endian, body| {
            let (high, low) = (record.timestamp_ns >> 32, record.timestamp_ns);
            let original_len = record.original_len.max(captured);
            for number in [interface, high as u32, low as u32, captured, original_len] {
                endian.put_u32(body, number);
            }
            body.extend(record.bytes);
            body.resize(body.len().next_multiple_of(4), 0);
            if let Some(direction) = record.direction {
                endian.put_u16(body, EPB_FLAGS);
                endian.put_u16(body, 4);
                endian.put_u32(body, if direction == Direction::In { 1 } else { 2 });
                body.extend([0; 4]); // end of options
            }
        })
    }

    /// Ends the file and gives the writer back.
    ///
    /// # Errors
    /// Those of flushing it.
    pub fn finish(mut self) -> io::Result<W> {
        self.write.flush()?;
        Ok(self.write)
    }

    /// Writes a block whose body `fill` adds, a multiple of 4 bytes.
    fn block(&mut self, kind: u32, fill: impl FnOnce(Endian, &mut Vec<u8>)) -> io::Result<()> {
        let (endian, buffer) = (self.endian, &mut self.buffer);
        buffer.clear();
        endian.put_u32(buffer, kind);
        endian.put_u32(buffer, 0); // the length, when it is known
        fill(endian, buffer);
        let mut length = Vec::with_capacity(4);
        endian.put_u32(&mut length, buffer.len() as u32 + 4);
        buffer[4..8].copy_from_slice(&length);
        buffer.extend(length);
        self.write.write_all(buffer)
    }
}

#[cfg(test)]
mod tests;
