//! Data rates of 802.11n, ac and ad: what modulation, coding, width, streams and guard interval
//! make. What the air carries of it is another matter (half, in a good hour).

/// Modulation and coding of 802.11n (MCS modulo 8) and ac (VHT MCS): bits per subcarrier, and the
/// code's rate.
const MCS: [(u32, u32, u32); 10] = [
    (1, 1, 2),
    (2, 1, 2),
    (2, 3, 4),
    (4, 1, 2),
    (4, 3, 4),
    (6, 2, 3),
    (6, 3, 4),
    (6, 5, 6),
    (8, 3, 4),
    (8, 5, 6),
];

/// The data rate in Mbit/s of 802.11ac (and n: MCS 0 to 7, 20 and 40 MHz, 4 streams at most) with
/// this VHT MCS, number of spatial streams and channel width in MHz, with the short guard interval
/// of 400 ns or the long one of 800.
///
/// `None` if there is no such MCS or width, or if the standard leaves the combination out
/// (IEEE 802.11-2016, tables 21-30 to 21-61).
pub fn vht(mcs: u32, streams: u32, width_mhz: u32, short_guard: bool) -> Option<f64> {
    let &(bits, numerator, denominator) = MCS.get(mcs as usize)?;
    let subcarriers = match width_mhz {
        20 => 52,
        40 => 108,
        80 => 234,
        160 => 468,
        _ => return None,
    };
    let left_out = match (width_mhz, mcs) {
        (20, 9) => ![3, 6].contains(&streams),
        (80, 6) => [3, 7].contains(&streams),
        (80, 9) => streams == 6,
        (160, 9) => streams == 3,
        _ => false,
    };
    if left_out || !(1..=8).contains(&streams) {
        return None;
    }
    let bits = f64::from(streams * subcarriers * bits * numerator) / f64::from(denominator);
    let symbol_us = if short_guard { 3.6 } else { 4.0 };
    Some(bits / symbol_us)
}

/// The data rate in Mbit/s of 802.11n with this modulation (its MCS modulo 8), number of spatial
/// streams and channel width in MHz; `None` if there is none (IEEE 802.11-2016, tables 19-27 to
/// 19-34).
pub fn ht(mcs: u32, streams: u32, width_mhz: u32, short_guard: bool) -> Option<f64> {
    let is_one = mcs <= 7 && (1..=4).contains(&streams) && [20, 40].contains(&width_mhz);
    is_one.then(|| vht(mcs, streams, width_mhz, short_guard)).flatten()
}

/// The VHT MCS of a modulation (`64-QAM`, `64QAM`) and a code's rate (`5/6`).
pub fn vht_named(modulation: &str, coding: &str) -> Option<u32> {
    let bits = match plain(modulation).as_str() {
        "BPSK" => 1,
        "QPSK" => 2,
        "16QAM" => 4,
        "64QAM" => 6,
        "256QAM" => 8,
        _ => return None,
    };
    let coding = fraction(coding)?;
    let at = MCS.iter().position(|&(b, n, m)| (b, (n, m)) == (bits, coding))?;
    Some(at as u32)
}

/// The MCS of 802.11ad with a modulation (`pi/2-QPSK`, `SQPSK`) and a code's rate; of BPSK 1/2
/// there are two, one of them sent twice. Without `pi/2-` it may be a single carrier's or OFDM's: both.
pub fn ad_named(modulation: &str, coding: &str) -> Vec<u32> {
    let Some(coding) = fraction(coding) else { return vec![] };
    let plain = plain(modulation);
    let single = match plain.trim_start_matches("PI/2") {
        "DBPSK" if coding == (1, 2) => return vec![0],
        "BPSK" => 1,
        "QPSK" => 2,
        "16QAM" => 4,
        _ => 0,
    };
    let ofdm = match plain.as_str() {
        "SQPSK" => 1,
        "QPSK" => 2,
        "16QAM" => 4,
        "64QAM" => 6,
        _ => 0,
    };
    let of_single = (1..).zip(SINGLE_CARRIER);
    let of_single = of_single.filter(|&(_, (b, _, n, m))| (b, (n, m)) == (single, coding));
    let of_ofdm = (13..).zip(OFDM).filter(|&(_, (b, n, m))| (b, (n, m)) == (ofdm, coding));
    of_single.map(|(mcs, _)| mcs).chain(of_ofdm.map(|(mcs, _)| mcs)).collect()
}

fn plain(modulation: &str) -> String {
    let letters = modulation.chars().filter(|c| !matches!(c, '-' | ' '));
    letters.map(|c| c.to_ascii_uppercase()).collect()
}

fn fraction(text: &str) -> Option<(u32, u32)> {
    let (n, m) = text.split_once('/')?;
    Some((n.trim().parse().ok()?, m.trim().parse().ok()?))
}

/// Of 802.11ad's MCS 1 to 12: bits per symbol, repetition, and the code's rate.
const SINGLE_CARRIER: [(u32, u32, u32, u32); 12] = [
    (1, 2, 1, 2),
    (1, 1, 1, 2),
    (1, 1, 5, 8),
    (1, 1, 3, 4),
    (1, 1, 13, 16),
    (2, 1, 1, 2),
    (2, 1, 5, 8),
    (2, 1, 3, 4),
    (2, 1, 13, 16),
    (4, 1, 1, 2),
    (4, 1, 5, 8),
    (4, 1, 3, 4),
];

