//! Comparison of the written frames with those sent to the built-in router over wires of the plan's rate, in
//! virtual time and by the clock.

use super::*;
use crate::clock::Clock;
use crate::suite::plan::{self, Allowed};
use measure::trailer::{Found, Trailer};
use port::capture::{CapturePort, Captured};
use port::memory::{self, MemoryPort};
use router::Router;

const ROUTER: &str = "/ip address add address=198.18.1.1/24 interface=ether1
/ip address add address=198.19.1.1/24 interface=ether2
/ip route add dst-address=198.18.0.0/16 gateway=198.18.1.10
/ip route add dst-address=198.19.0.0/16 gateway=198.19.1.10";

const FRAMES: u64 = 200;

fn plan(flows: &str, modifiers: &str) -> Plan {
    plan_of("64, \"imix\"", flows, modifiers)
}

fn plan_of(sizes: &str, flows: &str, modifiers: &str) -> Plan {
    let text = format!(
        "name = \"x\"\nseed = 7\n[device]\nmodifiers = [{modifiers}]\n[medium]\nlink = \"1G\"\n\
         [traffic]\nframe-sizes = [{sizes}]\nflows = \"{flows}\"\n\
         [[procedure]]\nkind = \"throughput\"\n[[procedure]]\nkind = \"latency\"\n"
    );
    plan::read(&text, Allowed::default()).unwrap()
}

/// A frame: its port, when it is sent, and its bytes; both times from the beginning of its trial.
type Sent = (usize, u64, Vec<u8>);

/// The bytes with the trailer's time, if there is one, as if the trial had begun with all time.
fn from_start(bytes: &[u8], start: u64) -> (Vec<u8>, Option<u64>) {
    let mut bytes = bytes.to_vec();
    let Some(Found::Good(trailer)) = Trailer::read(&bytes) else { return (bytes, None) };
    let time = trailer.time.as_nanos() - start;
    let at = bytes.len() - measure::trailer::LEN;
    let trailer = Trailer { time: Moment::from_nanos(time), ..trailer };
    bytes[at..].copy_from_slice(&trailer.to_bytes());
    (bytes, Some(time))
}

fn is_arp(bytes: &[u8]) -> bool {
    bytes[12..14] == [8, 6]
}

/// A memory wire with a rate, and all frames with the times at which they begin on it.
struct OnWire {
    line: Line,
    inner: CapturePort<MemoryPort, Vec<Captured>>,
}

impl Port for OnWire {
    fn receive(&mut self, now: Moment, pool: &mut Pool, batch: &mut Batch) -> usize {
        self.inner.receive(now, pool, batch)
    }

    fn send(&mut self, now: Moment, pool: &mut Pool, batch: &mut Batch) {
        for frame in batch.drain() {
            let begins = self.line.next_start().max(now);
            self.line.depart(now, frame.len());
            let mut one = Batch::new();
            one.push(frame);
            self.inner.send(begins, pool, &mut one);
        }
    }

    fn counters(&self) -> PortCounters {
        self.inner.counters()
    }

    fn next_start(&self) -> Option<Moment> {
        Some(self.line.next_start())
    }
}

/// The built-in router behind wires; what goes to its ports is kept.
struct Kept {
    tester: Tester<OnWire>,
    ports: Vec<MemoryPort>,
    router: Router,
    /// By the clock; in virtual time without one.
    clock: Option<Clock>,
    now: Moment,
}

impl Kept {
    fn new(plan: &Plan, clock: Option<Clock>) -> Kept {
        let slab = Slab::with(1 << 13, jumbo::slots(plan.longest())).unwrap();
        let script = format!("{ROUTER}\n{}", jumbo::command(plan.longest()));
        let (wires, ports): (Vec<_>, Vec<_>) = (0..2).map(|_| memory::wire(1024)).unzip();
        let line = Line::new(plan.link).unwrap();
        let on_wire = |port| OnWire { line, inner: CapturePort::new(port, vec![]) };
        let wires = wires.into_iter().map(on_wire).collect();
        Kept {
            tester: Tester::new(wires, &slab, plan.subnets()),
            ports,
            router: device::router(2, &slab, &script).unwrap(),
            clock,
            now: Moment::from_nanos(17),
        }
    }

    /// How many frames each port has kept.
    fn n(&self) -> Vec<usize> {
        self.tester.wires.iter().map(|wire| wire.inner.sink().len()).collect()
    }

    /// The frames that went since, but for ARP, in the order of their times and ports.
    fn since(&self, n: &[usize]) -> Vec<Captured> {
        let mut all = vec![];
        for (wire, n) in self.tester.wires.iter().zip(n) {
            let sent = wire.inner.sink()[*n..].iter();
            all.extend(
                sent.filter(|frame| {
                    frame.direction == Some(Direction::Out) && !is_arp(&frame.bytes)
                }),
            );
        }
        all.into_iter().cloned().collect()
    }
}

impl Testbed for Kept {
    type Wire = OnWire;

    fn tester(&mut self) -> &mut Tester<OnWire> {
        &mut self.tester
    }

    fn now(&self) -> Moment {
        self.clock.map_or(self.now, |clock| clock.now())
    }

