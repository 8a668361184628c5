//! Frames as they come and go: the frame slab, batches, and the ports they pass.
//!
//! ```text
//!  Pool (one a core) ── alloc ─► Frame ─► Batch ─► Port::send ══ wire ══► Port::receive ─► Batch
//!        ▲                                                                             │
//!        └───────────────────────────────── free ◄─────────────────────────────────────┘
//! ```
//!
//! The only crate with `unsafe`. Never looks above layer 2; never decides anything about a packet;
//! never reads a clock; opens files and changes the system in [`linux`] only.

// All frames of a device in one piece of memory, and the pools that hand them out.
pub mod slab;
// Memory mapped from the system.
mod mapping;
// The allocator of a program with large tables.
pub mod huge;

// Up to 64 frames that travel together.
pub mod batch;
// What every port can do, and what it counts.
pub mod port;

// Several queues of one interface: received from by turns, sent by flow.
pub mod queues;

// Memory wires: a full-duplex cable inside the process.
pub mod memory;
// The ring between two cores that memory wires are made of.
mod ring;
// Simulated wires: rate, delay and buffers in virtual time.
pub mod simulated;

// Ports on real interfaces, and namespaces to have them in.
#[cfg(target_os = "linux")]
pub mod linux;

// Seeded faults around a port.
pub mod fault;

// Capturing around a port: what passes is copied to a sink.
pub mod capture;
// Classic pcap files, read and written.
pub mod pcap;
// pcapng files, read and written.
pub mod pcapng;
// What capture files hold, and how reading them can fail.
pub mod record;
// A capture played back, each frame at its time.
pub mod replay;

// Telling the processor what will be read soon.
pub mod prefetch;

// The places of a hash table's bucket compared at once.
pub mod tags;

// The processor's own counter, for profiles.
pub mod cycles;

// Which processor a thread runs on.
pub mod affinity;

// How a test says that it cannot run here.
#[cfg(test)]
#[path = "../tests/left_out/mod.rs"]
mod left_out;

pub use batch::Batch;
pub use capture::CapturePort;
pub use fault::FaultyPort;
pub use memory::MemoryPort;
pub use port::{Capabilities, Offloads, Port, PortCounters};
pub use replay::ReplayPort;
pub use simulated::SimulatedPort;
pub use slab::{Frame, Pool, Slab, Slots};
