//! The NAT boxes, of both families: rules choose for a connection's first packet, the others follow it.

use crate::discard::Discard;
use crate::firewall::connection::{Flags, flow_flag};
use crate::firewall::nat::{NatChain, NatVerdict};
use crate::firewall::translation::{self, NatKind, NatTarget, Pick};
use crate::interface::InterfaceId;
use crate::ip::family::Block;
use crate::packet::Packet;
use crate::parts::Stacked;
use crate::router::Router;
use crate::story::{Event, Table, tuple};
use wire::{FiveTuple, Moment};

/// DST-NAT: the rules choose for a connection's first packet; the others follow it.
pub(super) fn dst_nat<F: Stacked>(
    r: &mut Router,
    now: Moment,
    p: &mut Packet,
) -> Result<(), Discard> {
    if let Some(mut new) = F::new_of(p).take() {
        p.trace.once = true;
        let verdict = match p.port {
            InterfaceId::NONE => NatVerdict::None, // dstnat is for what comes in
            // It is translated as who has announced it.
            _ if new.flags.has(Flags::EXPECTED) => NatVerdict::None,
            _ => {
                let verdict = F::nat(r, now, p, NatChain::Dstnat);
                r.tell_rules(Table::Nat, "dstnat");
                verdict
            }
        };
        let own = F::own_address(r, p.in_interface, new.original.src);
        if let Some(target) = target(r, NatKind::Destination, verdict, own) {
            F::connections_mut(r).translate(&mut new, &target)?;
        }
        *F::new_of(p) = Some(new);
    } else if let Some(id) = p.related {
        let flow = F::connections(r).flow(id);
        if flow.flags & flow_flag::NAT != 0 {
            let quoted = flow.translated().reversed();
            translation::rewrite_quoted(r.io.slab.bytes_mut(&mut p.frame), &p.layers, &quoted);
        }
    }
    if let Some(FiveTuple { dst, dst_port, .. }) = translated::<F>(r, p) {
        let from = F::tuple(p);
        let src_port = if p.layers.protocol == F::ICMP { dst_port } else { from.src_port };
        give(r, p, from, FiveTuple { dst, dst_port, src_port, ..from });
    }
    Ok(())
}

/// The end of INPUT: no rule translates sources there, but a connection's reply tuple must be its
/// own all the same.
pub(super) fn settle<F: Stacked>(r: &mut Router, p: &mut Packet) -> Result<(), Discard> {
    if let Some(mut new) = F::new_of(p).take() {
        F::connections_mut(r).settle(&mut new)?;
        if new.translated != F::tuple(p) {
            r.rewrite(p, new.translated);
        }
        *F::new_of(p) = Some(new);
    }
    Ok(())
}

/// SRC-NAT: as before, for the source, now that the way out is known.
pub(super) fn src_nat<F: Stacked>(
    r: &mut Router,
    now: Moment,
    p: &mut Packet,
) -> Result<(), Discard> {
    if let Some(mut new) = F::new_of(p).take() {
        p.trace.once = true;
        let verdict = match new.flags.has(Flags::EXPECTED) {
            true => NatVerdict::None,
            false => {
                let verdict = F::nat(r, now, p, NatChain::Srcnat);
                r.tell_rules(Table::Nat, "srcnat");
                verdict
            }
        };
        let own = F::own_address(r, p.out_interface, F::tuple(p).dst);
        match target(r, NatKind::Source, verdict, own) {
            Some(target) => {
                F::connections_mut(r).translate(&mut new, &target)?;
                new.masquerade = matches!(verdict, NatVerdict::Masquerade { .. });
            }
            None => F::connections_mut(r).settle(&mut new)?,
        }
        *F::new_of(p) = Some(new);
    }
    if let Some(to) = translated::<F>(r, p) {
        give(r, p, F::tuple(p), to);
    }
    Ok(())
}

/// The tuple that a packet leaves with, if its connection is translated, or may be.
fn translated<F: Stacked>(r: &Router, p: &mut Packet) -> Option<FiveTuple<F>> {
    if let Some(new) = F::new_of(p) {
        return Some(new.translated);
    }
    let flow = F::connections(r).flow(p.related.or(p.flow)?);
    let new = (flow.flags & flow_flag::NAT != 0).then(|| flow.translated())?;
    if p.related.is_none() {
        return Some(new);
    }
    let is = |flag: u8| flow.flags & flag != 0;
    let tuple = F::tuple(p);
    let src = if is(flow_flag::SOURCE) { new.src } else { tuple.src };
    let dst = if is(flow_flag::DESTINATION) { new.dst } else { tuple.dst };
    Some(FiveTuple { src, dst, ..tuple })
}

fn give<F: Stacked>(r: &mut Router, p: &mut Packet, from: FiveTuple<F>, to: FiveTuple<F>) {
    r.rewrite(p, to);
    r.tell(|| Event::Translated { from: tuple(&from), to: tuple(&to) });
}

/// What a verdict means, where the router's own address is `own`; `None` for no translation.
fn target<F: Stacked>(
    r: &mut Router,
    kind: NatKind,
    verdict: NatVerdict<F>,
    own: Option<F>,
) -> Option<NatTarget<F>> {
    let own = own.map(|own| Some(F::Block::host(own)));
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
