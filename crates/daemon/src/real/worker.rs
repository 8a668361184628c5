//! I/O workers: threads that own the interfaces' queues, beside the one that is the router.
//!
//! ```text
//!  ether1 queue 0 ─┐ worker 0 ─┐                       ┌─ worker 0 ── ether1 queue 0, ether2 queue 1
//!  ether1 queue 1 ─┤ worker 1 ─┼═ cables ═ router ═════┤
//!  ether2 queue 0 ─┤ worker 1 ─┤  (memory)     by flow └─ worker 1 ── ether1 queue 1, ether2 queue 0
//!  ether2 queue 1 ─┘ worker 0 ─┘
//! ```
//!
//! A queue belongs to one worker, a cable has one worker, and all that an interface sends of one
//! flow goes by one worker and one queue: at no place can a frame pass one of its flow that came
//! before it, so the packets of a flow, which the interface puts into one queue, stay in order.
//! (While interfaces are put in or taken out, flows may move to another worker.) Frames are handed
//! over, not copied: all rings name slots of one slab.
//!
//! What a worker has no room for in its cable is lost, and counted where it was to go: as
//! `rx-drop` of the interface it came in by, as `tx-drop` of the one it was to leave by.

use super::hot_plug::HotPlug;
use crate::alarm::Alarm;
use crate::clock::Clock;
use crate::live;
use port::queues::{Spread, Turns};
use port::{Batch, Capabilities, MemoryPort, Pool, Port, PortCounters, Slab, affinity, memory};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use wire::Moment;

/// Frames in a cable between worker and router.
pub(super) const RING: usize = 4096;

/// The router's side of a port whose queues are with workers.
pub(super) struct Trunk {
    /// One for each worker.
    cables: Vec<MemoryPort>,
    alarms: Vec<Alarm>,
    /// What the workers' sides have lost.
    tallies: Vec<Arc<Tally>>,
    /// The worker that has the first queue.
    first: usize,
    /// The workers that send now.
    senders: Vec<usize>,
    turns: Turns,
    spread: Spread,
    capabilities: Capabilities,
}

/// What a worker has for one port.
pub(super) struct Strand {
    plug: HotPlug,
    cable: MemoryPort,
    tally: Arc<Tally>,
}

/// What a worker tells the router's side of a port: whether it has a way out, and what was lost.
#[derive(Debug, Default)]
pub(super) struct Tally {
    sends: AtomicBool,
    rx_drop: AtomicU64,
    rx_error: AtomicU64,
    tx_drop: AtomicU64,
}

/// A port of the router and what the workers have of it, by worker; `alarms` are the workers',
/// and `at` is its place among the ports.
pub(super) fn trunk(
    at: usize,
    alarms: &[Alarm],
    plugs: Vec<HotPlug>,
    capabilities: Capabilities,
) -> (Trunk, Vec<Strand>) {
    let (mut cables, mut tallies, mut strands) = (Vec::new(), Vec::new(), Vec::new());
    for plug in plugs {
        let (near, far) = memory::wire(RING);
        let tally = Arc::new(Tally::default());
        strands.push(Strand { plug, cable: far, tally: Arc::clone(&tally) });
        cables.push(near);
        tallies.push(tally);
    }
    let (first, senders) = (owner(at, 0, cables.len()), Vec::with_capacity(cables.len()));
    let (alarms, turns, spread) = (alarms.to_vec(), Turns::default(), Spread::default());
    let trunk = Trunk { cables, alarms, tallies, first, senders, turns, spread, capabilities };
    (trunk, strands)
}

/// Which worker of so many has a queue.
pub(super) fn owner(port: usize, queue: usize, workers: usize) -> usize {
    (port + queue) % workers
}

impl Port for Trunk {
    #[inline]
    fn receive(&mut self, now: Moment, pool: &mut Pool, batch: &mut Batch) -> usize {
        self.turns.receive(&mut self.cables, batch, |cable, batch| cable.receive(now, pool, batch))
    }

