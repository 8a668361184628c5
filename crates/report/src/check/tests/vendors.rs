//! Tables of other people: what is found in each, and what is not.

use super::*;

/// Checks one text with these wires; the findings must contain these, each in a line of its own, in
/// any order, and no others.
#[track_caller]
fn check_text(text: &str, links: &[(&str, f64)], expected: &[&str]) {
    let links = links.iter().map(|(name, link)| (name.to_string(), *link)).collect();
    let checked = check(&[("f".into(), text.into())], &Known { links });
    assert_eq!(checked.unread, [], "{text}");
    let found: Vec<String> = checked.findings.iter().map(ToString::to_string).collect();
    for part in expected {
        assert!(found.iter().any(|found| found.contains(part)), "{part}\n{text}{found:#?}");
    }
    assert_eq!(found.len(), expected.len(), "{text}{found:#?}");
}

/// The fixtures of `data/vendors/`.
#[test]
fn fixtures() {
    const G: &[(&str, f64)] = &[("", 1e9)];
    let unsaid = "f:2: ambiguous: Mbps of 5 rows, from here on, are of a layer that no one says, \
                  and nothing beside them shows: the same frames of 64 bytes count 131 on layer 1 \
                  for 100 on layer 2 and 72 on layer 3";
    let above = "f:4: impossible: 1600 kpps of 64 bytes are 7.52 % above the wire's 1488.10";
    let up = ["f:2: rounded: 81.3 kpps", "f:3: rounded: 81.3 kpps", "f:4: rounded: 81.3 kpps"];
    let full = ["f:2: rounded: 235 kpps", "f:4: rounded: 235 kpps", "f:2: rounded: 1488.1 kpps"];
    let by_size: Vec<&str> = [above].into_iter().chain(up).chain(full).collect();
    let no_layer = "f:2: ambiguous: Mbps of 3 rows, from here on, are of a layer that no one says";
    let any_layer = "f:2: ambiguous: Mbps of 3 rows, from here on, may be of layer 1, or layer 2 with \
                     FCS, or layer 2 without FCS, or layer 3: no one says it, and the wire carries each";
    let cells = [
        "f:2: impossible: column `Throughput (kfps)`: `nan` is no number that was measured",
        "f:3: impossible: column `L2 Mbps`: `-864.9` is below nothing",
        "f:3: inconsistent:",
        "f:5: impossible: column `Throughput (kfps)`: `inf` is no number",
        "f:6: ambiguous: column `Throughput (kfps)`: `fast` is no number: not checked",
    ];
    type Case<'a> = (&'a str, &'a [(&'a str, f64)], &'a [&'a str]);
    let cases: &[Case<'_>] = &[
        ("switch-l2", &[], &[unsaid]),
        ("switch-l2", G, &[]),
        (
            "switch-l2",
            &[("", 500e6)],
            &[
                "f:2: impossible: 761.9 Mbps of 64 bytes are 52.38 % above what the wire carries on \
                 layer 1, 500.0; both directions together",
                "f:3: impossible: 864.9",
                "f:4: impossible: 962.4",
                "f:5: impossible: 987 Mbps",
                "f:6: impossible: 997.8",
            ],
        ),
        ("router-by-size", &[], &[]),
        ("router-by-size", G, &by_size),
        ("firewall-decimal-comma", G, &[]),
        ("appliance-licensed", &[], &[no_layer]),
        ("appliance-licensed", G, &[any_layer]),
        ("tester-cells", &[], &cells),
        (
            "layers",
            G,
            &[
                "f:3: inconsistent: Mbps L3: packets and bits do not fit each other: at 512 bytes each \
               packet would count 500.0; the other 1 row is of layer 3",
            ],
        ),
    ];
    for (name, links, expected) in cases {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/data/vendors/");
        let text = std::fs::read_to_string(format!("{folder}{name}.csv")).unwrap();
        check_text(&text, links, expected);
    }
}

