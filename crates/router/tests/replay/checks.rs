//! Checks of a replay: counters and tables beside what the model says.

use crate::model::{Fate, State, Step, TTL_EXCEEDED};
use crate::replay::{Mode, Replay, WAN, time_exceeded};
use crate::witness::{Ip, Row};
use router::counter::Count;
use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::time::Duration;
use wire::FiveTuple;

impl Replay<'_> {
    /// A connection at its last packet.
    pub(crate) fn check_connection(&self, n: usize) {
        let at = self.model.steps[n].connection.unwrap();
        let model = &self.model.connections[at];
        let (protocol, src, src_port, dst, dst_port) = model.tuple;
        let tuple = FiveTuple { src, dst, src_port, dst_port, protocol };
        let connections = self.rig.router.connections();
        let flow = connections.flows().find(tuple.hash(), &tuple);
        let flow = flow.unwrap_or_else(|| panic!("not tracked: {}", self.describe(n)));
        let entry = connections.entry(connections.flow(flow).connection, self.rig.now).unwrap();
        let context = || format!("{entry:?}\n{}", self.describe(n));
        assert_eq!(entry.original, tuple, "{}", context());
        assert_eq!(entry.counts.map(pair), model.counts, "{}", context());
        assert_eq!(entry.fasttrack.map(pair), model.fasttrack, "{}", context());
        let state = entry.tcp_state.map(router::firewall::connection::TcpState::name);
        assert_eq!(state, (protocol == 6).then(|| model.tcp_state()), "{}", context());
        let flags = entry.flags.to_string();
        let has = |letter| flags.contains(letter);
        assert_eq!(has('S'), model.seen_reply, "{}", context());
        assert_eq!(has('F'), model.marked, "{}", context());
        assert_eq!(has('D'), model.refused, "{}", context());
        assert!(has('C') && !has('d') && !has('E'), "{}", context());
        let translated = match self.ports.get(&at) {
            Some(&port) if protocol == 1 => {
                FiveTuple { src: WAN, src_port: port, dst_port: port, ..tuple }
            }
            Some(&port) => FiveTuple { src: WAN, src_port: port, ..tuple },
            None => tuple,
        };
        assert_eq!(has('s'), self.ports.contains_key(&at), "{}", context());
        assert_eq!(entry.reply, translated.reversed(), "{}", context());
    }

    /// All that was counted, when the capture is over.
    pub(crate) fn check_counters(&mut self) {
        let (rows, steps) = (self.rows, &self.model.steps);
        let count = |matches: &dyn Fn(&Step, &Row) -> bool| {
            let pairs = steps.iter().zip(rows).filter(|(step, row)| matches(step, row));
            pairs.fold((0, 0), |sum, (step, _)| (sum.0 + 1, sum.1 + step.len))
        };
        let mode = self.mode;
        let rules = self.rig.router.rule_counts("/ip firewall filter", self.rig.console.tree());
        let expected: Vec<_> = self
            .setup
            .rules
            .iter()
            .map(|matches| count(&|step, row| reaches_filter(step) && matches(step, row)))
            .collect();
        assert_eq!(rules.into_iter().map(pair).collect::<Vec<_>>(), expected, "{mode:?}");
        if self.setup.nat {
            assert!(self.n_changed > 20, "only {} ports were somebody else's", self.n_changed);
            let nat = self.rig.router.rule_counts("/ip firewall nat", self.rig.console.tree());
            let mut all = Count::default();
            nat.into_iter().for_each(|count| all.merge(count));
            let expected = count(&|step, row| step.first && row.from_client);
            assert_eq!(pair(all), expected, "{mode:?}");
        }

        let mut expected = BTreeMap::new();
        for step in steps {
            if let Fate::Dropped(reason) = step.fate {
                *expected.entry(reason).or_insert(0) += step.datagram.len() as u64;
            }
        }
        let discards = self.rig.router.discards().iter().map(|(why, n)| (why.name(), n));
        assert_eq!(discards.collect::<BTreeMap<_, _>>(), expected, "{mode:?}");

        let from = [true, false].map(|client| {
            let rows = rows.iter().filter(move |row| row.from_client == client);
            rows.fold((0, 0), |sum, row| (sum.0 + 1, sum.1 + row.bytes.len() as u64))
        });
        for port in [1, 2] {
            let counts = self.rig.router.interface_counts(self.rig.ether(port));
            let at = usize::from(port) - 1;
            assert_eq!(pair(counts.rx), from[at], "{mode:?}, ether{port}");
            assert_eq!(counts.tx.packets, self.n_out[at], "{mode:?}, ether{port}");
            let fast = |client| {
                let steps = steps.iter().zip(rows);
                let stateless = !self.setup.policy.tracking;
                let its = steps.filter(|(step, row)| {
                    let plain = stateless && step.fate == Fate::Forwarded;
                    (step.fast || plain) && row.from_client == client
                });
                its.fold((0, 0), |sum, (_, row)| (sum.0 + 1, sum.1 + row.bytes.len() as u64))
            };
            assert_eq!(pair(counts.fast_rx), fast(port == 1), "{mode:?}, ether{port}");
            assert_eq!(pair(counts.fast_tx), fast(port == 2), "{mode:?}, ether{port}");
        }
        // Nothing is lost: what came in went out, or its end has a name.
        let n = |fate| steps.iter().filter(|step| step.fate == fate).count() as u64;
        let dropped: u64 = expected.values().sum();
        let complaints = n(TTL_EXCEEDED);
        let accounted = self.n_out[0] + self.n_out[1] - complaints + dropped + n(Fate::Consumed);
        assert_eq!(rows.len() as u64, accounted, "{mode:?}");

        let paths = self.rig.router.path_counts();
        assert_eq!(pair(paths.ipv4_fasttrack), count(&|step, _| step.fast), "{mode:?}");
        let stateless = !self.setup.policy.tracking;
        let expected = count(&|step, _| stateless && step.fate == Fate::Forwarded);
        assert_eq!(pair(paths.ipv4_fast_path), expected, "{mode:?}");
        let replays = mode == Mode::Fast && !stateless;
        assert_eq!(paths.replayed > 0, replays, "{mode:?}: {paths:?}");
        self.check_queues();
    }

    /// Each client's queue: what went up from it, and what came down to it.
    fn check_queues(&self) {
        let tree = self.rig.console.tree();
        for (stats, client) in self.rig.router.queue_stats(tree).into_iter().zip(11..) {
            let client = u32::from_be_bytes([192, 168, 88, client]);
            let passed = |end: fn(&Ip) -> u32| {
                let steps = self.model.steps.iter().zip(self.rows);
                let its = steps.filter(|(step, row)| {
                    step.fate == Fate::Forwarded && row.ip.is_some_and(|ip| end(&ip) == client)
                });
                its.fold((0, 0), |sum, (step, _)| (sum.0 + 1, sum.1 + step.len + 14))
            };
            let mut expected = [passed(|ip| ip.src), passed(|ip| ip.dst)];
            // What the router itself says to a client comes down by the queue as well.
            for (row, step) in self.rows.iter().zip(&self.model.steps) {
                if step.fate == TTL_EXCEEDED && row.ip.is_some_and(|ip| ip.src == client) {
                    let down = &mut expected[1];
                    *down = (down.0 + 1, down.1 + time_exceeded(row).len() as u64);
                }
            }
            let got = stats.map(|stats| (stats.packets, stats.bytes));
            assert_eq!(got, expected, "{:?}, client {}", self.mode, Ipv4Addr::from(client));
            assert!(stats.iter().all(|stats| stats.dropped + stats.queued_packets == 0));
        }
    }

    /// As many connections as there were, and in the end there is none.
    pub(crate) fn check_the_end(&mut self) {
        let expected = self.model.connections.len() as u64;
        let invalid = self.model.steps.iter().filter(|step| step.state == State::Invalid).count();
        let complaints = |step: &&Step| step.fate == TTL_EXCEEDED;
        // The router's own complaints about first packets belong to no connection either.
        let own = self.model.steps.iter().filter(complaints).count();
        let tracking = self.setup.policy.tracking;
        let invalid = if tracking { (invalid + own) as u64 } else { 0 };
        let counts = self.rig.router.connections().counts;
        assert_eq!((counts.created, counts.invalid), (expected, invalid), "{counts:?}");
        self.rig.wait(Duration::from_secs(310));
        let left: Vec<_> = self.rig.router.connections().list(self.rig.now).collect();
        assert!(left.is_empty(), "still there after all timeouts: {left:?}");
        assert_eq!(self.rig.router.connections().counts.early_dropped, 0);
    }
}

fn pair(count: Count) -> (u64, u64) {
    (count.packets, count.bytes)
}

/// Whether a frame makes a datagram that the forward chain sees.
fn reaches_filter(step: &Step) -> bool {
    let passes = matches!(step.fate, Fate::Forwarded | Fate::Dropped("filter-drop"));
    passes && !step.fast
}
