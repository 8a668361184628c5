//! The TCP machine of a connection: states, and the windows that say what is believable.
//!
//! ```text
//!            SYN             SYN,ACK               ACK
//!  none ─────────► syn-sent ────────► syn-received ───► established
//!    │ ACK (loose)                                       │ FIN
//!    └──────────────► established                        ▼
//!  close ◄── RST in window, from any       ACK        fin-wait ─► close-wait
//!                             time-wait ◄────── last-ack ◄── FIN ──┘
//! ```
//!
//! The machine is that of Linux's `nf_conntrack_tcp`, which RouterOS has with timeouts of its
//! own; the windows are Guido van Rooij's (Real Stateful TCP Packet Filtering in IP Filter, 2001)
//! with scaling (RFC 7323) and selective acknowledgement (RFC 2018). For the ends S and R of a
//! segment, where `max_window` is the greatest window an end has offered:
//!
//! ```text
//!  I    seq        ≤ S.max_end                      not beyond what R allowed
//!  II   seq + len  ≥ S.end − R.max_window           not older than a window
//!  III  ack        ≤ R.end                          nothing acknowledged that was not sent
//!  IV   ack        ≥ R.end − max(S.max_window, 66000)
//! ```
//!
//! A segment without SYN, FIN or RST on an established connection goes through
//! `Tcp::established`, on the slow path and the fast path alike.

// The states, and the table that leads from one to the next.
mod state;
// The ends' windows.
mod window;

pub use state::TcpState;

use super::flow::Direction;
use super::settings::{Class, Timeouts};
use state::{Event, Next, TABLE, event};
use std::ops::Deref;
use window::{ACKED, CHALLENGED, CLOSES, End, LIBERAL, SACKS, UNACKED, before};
use wire::tcp::{Tcp as View, TcpFlags};

/// A segment, of which only the first part may be at hand.
pub(super) struct Segment<'a> {
    header: View<&'a [u8]>,
    /// Bytes of payload in the datagram's other fragments.
    more: u32,
}

impl<'a> Segment<'a> {
    #[inline(always)]
    pub(super) fn new(header: View<&'a [u8]>, more: u32) -> Segment<'a> {
        Segment { header, more }
    }

    /// The sequence number behind it.
    #[inline(always)]
    fn end(&self) -> u32 {
        self.header.seq().wrapping_add(self.header.seq_len()).wrapping_add(self.more)
    }
}

impl<'a> Deref for Segment<'a> {
    type Target = View<&'a [u8]>;

    #[inline(always)]
    fn deref(&self) -> &View<&'a [u8]> {
        &self.header
    }
}

/// What the machine makes of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It belongs here.
    Accept,
    /// It may pass, but says nothing about the connection.
    Ignore,
    /// It belongs nowhere.
    Invalid,
    /// The SYN of a new connection: the entry is over.
    Reopen,
}

/// Retransmissions after which `tcp-max-retrans-timeout` holds.
const MAX_RETRANS: u8 = 3;
/// The TCP part of a connection.
#[derive(Clone, Debug)]
pub(super) struct Tcp {
    ends: [End; 2],
    last_seq: u32,
    last_ack: u32,
    last_end: u32,
    last_window: u16,
    last_event: Event,
    last_direction: Direction,
    retrans: u8,
    pub(super) state: TcpState,
    /// Scale and flags of a SYN that was let through and may turn out to be right.
    last_scale: u8,
    last_flags: u8,
}

const _: () = assert!(size_of::<Tcp>() == 60);

impl Default for Tcp {
    /// What a connection of another protocol has.
    fn default() -> Tcp {
        Tcp {
            ends: [End::default(); 2],
            last_seq: 0,
            last_ack: 0,
            last_end: 0,
            last_window: 0,
            last_event: Event::None,
            last_direction: Direction::Original,
            retrans: 0,
            state: TcpState::None,
            last_scale: 0,
            last_flags: 0,
        }
    }
}

impl Tcp {
    /// The machine after the first segment of a connection; `None` if none can begin with it.
    pub(super) fn open(segment: &Segment<'_>, loose: bool) -> Option<Tcp> {
        let event = event(segment.flags())?;
        let mut tcp = Tcp::default();
        let Next::To(state) = TABLE[0][event as usize][TcpState::None as usize] else {
            return None;
        };
        let end = segment.end();
        let window = u32::from(segment.window()).max(1);
        let first = &mut tcp.ends[0];
        (first.end, first.max_window) = (end, window);
        if state == TcpState::SynSent {
            first.max_end = end;
            first.read_options(segment);
        } else {
            if !loose {
                return None;
            }
            first.max_end = end.wrapping_add(window);
            // How windows are scaled will never be known.
            tcp.ends.iter_mut().for_each(|end| end.flags = SACKS | LIBERAL);
        }
        if !tcp.in_window(Direction::Original, event, segment) {
            return None;
        }
        tcp.note(Direction::Original, event, state);
        Some(tcp)
    }

    /// The machine of a connection whose segments another router has seen: where its windows stand is not known,
    /// and what was under way then will come again, so that nothing is refused for them.
    pub(super) fn told(state: TcpState) -> Tcp {
        // A window that is not closed, which would end the connection early.
        let mut tcp = Tcp { state, last_window: 1, ..Tcp::default() };
        tcp.ends.iter_mut().for_each(|end| end.flags = SACKS | LIBERAL);
        tcp
    }

