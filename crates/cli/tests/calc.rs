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
        (&["rate", "637.812M", "--size", "64", "--layer", "L2"], 0, &["1245.727", "637.812"]),
        (&["rate", "1G", "--size", "64", "--layer", "l1"], 0, &["1488.095", "1000.000"]),
        (&["rate", "597.949M", "--size", "64", "--layer", "l2-fcs"], 0, &["1245.727"]),
        (&["rate", "458.428M", "--size", "64", "--layer", "l3"], 0, &["1245.728"]),
        (&["rate", "637.812Mbps(L2)", "--size", "64"], 0, &["1245.727", "637.812"]),
        (&["rate", "985.3Mbps(L2)", "--size", "1518"], 0, &["81.135", "985.300"]),
        (&["rate", "597.949Mbps(l2-fcs)", "--size", "64"], 0, &["1245.727"]),
        (&["rate", "1245.727kpps", "--size", "64"], 0, &["1245.727", "637.812"]),
        (&["rate", "985.3Mbps", "--size", "64"], 2, &["of which layer? 985.3Mbps(L1), (L2)"]),
        (
            &["rate", "985.3Mbps(L2)", "--size", "64", "--layer", "L1"],
            2,
            &["the rate says itself what it is: leave --layer out"],
        ),
        (
            &["rate", "14.88Mpps", "--layer", "L2", "--size", "64"],
            2,
            &["the rate says itself what it is: leave --layer out"],
        ),
        (&["rate", "985.3Mbps(L4)", "--size", "64"], 2, &["layers are L1, L2, L2-FCS, L3"]),
        (&["rate", "1G", "--size", "64", "--layer", "l4"], 2, &["layers are L1, L2, L2-FCS, L3"]),
        (&["window", "--rate", "1G", "--rtt", "100ms"], 0, &["12500000 bytes"]),
        (&["window", "--rate", "10G", "--rtt", "80us"], 0, &["100000 bytes"]),
        (&["window", "--rate", "10G", "--rtt", "0.1ms"], 0, &["125000 bytes"]),
        (&["window", "--rate", "10G", "--rtt", "0ms"], 2, &["above zero, an hour at most: 80us"]),
        (&["window", "--rate", "10G", "--rtt", "nanms"], 2, &["above zero, an hour at most"]),
        (&["loss", "1%", "--rtt", "1ms", "--mss", "0"], 2, &["1..=65535"]),
        (&["loss", "1%", "--rtt", "1ms", "--mss", "nan"], 2, &["invalid digit"]),
        (&["bucket", "10M", "--size", "nan", "--from", "100M"], 2, &["above 0 and 10 at most"]),
        (&["window", "--window", "65535", "--rtt", "100ms"], 0, &["5.243 Mbit/s"]),
        (&["window", "--rtt", "100ms"], 2, &["--rate <RATE>"]),
        // J.3: 8 x 10G, with jumbo frames besides.
        (&["wire", "80G"], 0, &["119047.619", "18796.992", "6501.951"]),
        (&["wire", "10G", "--sizes", "9018,9216"], 0, &["138.305", "135.340", "9957.955"]),
        (&["rate", "135.340k", "--size", "9216"], 0, &["9978.348"]),
        (&["rate", "1k", "--size", "65600"], 2, &["64 (the smallest Ethernet frame) to 65553"]),
        // The CRS309's 81 and 162 Gbps, and its kpps at each size.
        (
            &["capacity", "8x10G+1x1G"],
            0,
            &["81.000 Gbit/s", "162.000 Gbit/s", "120535.714", "19031.955", "6583.225"],
        ),
        (&["capacity", "28G"], 0, &["41666.667", "6578.947", "2275.683"]),
        (&["capacity", "many"], 2, &["ports are 1G, 8x10G"]),
        (&["encapsulated", "1G", "--packets", "1500"], 0, &["1518", "81.274", "97.53%"]),
        // Tunnels of S3: 20 Gbit/s, 1024 byte frames, PPPoE's 8 bytes and Ethernet's 38.
        (&["encapsulated", "20G", "--by", "pppoe", "--packets", "1006"], 0, &["2376.426"]),
        (&["encapsulated", "1G", "--by", "string"], 2, &["known are vlan"]),
        (&["encapsulated", "1G", "--by", "vlan+"], 2, &["known are vlan"]),
        (
            &["encapsulated", "1G", "--by", "gre", "--packets", "65535"],
            2,
            &["no packet of 65535 bytes", "65511 at most"],
        ),
        (&["loss", "0.01%", "--rtt", "100ms"], 0, &["about: 14.", "Mathis 1997"]),
        (&["loss", "2", "--rtt", "100ms"], 2, &["above 0 and below 1"]),
        // No more passes than comes.
        (
            &["bucket", "10M", "--size", "10", "--from", "100M"],
            0,
            &["100.000 Mbit\n", "100.000 Mbit at most", "1.111 s"],
        ),
        (&["bucket", "1M", "--size", "10", "--from", "100M"], 0, &["11.000 Mbit at most"]),
        (&["bucket", "10M", "--from", "5M"], 0, &["5.000 Mbit at most", "for ever"]),
        // S2's multipliers.
        (
            &["iperf3"],
            0,
            &[
                "1.6842  1.8684",
                "1.2549  1.3235",
                "1.1130  1.1435",
                "1.0359  1.0456",
                "1.0058  1.0074",
            ],
        ),
        (&["iperf3", "40"], 2, &["no packet of 40 bytes"]),
        (&["iperf3", "53"], 2, &["needs -M 13", "88 to 9216: packets of 128 to 9256 bytes"]),
        (&["iperf3", "9257"], 2, &["needs -M 9217"]),
        (&["iperf3", "53", "--udp"], 0, &["25"]),
        // S0's tables of 802.11n, ac and ad: by MCS, by name, by 802.11n's own numbers.
        (&["wireless", "--mcs", "7"], 0, &["72.2", "150.0", "325.0", "650.0"]),
        (&["wireless", "--mcs", "9", "--streams", "4"], 0, &["800.0", "1733.3", "3466.7", "n/a"]),
        (
            &["wireless", "--modulation", "256-QAM", "--coding", "5/6", "--streams", "2"],
            0,
            &["400.0", "866.7", "1733.3"],
        ),
        (&["wireless", "--n", "--mcs", "15"], 0, &["144.4", "300.0"]),
        (&["wireless", "--n", "--mcs", "23"], 0, &["216.7", "450.0"]),
        (&["wireless", "--n", "--mcs", "31"], 0, &["288.9", "600.0"]),
        (&["wireless", "--n", "--modulation", "64-QAM", "--coding", "5/6"], 0, &["72.2", "150.0"]),
        (&["wireless", "--n", "--mcs", "32"], 2, &["802.11n has MCS 0 to 31"]),
        (&["wireless", "--n", "--mcs", "8", "--streams", "3"], 2, &["8 to 15 are of two"]),
        (&["wireless", "--mcs", "31"], 2, &["802.11n's MCS 8 to 31: --n"]),
        (&["wireless", "--modulation", "QPSK", "--coding", "5/6"], 2, &["QPSK 1/2 and 3/4"]),
        (&["wireless", "--ad", "--mcs", "12"], 0, &["4620 Mbit/s"]),
        (
            &["wireless", "--ad", "--modulation", "pi/2-BPSK", "--coding", "1/2"],
            0,
            &["MCS 1: 385 Mbit/s", "MCS 2: 770 Mbit/s"],
        ),
        (&["wireless", "--ad", "--mcs", "24"], 0, &["6756.75 Mbit/s"]),
        (&["wireless", "--ad", "--mcs", "25"], 2, &["802.11ad has MCS 0 to 24"]),
        (&["wire", "10", "--sizes", "64"], 0, &["0.0000149     0.0000100"]),
        (&["bucket", "10M", "--size", "0.01", "--from", "1G"], 0, &["for 0.000101 s"]),
        (&["wireless"], 2, &["--mcs"]),
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
