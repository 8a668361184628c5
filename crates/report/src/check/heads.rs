//! Meanings of column heads, however a vendor writes them: quantity, unit and layer.
//!
//! ```text
//!  "Throughput (fps)"      ─► frames a second
//!  "L2 Gbit/s"             ─► bits a second, 10^9, of layer 2
//!  "Frame size [bytes]"    ─► the size of a frame
//!  "64 byte kpps"          ─► frames a second, 10^3, of the size 64
//! ```
//!
//! A head is understood if all of its words are: one that is not (`offered`, `per stream`) makes it
//! another quantity.

/// What a column has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Meaning {
    /// Bytes of a frame.
    Size,
    /// Packets or frames a second, and what makes 10^3 of them.
    Packets(f64),
    Bits(Bits),
    /// A rate whose unit stands in its cells.
    Rate,
}

/// A column of bits a second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Bits {
    /// Where it stands in its table.
    pub(super) at: usize,
    /// What makes 10^6 of them.
    pub(super) mega: f64,
    /// What the head says that they are of.
    pub(super) layer: Option<u8>,
    /// Whether it says that the FCS is none of them.
    pub(super) no_fcs: bool,
    /// Whether it says bytes (`MB/s`).
    pub(super) bytes: bool,
}

/// A unit of rates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Unit {
    /// 10^3 frames a second are so many of it.
    Packets(f64),
    /// 10^6 bits a second are so many of it, and whether it counts bytes.
    Bits(f64, bool),
}

/// Words that leave a rate what it is.
const FILLERS: &str = "aggregate avg average bandwidth data eth ethernet forwarding in max maximum mean \
    measured median packet frame packets frames performance rate result routing speed \
    switching throughput total without with fcs";

/// Words that a size of frames may have.
const OF_SIZES: &str = "b byte bytes crc eth ethernet fcs frame incl including l2 layer 2 len length octet \
    octets packet pkt size test with";

/// What a head means; `None` if one of its words is not known here.
pub(super) fn meaning(head: &str) -> Option<Meaning> {
    let words = words(head);
    if is_size(&words) {
        return Some(Meaning::Size);
    }
    let (mut unit, mut layer, mut is_rate, mut at) = (None, None, false, 0);
    while at < words.len() {
        let rest = &words[at..];
        if let (Some((found, n)), true) = (unit_of(rest), unit.is_none()) {
            (unit, at) = (Some(found), at + n);
        } else if let (Some((found, n)), true) = (layer_of(rest), layer.is_none()) {
            (layer, at) = (Some(found), at + n);
        } else if is_one_of(FILLERS, &rest[0]) {
            is_rate |= is_one_of("throughput rate bandwidth speed performance", &rest[0]);
            at += 1;
        } else {
            return None;
        }
    }
    match unit {
        Some(Unit::Packets(kilo)) => layer.is_none().then_some(Meaning::Packets(kilo)),
        Some(Unit::Bits(mega, bytes)) => {
            let no_fcs = words.iter().any(|word| word.small == "without");
            Some(Meaning::Bits(Bits { at: 0, mega, layer, no_fcs, bytes }))
        }
        None => (is_rate && layer.is_none()).then_some(Meaning::Rate),
    }
}

/// `64 byte kpps`, `1518B Mbps`: a size, and what of it.
pub(super) fn of_one_size(head: &str) -> Option<(u32, &str, Meaning)> {
    let head = head.trim_start_matches(|c: char| !c.is_ascii_alphanumeric());
    let end = head.find(|c: char| !c.is_ascii_digit())?;
    let size = head[..end].parse().ok()?;
    let rest = head[end..].trim_start_matches([' ', '-', '_']);
    let after = ["bytes", "byte", "B", "b"].into_iter().find_map(|name| {
        let after = rest.strip_prefix(name)?;
        (!after.starts_with(|c: char| c.is_ascii_alphanumeric())).then_some(after)
    })?;
    let what = after.trim_matches(|c: char| !c.is_ascii_alphanumeric());
    match meaning(what)? {
        meaning @ (Meaning::Packets(_) | Meaning::Bits(_)) => Some((size, what, meaning)),
        _ => None,
    }
}

