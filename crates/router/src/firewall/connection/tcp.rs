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

use super::flow::Direction;
use super::settings::{Class, Timeouts};
use std::ops::Deref;
use wire::tcp::{Tcp as View, TcpFlags, TcpOption};

/// `tcp-state`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum TcpState {
    /// No segment was judged yet.
    None = 0,
    /// SYN seen.
    SynSent = 1,
    /// SYN and its answer seen.
    SynReceived = 2,
    /// Handshake complete, or picked up in the middle.
    Established = 3,
    /// FIN of one side seen.
    FinWait = 4,
    /// FIN acknowledged.
    CloseWait = 5,
    /// FIN of both sides seen.
    LastAck = 6,
    /// Both acknowledged.
    TimeWait = 7,
    /// Reset.
    Close = 8,
    /// SYN of both sides seen, no answer yet: simultaneous open.
    SynSent2 = 9,
}

impl TcpState {
    /// As printed.
    pub const fn name(self) -> &'static str {
        match self {
            TcpState::None => "none",
            TcpState::SynSent | TcpState::SynSent2 => "syn-sent",
            TcpState::SynReceived => "syn-received",
            TcpState::Established => "established",
            TcpState::FinWait => "fin-wait",
            TcpState::CloseWait => "close-wait",
            TcpState::LastAck => "last-ack",
            TcpState::TimeWait => "time-wait",
            TcpState::Close => "close",
        }
    }

    const fn class(self) -> Class {
        match self {
            TcpState::None | TcpState::SynSent | TcpState::SynSent2 => Class::TcpSynSent,
            TcpState::SynReceived => Class::TcpSynReceived,
            TcpState::Established => Class::TcpEstablished,
            TcpState::FinWait => Class::TcpFinWait,
            TcpState::CloseWait => Class::TcpCloseWait,
            TcpState::LastAck => Class::TcpLastAck,
            TcpState::TimeWait => Class::TcpTimeWait,
            TcpState::Close => Class::TcpClose,
        }
    }
}

impl Tcp {
    /// What an end would send next, as far as has been seen of both: its sequence number, and what
    /// it acknowledges.
    pub(super) fn next_of(&self, direction: Direction) -> (u32, u32) {
        let (own, other) = match direction {
            Direction::Original => (0, 1),
            Direction::Reply => (1, 0),
        };
        (self.ends[own].end, self.ends[other].end)
    }
}

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

/// What a segment is to the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum Event {
    Syn = 0,
    SynAck = 1,
    Fin = 2,
    Ack = 3,
    Rst = 4,
    /// No segment was seen yet.
    None = 5,
}

/// A cell of the table: where to go, or not to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    To(TcpState),
    /// Let it pass, change nothing: the entry may be out of step, the ends are to decide.
    Ignore,
    Invalid,
}

const SS: Next = Next::To(TcpState::SynSent);
const SR: Next = Next::To(TcpState::SynReceived);
const ES: Next = Next::To(TcpState::Established);
const FW: Next = Next::To(TcpState::FinWait);
const CW: Next = Next::To(TcpState::CloseWait);
const LA: Next = Next::To(TcpState::LastAck);
const TW: Next = Next::To(TcpState::TimeWait);
const CL: Next = Next::To(TcpState::Close);
const S2: Next = Next::To(TcpState::SynSent2);
const IG: Next = Next::Ignore;
const IV: Next = Next::Invalid;

/// `[direction][event][state]`.
#[rustfmt::skip]
const TABLE: [[[Next; 10]; 5]; 2] = [
    [ // Original direction.
    //   none  syn-s syn-r estab fin-w clo-w last  time  close syn-s2
        [SS,   SS,   IG,   IG,   IG,   IG,   IG,   SS,   SS,   S2], // SYN: a new life, if the old is over
        [IV,   IV,   SR,   IV,   IV,   IV,   IV,   IV,   IV,   SR], // SYN,ACK: simultaneous open only
        [IV,   IV,   FW,   FW,   LA,   LA,   LA,   TW,   CL,   IV], // FIN
        [ES,   IV,   ES,   ES,   CW,   CW,   TW,   TW,   CL,   IV], // ACK
        [IV,   CL,   CL,   CL,   CL,   CL,   CL,   CL,   CL,   CL], // RST
    ],
    [ // Reply direction.
        [IV,   S2,   IV,   IV,   IV,   IV,   IV,   SS,   IV,   S2], // SYN: simultaneous open
        [IV,   SR,   IG,   IG,   IG,   IG,   IG,   IG,   IG,   SR], // SYN,ACK
        [IV,   IV,   FW,   FW,   LA,   LA,   LA,   TW,   CL,   IV], // FIN
        [IV,   IG,   SR,   ES,   CW,   CW,   TW,   TW,   CL,   IG], // ACK
        [IV,   CL,   CL,   CL,   CL,   CL,   CL,   CL,   CL,   CL], // RST
    ],
];

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

