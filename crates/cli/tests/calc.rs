//! `wirespeed calc` against the documents' numbers (`routeros/J-seed-numbers.md`, J.3).

use std::process::Command;

fn calc(arguments: &[&str]) -> (Option<i32>, String) {
    let program = env!("CARGO_BIN_EXE_wirespeed");
    let output = Command::new(program).arg("calc").args(arguments).output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8_lossy(&text).into_owned())
}

#[test]
fn known_numbers() {
    let cases: &[(&[&str], i32, &[&str])] = &[
        (&["wire", "1G"], 0, &["1488.095", "1000.000", "761.905", "234.962", "81.274", "986.996"]),
        (&["wire", "10G", "--sizes", "64"], 0, &["14880.952", "10000.000", "7619.048", "5476.190"]),
        // The traffic generator's wiki: 1,245,727 packets of 60 bytes without FCS are 598 Mbit/s.
        (&["rate", "1245727", "--size", "64"], 0, &["1245.727", "637.812"]),
        (&["window", "--rate", "1G", "--rtt", "100ms"], 0, &["12500000 bytes"]),
        (&["window", "--window", "65535", "--rtt", "100ms"], 0, &["5.243 Mbit/s"]),
        (&["window", "--rtt", "100ms"], 2, &["--rate <RATE>"]),
        (&["wire", "fast"], 2, &["a number above zero"]),
        (&["rate", "1k", "--size", "20"], 2, &["smallest Ethernet frame"]),
    ];
    for (arguments, code, expected) in cases {
        let (got, text) = calc(arguments);
        assert_eq!(got, Some(*code), "{arguments:?}: {text}");
        for part in *expected {
            assert!(text.contains(part), "{arguments:?}: {part:?} in\n{text}");
        }
    }
}