/// The unit that stands behind a cell's number: `1.2 Gbps`, `1.49M pps`.
pub(super) fn unit(tail: &str) -> Option<Unit> {
    let words = words(tail);
    let (unit, n) = unit_of(&words)?;
    (n == words.len()).then_some(unit)
}

/// A word of a head.
struct Word {
    small: String,
    /// Whether it says bytes, by a capital B: `MB`, `GBps`.
    bytes: bool,
}

fn words(text: &str) -> Vec<Word> {
    let parts = text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    // All capitals say nothing: MBPS.
    let bytes = |word: &str| word.find('B').is_some_and(|at| at <= 1 && at + 2 >= word.len());
    let rate = |word: &str| word.strip_suffix("ps").unwrap_or(word).to_string();
    parts.map(|word| Word { bytes: bytes(&rate(word)), small: word.to_ascii_lowercase() }).collect()
}

/// Whether it is among words parted by blanks.
fn is_one_of(words: &str, word: &Word) -> bool {
    words.split(' ').any(|one| one == word.small)
}

fn is_size(words: &[Word]) -> bool {
    let has = |names: &str| words.iter().any(|word| is_one_of(names, word));
    // A mix of packets has these two (`packet_len`, `count`), and a price list may have the other.
    let is_other = words.len() == 2 && words[0].small == "packet" && words[1].small == "len";
    let is_named = has("size") || has("frame packet pkt") && has("length len byte bytes octets b");
    let all = || words.iter().all(|word| is_one_of(OF_SIZES, word));
    is_named && !is_other && all()
}

/// The unit at the beginning of these words, and how many it takes.
fn unit_of(words: &[Word]) -> Option<(Unit, usize)> {
    let first = words.first()?;
    // `k pps`, `million packets/s`.
    let alone = match first.small.as_str() {
        "k" | "kilo" | "thousand" => Some(1e3),
        "m" | "mega" | "million" | "mio" => Some(1e6),
        "g" | "giga" | "billion" => Some(1e9),
        _ => None,
    };
    if let Some(scale) = alone {
        let (unit, n) = unit_of(words.get(1..)?)?;
        let unit = match unit {
            Unit::Packets(kilo) => Unit::Packets(kilo * scale),
            Unit::Bits(mega, bytes) => Unit::Bits(mega * scale, bytes),
        };
        return Some((unit, n + 1));
    }
    let seconds = match words.get(1).map(|word| word.small.as_str()) {
        Some("s" | "sec" | "second") => 1,
        Some("per") if matches!(words.get(2)?.small.as_str(), "s" | "sec" | "second") => 2,
        _ => 0,
    };
    // `Megabits` as `mbit`.
    let mut name = first.small.clone();
    for (long, short) in [("kilo", "k"), ("mega", "m"), ("giga", "g"), ("tera", "t")] {
        name = name.strip_prefix(long).map_or(name.clone(), |rest| short.to_string() + rest);
    }
    // The longer ones first: what a stem leaves of a name is its prefix.
    let (of_packets, of_bits) =
        ("pps fps packets packet frames frame pkts pkt", "bps bits bit bs b");
    let is_of = |stem: &&str| {
        let prefix = name.strip_suffix(stem);
        prefix.is_some_and(|prefix| ["", "k", "m", "g", "t"].contains(&prefix))
    };
    let stem = of_packets.split(' ').chain(of_bits.split(' ')).find(is_of)?;
    let is_packets = of_packets.split(' ').any(|one| one == stem);
    let prefix = name.strip_suffix(stem)?;
    let scale = match prefix {
        "" => 1.0,
        "k" => 1e3,
        "m" => 1e6,
        "g" => 1e9,
        "t" => 1e12,
        _ => return None,
    };
    // `packets` are none a second; `Mbit` are, in a table of rates.
    let is_rate = stem.ends_with("ps");
    let needs_time = is_packets && !is_rate || stem.len() <= 2;
    if needs_time && seconds == 0 || seconds > 0 && is_rate {
        return None;
    }
    let unit = match (is_packets, first.bytes) {
        (true, _) => Unit::Packets(scale / 1e3),
        (false, bytes) => Unit::Bits(scale / 1e6 * if bytes { 8.0 } else { 1.0 }, bytes),
    };
    Some((unit, 1 + seconds))
}

