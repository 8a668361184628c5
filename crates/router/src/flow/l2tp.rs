//! L2TP's part of the flow.

use crate::discard::Discard;
use crate::interface::ppp::calls::{Call, Carrier};
use crate::interface::pppoe::Session;
use crate::router::Router;
use port::Frame;
use wire::Moment;

pub(super) fn profile(_: &Router) -> String {
    String::new()
}

pub(super) fn hung_up(_: &mut Router, _: Moment, _: &Call) {}

pub(super) fn stays(_: &Router, _: &Call) -> bool {
    false
}

pub(super) fn say(_: &mut Router, _: Moment, _: Carrier, _: &[u8]) {}

pub(super) fn packet_out(r: &mut Router, _: Moment, _: &Session, frame: Frame) {
    r.discard_frame(frame, Discard::InterfaceDown)
}
