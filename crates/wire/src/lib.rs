//! Wire formats: addresses, checksums and units of the wire.
//!
//! Views accept any bytes and never panic; values hold only legal ones. Nothing here does
//! I/O, reads a clock, or knows that a router exists.

// Ethernet addresses.
pub mod mac;
// IPv4 prefixes and ranges.
pub mod prefix;
// IPv6 prefixes.
pub mod prefix6;
// Numbers as RouterOS prints them.
pub mod text;
// Time, rates and frame lengths, each a type of its own.
pub mod units;
// What fits a wire, a window, a bucket, the air.
pub mod throughput;

mod bytes;
// The Internet checksum: whole, verified, and updated in place.
pub mod checksum;

// The Ethernet header.
pub mod ethernet;
// Labels in front of packets.
pub mod mpls;
// Which label stands for which network.
pub mod ldp;
// The 802.1Q tag, put on and taken off in place.
pub mod vlan;

// What bridges of a spanning tree tell each other.
pub mod bpdu;
// ARP for IPv4 over Ethernet.
pub mod arp;
// The IPv4 header and its options.
pub mod ipv4;
// The IPv6 header and its extension headers.
pub mod ipv6;

// ICMP: queries, and errors that quote a packet.
pub mod icmp;
// ICMPv6, and neighbour discovery.
pub mod icmpv6;
// What routers tell hosts of a link.
pub mod router_advertisement;
// Who listens to which groups of IPv6.
pub mod mld;
// The TCP header and its options.
pub mod tcp;
// The UDP header.
pub mod udp;
// Who may log in, asked of another host.
pub mod radius;
// PPP in UDP.
pub mod l2tp;
// Frames behind a session's number.
pub mod l2tp3;
// PPP in GRE, agreed upon by TCP.
pub mod pptp;
// Whether several links are one.
pub mod lacp;
// Who has sent a packet, proven.
pub mod ah;
// Keys and what they are for, agreed upon.
pub mod ike;
// The same before there was version 2.
pub mod isakmp;
// WireGuard's messages.
pub mod wireguard;
// Which of several routers has an address.
pub mod vrrp;
// What such routers tell each other of connections.
pub mod vrrp_sync;
// GRE, and EoIP, which frames are carried in.
pub mod gre;
// Who gets which address.
pub mod dhcp;
// The same of IPv6, and who gets which prefix.
pub mod dhcp6;
// Ports of a router's address outside, asked for by hosts inside.
pub mod nat_pmp;
// Flows, told to collectors.
pub mod netflow;
// The same by HTTP and SOAP.
pub mod upnp;
// The time of day, asked of another host.
pub mod ntp;
// What devices tell their neighbours of themselves.
pub mod discovery;
// Names and what is said of them.
pub mod dns;
// The calendar.
pub mod date;

// PPPoE: hosts that find a concentrator, and PPP in their frames.
pub mod pppoe;
// PPP's control packets.
pub mod ppp;
// The digest that CHAP asks for.
pub mod md5;

// What of a TLS handshake is in the clear.
pub mod tls;

// Asking a device for its values, and its answer.
pub mod snmp;
// What routers tell each other of networks.
pub mod rip;

// What is left to the sender of a frame: its checksum, and cutting it into segments.
pub mod segment;

// Making frames: for tests, templates and what the router sends.
pub mod craft;
// One pass over a frame: layer offsets and the 5-tuple.
pub mod layers;

pub use arp::Arp;
pub use ethernet::Ethernet;
pub use icmp::Icmp;
pub use ipv4::Ipv4;
pub use ipv6::Ipv6;
pub use layers::{FiveTuple, Layers};
pub use mac::MacAddr;
pub use prefix::{Ipv4Prefix, Ipv4Range};
pub use prefix6::Ipv6Prefix;
pub use segment::Offload;
pub use tcp::{Tcp, TcpFlags};
pub use udp::Udp;
pub use units::{BitRate, FrameLen, Moment, PacketRate};
