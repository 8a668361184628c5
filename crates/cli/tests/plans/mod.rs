//! Plans of streams and replays, run in virtual time and written to files: what their tests share.

#![allow(dead_code)] // not every test uses all of it

use crate::folder::{Folder, text, wirespeed};
use measure::SuiteResults;
use measure::suite_result::StreamRecord;
use std::path::Path;
use std::process::Command;

/// A file that comes with the program.
pub(crate) fn committed(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name).display().to_string()
}

/// The beginning of a plan of streams and replays alone; the device's script is `other.rsc`.
pub(crate) const HEAD: &str = "name = \"x\"\n[device]\nconfiguration = \"other.rsc\"\n[medium]\n\
                               link = \"1G\"\n[traffic]\nflows = \"pair\"\n[[procedure]]\n\
                               kind = \"streams\"\n";

/// The end of one: a microsecond a frame.
pub(crate) const VIRTUAL: &str = "[virtual]\nlink = \"1G\"\nframe = \"1us\"\n[virtual.scaling]\n\
                                  divide-durations-by = 1.0\n";

/// A router with the addresses of RFC 2544's networks.
pub(crate) const ROUTER: &str = "/ip address add address=198.18.1.1/24 interface=ether1\n\
                                 /ip address add address=198.19.1.1/24 interface=ether2\n";

/// Runs a plan in virtual time: the result, what was printed, the page.
pub(crate) fn run(plan: &str, folder: &Folder) -> (SuiteResults, String, String) {
    let (json, html) = (folder.path("a.json"), folder.path("a.html"));
    let out = wirespeed(&["test", plan, "--virtual", "--json", &json, "--html", &html]);
    let (stdout, stderr) = (text(&out.stdout), text(&out.stderr));
    assert!(out.status.success(), "{stdout}{stderr}");
    let read = |file: &str| std::fs::read_to_string(file).unwrap();
    let results = report::suite::read(&read(&json)).unwrap();
    assert_eq!(results.faults(), [""; 0], "{stdout}");
    (results, stdout, read(&html))
}

/// What came of each stream.
pub(crate) fn streams(results: &SuiteResults) -> &[StreamRecord] {
    &results.cells[0].trials.last().unwrap().streams
}

/// What is wrong with the frames of a stream, however they came.
pub(crate) fn wrong(stream: &StreamRecord) -> u64 {
    stream.duplicate
        + stream.reordered
        + stream.gaps
        + stream.wrong_size
        + stream.bad_checksum
        + stream.stale
        + stream.elsewhere
        + stream.altered()
}

/// How many frames of a file a filter of Wireshark's finds, checksums looked at.
pub(crate) fn count(file: &str, filter: &str) -> usize {
    let mut words = vec!["-n", "-r", file, "-Y", filter];
    for check in ["ip.check_checksum:TRUE", "udp.check_checksum:TRUE", "tcp.check_checksum:TRUE"] {
        words.extend(["-o", check]);
    }
    let out = Command::new("tshark").args(&words).output().unwrap();
    assert!(out.status.success(), "{filter}: {}", text(&out.stderr));
    text(&out.stdout).lines().count()
}
