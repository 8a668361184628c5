//! One end of one connection: RFC 9293's states.
//!
//! ```text
//! position in the stream   0     1 … data …   end      (our sequence number is `iss` + position)
//!                         SYN                 FIN
//!            acknowledged ──► una ── in flight ──► next ··· max: highest sent
//! ```
//!
//! Positions are 64 bits wide and never wrap; sequence numbers are their lowest 32. What came out of
//! order is kept as ranges, never as bytes, for the bytes follow from their positions.
//!
//! Never knows what the data is for ([`endpoint`](super::endpoint) does); never looks at the tuple.

use super::congestion::{Timeout, Window};
use super::content;
use super::counts::Counts;
use super::ranges::Ranges;
use super::segment::{Outgoing, Segment, Tuple};
use std::time::Duration;
use wire::Moment;
use wire::tcp::TcpFlags;

/// What all connections of an endpoint have in common.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settings {
    pub(super) mss: u16,
    /// Bytes we let the other end have under way.
    pub(super) window: u32,
    /// The shift that makes `window` fit into 16 bits.
    pub(super) scale: u8,
    /// How often a segment is sent again before the connection is given up.
    pub(super) retries: u8,
    pub(super) time_wait: Duration,
    /// Whether what comes is compared with what an endpoint sends.
    pub(super) compare: bool,
}

/// RFC 9293 §3.8.6.3: at most half a second; Linux's.
const DELAYED_ACK: Duration = Duration::from_millis(40);
/// How long a peer that has all our data may take to close; Linux's.
const FIN_TIMEOUT: Duration = Duration::from_secs(60);
/// RFC 9293 §3.7.1: what is sent to who names no MSS.
const DEFAULT_MSS: u16 = 536;
/// Later than anything.
pub(super) const NEVER: Moment = Moment::from_nanos(u64::MAX);

/// RFC 9293 §3.3.2, as far as there is a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    SynSent,
    SynReceived,
    Established,
    FinWait1,
    FinWait2,
    CloseWait,
    Closing,
    LastAck,
    TimeWait,
    Closed(End),
}

/// How a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// Both sides had sent all.
    Closed,
    /// The other end, or somebody between, sent a reset.
    Reset,
    /// No answer.
    TimedOut,
}

/// Where segments go, and what is counted on the way.
pub(super) struct Context<'a> {
    pub(super) now: Moment,
    pub(super) settings: &'a Settings,
    pub(super) counts: &'a mut Counts,
    pub(super) out: &'a mut Vec<Outgoing>,
}

/// One end.
#[derive(Clone, Debug)]
pub(super) struct Connection {
    pub(super) tuple: Tuple,
    pub(super) state: State,
    /// The peer's window scale.
    peer_scale: u8,
    /// Whether both ends scale.
    scaled: bool,
    retries: u8,
    /// In-order segments not acknowledged yet.
    ack_owed: u8,
    ack_now: bool,
    fin_wanted: bool,
    mss: u16,
    iss: u32,
    irs: u32,
    una: u64,
    next: u64,
    max: u64,
    end: u64,
    /// The peer's.
    window: u32,
    congestion: Window,
    timeout: Timeout,
    /// When the timeout is over, or the connection's last wait.
    rto_at: Moment,
    ack_at: Moment,
    /// The next position to come.
    received: u64,
    /// Of the peer's FIN, once it is known.
    peer_fin: Option<u64>,
    early: Ranges,
}

impl Connection {
    fn new(tuple: Tuple, iss: u32, state: State) -> Connection {
        Connection {
            tuple,
            state,
            peer_scale: 0,
            scaled: false,
            retries: 0,
            ack_owed: 0,
            ack_now: false,
            fin_wanted: false,
            mss: DEFAULT_MSS,
            iss,
            irs: 0,
            una: 0,
            next: 0,
            max: 0,
            end: 1,
            window: 0,
            congestion: Window::new(DEFAULT_MSS),
            timeout: Timeout::FIRST,
            rto_at: NEVER,
            ack_at: NEVER,
            received: 0,
            peer_fin: None,
            early: Ranges::default(),
        }
    }

