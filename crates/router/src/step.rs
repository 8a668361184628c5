//! The boxes of the published packet flow, v6: names for tests, explanations and pictures.
//!
//! `flow.rs` walks them in the manual's order. A box that is not built yet stands in its place all
//! the same and is marked as missing here.

use std::fmt;

macro_rules! steps {
    ($($name:ident = $text:literal $($missing:ident)?,)+) => {
        /// A box of the packet flow.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum Step { $(#[doc = $text] $name,)+ }

        impl Step {
            /// All boxes, in the order in which `flow.rs` first comes to them.
            pub const ALL: &[Step] = &[$(Step::$name,)+];

            /// The box's name in the manual.
            pub const fn name(self) -> &'static str {
                match self { $(Step::$name => $text,)+ }
            }

            /// Whether the box does something; a missing one lets every packet through.
            pub const fn is_built(self) -> bool {
                match self { $(Step::$name => steps!(@built $($missing)?),)+ }
            }
        }
    };
    (@built missing) => { false };
    (@built) => { true };
}

steps! {
    PhysicalIn = "physical in-interface",
    Decapsulation = "decapsulation",
    BridgeDstNat = "bridge dst-nat",
    BridgingDecision = "bridging decision",
    BridgeForward = "bridge filter forward",
    BridgeSrcNat = "bridge src-nat",
    BridgeInput = "bridge filter input",
    BridgeOutput = "bridge filter output",
    MplsDecision = "mpls decision",
    HotspotIn = "hotspot-in",
    RawPrerouting = "raw prerouting",
    TrackPrerouting = "connection tracking prerouting",
    ManglePrerouting = "mangle prerouting",
    DstNat = "dst-nat",
    RoutingDecision = "routing decision",
    Ttl = "ttl",
    MangleForward = "mangle forward",
    FilterForward = "filter forward",
    Accounting = "accounting",
    MangleInput = "mangle input",
    FilterInput = "filter input",
    HtbGlobalInput = "htb global input",
    SimpleQueuesInput = "simple queues input",
    LocalIn = "local in",
    LocalOut = "local out",
    RawOutput = "raw output",
    TrackOutput = "connection tracking output",
    MangleOutput = "mangle output",
    FilterOutput = "filter output",
    RoutingAdjustment = "routing adjustment",
    ManglePostrouting = "mangle postrouting",
    SrcNat = "src-nat",
    HotspotOut = "hotspot-out",
    HtbGlobal = "htb global",
    SimpleQueues = "simple queues",
    IpsecPolicy = "ipsec policy",
    MplsOutput = "mpls output",
    Encapsulation = "encapsulation",
    InterfaceHtb = "interface htb",
    PhysicalOut = "physical out-interface",
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
