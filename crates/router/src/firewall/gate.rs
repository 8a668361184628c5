//! The cheap part of a rule's matchers, all at once.
//!
//! Nearly all rules that do not match fail on an address, a port, a protocol, an interface or the
//! state, all of which are constant for a flow. These are tested together, without a branch
//! between them; only what passes the gate sees the rule's other matchers, one by one.
//!
//! ```text
//! facts of the packet   proto  in  out  sport dport l4   src  dst   state
//! gate of the rule      ├─────── first, span: u16 ────┤  ├─ u32 ─┤   set     all hold? ─► rule
//! ```
//!
//! Each lane is a range that may wrap around, so that `!a..b` is a range as well: `b+1..a-1`.
//! Never: notes anything in the trace (nothing here varies within a flow), remembers anything.

use crate::firewall::matcher::{Matcher, What};
use crate::interface::InterfaceId;
use crate::packet::View;
use wire::FiveTuple;
use wire::layers::protocol;

const PROTOCOL: usize = 0;
const IN: usize = 1;
const OUT: usize = 2;
const SRC_PORT: usize = 3;
const DST_PORT: usize = 4;
const PORTS: usize = 5;
const FRAGMENT: usize = 6;
const SRC: usize = 0;
const DST: usize = 1;

/// How many fields the gates look at: eight narrow ones, two wide ones, the state.
pub(crate) const FIELDS: usize = 11;

/// Those of a tuple's ports and addresses.
pub(crate) const OF_TUPLE: [usize; 4] = [SRC_PORT, DST_PORT, 8 + SRC, 8 + DST];

/// What the gates look at.
#[derive(Clone, Copy)]
pub(crate) struct Facts {
    narrow: [u16; 8],
    wide: [u32; 2],
    state: u8,
}

impl Facts {
    /// What a field is, as a number: see [`Gate::pieces`].
    #[inline]
    pub(crate) fn value(&self, field: usize) -> u32 {
        match field {
            0..8 => self.narrow[field].into(),
            8 | 9 => self.wide[field - 8],
            _ => self.state.trailing_zeros(),
        }
    }

    pub(crate) fn of(view: &View) -> Facts {
        let layers = view.layers;
        let tuple = &layers.tuple;
        let has_ports = layers.l4 != 0 && matches!(layers.protocol, protocol::TCP | protocol::UDP);
        Facts {
            narrow: [
                u16::from(tuple.protocol),
                view.in_interface.short(),
                view.out_interface.short(),
                tuple.src_port,
                tuple.dst_port,
                u16::from(has_ports),
                u16::from(layers.later_fragment),
                0,
            ],
            wide: [tuple.src, tuple.dst],
            state: view.connection_state.bit(),
        }
    }
}

impl Facts {
    /// What the gates see of the packets of a flow that has a recipe: whole ones with their ports,
    /// which arrive by `in_interface` and leave by `out_interface`, as they are between the
    /// translations of destination and source.
    pub(crate) fn of_flow(
        tuple: &FiveTuple,
        in_interface: InterfaceId,
        out_interface: InterfaceId,
        state: u8,
    ) -> Facts {
        let protocol = u16::from(tuple.protocol);
        let (src, dst) = (tuple.src_port, tuple.dst_port);
        Facts {
            narrow: [protocol, in_interface.short(), out_interface.short(), src, dst, 1, 0, 0],
            wide: [tuple.src, tuple.dst],
            state: 1 << state,
        }
    }
}

/// A rule's gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Gate {
    narrow_first: [u16; 8],
    narrow_span: [u16; 8],
    wide_first: [u32; 2],
    wide_span: [u32; 2],
    states: u8,
}

impl Gate {
    /// Lets everything through.
    pub(crate) const OPEN: Gate = Gate {
        narrow_first: [0; 8],
        narrow_span: [u16::MAX; 8],
        wide_first: [0; 2],
        wide_span: [u32::MAX; 2],
        states: u8::MAX,
    };

    /// Whether the packet passes.
    #[inline(always)]
    pub(crate) fn admits(&self, facts: &Facts) -> bool {
        let mut outside = 0u16;
        for i in 0..8 {
            let at = facts.narrow[i].wrapping_sub(self.narrow_first[i]);
            outside |= at.saturating_sub(self.narrow_span[i]);
        }
        let mut outside_wide = self.states & facts.state == 0;
        for i in 0..2 {
            let at = facts.wide[i].wrapping_sub(self.wide_first[i]);
            outside_wide |= at > self.wide_span[i];
        }
        (outside == 0) & !outside_wide
    }