    /// Opens a connection: sends a SYN.
    pub(super) fn open(tuple: Tuple, iss: u32, context: &mut Context<'_>) -> Connection {
        let mut connection = Connection::new(tuple, iss, State::SynSent);
        connection.send_syn(context);
        connection
    }

    /// Answers a SYN.
    pub(super) fn accept(syn: &Segment<'_>, iss: u32, context: &mut Context<'_>) -> Connection {
        let mut connection = Connection::new(syn.tuple, iss, State::SynReceived);
        connection.take_syn(syn, context.settings);
        connection.send_syn(context);
        connection
    }

    /// How many bytes of data have come, in order.
    pub(super) fn bytes_received(&self) -> u64 {
        let fin = u64::from(self.peer_fin.is_some_and(|fin| self.received > fin));
        (self.received - fin).saturating_sub(1)
    }

    /// Whether all that was written has been acknowledged.
    pub(super) fn all_acknowledged(&self) -> bool {
        self.una >= self.end
    }

    /// Whether the peer has sent all it will.
    pub(super) fn peer_is_done(&self) -> bool {
        self.peer_fin.is_some_and(|fin| self.received > fin)
    }

    /// Gives it more to send.
    pub(super) fn write(&mut self, bytes: u64) {
        if !self.fin_wanted {
            self.end += bytes;
        }
    }

    /// Says that nothing more will be written.
    pub(super) fn close(&mut self) {
        self.fin_wanted = true;
    }

    /// When [`on_time`](Self::on_time) is due.
    pub(super) fn deadline(&self) -> Moment {
        self.rto_at.min(self.ack_at)
    }

    /// Takes a segment of this connection, and answers as far as an answer cannot wait for what the
    /// application has to say: call [`transmit`](Self::transmit) after it.
    pub(super) fn receive(&mut self, segment: &Segment<'_>, context: &mut Context<'_>) {
        if self.state == State::SynSent {
            return self.receive_in_syn_sent(segment, context);
        }
        let flags = segment.flags;
        // RFC 9293 §3.10.7.4, in its order. First, the sequence number: `ahead` of what is next.
        let ahead = segment.seq.wrapping_sub(self.ack()) as i32;
        let controls = [TcpFlags::SYN, TcpFlags::FIN].map(|flag| u8::from(flags.contains(flag)));
        let len = segment.payload.len() as i64 + i64::from(controls[0] + controls[1]);
        let reaches = i64::from(ahead) + len > 0 || (len == 0 && ahead >= 0);
        if !reaches || i64::from(ahead) >= i64::from(context.settings.window) {
            if flags.contains(TcpFlags::RST) {
                return;
            }
            if self.state == State::SynReceived && segment.seq == self.irs {
                return self.send_syn(context); // our answer was lost
            }
            context.counts.old_segments += 1;
            self.ack_now = true;
            return;
        }
        // Second, the reset: exactly where expected, else it may be a stranger's (RFC 5961 §3.2).
        if flags.contains(TcpFlags::RST) {
            match ahead == 0 {
                true => self.end(End::Reset),
                false => self.ack_now = true,
            }
            return;
        }
        // Fourth, a SYN in the window is challenged (RFC 5961 §4.2); fifth, the acknowledgement.
        if flags.contains(TcpFlags::SYN) {
            self.ack_now = true;
            return;
        }
        if !flags.contains(TcpFlags::ACK) || !self.acknowledge(segment, context) {
            return;
        }
        self.take_data(ahead, segment, context);
    }

    fn receive_in_syn_sent(&mut self, segment: &Segment<'_>, context: &mut Context<'_>) {
        let flags = segment.flags;
        let acknowledges = flags.contains(TcpFlags::ACK);
        if acknowledges && segment.ack != self.iss.wrapping_add(1) {
            if !flags.contains(TcpFlags::RST) {
                context.out.push(refusal(segment));
            }
            return;
        }
        if flags.contains(TcpFlags::RST) {
            if acknowledges {
                self.end(End::Reset);
            }
            return;
        }
        if !flags.contains(TcpFlags::SYN) {
            return;
        }
        self.take_syn(segment, context.settings);
        if !acknowledges {
            // Both have opened at once (RFC 9293 §3.5).
            self.state = State::SynReceived;
            return self.send_syn(context);
        }
        self.una = 1;
        self.timeout.acknowledged(1, context.now);
        self.become_established(segment.window);
        self.ack_now = true;
    }

