//! What bytes mean: formats, addresses, checksums and units of the wire.
//!
//! Views accept any bytes and never panic; values hold only legal ones. Nothing here does
//! I/O, reads a clock, or knows that a router exists.

/// Ethernet addresses.
pub mod mac;
/// IPv4 prefixes and ranges.
pub mod prefix;
/// Time, rates and frame lengths, each a type of its own.
pub mod units;

/// The Internet checksum: whole, verified, and updated in place.
pub mod checksum;

/// One pass over a frame: layer offsets and the 5-tuple.
pub mod layers;

pub use layers::{FiveTuple, Layers};
pub use mac::MacAddr;
pub use prefix::{Ipv4Prefix, Ipv4Range};
pub use units::{BitRate, FrameLen, Moment, PacketRate};