    /// Gives the ranges of a field's values that pass, from and to; false if all do.
    pub(crate) fn pieces(&self, field: usize, mut give: impl FnMut(u32, u32)) -> bool {
        let mut around = |first: u32, last: u32, max: u32| {
            if first <= last {
                give(first, last);
            } else {
                give(0, last);
                give(first, max);
            }
        };
        match field {
            0..8 => {
                let (first, span) = (self.narrow_first[field], self.narrow_span[field]);
                if span != u16::MAX {
                    around(first.into(), first.wrapping_add(span).into(), u16::MAX.into());
                }
                span != u16::MAX
            }
            8 | 9 => {
                let (first, span) = (self.wide_first[field - 8], self.wide_span[field - 8]);
                if span != u32::MAX {
                    around(first, first.wrapping_add(span), u32::MAX);
                }
                span != u32::MAX
            }
            _ => {
                let open = (0..8).filter(|state| self.states >> state & 1 == 1);
                let all = self.states == u8::MAX;
                open.filter(|_| !all).for_each(|state| give(state, state));
                !all
            }
        }
    }

    /// Whether whatever passes `other` passes this one.
    pub(crate) fn covers(&self, other: &Gate) -> bool {
        let narrow = (0..8).all(|i| {
            let offset = other.narrow_first[i].wrapping_sub(self.narrow_first[i]);
            self.narrow_span[i] == u16::MAX
                || u32::from(offset) + u32::from(other.narrow_span[i])
                    <= u32::from(self.narrow_span[i])
        });
        let wide = (0..2).all(|i| {
            let offset = other.wide_first[i].wrapping_sub(self.wide_first[i]);
            self.wide_span[i] == u32::MAX
                || u64::from(offset) + u64::from(other.wide_span[i]) <= u64::from(self.wide_span[i])
        });
        narrow && wide && other.states & !self.states == 0
    }

    /// Takes a matcher over, if it can stand for it; false leaves the gate as it was.
    pub(crate) fn absorb(&mut self, matcher: &Matcher) -> bool {
        let not = matcher.not;
        match &matcher.what {
            What::Protocol(number) => {
                self.narrow(PROTOCOL, (*number).into(), (*number).into(), not)
            }
            What::InInterface(set) if set.len() == 1 => self.interface(IN, set[0], not),
            What::OutInterface(set) if set.len() == 1 => self.interface(OUT, set[0], not),
            What::Fragment => self.narrow(FRAGMENT, 1, 1, not),
            What::SrcAddress(range) => self.wide(SRC, range.first(), range.last(), not),
            What::DstAddress(range) => self.wide(DST, range.first(), range.last(), not),
            What::SrcPort(ports) if ports.len() == 1 => {
                self.narrow(SRC_PORT, ports[0].0, ports[0].1, not)
                    && self.narrow(PORTS, 1, 1, false)
            }
            What::DstPort(ports) if ports.len() == 1 => {
                self.narrow(DST_PORT, ports[0].0, ports[0].1, not)
                    && self.narrow(PORTS, 1, 1, false)
            }
            What::ConnectionState(set) => {
                self.states &= if not { !set } else { *set };
                true
            }
            _ => false,
        }
    }

    /// Sessions beyond the first sixty thousand are not told apart here.
    fn interface(&mut self, lane: usize, interface: InterfaceId, not: bool) -> bool {
        let number = interface.short();
        interface.is_short() && self.narrow(lane, number, number, not)
    }

    fn narrow(&mut self, lane: usize, first: u16, last: u16, not: bool) -> bool {
        if first > last {
            return false;
        }
        let (first, last) =
            if not { (last.wrapping_add(1), first.wrapping_sub(1)) } else { (first, last) };
        // The complement of everything would come out as everything.
        if not && last.wrapping_add(1) == first {
            return false;
        }
        (self.narrow_first[lane], self.narrow_span[lane]) = (first, last.wrapping_sub(first));
        true
    }

    fn wide(&mut self, lane: usize, first: u32, last: u32, not: bool) -> bool {
        let (first, last) =
            if not { (last.wrapping_add(1), first.wrapping_sub(1)) } else { (first, last) };
        if not && last.wrapping_add(1) == first {
            return false;
        }
        (self.wide_first[lane], self.wide_span[lane]) = (first, last.wrapping_sub(first));
        true
    }
}