    fn run(&mut self, task: &mut Task, _: Option<Moment>) -> Result<(), Stop> {
        let end = self.now() + Duration::from_millis(5);
        let nothing = task.senders.is_empty();
        loop {
            self.now = match self.clock {
                Some(clock) => clock.now(),
                None if task.next_due() == Moment::from_nanos(u64::MAX) => end.max(self.now),
                None => self.now.max(task.next_due()),
            };
            self.tester.tick(self.now, task);
            self.router.breathe(self.now, &mut self.ports);
            let all = task.is_done(self.now) && task.received() == task.sent();
            if if nothing { self.now >= end } else { all } {
                self.tester.receive(self.now, task);
                // The wires are free again when the next one begins.
                self.now = self.now + Duration::from_millis(1);
                return Ok(());
            }
        }
    }

    fn renew(&mut self) -> Result<(), Stop> {
        Ok(())
    }

    fn bypass(&mut self, _: bool) -> Result<(), Stop> {
        Ok(())
    }

    fn is_bypassed(&self) -> bool {
        false
    }

    fn discards(&self) -> String {
        String::new()
    }
}

/// The frames of each trial, as they are written.
fn written(plan: &Plan, load: Offer) -> (Vec<Written>, Vec<Vec<Sent>>) {
    let excerpt = Excerpt { simulated: false, quick: false, frames: FRAMES, load };
    let mut all: Vec<(usize, u64, Vec<u8>)> = vec![];
    let trials = write(plan, &Device::BuiltIn, &excerpt, &mut |port, record| {
        assert!(all.last().is_none_or(|(_, last, _)| *last <= record.timestamp_ns), "in order");
        all.push((port, record.timestamp_ns, record.bytes.to_vec()));
        Ok(())
    });
    let trials = trials.unwrap();
    let of = |trial: &Written| {
        let [start, end] = [trial.first, trial.last].map(Moment::as_nanos);
        let its = all.iter().filter(|(_, at, bytes)| (start..=end).contains(at) && !is_arp(bytes));
        let sent = |(port, at, bytes): &(usize, u64, Vec<u8>)| {
            let (bytes, time) = from_start(bytes, start);
            let at = at - start;
            assert!(time.is_none_or(|time| time == at), "the trailer's time is the frame's");
            (*port, at, bytes)
        };
        its.map(sent).collect()
    };
    let sent = trials.iter().map(of).collect();
    (trials, sent)
}

/// The same trials with a router, in the same order: each frame that went to it.
fn sent(plan: &Plan, load: Offer, clock: Option<Clock>) -> Vec<Vec<Sent>> {
    let mut all = vec![];
    for &modifier in &plan.modifiers {
        let mut bench = Bench::new(Kept::new(plan, clock), plan, modifier, plan.link);
        for frame in &plan.sizes {
            let Offer::Share(share) = load else { unreachable!() };
            let load = frame.max_frames(plan.link) * share;
            bench.meet(frame).unwrap();
            for (_, input) in trials(plan, frame, load, FRAMES) {
                let n = bench.place.n();
                bench.trial(&input).unwrap();
                let came: Vec<Vec<Captured>> = (0..2)
                    .map(|port| {
                        let mut from = bench.place.n();
                        from[port] = n[port];
                        bench.place.since(&from)
                    })
                    .collect();
                let start = came.iter().flatten().map(|frame| frame.timestamp_ns).min().unwrap();
                let mut trial: Vec<Sent> = vec![];
                for (port, frames) in came.iter().enumerate() {
                    for frame in frames {
                        let (bytes, time) = from_start(&frame.bytes, start);
                        trial.push((port, time.unwrap_or(frame.timestamp_ns - start), bytes));
                    }
                }
                all.push(trial);
            }
        }
    }
    all
}

/// By port, each port's in its order.
fn by_port(trials: &[Vec<Sent>]) -> Vec<Vec<Sent>> {
    let of = |trial: &Vec<Sent>| {
        let mut trial = trial.clone();
        trial.sort_by_key(|(port, ..)| *port);
        trial
    };
    trials.iter().map(of).collect()
}

const MODIFIERS: &str =
    "\"none\", \"1-percent-broadcasts\", \"management-queries\", \"routing-updates\"";

/// In virtual time all is equal: ports, bytes, times to the nanosecond, order.
#[test]
fn what_is_written_is_what_is_sent() {
    let sizes = ["64, \"imix\"", "9018, 9860"];
    for (flows, load, sizes) in [
        ("pair", 1.0, sizes[0]),
        ("pair", 0.07, sizes[0]),
        ("networks", 0.5, sizes[0]),
        ("pair", 0.5, sizes[1]),
    ] {
        let plan = plan_of(sizes, flows, MODIFIERS);
        let (trials, ours) = written(&plan, Offer::Share(load));
        let theirs = sent(&plan, Offer::Share(load), None);
        assert_eq!((trials.len(), ours.len()), (8, theirs.len()));
        for ((trial, ours), theirs) in trials.iter().zip(by_port(&ours)).zip(by_port(&theirs)) {
            assert_eq!(ours.len() as u64, trial.frames.iter().sum::<u64>(), "{trial}");
            // Where broadcasts are beside them, both may have one more on each port.
            assert!(ours.len().abs_diff(2 * FRAMES as usize) <= 4, "{trial}");
            for (ours, theirs) in ours.iter().zip(&theirs) {
                assert_eq!(ours, theirs, "{trial}");
            }
            assert_eq!(ours.len(), theirs.len(), "{trial}");
        }
    }
}