    #[inline]
    fn send(&mut self, now: Moment, pool: &mut Pool, batch: &mut Batch) {
        let Trunk { cables, alarms, tallies, first, senders, spread, .. } = self;
        senders.clear();
        senders.extend((0..cables.len()).filter(|&w| tallies[w].sends.load(Ordering::Relaxed)));
        if senders.is_empty() {
            senders.push(*first); // who counts it as lost
        }
        spread.send(senders.len(), pool, batch, |sender, pool, batch| {
            let worker = senders[sender];
            cables[worker].send(now, pool, batch);
            alarms[worker].ring();
        });
    }

    fn counters(&self) -> PortCounters {
        let cables = self.cables.iter().map(Port::counters).sum::<PortCounters>();
        let lost = |what: fn(&Tally) -> &AtomicU64| -> u64 {
            self.tallies.iter().map(|tally| what(tally).load(Ordering::Relaxed)).sum()
        };
        PortCounters {
            rx_drop: cables.rx_drop + lost(|tally| &tally.rx_drop),
            rx_error: lost(|tally| &tally.rx_error),
            tx_drop: cables.tx_drop + lost(|tally| &tally.tx_drop),
            ..cables
        }
    }

    fn capabilities(&self) -> Capabilities {
        self.capabilities
    }
}

impl Strand {
    /// Moves what has come and what is to go; how many came, how many went.
    #[inline]
    fn turn(&mut self, now: Moment, pool: &mut Pool, batch: &mut Batch) -> (usize, usize) {
        let received = self.plug.receive(now, pool, batch);
        if received > 0 {
            self.cable.send(now, pool, batch);
        }
        let sent = self.cable.receive(now, pool, batch);
        if sent > 0 {
            self.plug.send(now, pool, batch);
        }
        (received, sent)
    }

    fn tell(&self) {
        let (plug, cable) = (self.plug.counters(), self.cable.counters());
        self.tally.sends.store(self.plug.has_line(), Ordering::Relaxed);
        self.tally.rx_drop.store(plug.rx_drop, Ordering::Relaxed);
        self.tally.rx_error.store(plug.rx_error, Ordering::Relaxed);
        self.tally.tx_drop.store(plug.tx_drop + cable.rx_drop, Ordering::Relaxed);
    }
}

/// A worker's thread. Dropping it ends it, when it has sent what was on its way.
pub(super) struct Worker {
    stop: Arc<AtomicBool>,
    alarm: Alarm,
    thread: Option<JoinHandle<()>>,
}

/// What a worker's thread has.
pub(super) struct Work {
    /// Its part of each port.
    pub strands: Vec<Strand>,
    /// Whose slots the frames are in.
    pub slab: Slab,
    /// The time.
    pub clock: Clock,
    /// Its own alarm.
    pub alarm: Alarm,
    /// The router's.
    pub router: Alarm,
    /// The processor it is to stay on.
    pub cpu: Option<usize>,
}

/// How long a worker looks without a pause, and then lets others have the processor, before it
/// sleeps. As the router's thread does, and as short for the same reason.
const SPIN: Duration = live::WOKEN_SPIN;
const YIELD: Duration = live::WOKEN_YIELD;
/// It sleeps no longer: lines may be put in.
const SLEEP: Duration = Duration::from_millis(20);
/// How long it goes on at the end when nothing more is to be sent: the kernel may be behind.
const FLUSH: Duration = Duration::from_millis(2);
/// How often it tells what it has lost.
const TELL: Duration = Duration::from_millis(1);

impl Worker {
    /// Starts one.
    ///
    /// # Errors
    /// No thread could be started.
    pub(super) fn start(number: usize, work: Work) -> std::io::Result<Worker> {
        let (stop, alarm) = (Arc::new(AtomicBool::new(false)), work.alarm.clone());
        let thread = thread::Builder::new().name(format!("worker {number}")).spawn({
            let stop = Arc::clone(&stop);
            move || work.run(&stop)
        })?;
        Ok(Worker { stop, alarm, thread: Some(thread) })
    }

