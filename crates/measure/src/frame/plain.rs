//! A template's frames as a plan of frames: for lengths that differ.
//!
//! ```text
//!  Template, fields that vary ─┬─ IPv4, one length ─► StreamPlan   the fast path
//!                              └─ IPv6, lengths ────► FramePlan    the same bytes at each length
//! ```

use super::{Data, FramePlan, Lengths, Link, Transport, Varying};
use crate::Family;
use crate::template::{self, IPV4, Template};
use crate::vary::{Field, Pick, Values, Variation};

impl FramePlan {
    /// Frames of a template that vary like this, as long as `lengths` says.
    pub fn of_template(template: &Template, variation: &Variation, lengths: Lengths) -> FramePlan {
        let family = template.ends.family();
        let mut header = template.image(template::shortest(family)).unwrap_or_default();
        header.truncate(template::headers(family));
        let (ipv4, ipv6) = match family {
            Family::Ipv4 => (vec![IPV4], vec![]),
            Family::Ipv6 => (vec![], vec![IPV4]),
        };
        let transport = match template.has_udp_checksum() {
            true => Transport::UdpChecksum,
            false => Transport::Udp,
        };
        let (varying, links) = varying(variation, family);
        FramePlan {
            header,
            ipv4,
            ipv6,
            transport: Some((template::udp(family), transport)),
            tunnels: vec![],
            varying,
            links,
            data: Data::Byte(template.fill),
            lengths,
            footer: true,
            checksum_from: None,
        }
    }
}

/// What of the frames of a template varies; the fields of flows go by one number.
fn varying(variation: &Variation, family: Family) -> (Vec<Varying>, Vec<Link>) {
    match variation {
        Variation::Fields(fields) => {
            let each = fields.iter();
            let each = each.flat_map(|(field, values, pick)| {
                pieces(family, *field, values.clone(), *pick, None)
            });
            (each.collect(), vec![])
        }
        Variation::Flows { fields, count, pick } => {
            let (mut all, mut divisor) = (vec![], 1u64);
            for (field, values) in fields {
                let next = divisor.saturating_mul(values.count());
                all.extend(pieces(family, *field, values.clone(), *pick, Some((0, divisor))));
                divisor = next;
            }
            (all, vec![Link { count: *count as u64, pick: *pick }])
        }
    }
}

/// A field; of an address in a network of IPv6 its first eight bytes, and the others: any, or those of the
/// network's first host.
fn pieces(
    family: Family,
    field: Field,
    values: Values,
    pick: Pick,
    link: Option<(usize, u64)>,
) -> Vec<Varying> {
    let (at, width) = place(family, field);
    let piece = |at, width, values, link| {
        let mask = u64::MAX >> (64 - 8 * width);
        Varying { at, width, mask, values, pick, link }
    };
    let Values::Networks6(_) = values else { return vec![piece(at, width, values, link)] };
    let is_any = pick == Pick::Random && link.is_none();
    let last = if is_any { u64::MAX } else { 1 };
    let host = piece(at, width, Values::Range(1, last), None);
    vec![piece(at - 8, 8, values, link), host]
}

/// Where a field stands, and how many bytes it has: of an IPv6 address the last eight.
pub(crate) fn place(family: Family, field: Field) -> (usize, usize) {
    let udp = template::udp(family);
    match (field, family) {
        (Field::DstMac, _) => (0, 6),
        (Field::SrcMac, _) => (6, 6),
        (Field::Src, Family::Ipv4) => (IPV4 + 12, 4),
        (Field::Dst, Family::Ipv4) => (IPV4 + 16, 4),
        (Field::Src, Family::Ipv6) => (IPV4 + 16, 8),
        (Field::Dst, Family::Ipv6) => (IPV4 + 32, 8),
        (Field::SrcPort, _) => (udp, 2),
        (Field::DstPort, _) => (udp + 2, 2),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Mix, StreamPlan};
    use wire::{FrameLen, MacAddr, Moment};

    /// And of flows, few enough to be made in advance, or too many; backwards, too.
    #[test]
    fn flows_as_the_fast_path_makes_them() {
        let fields = vec![
            (Field::Src, Values::Range(0xc612_0001, 0xc612_00ff)),
            (Field::DstPort, Values::Steps { first: 7, last: 7000, step: 7 }),
        ];
        for (udp_checksum, frame, pick, count) in [
            (true, 64, Pick::InTurn, 999),
            (false, 65, Pick::Backwards, 999),
            (true, 127, Pick::InTurn, 70_000),
        ] {
            let template = Template { udp_checksum, ..Template::default() };
            let frame = FrameLen::with_fcs(frame);
            let variation = Variation::Flows { fields: fields.clone(), count, pick };
            let plan = FramePlan::of_template(&template, &variation, frame.into());
            let mut any = plan.build(3, 0, 1).unwrap();
            let mut fast =
                StreamPlan { id: 3, template, frame, variation, seed: 1 }.build().unwrap();
            let next = |stream: &mut crate::Stream| {
                let mut bytes = vec![0; frame.in_memory() as usize];
                stream.write(Moment::from_nanos(7), &mut bytes);
                bytes
            };
            for n in 0..2000 {
                assert_eq!(next(&mut any), next(&mut fast), "frame {n} of {count} flows");
            }
        }
    }

    /// Byte for byte what the fast path makes at each length, whatever varies.
    #[test]
    fn as_the_fast_path_makes_them() {
        let list = |values: &[u64]| Values::List(values.to_vec());
        let all = [
            (Field::DstMac, Values::Range(0x0600_0000_0001, 0x0600_0000_00ff), Pick::InTurn),
            (Field::SrcMac, list(&[0x0200_0000_0007]), Pick::InTurn),
            (Field::Src, Values::Range(0xc612_0001, 0xc612_00ff), Pick::Backwards),
            (Field::Dst, list(&[0xc613_0101, 0xc613_0202, 0xc613_0303]), Pick::InTurn),
            (Field::SrcPort, Values::Range(1024, 65_535), Pick::InTurn),
            (Field::DstPort, list(&[7, 9]), Pick::InTurn),
        ];
        let mix = Mix::of("csit", &[]).unwrap();
        for (n, udp_checksum) in [(0, false), (1, true), (3, false), (6, true)] {
            let template = Template {
                dst_mac: MacAddr([6, 1, 2, 3, 4, 5]),
                fill: 0xa5,
                udp_checksum,
                ..Template::default()
            };
            let lengths = Lengths::InTurn(mix.sequence().to_vec());
            let varied = Variation::Fields(all[..n].to_vec());
            let plan = FramePlan::of_template(&template, &varied, lengths);
            let mut mixed = plan.build(3, 0, 1).unwrap();
            let plain = |frame| {
                let variation = Variation::Fields(all[..n].to_vec());
                StreamPlan { id: 3, template, frame, variation, seed: 1 }.build().unwrap()
            };
            let mut fixed: Vec<_> =
                mix.shares().iter().map(|(frame, _)| (*frame, plain(*frame))).collect();
            for (number, frame) in mix.sequence().iter().cycle().take(40).enumerate() {
                let mut bytes = vec![0; mixed.next_len()];
                mixed.write(Moment::from_nanos(number as u64), &mut bytes);
                assert_eq!(bytes.len(), frame.in_memory() as usize);
                for (len, stream) in &mut fixed {
                    let mut other = vec![0; len.in_memory() as usize];
                    stream.write(Moment::from_nanos(number as u64), &mut other);
                    assert!(len != frame || other == bytes, "{number}: {bytes:02x?} {other:02x?}");
                }
            }
        }
    }
}