/// One thing each.
#[test]
fn one_by_one() {
    let cases: &[(&str, &[&str])] = &[
        // Above the wire on each layer, or on the one that is named.
        ("size,Mbps L3\n64,550\n", &["on layer 3, 547.6"]),
        ("size,L3 Mbit/s\n64,547.6\n1518,975.3\n", &[]),
        ("size,Mbps L1\n64,1001.6\n", &["1001.6 Mbps of 64 bytes are 0.16 % above"]),
        ("size,Gbit/s\n64,1.9\n", &["1900 Mbps of 64 bytes are 90.00 % above"]),
        ("size,Gbit/s\n64,2.5\n", &["what the wire carries on layer 1, 1000.0"]),
        ("size,MB/s\n1518,150\n", &["1200 Mbps (`MB/s` read as bytes a second) of 1518 bytes"]),
        // A packet's size may be that of the IP packet; a frame's is not.
        (
            "Packet size,Mbps L3\n1500,975.3\n1500,976\n",
            &[
                "f:2: warning: 975.3 Mbps on layer 3 are too many for frames of 1500 bytes, and of IP",
                "f:3: impossible: 976 Mbps of 1500 bytes",
            ],
        ),
        ("Frame size,Mbps L3\n1500,975.3\n", &["f:2: impossible: 975.3 Mbps of 1500 bytes"]),
        // Which layers fit.
        (
            "size,Mbps\n64,700\n",
            &["may be of layer 1, or layer 2 with FCS, or layer 2 without FCS: no one"],
        ),
        ("size,Mbps\n64,800\n", &["are of layer 1, which no one says: on the others the wire"]),
        ("size,Mbps\n64,547.6\n512,928.6\n", &["are of layer 3, which no one says: several"]),
        ("size,config,Mbps\n64,x L2,700\n", &[]),
        // An FCS is left out on layer 2 alone.
        ("size,kpps,Mbps L1 without FCS\n64,100,67.2\n", &[]),
        ("size,Mbps L3 without FCS\n64,550\n", &["550 Mbps of 64 bytes are 0.43 % above"]),
        ("size,Mbps without FCS\n64,715\n", &["on layer 2 without FCS, 714.3"]),
        // Of several layers: of the same frames, to the last digit.
        ("size,Mbps (L1),Mbps (L2)\n1518,900,888.3\n64,1000,761.9\n64,1000,714\n", &[]),
        (
            "size,Mbps (L1),Mbps (L2)\n1518,900,950\n",
            &["f:2: inconsistent: 900 Mbps on layer 1 of"],
        ),
        (
            "size,Mbps (L2),Mbps (L3)\n1518,500,600\n",
            &["f:2: inconsistent: 500 Mbps on layer 2 of"],
        ),
        (
            "size,L1 Gbit/s,L2 Gbit/s,L3 Gbit/s\n64,0.9,0.9,0.9\n64,0.9,0.762,0.548\n64,0.900,0.686,0.493\n",
            &[
                "f:2: inconsistent: 900",
                "f:3: inconsistent: 900",
                "f:2: impossible: 900 Mbps of",
                "f:2: impossible: 900 Mbps of",
            ],
        ),
        // With frames beside them.
        ("Frame size (bytes),Throughput (fps),Mbps L3\n64,1000000,368\n", &[]),
        ("size,Mpps,MB/s\n64,1,512\n", &["`MB/s` would be bytes a second; with the packets they"]),
        ("size,Throughput\n64,1.6 Mpps\n", &["1600 kpps of 64 bytes are 7.52 % above"]),
        // Thousands and decimals.
        ("size;kpps\n64;1.600,5\n", &["1600.5 kpps of 64 bytes are 7.55 % above"]),
        ("size,fps\n64,\"1,600,000\"\n", &["1600 kpps of 64 bytes"]),
        ("size\tfps\n64\t1 600 000\n", &["1600 kpps of 64 bytes"]),
        ("size,fps\n64,1.6e6\n", &["1600 kpps of 64 bytes"]),
        // Cells.
        ("size,kpps\n64,NaN\n", &["f:2: impossible: column `kpps`: `NaN` is no number"]),
        ("size,kpps\n64,1e999\n", &["f:2: impossible: column `kpps`: `1e999` is no number"]),
        ("size,kpps\n64,1\n-64,1\n0,1\n", &["f:3: impossible: column `size`", "f:4: impossible"]),
        ("size,kpps\n64,-\n128,n/a\nIMIX,5\n", &[]),
        ("sent,received,lost\n5,nan,-1\n", &["`nan` is no number", "`-1` is below nothing"]),
        ("size,kpps,mbps\nx,y,z\n", &["`size`: `x`", "`kpps`: `y`", "`mbps`: `z`"]),
        (
            "size,kpps,Mbps L2\n40,1000,320\n",
            &["f:2: ambiguous: column `size`: `40` bytes: no frame"],
        ),
        ("size,kpps\n64,5\nAverage,7\n", &[]),
        // All the digits that a program has, and units in a line of their own.
        (
            "size,kpps,Mbps L2\n64,121588.1361847832,62253.125726609\n",
            &["kpps of 64", "Mbps of 64"],
        ),
        ("size,fps,Mbps L2\nbytes,1/s,Mbit/s\n64,1000,0.512\n", &[]),
        // Of two rows that differ the head says which is right.
        (
            "size,kpps,Mbps L1\n64,100,51.2\n64,100,67.2\n",
            &[
                "f:2: inconsistent: packets and bits do not fit each other: at 64 bytes each packet \
               would count 64.0; the other 1 row is of layer 1",
            ],
        ),
        // Most rows agree, one does not.
        (
            "size,Mbps,pps\n64,761.9,1488095\n512,962.4,234962\n1024,980.8,119731\n1280,984.6,95154\n",
            &[
                "f:5: inconsistent: packets and bits do not fit each other: at 1280 bytes each packet",
            ],
        ),
        // Each size in its own unit; one rate beside another.
        ("Model,64 byte kpps,512 byte Gbps L2\nX,1.2,9.4\n", &["9400 Mbps of 512 bytes are 876.7"]),
        // Both directions together take two wires.
        (
            "size,Direction,fps\n64,A->B,1488095\n64,Total,2976190\n64,Total,2976300\n64,B->A,2976190\n",
            &["f:4: impossible", "f:5: impossible"],
        ),
        // Offered, received, lost.
        (
            "size,Tx (fps),Rx (fps)\n64,1000,1002\n64,1600000,1600000\n",
            &["f:2: impossible: 1002 frames a second received of 1000"],
        ),
        (
            "size,Tx Frames,Rx Frames,Frame Loss (%)\n64,1000,1000,0.5\n64,1000,900,10.0\n64,9,10,0\n",
            &["f:4: impossible: 10 frames received of 9"],
        ),
        ("tx,Tx Frames,Rx Frames,Lost Frames,Duplicate Frames\n0,1000,1005,0,5\n", &[]),
        (
            "tx,Tx Frames,Rx Frames,Lost Frames,Duplicate Frames\n0,1000,995,10,5\n1,9,10,0,0\n2,9,9,1,0\n",
            &[
                "f:3: impossible: 10 packets received of 9",
                "f:4: inconsistent: 9 sent and 9 received leave",
            ],
        ),
        // Of rates over times of their own nothing is compared.
        (
            "size,sent_frames,received_frames,sent_fps,sending_ns,received_fps,arriving_ns\n\
             64,20,20,100,9,101,8\n64,20,21,100,9,100,9\n",
            &["f:3: impossible: 21 frames received of 20"],
        ),
    ];
    for (text, expected) in cases {
        check_text(text, &[("", 1e9)], expected);
    }
}

