//! The router's behaviour: one program, a module for each part of it.
//!
//! `cargo test -p router --test all nat::` runs one of them.
#![expect(clippy::type_complexity, reason = "cases as data: the row of a table is a tuple")]

mod address_lists;
mod analyze;
mod arp;
mod bonding;
mod bridge_nat;
mod bridging;
mod chain;
mod changes;
mod console;
mod dhcp;
mod dhcp_client;
mod dhcp_relay;
mod discovery;
mod dns;
mod facilities;
mod fast_path;
mod fasttrack;
mod field;
mod forwarding;
mod fragments;
mod frames_short;
mod fuzz_regression;
mod gateways;
mod helpers;
mod icmp;
mod ipv6;
mod ipv6_bridged;
mod ipv6_dhcp;
mod ipv6_dhcp_relay;
mod ipv6_firewall;
mod ipv6_nat;
mod ipv6_nd;
mod ipv6_queues;
mod l2tp;
#[path = "../../../port/tests/left_out/mod.rs"]
mod left_out;
mod links;
mod logging;
mod mangle;
mod nat;
mod nat_pmp;
mod neighbours;
mod ntp;
mod offload;
mod pages;
mod ping;
mod ping6;
mod pppoe;
mod pppoe_many;
mod pptp;
mod print;
mod priority_tags;
mod profile;
mod queue_interfaces;
mod radius;
mod rfc8504;
#[path = "../rig/mod.rs"]
mod rig;
mod routes;
mod snmp;
mod spanning_tree;
mod steps;
mod table_full;
mod talker;
mod tools;
mod traceroute;
mod tunnels;
mod tunnels_ipv6;
mod upnp;
mod versions;
mod vlans;
mod vrfs;
mod vrrp;
