//! The states of the TCP machine, and the table that leads from one to the next.
//!
//! ```text
//!  flags ─► event ─┐
//!  direction ──────┼─► TABLE ─► the next state │ ignored │ invalid
//!  state ──────────┘
//! ```

use super::super::settings::Class;
use wire::tcp::TcpFlags;

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

    pub(super) const fn class(self) -> Class {
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

/// What a segment is to the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Event {
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
pub(super) enum Next {
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
pub(super) const TABLE: [[[Next; 10]; 5]; 2] = [
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

/// What a segment with these flags is; `None` for what no TCP sends.
pub(super) fn event(flags: TcpFlags) -> Option<Event> {
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