    fn become_established(&mut self, window: u16) {
        self.state = State::Established;
        self.window = u32::from(window); // never scaled in a SYN; a later one will be
        self.rto_at = NEVER;
        self.retries = 0;
        self.congestion = Window::new(self.mss);
    }

    /// What a SYN says.
    fn take_syn(&mut self, syn: &Segment<'_>, settings: &Settings) {
        self.irs = syn.seq;
        self.received = 1;
        self.mss = syn.mss.unwrap_or(DEFAULT_MSS).clamp(1, settings.mss);
        self.scaled = syn.scale.is_some();
        self.peer_scale = syn.scale.unwrap_or(0);
    }

    /// Takes the acknowledgement; returns whether the rest of the segment counts.
    fn acknowledge(&mut self, segment: &Segment<'_>, context: &mut Context<'_>) -> bool {
        let ahead = segment.ack.wrapping_sub(self.iss.wrapping_add(self.una as u32)) as i32;
        let to = self.una.wrapping_add_signed(i64::from(ahead));
        let in_flight = ahead >= 0 && to <= self.max;
        if self.state == State::SynReceived {
            if ahead <= 0 || !in_flight {
                context.out.push(refusal(segment));
                return false;
            }
            self.become_established(0);
            self.timeout.acknowledged(1, context.now);
        }
        if ahead >= 0 && !in_flight {
            self.ack_now = true; // of what was never sent
            return false;
        }
        let window = u32::from(segment.window) << if self.scaled { self.peer_scale } else { 0 };
        if ahead > 0 {
            self.advance(to, ahead as u32, context);
        } else if ahead == 0
            && segment.payload.is_empty()
            && !segment.flags.contains(TcpFlags::FIN)
            && window == self.window
            && self.una < self.max
            && self.congestion.duplicate(self.una, self.max, self.flight())
        {
            self.send_again(context);
        }
        if ahead >= 0 {
            self.window = window;
            if window == 0 {
                self.retries = 0; // alive, and busy (RFC 9293 §3.8.6.1)
            }
        }
        let fin_acknowledged = self.fin_wanted && self.una > self.end;
        match self.state {
            State::FinWait1 if fin_acknowledged => {
                self.state = State::FinWait2;
                self.rto_at = context.now + FIN_TIMEOUT;
            }
            State::Closing if fin_acknowledged => self.wait(context),
            State::LastAck if fin_acknowledged => self.end(End::Closed),
            _ => {}
        }
        !matches!(self.state, State::Closed(_))
    }

    /// New data is acknowledged.
    fn advance(&mut self, to: u64, by: u32, context: &mut Context<'_>) {
        self.una = to;
        self.next = self.next.max(to);
        self.retries = 0;
        if let Some(rtt) = self.timeout.acknowledged(to, context.now) {
            let (n, ns) = &mut context.counts.rtt;
            (*n, *ns) = (*n + 1, *ns + rtt.as_nanos() as u64);
        }
        if self.congestion.acknowledged(by, to, self.flight()) {
            self.send_again(context);
        }
        self.rto_at = if self.una < self.max { context.now + self.timeout.now } else { NEVER };
    }

