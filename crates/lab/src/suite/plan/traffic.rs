//! Traffic of a suite: from which ports to which, with which addresses.
//!
//! ```text
//!  non-meshed      1 ⇄ 2                       ports 3, 4 … only learn and listen
//!  fully meshed    1 ─► 2, 3, 4, 2, 3, 4 …     by turns, frame by frame: each port to every other
//!                  2 ─► 3, 4, 1, 3, 4, 1 …     (RFC 2889 §5.1), all at the same load
//!  one-to-many     1 ─► 2, 3, 4, 2, 3, 4 …     (§5.2)
//!  many-to-one     1, 2, 3 ─► 4                (§5.2)
//!  unidirectional  1 ─► 3, 4, 3, 4 …           half of the ports to the other half (§5.4)
//!                  2 ─► 4, 3, 4, 3 …
//! ```
//!
//! Those that send are the first ports, always: the one of many-to-one is the last.
//!
//! Routed between one pair of hosts, a share of the frames may be IPv6's (RFC 8219 §5): by turns as well.
//!
//! Missing: RFC 2889's **bursts** of more than one frame, **two devices** with a backbone (§5.3).

use measure::Family;

/// Where frames go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Traffic {
    /// Routed, one source and destination on each side (RFC 2544 §12, first).
    Pair {
        /// Both ways at once, at the same rate each (§14).
        bidirectional: bool,
        /// Tenths of the frames that are IPv6's (RFC 5180, RFC 8219 §5).
        ipv6: u8,
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

/// Between which ports frames go, by the names of RFC 2285 §3.3 and RFC 2889 §5.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Distribution {
    /// The first port and the second, whichever others there are.
    NonMeshed {
        /// See [`Traffic::Pair`].
        bidirectional: bool,
    },
    /// Between all ports that the device has.
    Meshed {
        /// From which to which.
        mesh: Mesh,
        /// How many they are.
        ports: usize,
    },
}

/// From which ports to which frames go, where all have a part in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mesh {
    /// From each to every other (RFC 2889 §5.1).
    Full,
    /// From the first to every other (§5.2).
    OneToMany,
    /// From every other to the last (§5.2).
    ManyToOne,
    /// From each of the first half to every one of the second (§5.4).
    Unidirectional,
}

impl Mesh {
    /// All of them.
    pub const ALL: [Mesh; 4] = [Mesh::Full, Mesh::OneToMany, Mesh::ManyToOne, Mesh::Unidirectional];

    /// As a plan has it.
    pub fn name(self) -> &'static str {
        match self {
            Mesh::Full => "fully-meshed",
            Mesh::OneToMany => "one-to-many",
            Mesh::ManyToOne => "many-to-one",
            Mesh::Unidirectional => "partially-meshed-unidirectional",
        }
    }

    /// Whether there is one of so many ports; if not, of how many there is, in words.
    pub(super) fn of(self, ports: usize) -> Result<(), &'static str> {
        match self {
            Mesh::Full if ports < 2 => Err("a full mesh is of two at least"),
            Mesh::OneToMany | Mesh::ManyToOne if ports < 3 => {
                Err("one and many are three at least")
            }
            Mesh::Unidirectional if ports < 4 || ports % 2 == 1 => {
                Err("two halves, of two at least, are an even number")
            }
            _ => Ok(()),
        }
    }

    fn senders(self, ports: usize) -> usize {
        match self {
            Mesh::Full => ports,
            Mesh::OneToMany => 1,
            Mesh::ManyToOne => ports - 1,
            Mesh::Unidirectional => ports / 2,
        }
    }

    fn destinations(self, ports: usize) -> usize {
        match self {
            Mesh::Full | Mesh::OneToMany => ports - 1,
            Mesh::ManyToOne => 1,
            Mesh::Unidirectional => ports / 2,
        }
    }

    /// To the next port first, to the one behind that, and so on; of a half to the port opposite first.
    fn destination(self, ports: usize, from: usize, turn: usize) -> usize {
        match self {
            Mesh::Full | Mesh::OneToMany => (from + 1 + turn) % ports,
            Mesh::ManyToOne => ports - 1,
            Mesh::Unidirectional => ports / 2 + (from + turn) % (ports / 2),
        }
    }
}

impl Traffic {
    /// How many ports send: the first ones.
    pub fn senders(self) -> usize {
        let (Traffic::Pair { bidirectional, .. }
        | Traffic::Networks { bidirectional }
        | Traffic::Hosts { distribution: Distribution::NonMeshed { bidirectional } }) = self
        else {
            return self.mesh().map_or(1, |(mesh, ports)| mesh.senders(ports));
        };
        1 + usize::from(bidirectional)
    }

