//! Where a suite's frames go.

/// Where frames go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Traffic {
    /// Routed, one source and destination on each side (RFC 2544 §12, first).
    Pair {
        /// Both ways at once, at the same rate each (§14).
        bidirectional: bool,
    },
    /// Routed, to random networks behind the other port (§12, then).
    Networks {
        /// See there.
        bidirectional: bool,
    },
    /// Bridged, by MAC address.
    Hosts {
        /// See there.
        bidirectional: bool,
    },
}

impl Traffic {
    /// How many ports send.
    pub fn senders(self) -> usize {
        let (Traffic::Pair { bidirectional }
        | Traffic::Networks { bidirectional }
        | Traffic::Hosts { bidirectional }) = self;
        1 + usize::from(bidirectional)
    }

    /// In a line, for results.
    pub fn describe(self) -> &'static str {
        match self {
            Traffic::Pair { bidirectional: true } => "UDP port 7, one pair of addresses, both ways",
            Traffic::Pair { bidirectional: false } => "UDP port 7, one pair of addresses, one way",
            Traffic::Networks { bidirectional: true } => {
                "UDP port 7, random destinations in 190 networks, both ways"
            }
            Traffic::Networks { bidirectional: false } => {
                "UDP port 7, random destinations in 190 networks, one way"
            }
            Traffic::Hosts { bidirectional: true } => "UDP port 7, by MAC address, both ways",
            Traffic::Hosts { bidirectional: false } => "UDP port 7, by MAC address, one way",
        }
    }
}