/// By the clock, the same bytes but for when a frame was made.
#[test]
fn a_run_by_the_clock_sends_the_same() {
    let plan = plan("networks", "\"none\"");
    let load = Offer::Share(0.01);
    let without_time = |trials: &[Vec<Sent>]| -> Vec<Vec<(usize, Vec<u8>)>> {
        let bytes = |(port, _, bytes): Sent| {
            let (at, mut bytes) = (bytes.len() - 8, bytes);
            bytes[at..].fill(0);
            bytes[at - 10] = 0; // the trailer's check byte
            (port, bytes)
        };
        by_port(trials).into_iter().map(|trial| trial.into_iter().map(bytes).collect()).collect()
    };
    let ours = without_time(&written(&plan, load).1);
    let theirs = without_time(&sent(&plan, load, Some(Clock::start())));
    assert_eq!(ours.iter().map(Vec::len).collect::<Vec<_>>(), [400, 400]);
    assert!(ours == theirs, "the frames differ");
}

#[test]
fn seeds_count_and_what_cannot_be_is_said() {
    let random = plan("networks", "\"none\"");
    let other = Plan { seed: 8, ..random.clone() };
    let load = Offer::Share(1.0);
    assert_eq!(written(&random, load), written(&random, load));
    assert_ne!(written(&random, load).1, written(&other, load).1);
    let refused = |plan: &Plan, load| {
        let excerpt = Excerpt { simulated: false, quick: false, frames: 1, load };
        write(plan, &Device::BuiltIn, &excerpt, &mut |_, _| Ok(())).unwrap_err().to_string()
    };
    let above = refused(&random, Offer::Rate(PacketRate(1e7)));
    assert!(above.contains("1000.0 Mbps carry 1488095.2 of 64 bytes"), "{above}");
    let mut full = |_: usize, _: &Record<'_>| Err(io::Error::other("the disk is full"));
    let excerpt = Excerpt { simulated: false, quick: false, frames: 1, load };
    let error = write(&random, &Device::BuiltIn, &excerpt, &mut full).unwrap_err();
    assert_eq!(error.to_string(), "the disk is full");
}

/// Bursts of two streams by one port, due at the same moment: their frames take turns, each begins when
/// the one before it is over, and how late that made them is said.
#[test]
fn bursts_at_once_go_one_after_the_other() {
    let stream = |size: u32, more: &str| {
        format!(
            "[[stream]]\nstack = \"eth/ipv4/udp\"\nsizes = {size}\nrate = \"1%\"\npackets = 64\n{more}\n"
        )
    };
    let head = "name = \"x\"\n[device]\n[medium]\nlink = \"1G\"\n[traffic]\nflows = \"pair\"\n\
                [[procedure]]\nkind = \"streams\"\n";
    let burst = "shape = \"burst 16\"";
    for (streams, waited_ns) in [
        // Sixteen of 1538 bytes of wire: the other's last frame is due at 15 · 12,304 ns, and 31 begin before
        // it.
        ([stream(1518, burst), stream(1518, burst)].concat(), 16 * 12_304),
        // Of 84: they have all been due for longer when the first of the long ones is over.
        ([stream(64, burst), stream(1518, burst)].concat(), 12_304),
        ([stream(64, ""), stream(64, "")].concat(), 672),
        ([stream(64, burst), stream(64, "from = 2\nshape = \"burst 16\"")].concat(), 0),
    ] {
        let plan = plan::read(&format!("{head}{streams}"), Allowed::default()).unwrap();
        let excerpt =
            Excerpt { simulated: false, quick: false, frames: 64, load: Offer::Share(1.0) };
        let mut all: Vec<(usize, u64, usize)> = vec![];
        let trials = write(&plan, &Device::BuiltIn, &excerpt, &mut |port, record| {
            all.push((port, record.timestamp_ns, record.bytes.len()));
            Ok(())
        });
        let trials = trials.unwrap();
        assert!(all.is_sorted_by_key(|(_, at, _)| *at), "{all:?}");
        for port in 0..2 {
            let of_port: Vec<_> = all.iter().filter(|(from, ..)| *from == port).collect();
            for pair in of_port.windows(2) {
                let [(_, first, len), (_, next, _)] = pair else { unreachable!() };
                let wire_time = 8 * (*len as u64 + 24);
                assert!(next - first >= wire_time, "port {port}: {pair:?}");
            }
        }
        assert_eq!(trials[0].frames.iter().sum::<u64>(), 128);
        assert_eq!(trials[0].waited.as_nanos(), waited_ns, "{}", trials[0]);
        let said = trials[0].to_string();
        assert_eq!(said.contains("later than due"), waited_ns > 0, "{said}");
    }
}
