//! Replay: the frames of a capture, sent again and known again when they come back.
//!
//! ```text
//!  file ─► Capture ─► sides ─► rewrite ─► Tempo ─► Script ─► Player ══ device ══► Returned
//!          whole      who      VLAN,      when     cues       │                      ▲
//!          frames     sends    addresses                      └ each frame's print ──┘
//! ```
//!
//! Captured frames have no trailer of ours. What a router leaves as it was (the packet but for TTL,
//! header checksum and ECN; of what is not IP the whole frame) is hashed when a frame is sent and when
//! one comes: what came is counted exactly. Frames that are alike are told by their number alone.
//!
//! Never opens a file. Missing: **captures longer than memory**, **addresses inside tunnels**,
//! **lengths changed to fit** (tcprewrite's `fixlen`), **TCP that answers** (what the other end says
//! changes nothing).

// The frames of a file.
mod capture;
// Networks, and the map from one to another.
mod network;
// Addresses in a frame, changed with the checksums that cover them.
mod addresses;
// Tags and MAC addresses.
mod ethernet;
// Who sends what.
mod sides;
// When.
mod tempo;
// The bytes by which a frame is known again.
mod print;
// All of it as one list of cues.
mod script;
// Sending it.
mod player;
// What came back.
mod returned;
#[cfg(test)]
mod tests;

pub use addresses::{addresses, readdress};
pub use capture::{BadCapture, Capture, Captured};
pub use ethernet::{Vlan, is_ip};
pub use network::{AddressMap, BadNetwork, Network, Step};
pub use player::Player;
pub use print::Lens;
pub use returned::{Back, Returned, Way};
pub use script::{ReplayPlan, Script};
pub use sides::{Side, Split, sides};
pub use tempo::{AboveTheWire, Tempo, Timetable};
