//! Mixes by name, weight and genome, and that what is printed is read again.

use super::*;
use proptest::prelude::*;

#[test]
fn what_mixes_say() {
    let own = [('A', FrameLen::with_fcs(100)), ('z', FrameLen::with_fcs(1522))];
    for (text, expected) in [
        (
            "simple",
            "simple: IMIX - aAaaAagaAaAa (A=594); frames with FCS: 64:7, 594:4, 1518:1, mean \
             361.8 B; its author counts L3",
        ),
        (
            "csit",
            "csit: IMIX - aAaaAagaAaAa (A=570); frames with FCS: 64:7, 570:4, 1518:1, mean \
             353.8 B",
        ),
        (
            "trex",
            "trex: IMIX - aAaaAagaAaAa (A=594); frames with FCS: 64:7, 594:4, 1518:1, mean \
             361.8 B",
        ),
        ("aaafg", "IMIX - aaafg; frames with FCS: 64:3, 1280:1, 1518:1, mean 598.0 B"),
        ("Az", "IMIX - Az (A=100 z=1522); frames with FCS: 100:1, 1522:1, mean 811.0 B"),
    ] {
        assert_eq!(Mix::of(text, &own).unwrap().to_string(), expected);
    }
    let weighted = [64, 100].map(|l2| (FrameLen::with_fcs(l2), 2));
    for (mix, label) in [
        (Mix::of("simple", &[]), "imix"),
        (Mix::of("csit", &[]), "csit"),
        (Mix::of("trex", &[]).map(|mix| mix.shuffled(7)), "trex shuffled 7"),
        (Mix::weighted("weighted", "L2", &weighted), "64:2,100:2"),
        (Mix::of("aaafg", &[]), "aaafg"),
        (Mix::of("aA", &own), "aA (A=100)"),
        (Mix::of(&"ag".repeat(20), &[]), "agagagagagagagagagagagagagagaga…"),
    ] {
        assert_eq!(mix.unwrap().label(), label);
    }
    let shuffled = Mix::of("trex", &[]).unwrap().shuffled(7);
    assert!(shuffled.to_string().ends_with("; order shuffled by seed 7"), "{shuffled}");
    assert_ne!(shuffled.sequence(), Mix::of("trex", &[]).unwrap().sequence());
    for (text, bad) in [
        ("aaxg", BadMix::Letter('x')),
        ("az", BadMix::NoMtu),
        ("A", BadMix::Letter('A')),
        ("", BadMix::Length(0)),
    ] {
        assert_eq!(Mix::of(text, &[]), Err(bad));
    }
    let frame = FrameLen::with_fcs(64);
    assert_eq!(Mix::weighted("x", "L2", &[(frame, 0)]), Err(BadMix::Weight));
    assert_eq!(Mix::weighted("x", "L2", &[(frame, 10_001)]), Err(BadMix::Length(10_001)));
    let many: Vec<_> = (65..92).map(|l2| (FrameLen::with_fcs(l2), 1)).collect();
    assert_eq!(Mix::weighted("x", "L2", &many), Err(BadMix::Letters(27)));
    assert!(Mix::weighted("x", "L2", &many[1..]).is_ok());
}

#[test]
fn genomes_are_read_as_rfc_6985_writes_them() {
    let l2 = |bytes: u32| FrameLen::with_fcs(bytes);
    for (text, genome, own) in [
        ("IMIX - aaafg", "aaafg", &[][..]),
        ("IMIX -aaafg", "aaafg", &[]),
        ("IMIX \u{2013} aaafg", "aaafg", &[]),
        ("CUSTOM IMIX - AAAGG (A=64 G=1020)", "AAAGG", &[('A', 64), ('G', 1020)]),
        ("CUSTOM IMIX - A,G (A=64,G=1020, B=70)", "AG", &[('A', 64), ('G', 1020)]),
        ("IMIX - az", "az", &[('z', 9018)]),
        ("az (z=1522)", "az", &[('z', 1522)]),
        // A table of all letters, as results have it.
        ("IMIX - aAg (A=594 a=64 g=1518)", "aAg", &[('A', 594)]),
        // The rows of §6.1's table.
        ("IMIX - 2 abcd, 1 ggga, 3 d", "abcdabcdgggaddd", &[]),
        ("2abcd1ggga3d", "abcdabcdgggaddd", &[]),
        ("ab 2 c d", "abccd", &[]),
        ("2A2z (A=70)", "AAzz", &[('A', 70), ('z', 9018)]),
    ] {
        let mix = Mix::read(text, l2(9018)).unwrap_or_else(|bad| panic!("{text}: {bad}"));
        let own: Vec<_> = own.iter().map(|&(letter, bytes)| (letter, l2(bytes))).collect();
        assert_eq!(mix.genome_of_sequence(), (genome.to_string(), own), "{text}");
    }
    for (text, expected) in [
        ("IMIX - aaxg", "x stands for no length: use imix, csit, trex, or a genome: IMIX - aaafg"),
        ("IMIX - a*3", "* stands for no length"),
        ("CUSTOM aag", "CUSTOM goes on IMIX - and a genome"),
        ("aA (A=100", "a bracket is not closed: aA (A=100)"),
        ("aA (A 100)", "\"A\": a letter and its length, A=100"),
        ("aA (A=ten)", "\"A=ten\": a letter and its length, A=100"),
        ("aA (AB=100)", "\"AB=100\": a letter"),
        ("aA (A=100 A=200)", "A has two lengths: leave one out"),
        ("ab (a=100)", "a is 64 in RFC 6985: take A to Z for a length of your own"),
        ("ak (k=100)", "k: letters of your own are A to Z, and z for the MTU"),
        ("aA (A=63)", "frames of 63 bytes: 64 to 9860, their FCS counted"),
        ("aj", "frames of 16000 bytes: 64 to 9860"),
        ("IMIX - a 20", "20 times what: a count stands before its letters, 20 abcd"),
        ("IMIX - 20 30 a", "20 times what"),
        ("IMIX - 0a", "0 times: leave it out instead"),
        ("IMIX - 2501 abcd", "a mix of 10004 frames: use 1 to 10000"),
        ("IMIX - 99999999999999999999999 ab", "a mix of 18446744073709551615 frames"),
        ("IMIX - ", "a mix of nothing: IMIX - aaafg"),
    ] {
        let bad = Mix::read(text, l2(1518)).unwrap_err().to_string();
        assert!(bad.starts_with(expected), "{text}: {bad}");
    }
    // Long ones are printed with counts.
    let long = Mix::read("IMIX - 20 abcd, 5 ggga, ef, 100 z", l2(1518)).unwrap();
    assert_eq!(long.notation(), "IMIX - 20 abcd, 5 ggga, ef, 100 z (z=1518)");
    assert_eq!(long.label(), "IMIX - 20 abcd, 5 ggga, ef, 100…");
}