/// A wire of a device that is in no file is one that nothing was compared with.
#[test]
fn a_wire_of_no_device() {
    let text = "device,size,kpps\nCCR1072,64,1\nCCR1009,64,2\n";
    for (text, link, expected) in [
        (text, "CCR1072", None),
        (text, "CCR", None),
        (text, "", None),
        ("Model,size,kpps\nSW-8,64,1\n", "SW", None),
        ("Model,size,kpps\nSW-8,64,1\n", "C", Some("begins with `C`: there are SW-8")),
        (text, "C1", Some("no device's name begins with `C1`: there are CCR1009, CCR1072")),
        ("size,kpps\n64,1\n", "C1", Some("`C1`: no file has a column of devices")),
    ] {
        let known = Known { links: vec![(link.to_string(), 1e9)] };
        let checked = check(&[("f".into(), text.into())], &known);
        let found = checked.no_such_device.first();
        assert_eq!(found.is_some(), expected.is_some(), "{text}{found:?}");
        assert!(found.is_none_or(|found| found.contains(expected.unwrap())), "{found:?}");
    }
}

/// Beside frames that the wire carries, rounded, bits that it does not.
#[test]
fn bits_above_the_wire_beside_frames() {
    const TEN: &[(&str, f64)] = &[("", 10e9)];
    let head = "Frame size,Throughput (Mpps),L2 Gbps\n";
    let above = |mbps: &str| format!("f:2: impossible: {mbps} what the wire carries on layer 2");
    for (row, expected) in [
        ("64,15,7.68", vec!["f:2: rounded: ", &above("7680 Mbps of 64 bytes are 0.80 % above")]),
        ("64,14.88,7.62", vec![]),
        (
            "1518,0.75,10.00",
            vec![
                "f:2: inconsistent: packets and bits do not fit",
                &above("10000 Mbps of 1518 bytes are 1.32 % above"),
            ],
        ),
    ] {
        check_text(&format!("{head}{row}\n"), TEN, &expected);
    }
    // Of both directions it is what the frames are.
    let both = "f:2: ambiguous: Mbps of 1 rows, from here on, are of layer 2 with FCS, both";
    check_text(&format!("{head}64,14.88,15.24\n"), TEN, &[both]);
}
