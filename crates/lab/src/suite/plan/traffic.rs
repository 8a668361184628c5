//! Where a suite's frames go.
//!
//! ```text
//!  non-meshed    1 ⇄ 2                       ports 3, 4 … only learn and listen
//!  fully meshed  1 ─► 2, 3, 4, 2, 3, 4 …     by turns, frame by frame: each port to every other
//!                2 ─► 3, 4, 1, 3, 4, 1 …     (RFC 2889 §5.1), all at the same load
//! ```
//!
//! Missing: RFC 2889's **bursts** of more than one frame, and what is **partially meshed** (§5.2, §5.3).

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
        /// From which ports to which.
        distribution: Distribution,
    },
}

/// Between which ports frames go, by the names of RFC 2285 §3.3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Distribution {
    /// The first port and the second, whichever others there are.
    NonMeshed {
        /// See [`Traffic::Pair`].
        bidirectional: bool,
    },
    /// Each of so many ports to every other.
    FullyMeshed {
        /// All that the device has.
        ports: usize,
    },
}

impl Traffic {
    /// How many ports send: the first ones.
    pub fn senders(self) -> usize {
        let (Traffic::Pair { bidirectional }
        | Traffic::Networks { bidirectional }
        | Traffic::Hosts { distribution: Distribution::NonMeshed { bidirectional } }) = self
        else {
            return self.mesh().unwrap_or(1);
        };
        1 + usize::from(bidirectional)
    }

    /// Of a full mesh, how many ports it has.
    pub fn mesh(self) -> Option<usize> {
        match self {
            Traffic::Hosts { distribution: Distribution::FullyMeshed { ports } } => Some(ports),
            _ => None,
        }
    }

    /// To how many ports each of those that send does.
    pub fn destinations(self) -> usize {
        self.mesh().map_or(1, |ports| ports - 1)
    }

    /// The port to which a port's streams go, by whose turn it is: to the next port first, to the one
    /// behind that, and so on (RFC 2889 §5.1).
    pub fn destination(self, from: usize, turn: usize) -> usize {
        match self.mesh() {
            Some(ports) => (from + 1 + turn) % ports,
            None => 1 - from,
        }
    }

    /// From which ports to which, in the words that name a figure.
    pub fn distribution(self) -> String {
        match (self.mesh(), self.senders()) {
            (Some(ports), _) => format!("fully meshed, {ports} ports"),
            (None, 1) => "non-meshed, port 1 to 2".to_string(),
            (None, _) => "non-meshed, ports 1 and 2".to_string(),
        }
    }

    /// In a line, for results.
    pub fn describe(self) -> String {
        let described = match self {
            Traffic::Hosts { .. } if self.mesh() == Some(2) => {
                return "UDP port 7, by MAC address, fully meshed: two ports to each other (RFC \
                        2889 §5.1)"
                    .to_string();
            }
            Traffic::Hosts { distribution: Distribution::FullyMeshed { ports } } => {
                return format!(
                    "UDP port 7, by MAC address, fully meshed: each of {ports} ports to the {} \
                     others by turns (RFC 2889 §5.1)",
                    ports - 1
                );
            }
            Traffic::Pair { bidirectional: true } => "UDP port 7, one pair of addresses, both ways",
            Traffic::Pair { bidirectional: false } => "UDP port 7, one pair of addresses, one way",
            Traffic::Networks { bidirectional: true } => {
                "UDP port 7, random destinations in 190 networks, both ways"
            }
            Traffic::Networks { bidirectional: false } => {
                "UDP port 7, random destinations in 190 networks, one way"
            }
            Traffic::Hosts { distribution: Distribution::NonMeshed { bidirectional: true } } => {
                "UDP port 7, by MAC address, both ways between ports 1 and 2"
            }
            Traffic::Hosts { distribution: Distribution::NonMeshed { bidirectional: false } } => {
                "UDP port 7, by MAC address, one way from port 1 to 2"
            }
        };
        described.to_string()
    }
}
