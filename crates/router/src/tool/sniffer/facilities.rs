//! The facilities of the sniffer: `/tool sniffer` and its packets.

use super::menu::{self, QUICK, SAVE, START, STOP};
use super::quick;
use crate::facility::{Facility, Rows};
use crate::status::{RouterStatus, behind, dynamic, numbered};
use config::{Item, ItemId};

/// `/tool sniffer`.
pub(crate) static SNIFFER: Facility = Facility {
    setting: |status, property| status.router.sniffer_status(property),
    commands: &[
        (&START, super::start),
        (&STOP, super::stop),
        (&SAVE, super::save),
        (&QUICK, |r, call, _, now| quick::start(r, call, now)),
    ],
    ..Facility::of(&menu::SNIFFER)
};

/// `/tool sniffer packet`.
pub(crate) static PACKET: Facility =
    Facility { rows: Rows::Many { page: sniffed, item: None }, ..Facility::of(&menu::PACKET) };

/// `/tool sniffer packet`: at most `max` behind an item.
fn sniffed(status: &RouterStatus, after: Option<ItemId>, max: usize) -> Vec<Item> {
    let Some(capture) = status.router.sniffed() else { return Vec::new() };
    let first = capture.from(0).next().map_or(0, |packet| packet.number);
    let packets = capture.from(behind(first, after)).take(max);
    let packets = packets
        .map(|packet| dynamic(numbered(packet.number), capture.values(status.router, packet)));
    packets.collect()
}
