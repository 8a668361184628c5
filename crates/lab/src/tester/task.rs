//! One trial's task for the tester, and what came of it.
//!
//! ```text
//!  Task: senders and a receiver of each port, a watch ─► tick, tick … ─► counts, ways, series
//! ```
//!
//! A frame is received where it was to come. Out of any other port, that by which it was sent among them,
//! it came elsewhere: to the stream it is lost.
//!
//! Never sends and never receives: [`Tester::tick`] does.

use super::Tester;
use super::talk::Talk;
use crate::ways::{self, Way};
use measure::control::Control;
use measure::delay::Delays;
use measure::procedure::Direction;
use measure::replay::{Player, Returned};
use measure::result::Latency;
use measure::series::{Recorder, Series, Totals};
use measure::trial::{Conditions, Counts, since};
use measure::watch::Watch;
use measure::{Receiver, Sender, Stream};
use port::{Batch, Pool, Port, PortCounters};
use std::borrow::Cow;
use std::time::Duration;
use wire::Moment;

/// RFC 2544 §23 d: so long after the last frame was sent frames are waited for. What comes later is lost
/// to the trial, and is none of the next one's.
pub(crate) const RESIDUAL: Duration = Duration::from_secs(2);

/// What one trial has the tester do.
pub struct Task {
    /// Of each port.
    pub senders: Vec<Vec<Sender>>,
    /// Of each port, not counted: broadcasts that are not to come back.
    pub beside: Vec<Vec<Sender>>,
    /// What the device is asked and told meanwhile, and by which port.
    pub control: Vec<(usize, Control)>,
    /// Of each port, for the streams that are to come there; none where only ARP is answered.
    pub receivers: Vec<Receiver>,
    /// Replays, and what of them is to come back: looked at before the receivers are.
    pub players: Vec<Player>,
    /// See `players`.
    pub returned: Option<Box<Returned>>,
    /// What is looked at besides.
    pub watch: Watch,
    /// Hosts that speak TCP; the tester's own then do nothing.
    pub talk: Option<Box<Talk>>,
    /// Under what conditions it ran, as far as whoever ran it looked.
    pub conditions: Conditions,
    /// Frames sent that are none of the trial's: ARP, a modifier's.
    pub sent_beside: u64,
    /// Frames are waited for as long as they come: of bursts, which the device takes as long for as it
    /// takes (RFC 9004 §5.4).
    pub until_quiet: bool,
    /// Test frames that came too late, once nothing is waited for any more.
    pub(crate) too_late: Option<u64>,
    /// When frames went and came.
    pub(crate) course: Recorder,
    /// What the wires had counted when it began.
    pub(crate) before: Vec<PortCounters>,
    /// When the first frame came, and the last.
    pub(crate) arrivals: Option<(Moment, Moment)>,
}

impl Task {
    /// Senders of each port, whose frames are to come by the other port of its pair: the first and the
    /// second are one.
    pub fn new(begin: Moment, senders: Vec<Vec<Sender>>) -> Task {
        let receivers = receivers(begin, &senders, |from, _, at| at == from ^ 1);
        let beside = senders.iter().map(|_| vec![]).collect();
        let (watch, before, conditions) = (Watch::Nothing, vec![], Conditions::default());
        let (control, players) = (vec![], vec![]);
        let (talk, arrivals, returned) = (None, None, None);
        let course = Recorder::beginning(begin);
        Task {
            senders,
            beside,
            control,
            receivers,
            players,
            returned,
            watch,
            talk,
            conditions,
            sent_beside: 0,
            until_quiet: false,
            too_late: None,
            course,
            before,
            arrivals,
        }
    }

    /// Hosts on the first two of so many ports that speak TCP, and nothing else.
    pub fn talking(begin: Moment, ports: usize, talk: Talk) -> Task {
        let mut task = Task::new(begin, (0..ports).map(|_| vec![]).collect());
        task.talk = Some(Box::new(talk));
        task
    }

    /// Frames from a port, of a stream by its number, are to come where `comes` says of the port: there,
    /// or at several.
    #[must_use]
    pub fn expecting(mut self, begin: Moment, comes: impl Fn(usize, u8, usize) -> bool) -> Task {
        self.receivers = receivers(begin, &self.senders, comes);
        self
    }

    /// Looks at single frames, too.
    #[must_use]
    pub fn watched(mut self, watch: Watch) -> Task {
        self.watch = watch;
        self
    }

    /// Whether everything was sent.
    pub fn is_done(&self, now: Moment) -> bool {
        self.senders.iter().flatten().all(|sender| sender.is_done(now))
            && self.is_played()
            && self.talk.as_ref().is_none_or(|talk| talk.is_done())
    }

    /// Whether everything sent has come back, as far as it is to.
    pub fn is_back(&self) -> bool {
        let is_waiting = |(_, control): &(usize, Control)| control.is_waiting();
        self.received() >= self.sent() && !self.control.iter().any(is_waiting)
    }

