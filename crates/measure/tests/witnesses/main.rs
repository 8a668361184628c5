//! Foreign witnesses: senders whose frames we count, and readers of the frames we make.
//!
//! ```text
//!  our frames ─► file ─┬─► tcpreplay ─► va ════ vb ─► our receiver: as many as it says it sent
//!                      ├─► trafgen ───► va ════ vb ─►       "
//!                      └─► scapy: taken apart, built again, the same bytes (of every stack: `stacks`)
//!  frames of the kernel's generator ─► tshark: the same numbers and times as we read
//! ```
//!
//! (The kernel's `pktgen` itself is a module, which few machines that run tests can load: its frames
//! are made here as its source lays them out, and Wireshark is the witness for that.)

#![cfg(target_os = "linux")]

#[path = "../../../port/tests/veth/mod.rs"]
mod veth;
// Stacks of a plan's streams.
mod stacks;

use measure::pktgen::{self, PktgenReceiver};
use measure::{Field, Pick, Receiver, Stream, StreamPlan, Template, Values, Variation};
use port::linux::bpf::clock_ns;
use port::linux::packet::{Options, PacketPort};
use port::record::Record;
use port::{Slab, pcap};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use veth::left_out::lacks;
use veth::{Veth, sh};
use wire::{FrameLen, Moment, craft};

/// Fewer than any ring holds: nothing is lost, however long we are stopped.
const FRAMES: usize = 1000;

/// Two streams, one of which varies.
fn streams() -> [Stream; 2] {
    let stream = |id, l2, udp_checksum, variation| {
        let template = Template { udp_checksum, ..Template::default() };
        let frame = FrameLen::with_fcs(l2);
        StreamPlan { id, template, frame, variation, seed: 1 }.build().unwrap()
    };
    let fields = Variation::Fields(vec![
        (Field::SrcMac, Values::Range(0x0200_0000_fff0, 0x0200_0001_0010), Pick::InTurn),
        (Field::Dst, Values::Range(0xc612_0001, 0xc613_ffff), Pick::Random),
        (Field::SrcPort, Values::List(vec![7, 5000, 65_535]), Pick::Random),
    ]);
    [stream(1, 64, false, Variation::NONE), stream(2, 301, true, fields)]
}

/// Their frames by turns, made at the beginning of time.
fn frames(streams: &[Stream; 2]) -> Vec<Vec<u8>> {
    let mut streams = streams.clone();
    let one = |i: usize| {
        let stream = &mut streams[i % 2];
        let mut bytes = vec![0; stream.next_len()];
        stream.write(Moment::from_nanos(1), &mut bytes);
        bytes
    };
    (0..FRAMES).map(one).collect()
}

/// A file in the temporary folder, gone at the end.
struct File(PathBuf);

impl File {
    fn new(name: &str, bytes: &[u8]) -> File {
        let name = format!("wirespeed-witness-{}-{name}", std::process::id());
        let file = File(std::env::temp_dir().join(name));
        std::fs::write(&file.0, bytes).unwrap();
        file
    }

    fn capture(name: &str, frames: &[Vec<u8>]) -> File {
        let mut writer = pcap::Writer::new(vec![]).unwrap();
        for (i, frame) in frames.iter().enumerate() {
            writer.write(&Record::ethernet(i as u64 * 1000, frame)).unwrap();
        }
        File::new(name, &writer.finish().unwrap())
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// What our receiver counts of what a program sends into a veth pair, and what the program said.
fn receive(streams: &[Stream; 2], words: &str, frames: usize) -> Option<(Receiver, String)> {
    let pair = Veth::new()?;
    let slab = Slab::new(1 << 13).unwrap();
    let open = || PacketPort::open("vb", &slab, &Options::default());
    let mut port = pair.b.run(open).unwrap().unwrap_or_else(|error| panic!("{error}"));
    let (mut pool, begin) = (slab.pool(), clock_ns());
    let mut receiver = Receiver::new(Moment::ZERO, streams);
    let said = sh(&pair.a, &format!("{words} 2>&1"));
    // It has ended: everything is in the ring, or will never come.
    loop {
        let now = Moment::from_nanos(clock_ns() - begin);
        let n = receiver.poll(now, &mut pool, &mut port);
        let total = receiver.total();
        let all = total.received + total.duplicate >= frames as u64;
        if (all && n == 0) || now.as_nanos() > 60_000_000_000 {
            return Some((receiver, said));
        }
    }
}

#[test]
fn tcpreplay_sends_what_we_count() {
    if lacks(&["tcpreplay"]) {
        return;
    }
    let streams = streams();
    let file = File::capture("replay.pcap", &frames(&streams));
    let words = format!("tcpreplay --intf1=va --pps=20000 --loop=2 {}", file.0.display());
    let Some((receiver, said)) = receive(&streams, &words, 2 * FRAMES) else { return };
    let sent = format!("Successful packets:        {}", 2 * FRAMES);
    assert!(said.contains(&sent), "{said}");
    let total = receiver.total();
    // The second time round, all of them are copies.
    let counted = (total.received, total.duplicate, total.corrupt, total.gaps, receiver.foreign());
    assert_eq!(counted, (FRAMES as u64, FRAMES as u64, 0, 0, 0), "{total:?}\n{said}");
    assert_eq!([1, 2].map(|id| receiver.tally(id).received), [FRAMES as u64 / 2; 2]);
    assert_eq!(total.reordered, 0);
}

#[test]
fn trafgen_sends_what_we_count() {
    if lacks(&["trafgen"]) {
        return;
    }
    let streams = streams();
    // Every frame a packet of its own, in hexadecimal.
    let packets: Vec<String> = frames(&streams)
        .iter()
        .map(|frame| {
            let bytes: Vec<String> = frame.iter().map(|byte| format!("0x{byte:02x},")).collect();
            format!("{{ {} }}\n", bytes.concat())
        })
        .collect();
    let file = File::new("frames.cfg", packets.concat().as_bytes());
    let words =
        format!("trafgen --in {} --out va --num {FRAMES} --cpus 1 --no-sock-mem", file.0.display());
    let Some((receiver, said)) = receive(&streams, &words, FRAMES) else { return };
    assert!(said.contains(&format!("{FRAMES} packets outgoing")), "{said}");
    let total = receiver.total();
    let counted = (total.received, total.duplicate, total.corrupt, total.reordered);
    assert_eq!(counted, (FRAMES as u64, 0, 0, 0), "{total:?}\n{said}");
    assert_eq!([1, 2].map(|id| receiver.tally(id).received), [FRAMES as u64 / 2; 2]);
}

/// A virtual environment with scapy, or why there is none.
fn scapy() -> Result<PathBuf, String> {
    static INSTALLED: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let install = || {
        let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join("scapy-2.6.1");
        let python = home.join("bin/python");
        let run = |command: &mut Command| match command.output() {
            Ok(output) if output.status.success() => Ok(()),
            Ok(output) => Err(format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr))),
            Err(error) => Err(format!("{command:?}: {error}")),
        };
        if run(Command::new(&python).args(["-c", "import scapy"])).is_ok() {
            return Ok(python);
        }
        run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&home))?;
        let pip = ["-m", "pip", "--quiet", "--disable-pip-version-check"];
        run(Command::new(&python).args(pip).args(["install", "scapy==2.6.1"]))?;
        Ok(python)
    };
    INSTALLED.get_or_init(install).clone()
}