    /// If all ports have a part in it: between which of how many frames go.
    pub fn mesh(self) -> Option<(Mesh, usize)> {
        match self {
            Traffic::Hosts { distribution: Distribution::Meshed { mesh, ports } } => {
                Some((mesh, ports))
            }
            _ => None,
        }
    }

    /// How many streams take turns on each port that sends: one to every port of a mesh; of two families
    /// as many as their shares take.
    pub fn destinations(self) -> usize {
        match self {
            Traffic::Pair { ipv6: 5, .. } => 2,
            Traffic::Pair { ipv6: 1..=9, .. } => 10,
            _ => self.mesh().map_or(1, |(mesh, ports)| mesh.destinations(ports)),
        }
    }

    /// The family of the stream whose turn it is: the frames of the rarer one lie apart.
    pub fn family(self, turn: usize) -> Family {
        let Traffic::Pair { ipv6, .. } = self else { return Family::Ipv4 };
        let so_far = |turn: usize| turn * usize::from(ipv6) / 10;
        if so_far(turn + 1) > so_far(turn) { Family::Ipv6 } else { Family::Ipv4 }
    }

    /// Tenths of the frames that are IPv6's.
    pub fn ipv6(self) -> u8 {
        match self {
            Traffic::Pair { ipv6, .. } => ipv6,
            _ => 0,
        }
    }

    /// Which share of a wire each port that sends may fill, so that none is to receive more than its own
    /// carries: what is above that a device can only keep, or lose.
    pub fn share(self) -> f64 {
        match self.mesh() {
            Some((Mesh::ManyToOne, ports)) => 1.0 / (ports - 1) as f64,
            _ => 1.0,
        }
    }

    /// The port to which a port's streams go, by whose turn it is (RFC 2889 §5.1).
    pub fn destination(self, from: usize, turn: usize) -> usize {
        match self.mesh() {
            Some((mesh, ports)) => mesh.destination(ports, from, turn),
            None => 1 - from,
        }
    }

    /// From which ports to which, in the words that name a figure.
    pub fn distribution(self) -> String {
        match (self.mesh(), self.senders()) {
            (Some((Mesh::Full, ports)), _) => format!("fully meshed, {ports} ports"),
            (Some((Mesh::Unidirectional, ports)), _) => {
                format!("partially meshed unidirectional, {ports} ports")
            }
            (Some((mesh, ports)), _) => format!("{}, {ports} ports", mesh.name()),
            (None, 1) => "non-meshed, port 1 to 2".to_string(),
            (None, _) => "non-meshed, ports 1 and 2".to_string(),
        }
    }

    /// In a line, for results.
    pub fn describe(self) -> String {
        if let Some((mesh, ports)) = self.mesh() {
            let half = ports / 2;
            let (others, behind) = (ports - 1, half + 1);
            let ways = match mesh {
                Mesh::Full if ports == 2 => {
                    "fully meshed: two ports to each other (RFC 2889 §5.1)".to_string()
                }
                Mesh::Full => format!(
                    "fully meshed: each of {ports} ports to the {others} others by turns (RFC 2889 §5.1)"
                ),
                Mesh::OneToMany => {
                    format!("one-to-many: port 1 to the {others} others by turns (RFC 2889 §5.2)")
                }
                Mesh::ManyToOne => {
                    format!(
                        "many-to-one: each of ports 1 to {others} to port {ports} (RFC 2889 §5.2)"
                    )
                }
                Mesh::Unidirectional => format!(
                    "partially meshed, unidirectional: each of ports 1 to {half} to ports {behind} to \
                     {ports} by turns (RFC 2889 §5.4)"
                ),
            };
            return format!("UDP port 7, by MAC address, {ways}");
        }
        let described = match self {
            Traffic::Pair { bidirectional: true, .. } => {
                "UDP port 7, one pair of addresses, both ways"
            }
            Traffic::Pair { bidirectional: false, .. } => {
                "UDP port 7, one pair of addresses, one way"
            }
            Traffic::Networks { bidirectional: true } => {
                "UDP port 7, random destinations in 190 networks, both ways"
            }
            Traffic::Networks { bidirectional: false } => {
                "UDP port 7, random destinations in 190 networks, one way"
            }
            Traffic::Hosts { distribution: Distribution::NonMeshed { bidirectional: true } } => {
                "UDP port 7, by MAC address, both ways between ports 1 and 2"
            }
            Traffic::Hosts { .. } => "UDP port 7, by MAC address, one way from port 1 to 2",
        };
        match self.ipv6() {
            0 => described.to_string(),
            10 => format!("{described}, by IPv6"),
            tenths => format!("{described}, {tenths}0 % of the frames by IPv6"),
        }
    }
}