    /// When the next frame is due.
    pub fn next_due(&self) -> Moment {
        let all = self.senders.iter().chain(&self.beside).flatten();
        let talk = self.talk.iter().map(|talk| talk.next_due());
        let control = self.control.iter().map(|(_, control)| control.next_due());
        all.map(Sender::next_due)
            .chain(self.players.iter().map(Player::next_due))
            .chain(talk)
            .chain(control)
            .min()
            .unwrap_or(Moment::from_nanos(u64::MAX))
    }

    /// Whether all frames of replays were sent.
    pub(super) fn is_played(&self) -> bool {
        self.players.iter().all(Player::is_done)
    }

    /// Frames of replays that were sent.
    pub(super) fn played(&self) -> u64 {
        self.players.iter().flat_map(Player::both).map(|sent| sent.offered).sum()
    }

    /// Sends what is due of replays; whether that was a batch and there is more.
    #[inline]
    pub(super) fn play<P: Port>(&mut self, now: Moment, pool: &mut Pool, wires: &mut [P]) -> bool {
        let Some(returned) = &mut self.returned else { return false };
        let mut behind = false;
        for player in &mut self.players {
            let sent = player.poll(now, pool, wires, returned);
            behind |= sent == Batch::CAPACITY && player.next_due() <= now;
        }
        behind
    }

    /// The same of one of them.
    pub(super) fn play_one<P: Port>(
        &mut self,
        n: usize,
        now: Moment,
        pool: &mut Pool,
        wires: &mut [P],
    ) {
        if let (Some(player), Some(returned)) = (self.players.get_mut(n), &mut self.returned) {
            player.poll(now, pool, wires, returned);
        }
    }

    /// How often a frame was to be sent and there was none to be had.
    pub fn starved(&self) -> u64 {
        let streams = self.senders.iter().chain(&self.beside).flatten().map(Sender::sent);
        let played = self.players.iter().flat_map(Player::both);
        streams.chain(played).map(|sent| sent.starved).sum()
    }

    /// Frames sent so far.
    pub fn sent(&self) -> u64 {
        let streams = self.senders.iter().flatten().map(|sender| sender.sent().offered);
        streams.sum::<u64>() + self.played()
    }

    /// Frames received so far, on all ports.
    pub fn received(&self) -> u64 {
        let streams = self.receivers.iter().map(|receiver| receiver.total().received);
        streams.sum::<u64>() + self.returned.as_ref().map_or(0, |returned| returned.received())
    }

    /// How late the latest frame was sent.
    pub fn late(&self) -> Duration {
        let played = self.players.iter().flat_map(Player::both);
        let all = self.senders.iter().flatten().map(Sender::sent).chain(played);
        Duration::from_nanos(all.map(|sent| sent.late_ns_max).max().unwrap_or(0))
    }

    /// Whether anything was begun.
    pub fn has_begun(&self) -> bool {
        self.sent() > 0 || self.talk.as_ref().is_some_and(|talk| talk.has_begun())
    }

    /// When the last frame was sent.
    pub fn last_sent(&self) -> Moment {
        let all = self.senders.iter().flatten();
        all.map(|sender| sender.sent().last).max().unwrap_or(Moment::ZERO)
    }

    /// Nothing is waited for any more: what comes from now on is too late.
    pub(crate) fn close(&mut self) {
        self.too_late.get_or_insert(0);
    }

    /// When the last frame was sent, those of replays among them.
    pub(crate) fn sent_all(&self) -> Moment {
        let played = self.players.iter().map(Player::last_due);
        played.fold(self.last_sent(), Moment::max)
    }

    /// From the first frame that came to the last.
    pub fn arriving(&self) -> Option<Duration> {
        self.arrivals.map(|(first, last)| last.since(first))
    }

    /// An interval of the time series is over.
    #[cold]
    pub(crate) fn cut(&mut self, now: Moment) {
        let (totals, latency) = self.so_far();
        self.course.cut(now, totals, latency);
    }

    /// All there has been, and the greatest latency since this was last asked.
    fn so_far(&mut self) -> (Totals, Option<u64>) {
        if let Some(talk) = &self.talk {
            return (talk.totals(), None);
        }
        let latency = self.receivers.iter_mut().filter_map(Receiver::take_peak).max();
        (Totals { sent: self.sent(), received: self.received(), tcp: None }, latency)
    }

    /// Frames that came out of ports they were not to come out of: in [`counts`](Self::counts) they are
    /// among the foreign.
    pub fn elsewhere(&self) -> u64 {
        let streams = || self.senders.iter().flatten().flat_map(Sender::streams);
        let ids = || streams().map(Stream::id);
        self.receivers.iter().map(|at| ids().map(|id| at.strays(id)).sum::<u64>()).sum()
    }

