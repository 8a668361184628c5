//! The NAT boxes: rules choose for a connection's first packet, the others follow it.

use crate::discard::Discard;
use crate::firewall::connection::{Flags, flow_flag};
use crate::firewall::nat::{NatChain, NatVerdict};
use crate::firewall::translation::{self, NatKind, NatTarget, Pick};
use crate::interface::InterfaceId;
use crate::ip::address;
use crate::packet::Packet;
use crate::router::Router;
use crate::story::{Event, Table};
use wire::layers::protocol;
use wire::{FiveTuple, Ipv4Prefix, Moment};

/// DST-NAT: the rules choose for a connection's first packet; the others follow it.
pub(super) fn dst_nat(r: &mut Router, now: Moment, p: &mut Packet) -> Result<(), Discard> {
    if let Some(mut new) = p.new.take() {
        p.trace.once = true;
        let verdict = match p.port {
            InterfaceId::NONE => NatVerdict::None, // dstnat is for what comes in
            // It is translated as who has announced it.
            _ if new.flags.has(Flags::EXPECTED) => NatVerdict::None,
            _ => {
                let verdict = r.with_view(now, p, |program, view, books| {
                    program.nat.run(NatChain::Dstnat, view, books)
                });
                r.tell_rules(Table::Nat, "dstnat");
                verdict
            }
        };
        let own = address::source(&r.program.addresses, p.in_interface, new.original.src);
        if let Some(target) = target(r, NatKind::Destination, verdict, own) {
            r.v4.connections.translate(&mut new, &target)?;
        }
        p.translated = Some(new.translated);
        p.new = Some(new);
    } else if let Some(id) = p.related {
        let flow = r.v4.connections.flow(id);
        if flow.flags & flow_flag::NAT != 0 {
            let quoted = flow.translated().reversed();
            let (sources, new) = (flow.flags & flow_flag::SOURCE, flow.translated());
            let src = if sources != 0 { new.src } else { p.layers.tuple.src };
            let destinations = flow.flags & flow_flag::DESTINATION;
            let dst = if destinations != 0 { new.dst } else { p.layers.tuple.dst };
            p.translated = Some(FiveTuple { src, dst, ..p.layers.tuple });
            translation::rewrite_quoted(r.io.slab.bytes_mut(&mut p.frame), &p.layers, &quoted);
        }
    } else if let Some(id) = p.flow {
        let flow = r.v4.connections.flow(id);
        if flow.flags & flow_flag::NAT != 0 {
            p.translated = Some(flow.translated());
        }
    }
    if let Some(new) = p.translated {
        let (dst, dst_port) = (new.dst, new.dst_port);
        let src_port =
            if p.layers.protocol == protocol::ICMP { dst_port } else { p.layers.tuple.src_port };
        let from = p.layers.tuple;
        r.rewrite(p, FiveTuple { dst, dst_port, src_port, ..p.layers.tuple });
        let to = p.layers.tuple;
        r.tell(|| Event::Translated { from, to });
    }
    Ok(())
}

/// The end of INPUT: no rule translates sources there, but a connection's reply tuple must be its
/// own all the same.
pub(super) fn settle(r: &mut Router, p: &mut Packet) -> Result<(), Discard> {
    if let Some(mut new) = p.new.take() {
        r.v4.connections.settle(&mut new)?;
        if new.translated != p.layers.tuple {
            r.rewrite(p, new.translated);
        }
        p.new = Some(new);
    }
    Ok(())
}

/// SRC-NAT: as before, for the source, now that the way out is known.
pub(super) fn src_nat(r: &mut Router, now: Moment, p: &mut Packet) -> Result<(), Discard> {
    if let Some(mut new) = p.new.take() {
        p.trace.once = true;
        let verdict = match new.flags.has(Flags::EXPECTED) {
            true => NatVerdict::None,
            false => {
                let verdict = r.with_view(now, p, |program, view, books| {
                    program.nat.run(NatChain::Srcnat, view, books)
                });
                r.tell_rules(Table::Nat, "srcnat");
                verdict
            }
        };
        let own = address::source(&r.program.addresses, p.out_interface, p.layers.tuple.dst);
        match target(r, NatKind::Source, verdict, own) {
            Some(target) => {
                r.v4.connections.translate(&mut new, &target)?;
                new.masquerade = matches!(verdict, NatVerdict::Masquerade { .. });
            }
            None => r.v4.connections.settle(&mut new)?,
        }
        p.translated = Some(new.translated);
        p.new = Some(new);
    }
    if let Some(to) = p.translated {
        let from = p.layers.tuple;
        r.rewrite(p, to);
        r.tell(|| Event::Translated { from, to });
    }
    Ok(())
}

/// What a verdict means, where the router's own address is `own`; `None` for no translation.
fn target(
    r: &mut Router,
    kind: NatKind,
    verdict: NatVerdict,
    own: Option<u32>,
) -> Option<NatTarget> {
    let own = own.map(|own| Some(Ipv4Prefix::host(own).into()));
    let (addresses, ports, pick, random) = match verdict {
        NatVerdict::Src { addresses, ports, random }
        | NatVerdict::Dst { addresses, ports, random } => (addresses, ports, Pick::Host, random),
        NatVerdict::Masquerade { ports, random } | NatVerdict::Redirect { ports, random } => {
            (own?, ports, Pick::Host, random)
        }
        NatVerdict::Netmap { addresses } => (Some(addresses), None, Pick::Place, false),
        NatVerdict::Same { addresses, ports, random, by_destination } => {
            let pick = if by_destination { Pick::Pair } else { Pick::Host };
            (Some(addresses), ports, pick, random)
        }
        NatVerdict::None | NatVerdict::Accept => return None,
    };
    let random = random.then(|| r.rules.number());
    Some(NatTarget { kind, addresses, ports, pick, random })
}
