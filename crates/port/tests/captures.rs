//! Capture files of real tools (`captures/`), read as tshark reads them.
//!
//! ```text
//!  tcpdump, dumpcap ─► file ─┬─► record::Reader ─► time, lengths, bytes ─┐
//!                            └─► tshark ─► .csv ─────────────────────────┴─ the same?
//! ```

use flate2::read::GzDecoder;
use port::record::Reader;
use std::fs::{self, File};
use std::io::{self, BufReader, Read};
use std::path::PathBuf;

fn captures(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../captures").join(name)
}

/// A file's bytes, unpacked.
fn unpacked(name: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let file = BufReader::new(File::open(captures(name)).unwrap());
    GzDecoder::new(file).read_to_end(&mut bytes).unwrap();
    bytes
}

/// What tshark says of a frame, and we: time in nanoseconds, length on the wire, length in the
/// file, source and destination address and protocol (empty if it is not IPv4).
type Facts = (u64, u32, usize, String);

/// Seconds with nine digits behind the point.
fn nanoseconds(text: &str) -> u64 {
    let (seconds, fraction) = text.split_once('.').unwrap();
    assert_eq!(fraction.len(), 9, "{text}");
    seconds.parse::<u64>().unwrap() * 1_000_000_000 + fraction.parse::<u64>().unwrap()
}

fn addresses(frame: &[u8]) -> String {
    if frame[12..14] != [0x08, 0x00] {
        return ",,".into();
    }
    let dotted =
        |at: usize| format!("{}.{}.{}.{}", frame[at], frame[at + 1], frame[at + 2], frame[at + 3]);
    format!("{},{},{}", dotted(26), dotted(30), frame[23])
}

fn read(file: impl Read) -> Vec<Facts> {
    let mut reader = Reader::new(file).unwrap();
    let mut all = Vec::new();
    while let Some(record) = reader.read().unwrap() {
        assert_eq!(record.link_type, port::record::ETHERNET);
        let len = record.original_len;
        all.push((record.timestamp_ns, len, record.bytes.len(), addresses(record.bytes)));
    }
    all
}

/// The small files: one conversation in every format tcpdump and dumpcap write here.
#[test]
fn every_format_is_read_as_tshark_reads_it() {
    let witness = fs::read_to_string(captures("tiny.csv")).unwrap();
    for name in [
        "tiny.pcap",
        "tiny-nano.pcap",
        "tiny-snap96.pcap",
        "tiny.pcapng",
        "tiny-two-interfaces.pcapng",
    ] {
        let expected: Vec<Facts> = witness
            .lines()
            .filter_map(|line| line.strip_prefix(name)?.strip_prefix(','))
            .map(|line| {
                let [_number, _interface, time, len, cap_len, rest] =
                    line.splitn(6, ',').collect::<Vec<_>>()[..].try_into().unwrap();
                let (len, cap_len) = (len.parse().unwrap(), cap_len.parse().unwrap());
                (nanoseconds(time), len, cap_len, rest.to_owned())
            })
            .collect();
        let got = read(File::open(captures(name)).unwrap());
        assert!(expected.len() >= 10, "{name}: {expected:?}");
        assert_eq!(got, expected, "{name}");
        let cut = got.iter().filter(|(_, len, cap_len, _)| *len as usize > *cap_len).count();
        assert_eq!(cut > 0, name == "tiny-snap96.pcap", "{name}: {cut} frames are cut short");
        let lo = got.iter().filter(|(.., rest)| rest.starts_with("127.0.0.1,")).count();
        assert_eq!(lo > 0, name.contains("two"), "{name}: {lo} frames of the second interface");
        let mut reader = Reader::new(File::open(captures(name)).unwrap()).unwrap();
        let mut of_second = 0;
        while let Some(record) = reader.read().unwrap() {
            of_second += usize::from(record.interface == 1);
        }
        assert_eq!(of_second, lo, "{name}");
    }
}

/// The large file: as many frames as tshark finds, at the same times, of the same lengths.
#[test]
fn a_large_capture_is_read_as_tshark_reads_it() {
    let csv = String::from_utf8(unpacked("home.frames.csv.gz")).unwrap();
    let mut lines = csv.lines();
    let header: Vec<_> = lines.next().unwrap().split(',').collect();
    let column = |name| header.iter().position(|&column| column == name).unwrap();
    let [time, len] = ["frame.time_epoch", "frame.len"].map(column);
    let ip = ["ip.src", "ip.dst", "ip.proto"].map(column);
    let expected = lines.map(|line| {
        let fields: Vec<_> = line.split(',').collect();
        let len: u32 = fields[len].parse().unwrap();
        (nanoseconds(fields[time]), len, len as usize, ip.map(|at| fields[at]).join(","))
    });
    let file = unpacked("home.pcap.gz");
    let (expected, got): (Vec<Facts>, _) = (expected.collect(), read(&file[..]));
    assert!(got.len() > 10_000, "{} frames", got.len());
    assert_eq!(got.len(), expected.len());
    for (n, (got, expected)) in got.iter().zip(&expected).enumerate() {
        assert_eq!(got, expected, "frame {}", n + 1);
    }
}

/// Cut anywhere, a real file gives the records before the cut, and then the end or an error.
#[test]
fn a_cut_file_gives_what_is_whole() -> io::Result<()> {
    for name in ["tiny.pcap", "tiny.pcapng"] {
        let bytes = fs::read(captures(name))?;
        let whole = read(&bytes[..]);
        for len in 0..bytes.len() {
            let Ok(mut reader) = Reader::new(&bytes[..len]) else { continue };
            let mut n = 0;
            while let Ok(Some(record)) = reader.read() {
                assert_eq!(record.timestamp_ns, whole[n].0, "{name} cut to {len} bytes");
                n += 1;
            }
            // A pcapng file may go on for some bytes after its last packet.
            assert!(n < whole.len() || name.ends_with("ng"), "{name} cut to {len} bytes");
        }
    }
    Ok(())
}