/// Sends scaled windows.
const SCALES: u8 = 1;
/// Has offered selective acknowledgement.
const SACKS: u8 = 2;
/// Has sent FIN first.
const CLOSES: u8 = 4;
/// Was picked up in the middle: its windows are not known well enough to refuse.
const LIBERAL: u8 = 8;
/// Has sent data that was not acknowledged yet.
const UNACKED: u8 = 16;
/// `max_ack` holds.
const ACKED: u8 = 32;
/// A SYN that may be answered by a challenge (RFC 5961 §4) was let through.
const CHALLENGED: u8 = 64;

/// Retransmissions after which `tcp-max-retrans-timeout` holds.
const MAX_RETRANS: u8 = 3;
/// How far back an acknowledgement may lie, however small the window.
const MAX_ACK_WINDOW: u32 = 66_000;

/// What is known of one end.
#[derive(Clone, Copy, Debug, Default)]
struct End {
    /// Behind the last byte it sent.
    end: u32,
    /// Behind the last byte it may send: what the other end acknowledged and offered.
    max_end: u32,
    /// The greatest window it offered; 0: nothing was heard of it.
    max_window: u32,
    /// The greatest acknowledgement it sent.
    max_ack: u32,
    /// Its window scale.
    scale: u8,
    flags: u8,
}

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

#[inline(always)]
fn before(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) < 0
}

#[inline(always)]
fn after(a: u32, b: u32) -> bool {
    before(b, a)
}

