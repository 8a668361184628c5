//! Any bytes as a capture file, classic pcap or pcapng.
//!
//! Reading ends, with records or an error; what was read can be written in both formats and read
//! again as it was. Whatever frames it has are counted, each once.

use measure::survey::Survey;
use port::record::{ETHERNET, MAX_RECORD, Reader, Record};
use port::{pcap, pcapng};

/// pcap has 32 bits for seconds.
const PCAP_END_NS: u64 = (1 << 32) * 1_000_000_000;

/// Reads `input`, writes what was read, and reads that.
pub fn run(input: &[u8]) {
    let mut in_pcap = pcap::Writer::new(Vec::new()).expect("a vector takes all");
    let mut in_pcapng = pcapng::Writer::new(Vec::new()).expect("a vector takes all");
    let (mut of_pcap, mut of_pcapng) = (Vec::new(), Vec::new());
    let mut survey = Survey::default();
    read(input, |record| {
        assert!(record.bytes.len() <= MAX_RECORD as usize);
        assert!(record.original_len as usize >= record.bytes.len(), "{record:?}");
        if record.link_type != ETHERNET {
            return;
        }
        survey.frame(record.timestamp_ns, record.bytes, record.original_len);
        in_pcapng.write(record).expect("an Ethernet record can be written");
        // What is written so has one interface.
        let record = &Record { interface: 0, ..*record };
        of_pcapng.push(format!("{record:?}"));
        if record.timestamp_ns < PCAP_END_NS {
            in_pcap.write(record).expect("an Ethernet record can be written");
            of_pcap.push(format!("{:?}", Record { direction: None, ..*record }));
        }
    });
    let capture = survey.capture("", None);
    let of_streams = capture.runs.iter().map(|seen| {
        let damaged = [seen.wrong_size, seen.bad_checksum].into_iter().flatten().sum::<u64>();
        seen.received + seen.duplicate + seen.stale + damaged
    });
    let beside = capture.foreign + capture.damaged.unwrap_or(0);
    assert_eq!(of_streams.sum::<u64>() + beside, capture.frames, "{capture:?}");
    for (file, expected) in [
        (in_pcap.finish().expect("a vector"), of_pcap),
        (in_pcapng.finish().expect("a vector"), of_pcapng),
    ] {
        let mut again = Vec::new();
        let error = read(&file, |record| again.push(format!("{record:?}")));
        assert_eq!((again, error), (expected, None));
    }
}

/// Reads a file to its end; what was wrong, if something was.
fn read(file: &[u8], mut each: impl FnMut(&Record<'_>)) -> Option<String> {
    let mut reader = match Reader::new(file) {
        Ok(reader) => reader,
        Err(error) => return Some(error.to_string()),
    };
    loop {
        match reader.read() {
            Ok(Some(record)) => each(&record),
            Ok(None) => return None,
            Err(error) => {
                let said = error.to_string();
                assert!(matches!(reader.read(), Ok(None)), "nothing comes after an error");
                return Some(said);
            }
        }
    }
}