/// `L2`, `layer 3`, `IP`.
fn layer_of(words: &[Word]) -> Option<(u8, usize)> {
    let number = |text: &str| match text {
        "1" => Some(1),
        "2" => Some(2),
        "3" => Some(3),
        _ => None,
    };
    let first = words.first()?.small.as_str();
    if let Some(layer) = first.strip_prefix("layer").or(first.strip_prefix('l')).and_then(number) {
        return Some((layer, 1));
    }
    match (first, words.get(1)) {
        ("layer", Some(next)) => Some((number(&next.small)?, 2)),
        ("ip", _) => Some((3, 1)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads() {
        let of = |mega, layer, bytes| Bits { at: 0, mega, layer, no_fcs: false, bytes };
        let bits = |mega, layer| Some(Meaning::Bits(of(mega, layer, false)));
        let bytes = |mega| Some(Meaning::Bits(of(mega, None, true)));
        for (head, expected) in [
            ("Throughput (fps)", Some(Meaning::Packets(1e-3))),
            ("rate (kpps)", Some(Meaning::Packets(1.0))),
            ("Frames per second", Some(Meaning::Packets(1e-3))),
            ("packets/sec", Some(Meaning::Packets(1e-3))),
            ("Million packets/s", Some(Meaning::Packets(1e3))),
            ("Mpkt/s", Some(Meaning::Packets(1e3))),
            ("K PPS", Some(Meaning::Packets(1.0))),
            ("Mbps L3", bits(1.0, Some(3))),
            ("L2 Gbit/s", bits(1e3, Some(2))),
            ("Throughput {Mbit/s, layer 1}", bits(1.0, Some(1))),
            ("IP throughput <Mbit/s>", bits(1.0, Some(3))),
            ("Throughput, Gigabits per second", bits(1e3, None)),
            ("MBPS", bits(1.0, None)),
            ("MBits/s", bits(1.0, None)),
            ("bit/s", bits(1e-6, None)),
            ("Mb/s", bits(1.0, None)),
            ("MB/s", bytes(8.0)),
            ("GBps", bytes(8e3)),
            ("Throughput", Some(Meaning::Rate)),
            ("Frame size [bytes]", Some(Meaning::Size)),
            ("Packet Size «B»", Some(Meaning::Size)),
            ("Ethernet frame length, octets", Some(Meaning::Size)),
            ("size", Some(Meaning::Size)),
            // Of something else.
            ("offered Mbps", None),
            ("mbps_per_stream", None),
            ("tx_mbps", None),
            ("packet_size_no_fcs", None),
            ("packet_len", None),
            ("packets", None),
            ("bytes", None),
            ("CPU %", None),
            ("Line rate (%)", None),
            ("Frame loss [%]", None),
            ("Größe", None),
            ("ä", None),
            ("", None),
        ] {
            assert_eq!(meaning(head), expected, "{head}");
        }
        for (head, expected) in [
            ("1518 byte kpps", Some((1518, "kpps"))),
            ("64B Mbps", Some((64, "Mbps"))),
            ("512-byte (Mbps)", Some((512, "Mbps"))),
            ("64 byte", None),
            ("64 bytes lost", None),
            ("99999999999 byte kpps", None),
        ] {
            let found = of_one_size(head).map(|(size, what, _)| (size, what));
            assert_eq!(found, expected, "{head}");
        }
    }
}
