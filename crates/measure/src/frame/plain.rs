//! A template's frames as a plan of frames: for lengths that differ.
//!
//! ```text
//!  Template, fields that vary ─┬─ one length ─► StreamPlan   the fast path
//!                              └─ lengths ────► FramePlan    the same bytes at each length
//! ```

use super::{Data, FramePlan, Lengths, Transport, Varying};
use crate::template::{HEADERS, IPV4, Template, UDP};
use crate::vary::{Field, Pick, Values};
use wire::FrameLen;

impl FramePlan {
    /// Frames of a template with these fields varied, as long as `lengths` says.
    pub fn of_template(
        template: &Template,
        fields: &[(Field, Values, Pick)],
        lengths: Lengths,
    ) -> FramePlan {
        let mut header = template.image(FrameLen::MIN).unwrap_or_default();
        header.truncate(HEADERS);
        let transport = if template.udp_checksum { Transport::UdpChecksum } else { Transport::Udp };
        let varying = |(field, values, pick): &(Field, Values, Pick)| {
            let (at, width) = place(*field);
            let mask = if width == 8 { u64::MAX } else { (1 << (8 * width)) - 1 };
            Varying { at, width, mask, values: values.clone(), pick: *pick, link: None }
        };
        FramePlan {
            header,
            ipv4: vec![IPV4],
            ipv6: vec![],
            transport: Some((UDP, transport)),
            tunnels: vec![],
            varying: fields.iter().map(varying).collect(),
            links: vec![],
            data: Data::Byte(template.fill),
            lengths,
            footer: true,
            checksum_from: None,
        }
    }
}

/// Where a field stands, and how many bytes it has.
fn place(field: Field) -> (usize, usize) {
    match field {
        Field::DstMac => (0, 6),
        Field::SrcMac => (6, 6),
        Field::Src => (IPV4 + 12, 4),
        Field::Dst => (IPV4 + 16, 4),
        Field::SrcPort => (UDP, 2),
        Field::DstPort => (UDP + 2, 2),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Mix, StreamPlan, Variation};
    use wire::{MacAddr, Moment};

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
            let plan = FramePlan::of_template(&template, &all[..n], lengths);
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