    /// How much went from port to port, of each pair that a stream goes between.
    pub fn ways(&self) -> Vec<Way> {
        let mut ways: Vec<Way> = vec![];
        for (from, sender, turn) in self.streams() {
            let (id, sent) = (sender.streams()[turn].id(), sender.sent_of(turn).went_out());
            for (to, at) in self.receivers.iter().enumerate().filter(|(_, at)| at.expects(id)) {
                let received = at.tally(id).received;
                ways::add(&mut ways, [Way { from, to, sent, received }]);
            }
        }
        ways
    }

    /// What went from port to port, when all is over; nothing if that was one way only.
    pub fn directions(&self) -> Vec<Direction> {
        let (mut all, mut delays): (Vec<Direction>, Vec<Cow<'_, Delays>>) = (vec![], vec![]);
        for (from, sender, turn) in self.streams() {
            let (id, sent) = (sender.streams()[turn].id(), sender.sent_of(turn));
            let elsewhere: u64 = self.receivers.iter().map(|at| at.strays(id)).sum();
            for (to, at) in self.receivers.iter().enumerate().filter(|(_, at)| at.expects(id)) {
                let ports = (from as u32 + 1, to as u32 + 1);
                let (intended, sent, tally) = (sent.intended, sent.went_out(), at.tally(id));
                let late = at.delays_of(id);
                let found = all.iter_mut().zip(&mut delays).find(|(one, _)| one.ports == ports);
                if let Some((one, delays)) = found {
                    one.intended += intended;
                    one.sent += sent;
                    one.tally = one.tally.and(tally);
                    one.elsewhere += elsewhere;
                    late.into_iter().for_each(|late| delays.to_mut().add(late));
                    continue;
                }
                let counts = Direction { ports, intended, sent, tally, ..Direction::default() };
                all.push(Direction { elsewhere, ..counts });
                delays.push(late.map_or_else(|| Cow::Owned(Delays::default()), Cow::Borrowed));
            }
        }
        if all.len() < 2 {
            return vec![];
        }
        for (one, delays) in all.iter_mut().zip(delays) {
            one.latency = Latency::of(&delays.latency());
            one.variation = delays.variation();
        }
        all
    }

    /// Every stream: the port that sends it, its sender, and its place among those that take turns there.
    pub(crate) fn streams(&self) -> impl Iterator<Item = (usize, &Sender, usize)> {
        let senders = self.senders.iter().enumerate();
        let senders = senders.flat_map(|(from, all)| all.iter().map(move |one| (from, one)));
        senders.flat_map(|(from, one)| (0..one.streams().len()).map(move |turn| (from, one, turn)))
    }

    /// From which port a stream goes to which, counted from 1.
    pub(crate) fn way(&self, stream: u8) -> Option<(u32, u32)> {
        let is_it =
            |(_, sender, turn): &(usize, &Sender, usize)| sender.streams()[*turn].id() == stream;
        let (from, ..) = self.streams().find(is_it)?;
        let to = self.receivers.iter().position(|at| at.expects(stream))?;
        Some((from as u32 + 1, to as u32 + 1))
    }

    /// When frames went and came, when all is over.
    pub fn series(&mut self) -> Option<Series> {
        let (totals, latency) = self.so_far();
        self.course.clone().finish(totals, latency)
    }

    /// What went out and what came back, when all is over.
    pub fn counts<P: Port>(&mut self, tester: &Tester<P>) -> Counts {
        let ports = self.before.iter().zip(tester.counters());
        let ports: Vec<_> = ports.map(|(before, after)| since(*before, after)).collect();
        let out: u64 = ports.iter().map(|port| port.tx_packet).sum();
        let played = self.players.iter().flat_map(Player::both);
        let sent = self.senders.iter().flatten().map(Sender::sent).chain(played);
        let mut all = Counts::gather(sent, &self.receivers, ports);
        if let Some(returned) = &self.returned {
            let replays = returned.total();
            all.received += replays.received;
            all.reordered += replays.reordered;
            all.duplicate += replays.duplicate;
            all.corrupt += replays.corrupt;
        }
        self.sent_beside = out.saturating_sub(all.sent);
        all
    }
}

/// A receiver on each port, for the streams of which `comes` says from where, which, and whether there.
fn receivers(
    begin: Moment,
    senders: &[Vec<Sender>],
    comes: impl Fn(usize, u8, usize) -> bool,
) -> Vec<Receiver> {
    let at = |port: usize| {
        let all = senders.iter().enumerate();
        let streams = all.flat_map(|(from, all)| {
            all.iter().flat_map(Sender::streams).map(move |stream| (from, stream))
        });
        let here = streams.filter(|(from, stream)| comes(*from, stream.id(), port));
        Receiver::new(begin, here.map(|(_, stream)| stream))
    };
    (0..senders.len()).map(at).collect()
}
