//! Taps: tools that see every frame as it stands on the wire.
//!
//! ```text
//! port ─► receive ─┬─► fast, flow …       … outbox ─┬─► send ─► port
//!                  └────────► [ taps ] ◄────────────┘      (before any rule, after all of them)
//! ```
//!
//! The one place where frames are copied to torch and the sniffer. A tap sees ports of the device;
//! of a bridge, what passes its ports. As long as one is there FastPath is closed, as RouterOS has
//! it, and that is said among the unmet conditions.

use super::sight::Sight;
use super::sniffer::{self, Capture, Quick};
use super::torch::Torch;
use crate::interface::InterfaceId;
use crate::ip::datagram::End;
use crate::program::Program;
use crate::router::Router;
use port::record::Direction;
use port::{Frame, Slab};
use wire::Moment;

/// A tap's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TapId(u32);

/// The taps there are.
#[derive(Debug, Default)]
pub(crate) struct Taps {
    last: u32,
    list: Vec<(TapId, Tap)>,
}

/// Who looks.
#[derive(Debug)]
pub(crate) enum Tap {
    Torch(Torch),
    Quick(Quick),
    Capture(Capture),
}

impl Tap {
    /// What closes FastPath for it.
    fn condition(&self) -> &'static str {
        match self {
            Tap::Torch(_) => "/tool torch is running",
            Tap::Quick(_) | Tap::Capture(_) => "/tool sniffer is running",
        }
    }
}

impl Taps {
    /// Whether anybody looks.
    #[inline(always)]
    pub(crate) fn any(&self) -> bool {
        !self.list.is_empty()
    }

    /// The tap of this number.
    pub(crate) fn get(&mut self, id: TapId) -> Option<&mut Tap> {
        self.list.iter_mut().find(|(other, _)| *other == id).map(|(_, tap)| tap)
    }

    /// The capture that `/tool sniffer start` began, while it runs.
    pub(crate) fn capture(&self) -> Option<(TapId, &Capture)> {
        self.list.iter().find_map(|(id, tap)| match tap {
            Tap::Capture(capture) => Some((*id, capture)),
            _ => None,
        })
    }

    /// What the sniffer is to send on, and to whom.
    pub(crate) fn take_streamed(&mut self) -> Option<(End, Vec<Box<[u8]>>)> {
        self.list.iter_mut().find_map(|(_, tap)| match tap {
            Tap::Capture(capture) => capture.take_streamed(),
            _ => None,
        })
    }

    /// Shows frames that pass by a port to everybody who wants to see them.
    pub(crate) fn see(
        &mut self,
        now: Moment,
        program: &Program,
        slab: &Slab,
        port: InterfaceId,
        way: Direction,
        frames: &[Frame],
    ) {
        for frame in frames {
            let bytes = slab.bytes(frame);
            let sight = Sight::of(bytes);
            for (_, tap) in &mut self.list {
                match tap {
                    Tap::Torch(torch) if torch.filter.wants_of(program, port, way) => {
                        torch.see(now, way, sight);
                    }
                    Tap::Quick(quick) if quick.filter.wants_of(program, port, way) => {
                        quick.see(now, port, way, sight);
                    }
                    Tap::Capture(capture) if capture.filter.wants_of(program, port, way) => {
                        capture.see(now, port, way, sight, bytes);
                    }
                    _ => {}
                }
            }
        }
    }
}

impl Router {
    /// Shows what has come in by a port to the taps.
    #[cold]
    pub(crate) fn tap(&mut self, now: Moment, port: InterfaceId, way: Direction, frames: &[Frame]) {
        self.tools.taps.see(now, &self.program, &self.io.slab, port, way, frames);
        if self.tools.taps.capture().is_some_and(|(_, capture)| capture.is_full()) {
            sniffer::end(self);
        }
    }

    /// Shows what is about to leave to the taps.
    #[cold]
    pub(crate) fn tap_outboxes(&mut self, now: Moment) {
        let Router { tools, program, io, .. } = self;
        for (outbox, &port) in io.outboxes.iter().zip(&program.ports) {
            tools.taps.see(now, program, &io.slab, port, Direction::Out, outbox.frames());
        }
        if self.tools.taps.capture().is_some_and(|(_, capture)| capture.is_full()) {
            sniffer::end(self);
        }
    }

    /// Puts a tap in; FastPath closes.
    pub(crate) fn put_tap(&mut self, tap: Tap) -> TapId {
        self.close_fast_path(tap.condition());
        let taps = &mut self.tools.taps;
        taps.last = taps.last.wrapping_add(1);
        let id = TapId(taps.last);
        taps.list.push((id, tap));
        id
    }

    /// Takes a tap out, with all it has seen.
    pub(crate) fn take_tap(&mut self, id: TapId) -> Option<Tap> {
        let at = self.tools.taps.list.iter().position(|(other, _)| *other == id)?;
        let (_, tap) = self.tools.taps.list.remove(at);
        self.reopen_fast_path(tap.condition());
        Some(tap)
    }
}