/// Of 802.11ad's MCS 13 to 24: bits per subcarrier (spread QPSK has each twice), and the code's rate.
const OFDM: [(u32, u32, u32); 12] = [
    (1, 1, 2),
    (1, 5, 8),
    (2, 1, 2),
    (2, 5, 8),
    (2, 3, 4),
    (4, 1, 2),
    (4, 5, 8),
    (4, 3, 4),
    (4, 13, 16),
    (6, 5, 8),
    (6, 3, 4),
    (6, 13, 16),
];

/// The data rate in Mbit/s of 802.11ad's control, single carrier and OFDM modes, MCS 0 to 24 (IEEE
/// 802.11-2016, tables 20-14, 20-17 and 20-19): 1,760 million symbols a second, 448 of 512 of them
/// data; of OFDM, 336 subcarriers in 640 samples of 2,640 million a second.
pub fn ad(mcs: u32) -> Option<f64> {
    const SYMBOLS: f64 = 1760.0;
    let Some(single) = mcs.checked_sub(1) else {
        return Some(SYMBOLS / 32.0 / 2.0); // DBPSK, spread 32 times, rate 1/2
    };
    if let Some(of_ofdm) = mcs.checked_sub(13) {
        let &(bits, numerator, denominator) = OFDM.get(of_ofdm as usize)?;
        return Some(1386.0 * f64::from(bits * numerator) / f64::from(denominator));
    }
    let &(bits, repetition, numerator, denominator) = SINGLE_CARRIER.get(single as usize)?;
    let coded = f64::from(bits * numerator) / f64::from(repetition * denominator);
    Some(SYMBOLS * coded * 448.0 / 512.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn source_000s_table_of_802_11n_and_ac() {
        const NA: f64 = 0.0;
        for (mcs, streams, rates) in [
            (7, 1, [72.2, 150.0, 325.0, 650.0]),
            (9, 1, [NA, 200.0, 433.3, 866.7]),
            (7, 2, [144.4, 300.0, 650.0, 1300.0]),
            (9, 2, [NA, 400.0, 866.7, 1733.3]),
            (7, 3, [216.7, 450.0, 975.0, 1950.0]),
            (9, 3, [288.9, 600.0, 1300.0, NA]),
            (7, 4, [288.9, 600.0, 1300.0, 2600.0]),
            (9, 4, [NA, 800.0, 1733.3, 3466.7]),
        ] {
            for (width, printed) in [20, 40, 80, 160].into_iter().zip(rates) {
                let rate = vht(mcs, streams, width, true).unwrap_or(NA);
                let rounded = (rate * 10.0).round() / 10.0;
                assert_eq!(rounded, printed, "MCS {mcs}, {streams} streams, {width} MHz");
            }
        }
        assert_eq!(vht(0, 1, 20, false), Some(6.5));
        assert_eq!(vht(10, 1, 20, true), None);
        assert_eq!(vht(7, 1, 30, true), None);
        assert_eq!(vht(7, 0, 20, true), None);
        assert_eq!(vht(7, u32::MAX, 20, true), None);
    }

    #[test]
    fn by_name() {
        for (modulation, coding, mcs) in [
            ("BPSK", "1/2", Some(0)),
            ("16-QAM", "3/4", Some(4)),
            ("64-QAM", "5/6", Some(7)),
            ("256qam", "5/6", Some(9)),
            ("256-QAM", "1/2", None),
            ("8-PSK", "1/2", None),
            ("QPSK", "half", None),
        ] {
            assert_eq!(vht_named(modulation, coding), mcs, "{modulation} {coding}");
        }
        for (modulation, coding, all) in [
            ("DBPSK", "1/2", vec![0]),
            ("pi/2-BPSK", "1/2", vec![1, 2]),
            ("pi/2 QPSK", "13/16", vec![9]),
            ("pi/2-16QAM", "3/4", vec![12]),
            ("pi/2-16QAM", "13/16", vec![]),
            ("16QAM", "3/4", vec![12, 20]),
            ("16QAM", "13/16", vec![21]),
            ("64QAM", "13/16", vec![24]),
            ("64QAM", "1/2", vec![]),
            ("SQPSK", "5/8", vec![14]),
            ("QPSK", "1/2", vec![6, 15]),
        ] {
            assert_eq!(ad_named(modulation, coding), all, "{modulation} {coding}");
        }
        assert_eq!(ht(7, 4, 40, true), Some(600.0));
        assert_eq!(
            (ht(8, 1, 20, true), ht(7, 5, 20, true), ht(7, 1, 80, true)),
            (None, None, None)
        );
    }

    #[test]
    fn source_000s_table_of_802_11ad() {
        let printed = [
            27.5, 385.0, 770.0, 962.5, 1155.0, 1251.25, 1540.0, 1925.0, 2310.0, 2502.5, 3080.0,
            3850.0, 4620.0,
        ];
        for (mcs, printed) in printed.into_iter().enumerate() {
            assert_eq!(ad(mcs as u32), Some(printed), "MCS {mcs}");
        }
        // OFDM's, of the standard: the source has none.
        let standard = [
            693.0, 866.25, 1386.0, 1732.5, 2079.0, 2772.0, 3465.0, 4158.0, 4504.5, 5197.5, 6237.0,
            6756.75,
        ];
        for (mcs, standard) in (13..).zip(standard) {
            assert_eq!(ad(mcs), Some(standard), "MCS {mcs}");
        }
        assert_eq!(ad(25), None);
    }
}