/// What scapy read of a capture, a line for each frame, having built it again; if it is there.
fn rebuilt(file: &File) -> Option<Vec<String>> {
    if lacks(&["python3"]) {
        return None;
    }
    let python = match scapy() {
        Ok(python) => python,
        Err(why) => {
            veth::left_out::left_out(format!("scapy cannot be installed: {why}"));
            return None;
        }
    };
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/witnesses/rebuild.py");
    let output = Command::new(python).arg(program).arg(&file.0).output().unwrap();
    let [out, err] =
        [output.stdout, output.stderr].map(|b| String::from_utf8_lossy(&b).into_owned());
    assert!(output.status.success(), "{out}{err}");
    Some(out.lines().map(String::from).collect())
}

#[test]
fn scapy_builds_the_same_frames() {
    let Some(read) = rebuilt(&File::capture("scapy.pcap", &frames(&streams()))) else { return };
    assert_eq!(read.len(), FRAMES);
    assert!(read.iter().all(|line| line.starts_with("Ether/IP/UDP/Raw ")), "{read:?}");
}

#[test]
fn wireshark_reads_the_kernel_generator_s_frames_as_we_do() {
    if lacks(&["tshark"]) {
        return;
    }
    // In this order: one is lost, two change places.
    let numbers = [1u32, 2, 4, 3, 6];
    let frame = |number: u32| {
        let words = [pktgen::MAGIC, number, 1_700_000_000, 5 * number];
        let payload: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
        craft::Frame { payload: &payload, ..craft::udp(0x0a00_0001, 9, 0x0a00_0002, 9) }.build()
    };
    let frames: Vec<Vec<u8>> = numbers.into_iter().map(frame).collect();
    let file = File::capture("pktgen.pcap", &frames);
    let fields = "-T fields -e pktgen.magic -e pktgen.seqnum -e pktgen.tvsec -e pktgen.tvusec";
    let mut command = Command::new("tshark");
    command.args(["-n", "-r"]).arg(&file.0);
    let output = command.args(fields.split(' ')).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let theirs = String::from_utf8(output.stdout).unwrap();
    let ours = frames.iter().map(|frame| {
        let header = pktgen::Header::read(frame).unwrap();
        let (seconds, ns) = (header.time_ns / 1_000_000_000, header.time_ns % 1_000_000_000);
        format!("0x{:08x}\t{}\t{seconds}\t{}\n", pktgen::MAGIC, header.number, ns / 1000)
    });
    assert_eq!(theirs, ours.collect::<String>());

    let mut receiver = PktgenReceiver::new(1_700_000_000_000_000_000);
    for frame in &frames {
        receiver.count(Moment::from_nanos(1_000_000), frame);
    }
    let tally = receiver.tally();
    assert_eq!((tally.received, tally.reordered, receiver.missing()), (5, 1, 1));
    assert_eq!((tally.extent_max, receiver.latency().len()), (1, 5));
    // The one made 30 µs later, to three digits.
    assert!((969_000..=970_000).contains(&receiver.latency().min()), "{tally:?}");
}