    /// Judges a segment of a known connection.
    pub(super) fn judge(
        &mut self,
        direction: Direction,
        segment: &Segment<'_>,
        seen_reply: bool,
        assured: bool,
    ) -> Verdict {
        let Some(event) = event(segment.flags()) else { return Verdict::Invalid };
        let (from, other) = (self.state, direction.opposite());
        let same_side = self.last_direction == direction;
        let to = match TABLE[direction as usize][event as usize][from as usize] {
            Next::Invalid => return Verdict::Invalid,
            Next::Ignore => return self.ignore(direction, event, segment),
            Next::To(state) => state,
        };
        match (to, event) {
            (TcpState::SynSent, _) if from as u8 >= TcpState::TimeWait as u8 => {
                // RFC 9293 §3.6.1: a SYN may reopen what was closed in good order, or by the
                // side that opens it again.
                let closed = (self.ends[0].flags | self.ends[1].flags) & CLOSES != 0;
                if closed || (same_side && self.last_event == Event::Rst) {
                    return Verdict::Reopen;
                }
                return self.ignore(direction, event, segment);
            }
            (TcpState::TimeWait, Event::Ack)
                if from == TcpState::LastAck
                    && !same_side
                    && self.last_event == Event::Syn
                    && self.last_flags & CHALLENGED != 0 =>
            {
                // RFC 5961 §4: answers a SYN we let through; not the ACK of the last FIN.
                self.last_flags &= !CHALLENGED;
                return Verdict::Ignore;
            }
            (TcpState::Close, Event::Rst) => {
                let peer = &self.ends[other as usize];
                if peer.flags & ACKED != 0 && before(segment.seq(), peer.max_ack) {
                    return Verdict::Invalid; // RFC 5961 §3: older than what the peer has
                }
                // The answer to a SYN or ACK that was let through without being understood.
                let answers = (seen_reply && self.last_event == Event::Syn)
                    || (!assured && self.last_event == Event::Ack);
                if answers && segment.ack() == self.last_end {
                    self.note(direction, event, to);
                    return Verdict::Accept;
                }
            }
            _ => {}
        }
        if !self.in_window(direction, event, segment) {
            return Verdict::Invalid;
        }
        if from != to && to == TcpState::FinWait {
            self.ends[direction as usize].flags |= CLOSES;
        }
        self.note(direction, event, to);
        Verdict::Accept
    }

    /// The common case of [`judge`](Self::judge): a segment with ACK and without SYN, FIN and RST
    /// on an established connection both ends of which were heard. False, and nothing changed,
    /// if it is anything else.
    #[inline]
    pub(super) fn established(&mut self, direction: Direction, segment: &Segment<'_>) -> bool {
        let plain = TcpFlags::SYN | TcpFlags::FIN | TcpFlags::RST | TcpFlags::ACK;
        let both = self.ends[0].max_window != 0 && self.ends[1].max_window != 0;
        if self.state != TcpState::Established
            || segment.flags().0 & plain.0 != TcpFlags::ACK.0
            || !both
            || !self.in_window(direction, Event::Ack, segment)
        {
            return false;
        }
        self.note(direction, Event::Ack, TcpState::Established);
        true
    }

    /// Which timeout holds now.
    #[inline]
    pub(super) fn class(&self, seen_reply: bool, timeouts: &Timeouts) -> Class {
        let class = self.state.class();
        if self.retrans >= MAX_RETRANS || self.last_window == 0 {
            return timeouts.shorter(class, Class::TcpMaxRetrans);
        }
        let unacked = (self.ends[0].flags | self.ends[1].flags) & UNACKED != 0;
        // Picked up in the middle and never answered: not worth a day.
        if unacked || (self.state == TcpState::Established && !seen_reply) {
            return timeouts.shorter(class, Class::TcpUnacked);
        }
        class
    }

    /// What an end would send next, as far as has been seen of both: its sequence number, and what
    /// it acknowledges.
    pub(super) fn next_of(&self, direction: Direction) -> (u32, u32) {
        let (own, other) = match direction {
            Direction::Original => (0, 1),
            Direction::Reply => (1, 0),
        };
        (self.ends[own].end, self.ends[other].end)
    }

    /// Forgets where the windows stand: many segments have gone by unseen. The next one of each
    /// side is believed.
    pub(super) fn forget_windows(&mut self) {
        for end in &mut self.ends {
            end.max_window = 0;
            end.flags &= !(ACKED | UNACKED);
        }
        self.retrans = 0;
    }

    #[inline(always)]
    fn note(&mut self, direction: Direction, event: Event, state: TcpState) {
        self.last_event = event;
        self.last_direction = direction;
        self.state = state;
    }

    /// Lets a segment pass that does not fit the state. The connection's ends may know better: a
    /// SYN that the other end answers with SYN,ACK puts us in step with them.
    #[cold]
    fn ignore(&mut self, direction: Direction, event: Event, segment: &Segment<'_>) -> Verdict {
        if event == Event::SynAck
            && self.last_event == Event::Syn
            && self.last_direction != direction
            && segment.ack() == self.last_end
        {
            let opener = &mut self.ends[self.last_direction as usize];
            *opener = End {
                end: self.last_end,
                max_end: self.last_end,
                max_window: u32::from(self.last_window).max(1),
                max_ack: 0,
                scale: self.last_scale,
                flags: self.last_flags & !CHALLENGED,
            };
            self.ends[direction as usize] = End::default();
            self.state = TcpState::SynSent;
            if !self.in_window(direction, event, segment) {
                return Verdict::Invalid;
            }
            self.note(direction, event, TcpState::SynReceived);
            return Verdict::Accept;
        }
        self.last_event = event;
        self.last_direction = direction;
        self.last_seq = segment.seq();
        self.last_end = segment.end();
        self.last_window = segment.window();
        if event == Event::Syn && direction == Direction::Original {
            let mut end = End::default();
            end.read_options(segment);
            (self.last_scale, self.last_flags) = (end.scale, end.flags);
            if self.state == TcpState::LastAck {
                self.last_flags |= CHALLENGED;
            }
        }
        Verdict::Ignore
    }
}