    fn take_data(&mut self, ahead: i32, segment: &Segment<'_>, context: &mut Context<'_>) {
        let takes = matches!(self.state, State::Established | State::FinWait1 | State::FinWait2);
        let fin = segment.flags.contains(TcpFlags::FIN);
        if !takes {
            // The peer has said its last; this is a copy.
            self.ack_now |= !segment.payload.is_empty() || fin;
            return;
        }
        let old = usize::try_from(-i64::from(ahead)).unwrap_or(0);
        let payload = segment.payload.get(old..).unwrap_or_default();
        let begin = self.received + u64::try_from(ahead).unwrap_or(0);
        context.counts.old_segments += u64::from(old > 0);
        if !payload.is_empty() {
            if context.settings.compare && !content::is(self.irs, begin, payload) {
                context.counts.wrong_bytes += 1;
            }
            // Beyond the window nothing is taken: it comes again.
            let edge = self.received + u64::from(context.settings.window);
            self.take_range(begin, (begin + payload.len() as u64).min(edge), context);
        }
        if fin {
            self.peer_fin = Some(begin + payload.len() as u64);
            self.ack_now = true;
        }
        if self.peer_fin == Some(self.received) {
            self.received += 1;
            match self.state {
                State::Established => self.state = State::CloseWait,
                State::FinWait1 => self.state = State::Closing,
                _ => self.wait(context),
            }
        }
    }

    /// Takes the bytes from `begin` to `end`, not before what was received.
    fn take_range(&mut self, begin: u64, end: u64, context: &mut Context<'_>) {
        if begin > self.received {
            context.counts.out_of_order += 1;
            self.early.keep(begin, end);
            self.ack_now = true;
            return;
        }
        let before = self.received;
        self.ack_now |= !self.early.is_empty();
        self.received = self.early.continue_from(end);
        context.counts.bytes_received += self.received - before;
        self.ack_owed += 1;
        if self.ack_owed >= 2 {
            self.ack_now = true; // every second segment (RFC 5681 §4.2)
        } else {
            self.ack_at = context.now + DELAYED_ACK;
        }
    }

    /// Sends what may be sent, and the acknowledgements that are due.
    pub(super) fn transmit(&mut self, context: &mut Context<'_>) {
        let may = matches!(
            self.state,
            State::Established
                | State::CloseWait
                | State::FinWait1
                | State::Closing
                | State::LastAck
        );
        if may {
            let usable = u64::from(self.congestion.bytes.min(self.window));
            while self.next < self.end {
                let room = (self.una + usable).saturating_sub(self.next);
                let left = self.end - self.next;
                let len = room.min(left).min(u64::from(self.mss));
                // Whole segments, or the last one (RFC 9293 §3.8.6.2.1), or nothing under way.
                let whole = len == left || len == u64::from(self.mss) || self.una == self.next;
                if len == 0 || !whole {
                    break;
                }
                self.send_data(self.next, len as usize, context);
            }
            if self.fin_wanted && self.next == self.end {
                self.send_data(self.end, 0, context);
            }
            // A closed window is probed (RFC 9293 §3.8.6.1).
            if self.una == self.max && self.next < self.end && self.rto_at == NEVER {
                self.rto_at = context.now + self.timeout.now;
            }
        }
        if self.ack_now {
            self.send(self.next, 0, TcpFlags::ACK, context);
        }
    }

    /// What is due by now: a delayed acknowledgement, a retransmission, the end of waiting.
    pub(super) fn on_time(&mut self, context: &mut Context<'_>) {
        if self.ack_at <= context.now {
            self.ack_at = NEVER;
            self.ack_now = true;
        }
        if self.rto_at > context.now {
            return;
        }
        match self.state {
            State::TimeWait => return self.end(End::Closed),
            State::FinWait2 => return self.end(End::TimedOut),
            _ => self.retries += 1,
        }
        if self.retries > context.settings.retries {
            return self.end(End::TimedOut);
        }
        self.timeout.double();
        self.rto_at = context.now + self.timeout.now;
        if matches!(self.state, State::SynSent | State::SynReceived) {
            return self.send_syn(context);
        }
        if self.una == self.max {
            // One byte into a window that is closed.
            return self.send_data(self.next, 1, context);
        }
        self.congestion.timeout(self.retries == 1, self.max, self.flight());
        self.next = self.una;
        self.send_again(context);
    }

    fn flight(&self) -> u32 {
        u32::try_from(self.max - self.una).unwrap_or(u32::MAX)
    }

    /// The segment at `una` once more.
    fn send_again(&mut self, context: &mut Context<'_>) {
        let len = (self.end.saturating_sub(self.una)).min(u64::from(self.mss));
        let len = len.min(self.max - self.una);
        let next = self.next;
        self.send_data(self.una, len as usize, context);
        self.next = self.next.max(next);
    }