proptest! {
    /// Whatever the weights and the order: each length as often as its weight says, and its
    /// frames not bunched together.
    #[test]
    fn each_has_its_share(weights in prop::collection::vec(1u32..50, 1..8), seed in any::<u64>()) {
        let shares: Vec<_> =
            (64u32..).zip(&weights).map(|(l2, &n)| (FrameLen::with_fcs(l2), n)).collect();
        let mix = Mix::weighted("x", "L2", &shares).unwrap();
        let total = mix.sequence().len();
        for &(frame, weight) in &shares {
            let mut seen = 0;
            for (at, &sent) in mix.sequence().iter().enumerate() {
                seen += u32::from(sent == frame);
                let fair = (at + 1) as f64 * f64::from(weight) / total as f64;
                let off = (f64::from(seen) - fair).abs();
                prop_assert!(off < shares.len() as f64, "{frame:?} after {at}: {seen}, {fair}");
            }
            prop_assert_eq!(seen, weight);
        }
        let mut sorted = mix.clone().shuffled(seed).sequence().to_vec();
        let mut expected = mix.sequence().to_vec();
        sorted.sort_unstable();
        expected.sort_unstable();
        prop_assert_eq!(sorted, expected);
    }

    /// What is printed of a mix, however it came about, is read as the same sequence.
    #[test]
    fn what_is_printed_is_read_again(
        groups in prop::collection::vec((1usize..40, "[a-iA-Cz]{1,12}"), 1..12),
        seed in prop::option::of(any::<u64>()),
    ) {
        let table = " (A=100 B=1000 C=9018 z=1522)";
        let text: Vec<_> = groups.iter().map(|(n, word)| format!("{n} {word}")).collect();
        let mix = Mix::read(&(text.join(", ") + table), FrameLen::MAX).unwrap();
        let expected: String = groups.iter().map(|(n, word)| word.repeat(*n)).collect();
        prop_assert_eq!(mix.genome_of_sequence().0, expected);
        let mix = match seed {
            Some(seed) => mix.shuffled(seed),
            None => mix,
        };
        let said = mix.notation();
        let again = Mix::read(&said, FrameLen::MIN).unwrap();
        prop_assert_eq!(again.sequence(), mix.sequence(), "{}", said);
        prop_assert_eq!(again.genome_of_sequence().0, mix.genome_of_sequence().0, "{}", said);
        let record = crate::suite_result::MixRecord::of(&mix).to_string();
        let record = record.rsplit_once("IMIX - ").unwrap().1;
        let (record, _) = record.split_once("), bytes with FCS").unwrap();
        let again = Mix::read(&format!("IMIX - {record})"), FrameLen::MIN).unwrap();
        prop_assert_eq!(again.sequence(), mix.sequence(), "{}", record);
    }

    /// Weights have letters of their own where the RFC has none.
    #[test]
    fn weights_are_printed_and_read_again(
        weights in prop::collection::btree_map(64u32..1600, 1u32..40, 1..8),
    ) {
        let shares: Vec<_> = weights.iter().map(|(l2, n)| (FrameLen::with_fcs(*l2), *n)).collect();
        let mix = Mix::weighted("weighted", "L2", &shares).unwrap();
        let again = Mix::read(&mix.notation(), FrameLen::MIN).unwrap();
        prop_assert_eq!(again.sequence(), mix.sequence(), "{}", mix);
        prop_assert_eq!(again.shares(), mix.shares());
    }

    /// Whatever is typed is read or refused.
    #[test]
    fn nothing_typed_is_too_much(text in "(CUSTOM )?(IMIX -)?[ ,a-kA-Cz0-9()=-]{0,24}\\PC{0,3}") {
        let _ = Mix::read(&text, FrameLen::MAX);
    }
}