fn event(flags: TcpFlags) -> Option<Event> {
    const SYN: u8 = TcpFlags::SYN.0;
    const ACK: u8 = TcpFlags::ACK.0;
    const FIN: u8 = TcpFlags::FIN.0;
    const RST: u8 = TcpFlags::RST.0;
    const URG: u8 = TcpFlags::URG.0;
    // PSH and the congestion flags say nothing. Every other combination is impossible.
    match flags.0 & (SYN | ACK | FIN | RST | URG) {
        f if f & !URG == SYN => Some(Event::Syn),
        f if f == SYN | ACK => Some(Event::SynAck),
        f if f & !URG == FIN | ACK => Some(Event::Fin),
        f if f & !URG == ACK => Some(Event::Ack),
        f if f & !ACK == RST => Some(Event::Rst),
        _ => None,
    }
}

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

    /// Whether a segment is believable; if so, what it says of the windows is taken over.
    #[inline]
    fn in_window(&mut self, direction: Direction, event: Event, segment: &Segment<'_>) -> bool {
        let flags = segment.flags();
        let syn = flags.contains(TcpFlags::SYN);
        let has_ack = flags.contains(TcpFlags::ACK);
        let [original, reply] = &mut self.ends;
        let (sender, receiver) = match direction {
            Direction::Original => (original, reply),
            Direction::Reply => (reply, original),
        };
        let mut seq = segment.seq();
        let mut end = segment.end();
        let raw_window = segment.window();
        let mut window = u32::from(raw_window);
        let mut ack = segment.ack();
        let mut sack = ack;
        if receiver.flags & SACKS != 0 && has_ack && segment.header_len() > 20 {
            sack = sacked(segment, ack);
        }

        // Before any answer the sender may change its mind: another SYN instead of the first, or
        // the RST by which it gets rid of the other end's old connection (RFC 9293 §3.5.1).
        let restarts = self.state == TcpState::SynSent
            && direction == Direction::Original
            && after(end, sender.end);
        if sender.max_window == 0 && !syn {
            // The middle of a connection whose beginning nobody saw.
            sender.end = end;
            sender.max_window = (window << sender.scale).max(1);
            sender.max_end = end.wrapping_add(sender.max_window);
            if receiver.max_window == 0 {
                (receiver.end, receiver.max_end) = (sack, sack);
            } else if sack == receiver.end.wrapping_add(1) {
                receiver.end = sack; // the answer to a keepalive, which ends one byte early
            }
        } else if sender.max_window == 0 || restarts {
            (sender.end, sender.max_end) = (end, end);
            sender.max_window = window.max(1);
            if syn {
                sender.read_options(segment);
            }
            if direction == Direction::Reply {
                if sender.flags & receiver.flags & SCALES == 0 {
                    // Both have to offer scaling (RFC 7323 §1.3).
                    (sender.scale, receiver.scale) = (0, 0);
                }
                if !has_ack {
                    return true; // simultaneous open
                }
                // The SYN's window is for the data that may follow the SYN,ACK at once.
                sender.max_end = end.wrapping_add(receiver.max_window);
            }
        }

        let reset_without_ack = flags.contains(TcpFlags::RST) && ack == 0;
        if !has_ack || reset_without_ack {
            (ack, sack) = (receiver.end, receiver.end);
        }
        if flags.contains(TcpFlags::RST) && seq == 0 && self.state == TcpState::SynSent {
            (seq, end) = (sender.end, sender.end); // refuses a SYN, has no number of its own
        }

        let ack_window = sender.max_window.max(MAX_ACK_WINDOW);
        let believable = !after(seq, sender.max_end)
            && (receiver.max_window == 0
                || !before(end, sender.end.wrapping_sub(receiver.max_window)))
            && !after(sack, receiver.end)
            && !before(sack, receiver.end.wrapping_sub(ack_window));
        if !believable {
            return sender.flags & LIBERAL != 0;
        }

        if !syn {
            window <<= sender.scale;
        }
        sender.max_window = sender.max_window.max(window.wrapping_add(sack.wrapping_sub(ack)));
        if after(end, sender.end) {
            sender.end = end;
            sender.flags |= UNACKED;
        }
        if has_ack && (sender.flags & ACKED == 0 || after(ack, sender.max_ack)) {
            sender.max_ack = ack;
            sender.flags |= ACKED;
        }
        if receiver.max_window != 0 && after(end, sender.max_end) {
            receiver.max_window =
                receiver.max_window.wrapping_add(end.wrapping_sub(sender.max_end));
        }
        let allowed = sack.wrapping_add(window);
        if !before(allowed, receiver.max_end) {
            // A closed window still lets a probe of one byte through (RFC 9293 §3.8.6.1).
            receiver.max_end = allowed.wrapping_add(u32::from(window == 0));
        }
        if ack == receiver.end {
            receiver.flags &= !UNACKED;
        }
        if event == Event::Ack {
            let again = self.last_direction == direction
                && self.last_seq == seq
                && self.last_ack == ack
                && self.last_end == end
                && self.last_window == raw_window;
            if again {
                self.retrans = self.retrans.saturating_add(1);
            } else {
                self.last_direction = direction;
                self.last_seq = seq;
                self.last_ack = ack;
                self.last_end = end;
                self.last_window = raw_window;
                self.retrans = 0;
            }
        }
        true
    }
}

impl End {
    /// Takes over what a SYN offers.
    fn read_options(&mut self, segment: &Segment<'_>) {
        self.scale = 0;
        self.flags &= !(SCALES | SACKS);
        for option in segment.options() {
            match option {
                TcpOption::WindowScale(scale) => {
                    self.scale = scale.min(14); // RFC 7323 §2.3
                    self.flags |= SCALES;
                }
                TcpOption::SackPermitted => self.flags |= SACKS,
                _ => {}
            }
        }
    }
}

/// The highest byte acknowledged, selectively or not.
#[inline]
fn sacked(segment: &Segment<'_>, ack: u32) -> u32 {
    let mut highest = ack;
    for option in segment.options() {
        if let TcpOption::Other { kind: 5, data: blocks } = option {
            for block in blocks.as_chunks::<8>().0 {
                let right = u32::from_be_bytes([block[4], block[5], block[6], block[7]]);
                if after(right, highest) {
                    highest = right;
                }
            }
        }
    }
    highest
}
