//! TCP windows of both ends, by which a segment is believed or not.
//!
//! ```text
//!         ◄── R.max_window ──►
//!  ───────┬──────────────────┬─────────────┬──────►  sequence numbers of S
//!       oldest             S.end       S.max_end
//! ```
//!
//! The four conditions stand in [`tcp`](super).

use super::super::flow::Direction;
use super::state::{Event, TcpState};
use super::{Segment, Tcp};
use wire::tcp::{TcpFlags, TcpOption};

/// Sends scaled windows.
pub(super) const SCALES: u8 = 1;
/// Has offered selective acknowledgement.
pub(super) const SACKS: u8 = 2;
/// Has sent FIN first.
pub(super) const CLOSES: u8 = 4;
/// Was picked up in the middle: its windows are not known well enough to refuse.
pub(super) const LIBERAL: u8 = 8;
/// Has sent data that was not acknowledged yet.
pub(super) const UNACKED: u8 = 16;
/// `max_ack` holds.
pub(super) const ACKED: u8 = 32;
/// A SYN that may be answered by a challenge (RFC 5961 §4) was let through.
pub(super) const CHALLENGED: u8 = 64;

/// How far back an acknowledgement may lie, however small the window.
const MAX_ACK_WINDOW: u32 = 66_000;

/// What is known of one end.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct End {
    /// Behind the last byte it sent.
    pub(super) end: u32,
    /// Behind the last byte it may send: what the other end acknowledged and offered.
    pub(super) max_end: u32,
    /// The greatest window it offered; 0: nothing was heard of it.
    pub(super) max_window: u32,
    /// The greatest acknowledgement it sent.
    pub(super) max_ack: u32,
    /// Its window scale.
    pub(super) scale: u8,
    pub(super) flags: u8,
}

#[inline(always)]
pub(super) fn before(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) < 0
}

#[inline(always)]
fn after(a: u32, b: u32) -> bool {
    before(b, a)
}

impl Tcp {
    /// Whether a segment is believable; if so, what it says of the windows is taken over.
    #[inline]
    pub(super) fn in_window(
        &mut self,
        direction: Direction,
        event: Event,
        segment: &Segment<'_>,
    ) -> bool {
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
    pub(super) fn read_options(&mut self, segment: &Segment<'_>) {
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
