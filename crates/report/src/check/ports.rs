//! Capacities of ports in a model's name, or beside it: price lists.
//!
//! ```text
//!  CCR1009-8G-1S-1S+  ─►  8 x 1G + 1 x 1G (SFP) + 1 x 10G (SFP+) = 19 Gbps
//! ```

use super::rates::digit;
use super::table::Table;
use super::{Kind, Known, L1, Note, above};

/// The letters behind a number of ports, and their 10^9 bits a second.
const PORTS: [(&str, f64); 7] =
    [("S+", 10.0), ("XS", 25.0), ("XG", 10.0), ("Q+", 40.0), ("XQ", 100.0), ("G", 1.0), ("S", 1.0)];

/// Bits a second in 10^9 of all ports that a model's name says; none if it says nothing.
pub(super) fn of_name(device: &str) -> Option<f64> {
    let model = device.split_whitespace().next()?;
    let ports = model.split('-').skip(1).filter_map(|part| {
        let letters = part.trim_start_matches(|c: char| c.is_ascii_digit());
        let count: f64 = part[..part.len() - letters.len()].parse().ok()?;
        let is_it = |name: &str| {
            let rest = letters.strip_prefix(name)?;
            // Behind it only how it is built in: S+IN, S+RM, S+EM.
            rest.chars().all(|c| c.is_ascii_uppercase()).then_some(())
        };
        let (_, gbps) = PORTS.iter().find(|(name, _)| is_it(name).is_some())?;
        Some(count * gbps)
    });
    let sum: f64 = ports.sum();
    (sum > 0.0).then_some(sum)
}

/// The column of a price list that has 10^6 packets a second.
pub(super) fn mpps(table: &Table) -> Option<&'static str> {
    ["mpps", "fastpath_mpps"].into_iter().find(|name| table.has("model") && table.has(name))
}

/// Checks lists of `model` with ports (`ethernet`, `sfp`, `sfp_plus`) and `fastpath_mpps` or
/// `throughput_gbps`, or with what a model does at most and typically (`max`, `typical`).
pub(super) fn check(table: &Table, _: &Known, note: &mut Note) -> bool {
    let bounds = table.has_all(&["model", "max", "typical"]);
    let ports = ["ethernet", "sfp", "sfp_plus"].iter().any(|name| table.has(name));
    let prices = ports && table.has("model") && (mpps(table).is_some() || table.has("gbps"));
    for row in table.rows() {
        let number = |name| table.number(row, name);
        if let (true, Some(most), Some(typical)) = (bounds, number("max"), number("typical"))
            && typical > most
        {
            let text = format!("typically {typical}, and {most} at most");
            note(Some(row.line), Kind::Inconsistent, text);
        }
        let of = |name, gbps: f64| number(name).unwrap_or(0.0) * gbps;
        let sum = of("ethernet", 1.0) + of("sfp", 1.0) + of("sfp_plus", 10.0);
        if !prices || sum <= 0.0 {
            continue;
        }
        let most = sum * 1e3 / ((64.0 + L1) * 8.0);
        let (name, what) = (mpps(table).unwrap_or(""), table.text(row, "model"));
        if let Some(mpps) = number(name) {
            let digit = digit(table, row, name);
            let limit =
                format!("{what}: {mpps} Mpps; its ports, {sum} Gbps, carry {most:.3} of 64 bytes");
            if mpps > most + digit {
                let text = format!("{limit}: {}", above(mpps, most));
                note(Some(row.line), Kind::Impossible, text);
            } else if mpps > most {
                note(Some(row.line), Kind::Rounded, format!("{limit}, rounded up"));
            } else if most - mpps < digit && most - mpps > digit / 2.0 {
                note(Some(row.line), Kind::Rounded, format!("{limit}, cut off"));
            }
        }
        if let Some(gbps) = number("gbps").filter(|gbps| *gbps > sum + 1e-9) {
            let text = format!("{what}: {gbps} Gbps, and its ports carry {sum}");
            note(Some(row.line), Kind::Impossible, text);
        }
    }
    bounds || prices
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        for (name, gbps) in [
            ("CCR1009-8G-1S-1S+ 1200MHz", Some(19.0)),
            ("CCR1016-12S-1S+ 1200MHz", Some(22.0)),
            ("CCR1036-8G-2S+EM", Some(28.0)),
            ("CRS309-1G-8S+IN", Some(81.0)),
            ("CCR1072 1200MHz DDR1600", None),
            ("RB962UiGS-5HacT2HnT", None),
            ("RB750Gr2 720MHz", None),
            ("", None),
        ] {
            assert_eq!(of_name(name), gbps, "{name}");
        }
    }
}
