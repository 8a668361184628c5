//! The limit of a rate: the wire, the hosts, or the device between them.
//!
//! ```text
//!  through the device     a ──── device ──── b     940 Mbps
//!  node to node           a ═════════════════ b     970 Mbps: less than 1.2 times that, so the hosts
//! ```
//!
//! The hosts alone are the tester's self-test. They share the processors with a device on the same
//! machine, so what they do beside one is less still: where they are the limit it may be more.

use super::{DIRECT, Results, Row, Setting};
use crate::Limit;
use crate::result::HEADROOM;

/// So much of what the wire carries is wire speed: hosts that share it begin and end apart.
const WIRE_SPEED: f64 = 0.99;

impl Results {
    /// What the hosts did without a device, in Mbps of layer 3: the most of all turns with the same
    /// packets, connections and wire, but for invalid ones. None if they were not asked.
    pub fn alone(&self, of: &Setting) -> Option<f64> {
        let direct = Setting { device: DIRECT.to_string(), ..of.clone() };
        let rows = self.rows.iter().filter(|row| row.setting == direct);
        let rows = rows.filter(|row| row.validity.is_valid());
        rows.map(|row| row.l3_mbps).max_by(f64::total_cmp)
    }

    /// What kept a row's rate from being higher; none where the hosts were not measured alone, and of
    /// an invalid row.
    pub fn limit(&self, row: &Row) -> Option<Limit> {
        if !row.validity.is_valid() {
            return None;
        }
        if row.most_l3_mbps().is_some_and(|most| row.l3_mbps >= WIRE_SPEED * most) {
            return Some(Limit::Wire);
        }
        let alone = self.alone(&row.setting)?;
        Some(if alone < HEADROOM * row.l3_mbps { Limit::Tester } else { Limit::Device })
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Direction, Environment, Protocol, SCHEMA};
    use super::*;

    #[test]
    fn the_hosts_alone_are_the_measure() {
        let setting = |device: &str, packet, link_mbps| Setting {
            device: device.to_string(),
            protocol: Protocol::Tcp,
            direction: Direction::OneWay,
            packet,
            timestamps: true,
            pairs: 1,
            streams: 8,
            link_mbps,
        };
        let row =
            |setting: Setting, l3_mbps| Row { l3_mbps, ..Row::of(setting, vec![], None).unwrap() };
        let link = Some(1000.0);
        let rows = vec![
            row(setting(DIRECT, 128, link), 400.0),
            row(setting(DIRECT, 128, link), 436.8),
            row(setting(DIRECT, 1500, link), 962.0),
        ];
        let results = Results {
            schema: SCHEMA.to_string(),
            name: String::new(),
            plan: String::new(),
            quick: false,
            environment: Environment::default(),
            incomplete_because: None,
            omitted: vec![],
            setups: vec![],
            rows,
            latencies: vec![],
            paths: vec![],
        };
        for (device, packet, mbps, expected) in [
            ("kernel", 128, 380.2, Some(Limit::Tester)),
            ("kernel", 128, 364.1, Some(Limit::Tester)),
            ("kernel", 128, 363.9, Some(Limit::Device)),
            ("kernel", 1500, 973.7, Some(Limit::Wire)),
            ("kernel", 1500, 700.0, Some(Limit::Device)),
            (DIRECT, 128, 400.0, Some(Limit::Tester)),
            ("kernel", 512, 500.0, None),
        ] {
            let row = row(setting(device, packet, link), mbps);
            assert_eq!(results.limit(&row), expected, "{device} {packet} {mbps}");
        }
        let mut disturbed = results.clone();
        let invalid = |row: &mut Row| row.validity.invalid = Some("the clocks differ".to_string());
        let through = row(setting("kernel", 128, link), 380.2);
        assert!(disturbed.limit(&through).is_some());
        let mut own = through.clone();
        invalid(&mut own);
        assert_eq!(disturbed.limit(&own), None, "it has no rate");
        disturbed.rows.iter_mut().filter(|row| row.setting.packet == 128).for_each(invalid);
        assert_eq!((disturbed.alone(&through.setting), disturbed.limit(&through)), (None, None));
        let other = row(setting("kernel", 128, None), 100.0);
        assert_eq!(results.limit(&other), None, "another wire");
    }
}