    /// Sends data from a position on, and the FIN if it follows.
    fn send_data(&mut self, at: u64, len: usize, context: &mut Context<'_>) {
        let mut end = at + len as u64;
        let mut flags = TcpFlags::ACK.0;
        if len > 0 && end == self.end {
            flags |= TcpFlags::PSH.0;
        }
        if self.fin_wanted && end == self.end {
            flags |= TcpFlags::FIN.0;
            end += 1;
            match self.state {
                State::Established => self.state = State::FinWait1,
                State::CloseWait => self.state = State::LastAck,
                _ => {}
            }
        }
        if at < self.max {
            context.counts.retransmitted += 1;
            context.counts.bytes_sent_again += (self.max - at).min(len as u64);
        } else {
            self.timeout.sent(end, context.now);
        }
        context.counts.bytes_sent += end.saturating_sub(self.max.max(at)).min(len as u64);
        self.send(at, len, TcpFlags(flags), context);
        self.next = end;
        self.max = self.max.max(end);
        if self.rto_at == NEVER {
            self.rto_at = context.now + self.timeout.now;
        }
    }

    fn send(&mut self, at: u64, len: usize, flags: TcpFlags, context: &mut Context<'_>) {
        self.ack_now = false;
        self.ack_owed = 0;
        self.ack_at = NEVER;
        let Settings { window, scale, .. } = *context.settings;
        let window = if self.scaled { window >> scale } else { window.min(0xffff) };
        context.out.push(Outgoing {
            tuple: self.tuple,
            seq: self.iss.wrapping_add(at as u32),
            ack: self.ack(),
            flags,
            window: window as u16,
            options: None,
            payload: (self.iss, at, len),
        });
    }

    /// The SYN, or the SYN and the acknowledgement of the peer's.
    fn send_syn(&mut self, context: &mut Context<'_>) {
        let Settings { mss, window, scale, .. } = *context.settings;
        let answers = self.state == State::SynReceived;
        let flags = if answers { TcpFlags::SYN.0 | TcpFlags::ACK.0 } else { TcpFlags::SYN.0 };
        let scale = (!answers || self.scaled).then_some(scale);
        context.out.push(Outgoing {
            tuple: self.tuple,
            seq: self.iss,
            ack: if answers { self.ack() } else { 0 },
            flags: TcpFlags(flags),
            window: window.min(0xffff) as u16,
            options: Some((mss, scale)),
            payload: (0, 0, 0),
        });
        if self.max > 0 {
            context.counts.retransmitted_syns += 1;
        } else {
            self.timeout.sent(1, context.now);
        }
        (self.next, self.max) = (1, 1);
        if self.rto_at == NEVER {
            self.rto_at = context.now + self.timeout.now;
        }
    }

    fn ack(&self) -> u32 {
        self.irs.wrapping_add(self.received as u32)
    }

    fn wait(&mut self, context: &mut Context<'_>) {
        self.state = State::TimeWait;
        self.rto_at = context.now + context.settings.time_wait;
    }

    fn end(&mut self, end: End) {
        self.state = State::Closed(end);
        (self.rto_at, self.ack_at) = (NEVER, NEVER);
        self.ack_now = false;
    }
}

/// The reset that answers a segment of no connection (RFC 9293 §3.10.7.1).
pub(super) fn refusal(segment: &Segment<'_>) -> Outgoing {
    let flags = segment.flags;
    let acknowledges = flags.contains(TcpFlags::ACK);
    let len = segment.payload.len() as u32
        + u32::from(flags.contains(TcpFlags::SYN))
        + u32::from(flags.contains(TcpFlags::FIN));
    Outgoing {
        tuple: segment.tuple,
        seq: if acknowledges { segment.ack } else { 0 },
        ack: if acknowledges { 0 } else { segment.seq.wrapping_add(len) },
        flags: if acknowledges {
            TcpFlags::RST
        } else {
            TcpFlags(TcpFlags::RST.0 | TcpFlags::ACK.0)
        },
        window: 0,
        options: None,
        payload: (0, 0, 0),
    }
}
