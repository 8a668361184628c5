//! `psd`: port scan detection.
//!
//! ```text
//! psd=21,3s,3,1: a source asks for ports, each time within 3 s of the last
//!                a port it has not asked for: + 3 below 1024, + 1 above
//!                21 or more: it scans, and all its packets match until it is quiet for 3 s
//! ```
//!
//! TCP and UDP only, as xt_psd does it.

use crate::firewall::syntax;
use config::Value;
use std::collections::HashMap;
use std::time::Duration;
use wire::Moment;

/// `psd`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scan {
    /// From this weight on it is a scan.
    pub weight: u16,
    /// The longest pause.
    pub delay: Duration,
    /// The weight of a port below 1024.
    pub low: u16,
    /// The weight of another.
    pub high: u16,
}

impl Scan {
    /// Reads `weight,delay,low-weight,high-weight`.
    pub fn parse(text: &str) -> Option<Scan> {
        let mut words = text.split(',');
        let mut next = || words.next();
        let weight = syntax::number(next()?)?;
        let delay = syntax::time(next()?)?;
        let scan =
            Scan { weight, delay, low: syntax::number(next()?)?, high: syntax::number(next()?)? };
        words.next().is_none().then_some(scan)
    }
}

/// Reads `psd`.
pub fn read(text: &str) -> Result<Value, String> {
    let expected = "weight,delay,low port weight,high port weight, as in 21,3s,3,1";
    syntax::keep(text, Scan::parse(text).is_some(), expected)
}

/// The sources a rule watches.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sources {
    by_address: HashMap<u32, Source>,
}

#[derive(Clone, Debug)]
struct Source {
    last: Moment,
    weight: u32,
    /// Asked for so far; no more are kept than it takes to be a scan.
    ports: Vec<u16>,
}

/// More sources than this are not watched at once: the quiet ones are forgotten, or else all.
const MAX: usize = 4096;

impl Sources {
    /// Whether a source that asks for a port is scanning.
    pub(crate) fn is_scan(&mut self, scan: &Scan, source: u32, port: u16, now: Moment) -> bool {
        let is_late = |last: Moment| now.since(last) > scan.delay;
        if self.by_address.len() >= MAX && !self.by_address.contains_key(&source) {
            self.by_address.retain(|_, source| !is_late(source.last));
            if self.by_address.len() >= MAX {
                self.by_address.clear();
            }
        }
        let quiet = Source { last: now, weight: 0, ports: Vec::new() };
        let source = self.by_address.entry(source).or_insert_with(|| quiet.clone());
        if is_late(source.last) {
            *source = quiet;
        }
        source.last = now;
        let weight = if port < 1024 { scan.low } else { scan.high };
        let is_scan = |source: &Source| source.weight >= u32::from(scan.weight);
        if !is_scan(source) && weight != 0 && !source.ports.contains(&port) {
            source.ports.push(port);
            source.weight += u32::from(weight);
        }
        is_scan(source)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of these packets (ms, source, port), which match?
    fn matching(text: &str, packets: &[(u64, u32, u16)]) -> Vec<usize> {
        let (scan, mut sources) = (Scan::parse(text).expect(text), Sources::default());
        let mut is_scan = |&(ms, source, port): &(u64, u32, u16)| {
            sources.is_scan(&scan, source, port, Moment::from_nanos(ms * 1_000_000))
        };
        (0..packets.len()).filter(|&n| is_scan(&packets[n])).collect()
    }

    #[test]
    fn different_ports_in_time_are_a_scan() {
        let low: Vec<_> = (0..9u16).map(|n| (u64::from(n) * 100, 1, 20 + n)).collect();
        assert_eq!(matching("21,3s,3,1", &low), [6, 7, 8], "the seventh low port");
        let high: Vec<_> = (0..22u16).map(|n| (u64::from(n), 1, 2000 + n)).collect();
        assert_eq!(matching("21,3s,3,1", &high), [20, 21]);
        let same = [(0, 1, 80); 50];
        assert_eq!(matching("21,3s,3,1", &same), [0usize; 0]);
        let slow: Vec<_> = (0..30u16).map(|n| (u64::from(n) * 3001, 1, 20 + n)).collect();
        assert_eq!(matching("21,3s,3,1", &slow), [0usize; 0]);
        let many: Vec<_> = (0..60u16).map(|n| (0, u32::from(n % 10), 20 + n)).collect();
        assert_eq!(matching("21,3s,3,1", &many), [0usize; 0], "ten sources, six ports each");
        assert_eq!(matching("3,1s,3,1", &[(0, 1, 22), (900, 1, 22), (2000, 1, 22)]), [0, 1, 2]);
    }

    #[test]
    fn a_flood_of_sources_takes_bounded_memory() {
        let (scan, mut sources) = (Scan::parse("21,3s,3,1").unwrap(), Sources::default());
        for n in 0..100_000 {
            sources.is_scan(&scan, n, 80, Moment::ZERO);
        }
        assert!(sources.by_address.len() <= MAX);
    }

    #[test]
    fn syntax() {
        for bad in ["", "21", "21,3s,3", "21,3s,3,1,1", "a,3s,3,1", "21,x,3,1", "99999,3s,3,1"] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }
}
