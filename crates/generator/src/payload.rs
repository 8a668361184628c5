//! Payload behind the headers, alike for both kinds of template; and raw templates.

use super::menu::template::{bytes, read_offset_and_mask, read_random_range};
use config::{Read, Value};
use measure::frame::{Data, FramePlan, Lengths, Transport, Varying};
use measure::vary::{Pick, Values};

/// A template's data, random bytes, footer and checksum.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Payload {
    data: Data,
    varying: Vec<Varying>,
    pub(super) footer: bool,
    pub(super) checksum_from: Option<usize>,
}

impl Payload {
    pub(super) fn read(item: Read) -> Payload {
        let data = match item.text("data").as_str() {
            "incrementing" => Data::Incrementing,
            "random" => Data::Random,
            "specific-byte" => Data::Byte(item.number("data-byte") as u8),
            _ => Data::Byte(0),
        };
        let masks = item.list("random-byte-offsets-and-masks").into_iter().filter_map(|value| {
            let (at, mask) = read_offset_and_mask(&value.to_string())?;
            let values = Values::Range(0, 255);
            Some(Varying {
                at,
                width: 1,
                mask: mask.into(),
                values,
                pick: Pick::Random,
                link: None,
            })
        });
        let ranges = item.list("random-ranges").into_iter().filter_map(|value| {
            let (at, bits, low, high) = read_random_range(&value.to_string())?;
            let values = Values::Range(low.into(), high.into());
            let mask = u64::MAX >> (64 - bits);
            Some(Varying {
                at,
                width: bits as usize / 8,
                mask,
                values,
                pick: Pick::Random,
                link: None,
            })
        });
        let checksum_from = match &*item.value("compute-checksum-from-offset") {
            Value::Number(offset) => Some(*offset as usize),
            _ => None,
        };
        let footer = item.bool("special-footer");
        Payload { data, varying: masks.chain(ranges).collect(), footer, checksum_from }
    }

    /// A plan without headers yet.
    pub(super) fn plan(&self, lengths: Lengths) -> FramePlan {
        FramePlan {
            header: Vec::new(),
            ipv4: Vec::new(),
            ipv6: Vec::new(),
            transport: None,
            tunnels: vec![],
            varying: self.varying.clone(),
            links: Vec::new(),
            data: self.data,
            lengths,
            footer: self.footer,
            checksum_from: self.checksum_from,
        }
    }
}

/// A raw template's headers.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Raw {
    pub(super) header: Vec<u8>,
    ipv4: Vec<usize>,
    ipv6: Vec<usize>,
    transport: Option<(usize, Transport)>,
}

impl Raw {
    /// # Errors
    /// RouterOS's words for offsets that cannot be.
    pub(super) fn read(item: Read) -> Result<Raw, String> {
        let offset = |name: &str| match item.opt(name).as_deref() {
            Some(Value::Number(offset)) => Some(*offset as usize),
            _ => None,
        };
        let offsets = |name: &str| {
            let list = item.list(name);
            let number = |offset: &Value| match offset {
                Value::Number(offset) => Some(*offset as usize),
                _ => None,
            };
            list.iter().filter_map(number).collect::<Vec<usize>>()
        };
        let (ipv4, ipv6) = (offsets("ip-header-offset"), offsets("ipv6-header-offset"));
        let udp_kind =
            if item.bool("udp-compute-checksum") { Transport::UdpChecksum } else { Transport::Udp };
        let udp = offset("udp-header-offset").map(|at| (at, udp_kind));
        let tcp = offset("tcp-header-offset").map(|at| (at, Transport::Tcp));
        if udp.is_some() && tcp.is_some() {
            return Err("failure: udp-header-offset or tcp-header-offset, not both".to_string());
        }
        let header = bytes(&item.text("header"));
        Ok(Raw { header, ipv4, ipv6, transport: udp.or(tcp) })
    }

    pub(super) fn plan(&self, payload: &Payload, lengths: Lengths) -> FramePlan {
        let Raw { header, ipv4, ipv6, transport } = self.clone();
        FramePlan { header, ipv4, ipv6, transport, ..payload.plan(lengths) }
    }
}