    /// Whether it has ended unasked.
    pub(super) fn is_gone(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        self.alarm.shout();
        if let Some(thread) = self.thread.take() {
            // Its panic was told when it happened.
            let _ = thread.join();
        }
    }
}

impl Work {
    fn run(self, stop: &AtomicBool) {
        let Work { mut strands, slab, clock, alarm, router, cpu } = self;
        if let Some(cpu) = cpu {
            // Elsewhere it works as well, only not as evenly.
            let _ = affinity::pin(cpu);
        }
        let (mut pool, mut batch) = (slab.pool(), Batch::new());
        let (mut busy_at, mut told_at) = (clock.now(), clock.now());
        loop {
            let ends = stop.load(Ordering::Acquire);
            let now = clock.now();
            let (mut received, mut sent) = (0, 0);
            for strand in &mut strands {
                let (came, went) = strand.turn(now, &mut pool, &mut batch);
                received += came;
                sent += went;
            }
            if received > 0 {
                router.ring();
            }
            if now.since(told_at) >= TELL || ends {
                strands.iter().for_each(Strand::tell);
                told_at = now;
            }
            if received + sent > 0 {
                busy_at = now;
                continue;
            }
            if ends && now.since(busy_at) >= FLUSH {
                return;
            }
            match now.since(busy_at) {
                idle if idle < SPIN => std::hint::spin_loop(),
                idle if idle < YIELD => thread::yield_now(),
                // Another look, then to sleep.
                _ if ends => thread::yield_now(),
                _ if !alarm.is_set() => alarm.set(),
                _ => {
                    strands.iter().for_each(Strand::tell);
                    let fds: Vec<_> = strands.iter().flat_map(|s| s.plug.descriptors()).collect();
                    alarm.sleep(&fds, SLEEP);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use wire::craft::{self, ip};

    /// A datagram of a flow, with its number.
    fn datagram(slab: &Slab, pool: &mut Pool, flow: u64, number: u64) -> Option<port::Frame> {
        let frame = craft::udp(ip(10, 0, 0, 1), 1000 + flow as u16, ip(10, 0, 1, 1), 7);
        let bytes = craft::Frame { payload: &number.to_be_bytes(), ..frame }.build();
        let mut frame = pool.alloc(bytes.len())?;
        slab.bytes_mut(&mut frame).copy_from_slice(&bytes);
        Some(frame)
    }

    /// Two interfaces of two queues, two workers: each flow comes through in order, by one queue of
    /// the other interface, and what is missing is counted.
    #[test]
    fn flows_stay_in_order_and_losses_are_counted() {
        const FRAMES: u64 = 30_000;
        const FLOWS: u64 = 16;
        let slab = Slab::new(1 << 15).unwrap();
        let (clock, router) = (Clock::start(), Alarm::new().unwrap());
        let alarms = [Alarm::new().unwrap(), Alarm::new().unwrap()];
        let capabilities = Capabilities::default();
        let (mut trunks, mut work, mut jacks) = (Vec::new(), [Vec::new(), Vec::new()], Vec::new());
        for at in 0..2 {
            let (plugs, own): (Vec<_>, Vec<_>) = (0..2).map(|_| HotPlug::new(capabilities)).unzip();
            let (trunk, strands) = trunk(at, &alarms, plugs, capabilities);
            trunks.push(trunk);
            work.iter_mut().zip(strands).for_each(|(work, strand)| work.push(strand));
            jacks.push(own);
        }
        let workers: Vec<Worker> = (work.into_iter().zip(&alarms).enumerate())
            .map(|(number, (strands, alarm))| {
                let (slab, alarm, router) = (slab.clone(), alarm.clone(), router.clone());
                let work = Work { strands, slab, clock, alarm, router, cpu: None };
                Worker::start(number, work).unwrap()
            })
            .collect();
        // Our ends of the queues, two of each interface.
        let mut ends = Vec::new();
        for (port, queue) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            let (near, far) = memory::wire(1024);
            let worker = owner(port, queue, 2);
            assert!(jacks[port][worker].put(Some(Box::new(near)), || {}).is_none());
            ends.push(far);
        }
        let all_send =
            |trunk: &Trunk| trunk.tallies.iter().all(|t| t.sends.load(Ordering::Relaxed));
        while !all_send(&trunks[1]) {
            thread::yield_now();
        }
        let (stop, taken) = (AtomicBool::new(false), AtomicU64::new(0));
        let (received, lost) = thread::scope(|scope| {
            // The router: what comes by one port goes out by the other.
            let routing = scope.spawn(|| {
                let (mut pool, mut batch, mut forwarded) = (slab.pool(), Batch::new(), 0u64);
                while !stop.load(Ordering::Acquire) {
                    let n = trunks[0].receive(clock.now(), &mut pool, &mut batch);
                    trunks[1].send(clock.now(), &mut pool, &mut batch);
                    forwarded += n as u64;
                    if n == 0 && alarm_set_already(&router) {
                        router.sleep(&[], Duration::from_millis(20));
                    }
                }
                forwarded
            });
            let (sources, sinks) = ends.split_at_mut(2);
            let sender = scope.spawn(|| {
                let (mut pool, mut batch) = (slab.pool(), Batch::new());
                for number in 0..FRAMES {
                    let flow = number % FLOWS;
                    let Some(frame) = datagram(&slab, &mut pool, flow, number) else { continue };
                    batch.push(frame);
                    sources[(flow % 2) as usize].send(clock.now(), &mut pool, &mut batch);
                    // The first half as fast as it is taken, the second as fast as can be.
                    while number < FRAMES / 2
                        && number.saturating_sub(taken.load(Ordering::Relaxed)) > 500
                    {
                        thread::yield_now();
                    }
                }
            });
            let (mut pool, mut batch) = (slab.pool(), Batch::new());
            let (mut last, mut received, mut quiet) = ([None; FLOWS as usize], 0u64, clock.now());
            let mut by_queue = [HashSet::new(), HashSet::new()];
            while !sender.is_finished() || clock.now().since(quiet) < Duration::from_millis(300) {
                for (sink, flows) in sinks.iter_mut().zip(&mut by_queue) {
                    if sink.receive(clock.now(), &mut pool, &mut batch) > 0 {
                        quiet = clock.now();
                    }
                    for frame in batch.drain() {
                        let number = slab.bytes(&frame)[42..].first_chunk().copied().unwrap();
                        let number = u64::from_be_bytes(number);
                        let last = &mut last[(number % FLOWS) as usize];
                        assert!(*last < Some(number), "{number} after {last:?}");
                        *last = Some(number);
                        flows.insert(number % FLOWS);
                        received += 1;
                        taken.store(received, Ordering::Relaxed);
                        pool.free(frame);
                    }
                }
                thread::yield_now();
            }
            stop.store(true, Ordering::Release);
            router.shout();
            let shares = by_queue.each_ref().map(HashSet::len);
            let shared = shares[0] > 0 && shares[1] > 0 && shares[0] + shares[1] == FLOWS as usize;
            assert!(shared, "each flow by one queue, both used: {by_queue:?}");
            let forwarded = routing.join().unwrap();
            let sink_lost: u64 = sinks.iter().map(|sink| sink.counters().rx_drop).sum();
            (received, (forwarded, sink_lost))
        });
        drop(workers);
        let (into, out) = (trunks[0].counters(), trunks[1].counters());
        let (forwarded, sink_lost) = lost;
        assert_eq!(forwarded + into.rx_drop, FRAMES, "{into:?} {out:?}");
        assert_eq!(received + sink_lost + out.tx_drop, forwarded, "{into:?} {out:?}");
        assert!(received >= FRAMES / 2, "{received} {into:?} {out:?}");
    }

    fn alarm_set_already(alarm: &Alarm) -> bool {
        let set = alarm.is_set();
        alarm.set();
        set
    }
}
