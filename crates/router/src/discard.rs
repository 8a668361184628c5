//! Every way out has a name: why a packet was dropped. No packet dies anonymously.

use std::fmt;

macro_rules! reasons {
    ($($(#[doc = $doc:literal])+ $name:ident = $text:literal,)+) => {
        /// Why a packet went no further. One counter each ([`Discards`]).
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum Discard { $($(#[doc = $doc])+ $name,)+ }

        impl Discard {
            /// All reasons, in order.
            pub const ALL: &[Discard] = &[$(Discard::$name,)+];

            /// The name under which the reason is shown.
            pub const fn name(self) -> &'static str {
                match self { $(Discard::$name => $text,)+ }
            }

            /// What it means, in one sentence.
            pub fn meaning(self) -> &'static str {
                match self { $(Discard::$name => concat!($($doc),+),)+ }.trim_start()
            }
        }
    };
}

reasons! {
    /// The Ethernet header or a VLAN tag is cut off.
    MalformedEthernet = "malformed-ethernet",
    /// IPv4 header fields contradict each other or the frame.
    MalformedIpv4 = "malformed-ipv4",
    /// IPv6 header fields contradict each other or the frame.
    MalformedIpv6 = "malformed-ipv6",
    /// An ARP packet is cut off or not for Ethernet and IPv4.
    MalformedArp = "malformed-arp",
    /// A transport header is cut off.
    MalformedTransport = "malformed-transport",
    /// The IPv4 header checksum is wrong (RFC 1812 §5.2.2).
    BadHeaderChecksum = "bad-header-checksum",
    /// The frame's destination MAC is somebody else's.
    OtherHost = "other-host",
    /// The frame's source MAC is a group address.
    BadSourceMac = "bad-source-mac",
    /// A bridge was asked to forward a frame of the reserved group (IEEE 802.1D 7.12.6).
    LinkLocalGroup = "link-local-group",
    /// The interface is disabled or its bridge port is.
    InterfaceDown = "interface-down",
    /// A tagged frame for the router, and no VLAN interface has that tag there.
    UnknownVlan = "unknown-vlan",
    /// The bridge port, or the bridge itself, does not take frames of this VLAN
    /// (`frame-types`, `ingress-filtering`, `/interface bridge vlan`).
    VlanFiltered = "vlan-filtered",
    /// More than two VLAN tags on a frame for the router.
    TooManyTags = "too-many-tags",
    /// A tunnel's packet whose header is cut off, contradicts itself, or is not understood.
    MalformedTunnel = "malformed-tunnel",
    /// A VRRP advertisement that is damaged, comes from afar, or says otherwise than its virtual router
    /// here: the version, the password, version 2's interval.
    BadVrrp = "bad-vrrp",
    /// A datagram to where virtual routers tell each other of connections that is damaged, or of somebody who may
    /// not say so.
    BadVrrpSync = "bad-vrrp-sync",
    /// A message to a DHCP server or relay that is damaged, or of somebody who may not say so.
    BadDhcp = "bad-dhcp",
    /// To the router's name service, and no query, nor the response that it waits for.
    BadDns = "bad-dns",
    /// SNMP that is damaged, of a version that is not spoken, or of somebody who may not ask.
    BadSnmp = "bad-snmp",
    /// A time server's answer that is damaged, or no answer to what was asked.
    BadNtp = "bad-ntp",
    /// To the router's NAT-PMP, and no request.
    BadNatPmp = "bad-nat-pmp",
    /// To the router's LDP, and no hello of a neighbour, or a session of who has not said hello.
    BadLdp = "bad-ldp",
    /// To the router's UPnP, and no search, or of nobody inside.
    BadUpnp = "bad-upnp",
    /// MNDP, LLDP or CDP that is damaged, or says that it is from the router itself.
    BadAnnouncement = "bad-announcement",
    /// A neighbour that says it is there, and 256 are known already.
    TooManyNeighbours = "too-many-neighbours",
    /// A PPPoE packet that is cut off, contradicts itself, or is for the wrong address.
    MalformedPppoe = "malformed-pppoe",
    /// A PPPoE packet of a session that is not there, or has another host: forged, or late.
    UnknownSession = "unknown-session",
    /// A PPPoE request without the cookie of an offer to its sender.
    BadPppoeCookie = "bad-pppoe-cookie",
    /// A PPPoE request, and `max-sessions` is reached, or too many offers wait (`pado-delay`).
    TooManySessions = "too-many-sessions",
    /// An answer of RADIUS that nobody waits for, or that does not know the secret.
    BadRadius = "bad-radius",
    /// An L2TP datagram that is cut off, contradicts itself, or comes out of its turn.
    MalformedL2tp = "malformed-l2tp",
    /// A numbered packet of a session that has come before, or far too late.
    Repeated = "repeated",
    /// An L2TP tunnel whose other end does not know its secret.
    BadL2tpProof = "bad-l2tp-proof",
    /// An encrypted packet of a session that cannot be read: late, behind a lost one, or not encrypted in
    /// the way that was agreed upon.
    Undecryptable = "undecryptable",
    /// A packet in the clear, and its session is encrypted, or a policy of IPsec wants it so.
    NotEncrypted = "not-encrypted",
    /// To the router's IKE, and nothing that belongs to anything it has agreed upon or may.
    BadIke = "bad-ike",
    /// A policy of IPsec wants the packet encrypted, and no keys are agreed upon; or it came with keys that there
    /// are not.
    NoSecurityAssociation = "no-security-association",
    /// Out of ESP, and not what was agreed upon to come by it.
    OutsidePolicy = "outside-policy",
    /// A policy of IPsec says discard.
    IpsecDiscard = "ipsec-discard",
    /// A tunnel leads to itself, or tunnels lie in each other too deep.
    TunnelLoop = "tunnel-loop",
    /// Out of a 6to4 tunnel to everybody, and no 2002::/16 address inside is that of an IPv4 address outside,
    /// or one is somebody else's (RFC 3964).
    SpoofedTunnel = "spoofed-tunnel",
    /// Of a session of L2TP version 3, and without its cookie.
    BadL2tpCookie = "bad-l2tp-cookie",
    /// A label stack that is cut off, or of more labels than are looked at.
    MalformedLabel = "malformed-label",
    /// A packet with a label that nobody was told, or whose route is gone.
    UnknownLabel = "unknown-label",
    /// No facility takes this protocol.
    UnknownProtocol = "unknown-protocol",
    /// A source that may not be: loopback, multicast, 0/8, 240/4 (RFC 1812 §5.3.7), the
    /// router's own addresses and the broadcasts of its networks; of IPv6 also none at all.
    MartianSource = "martian-source",
    /// No route leads back to the source, or by another interface (`rp-filter`, RFC 3704).
    ReversePath = "reverse-path",
    /// A destination that may not be: loopback, 0/8, 240/4 (RFC 1812 §5.3.7); of IPv6 none at all,
    /// and mapped IPv4.
    MartianDestination = "martian-destination",
    /// A multicast destination: multicast routing is not built.
    MulticastDestination = "multicast-destination",
    /// `ip-forward=no`.
    ForwardingOff = "forwarding-off",
    /// The TTL or hop limit ran out here.
    TtlExceeded = "ttl-exceeded",
    /// No route.
    NoRoute = "no-route",
    /// The route's type is blackhole.
    RouteBlackhole = "route-blackhole",
    /// The route's type is unreachable.
    RouteUnreachable = "route-unreachable",
    /// The route's type is prohibit.
    RouteProhibit = "route-prohibit",
    /// `/ip route rule` said drop.
    RouteRuleDrop = "route-rule-drop",
    /// `/ip route rule` said unreachable.
    RouteRuleUnreachable = "route-rule-unreachable",
    /// Longer than the out-interface's MTU, and DF is set.
    FragmentationNeeded = "fragmentation-needed",
    /// IPv6 is off (`/ipv6 settings disable-ipv6`), or not on this interface.
    Ipv6Off = "ipv6-off",
    /// An IPv6 extension header reaches beyond the packet, stands where it must not, or is one too many.
    BadExtensionHeader = "bad-extension-header",
    /// An IPv6 packet that says that it is longer than 65,535 bytes (RFC 2675): no link here carries one.
    Jumbogram = "jumbogram",
    /// An IPv6 packet that prescribes its way: routing header type 0 (RFC 5095).
    SourceRoute = "source-route",
    /// A link's own address (fe80::/10) as the source of what would leave the link.
    LinkLocalSource = "link-local-source",
    /// For a link's own address (fe80::/10), and not the router's.
    LinkLocalDestination = "link-local-destination",
    /// An IPv6 packet longer than the out-interface's MTU.
    PacketTooBig = "packet-too-big",
    /// A message of neighbour or listener discovery that came from afar, is damaged or contradicts itself.
    BadDiscovery = "bad-discovery",
    /// A fragment whose datagram was not complete in time.
    ReassemblyTimeout = "reassembly-timeout",
    /// A fragment that overlaps another or exceeds 65,535 bytes.
    BadFragment = "bad-fragment",
    /// More datagrams in pieces than the router keeps.
    ReassemblyFull = "reassembly-full",
    /// A bridge's frame, longer than the out-interface's link takes.
    TooLong = "too-long",
    /// The neighbour did not answer ARP, or neighbour discovery, or may not be asked (`arp=reply-only`).
    NeighbourUnreachable = "neighbour-unreachable",
    /// Too many packets wait for the neighbour's answer.
    NeighbourQueueFull = "neighbour-queue-full",
    /// `max-neighbor-entries` is reached.
    NeighbourTableFull = "neighbour-table-full",
    /// `/ip firewall raw` said drop.
    RawDrop = "raw-drop",
    /// `/ip firewall filter` said drop.
    FilterDrop = "filter-drop",
    /// `/ip firewall filter` said reject.
    FilterReject = "filter-reject",
    /// `/ip firewall filter` said tarpit.
    FilterTarpit = "filter-tarpit",
    /// `/interface bridge filter` said drop.
    BridgeFilterDrop = "bridge-filter-drop",
    /// `/interface bridge nat` said drop.
    BridgeNatDrop = "bridge-nat-drop",
    /// No free port for a translation.
    NatPortsExhausted = "nat-ports-exhausted",
    /// Two first packets raced for one reply tuple.
    ConnectionClash = "connection-clash",
    /// A connection's first packet, and the table is full.
    ConnectionTableFull = "connection-table-full",
    /// An ICMP error that was due is above `icmp-rate-limit`.
    IcmpRateLimited = "icmp-rate-limited",
    /// A simple queue is full.
    QueueFull = "queue-full",
    /// The destination host is behind the port the frame came from.
    SamePort = "same-port",
    /// The bridge's spanning tree has closed the port it came by, or the one it is for.
    PortClosed = "port-closed",
    /// No other port of the bridge may have the frame.
    NoBridgePort = "no-bridge-port",
    /// A client of a hotspot who has not logged in wants to go on.
    HotspotLogin = "hotspot-login",
    /// A client whom a hotspot does not let in at all: blocked, or one more than its MAC address may have.
    HotspotBlocked = "hotspot-blocked",
    /// For the router itself, and nobody here listens.
    NoListener = "no-listener",
    /// It would have had to wait, and frames are short: those left are for the ports to receive into.
    FramesShort = "frames-short",
    /// The frame pool is exhausted.
    NoFrame = "no-frame",
}

impl fmt::Display for Discard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How many packets were dropped, by reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Discards([u64; Discard::ALL.len()]);

impl Default for Discards {
    fn default() -> Discards {
        Discards([0; Discard::ALL.len()])
    }
}

impl Discards {
    /// Counts one packet.
    #[inline]
    pub fn add(&mut self, reason: Discard) {
        self.0[reason as usize] += 1;
    }

    /// Packets dropped for this reason.
    pub fn get(&self, reason: Discard) -> u64 {
        self.0[reason as usize]
    }

    /// Packets dropped for any reason.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// The reasons that occurred, with their counts.
    pub fn iter(&self) -> impl Iterator<Item = (Discard, u64)> {
        Discard::ALL.iter().map(|&r| (r, self.get(r))).filter(|&(_, n)| n != 0)
    }
}
