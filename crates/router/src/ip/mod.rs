//! IPv4: addresses, routes, neighbours, ICMP, fragments, settings.

// `/ip address`: the router's own addresses and the networks they connect.
pub mod address;
// ARP packets.
pub mod arp;
// What IPv4 and IPv6 do alike, over the type of an address.
pub mod family;
// The forwarding table: longest prefix match.
pub mod fib;
// Fragmentation and reassembly.
pub mod fragment;
// ICMP messages a router sends.
pub mod icmp;
// The property tables of `/ip address`, `/ip route`, `/ip arp` and `/ip settings`.
pub mod menu;

// What is done with these menus.
pub(crate) mod facilities;
// Neighbours: who answers for an address, and the frames that wait for the answer.
pub mod neighbour;
// Routes from elsewhere: a protocol, the kernel, a file.
pub mod feed;
// Tables beside main that somebody else knows.
pub mod fed;
// Routes: the best of each prefix is in the FIB.
pub mod route;
// Tables beside main, by routing mark.
pub(crate) mod table;
// What is behind gateways, and whether they answer.
pub mod gateway;
// `/ip route rule`: which table a packet asks.
pub mod rule;
// `/ip route vrf`: routers within the router.
pub(crate) mod vrf;
// The list of routers that a packet may carry.
pub(crate) mod record_route;
// `/ip settings`.
pub mod settings;

// `/ip pool`: addresses to give out.
pub(crate) mod pool;
// DHCP: servers and clients.
pub(crate) mod dhcp;
// Names.
pub(crate) mod dns;
// `/ip neighbor`: MNDP, LLDP, CDP.
pub(crate) mod discovery;
// `/ip nat-pmp`: ports for hosts that ask.
pub(crate) mod nat_pmp;
// Clients who log in before they get further; talks by HTTP.
pub(crate) mod hotspot;
pub(crate) mod http;
// `/ip accounting`.
pub(crate) mod accounting;
// `/ip traffic-flow`.
pub(crate) mod traffic_flow;
// Packets encrypted, with keys agreed upon.
pub(crate) mod ipsec;
// `/ip upnp`: the same by UPnP.
pub(crate) mod upnp;
// UDP datagrams of the router's own services.
pub(crate) mod datagram;
// TCP connections of theirs.
pub(crate) mod tcp;
// What these services keep.
pub(crate) mod services;
