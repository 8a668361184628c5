//! Rows of the performance table: a script each, and the traffic it is measured with.
//!
//! The scripts are files in `configs/`, built in, so that the bench runs from anywhere. All routing
//! rows of a family but the full table carry the same packets of the same 10,000 connections, there and
//! back: their rates may be divided by each other. Routing has each row in both families.

use measure::{Family, Mode};

/// A row of the table.
#[derive(Debug)]
pub struct Configuration {
    /// What the device does.
    pub mode: Mode,
    /// In which family; a bridge does not look at it, its frames are IPv4.
    pub family: Family,
    /// As it is called in `--configurations` and in result files.
    pub name: &'static str,
    /// The script's file.
    pub file: &'static str,
    /// The script.
    pub script: &'static str,
    /// That of a second router behind the first, of [`TUNNELS`].
    pub far: Option<&'static str>,
    /// What it is measured with.
    pub traffic: Traffic,
}

/// What a row is measured with; see [`traffic`](crate::traffic).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Traffic {
    /// 10,000 connections between 25 clients and 25 servers.
    Connections {
        /// Half of them are masqueraded: replies go to the router's address.
        masqueraded: bool,
    },
    /// 1,000 hosts of a bridge.
    Hosts,
    /// Random destinations in the networks of a full table.
    Table,
}

macro_rules! configuration {
    ($mode:ident, $family:ident, $name:literal, $file:literal, $traffic:expr) => {
        Configuration {
            mode: Mode::$mode,
            family: Family::$family,
            name: $name,
            file: concat!("configs/", $file),
            script: include_str!(concat!("../../../configs/", $file)),
            far: None,
            traffic: $traffic,
        }
    };
}

/// Two routers, and what is between them: the scripts of both, and what both have beside.
macro_rules! tunnels {
    ($($name:literal $kind:literal $($more:literal)*;)*) => {
        &[$(Configuration {
            mode: Mode::Routing,
            family: Family::Ipv4,
            name: $name,
            file: concat!("configs/tunnels/", $kind, "-near.rsc"),
            script: concat!(part!("near"), part!($kind, "-near") $(, part!($more))*),
            far: Some(concat!(part!("far"), part!($kind, "-far") $(, part!($more))*)),
            traffic: PLAIN,
        }),*]
    };
}

macro_rules! part {
    ($($name:literal),*) => {
        include_str!(concat!("../../../configs/tunnels/", $($name,)* ".rsc"))
    };
}

const PLAIN: Traffic = Traffic::Connections { masqueraded: false };

const HALF_MASQUERADED: Traffic = Traffic::Connections { masqueraded: true };

macro_rules! all {
    ($($mode:ident $family:ident $name:literal $file:literal $traffic:expr;)*) => {
        &[$(configuration!($mode, $family, $name, $file, $traffic)),*]
    };
}

/// All rows, in the order they are run: that of IPv6 after the same of IPv4. Nothing is masqueraded by
/// IPv6, as nobody does it.
pub const ALL: &[Configuration] = all! {
    Bridging Ipv4 "none" "bridging-none.rsc" Traffic::Hosts;
    Bridging Ipv4 "25-filter-rules" "bridging-25-filter-rules.rsc" Traffic::Hosts;
    Routing Ipv4 "none" "routing-none.rsc" PLAIN;
    Routing Ipv6 "none" "routing-ipv6-none.rsc" PLAIN;
    Routing Ipv4 "25-simple-queues" "routing-25-simple-queues.rsc" PLAIN;
    Routing Ipv6 "25-simple-queues" "routing-ipv6-25-simple-queues.rsc" PLAIN;
    Routing Ipv4 "25-filter-rules" "routing-25-filter-rules.rsc" PLAIN;
    Routing Ipv6 "25-filter-rules" "routing-ipv6-25-filter-rules.rsc" PLAIN;
    Routing Ipv4 "fasttrack" "routing-fasttrack.rsc" HALF_MASQUERADED;
    Routing Ipv6 "fasttrack" "routing-ipv6-fasttrack.rsc" PLAIN;
    Routing Ipv4 "conntrack" "routing-conntrack.rsc" PLAIN;
    Routing Ipv6 "conntrack" "routing-ipv6-conntrack.rsc" PLAIN;
    Routing Ipv4 "bgp-table" "routing-bgp-table.rsc" Traffic::Table;
    Routing Ipv6 "bgp-table" "routing-ipv6-bgp-table.rsc" Traffic::Table;
};

/// The rows of source 003's and 004's tables of single tunnels, as their `Setup: CCR1036<--10G-->CCR1036`:
/// two routers with nothing but a wire between them, and with a tunnel in it.
pub const TUNNELS: &[Configuration] = tunnels! {
    "none" "none";
    "pppoe" "pppoe";
    "pppoe-conntrack" "pppoe" "conntrack";
    "pppoe-fasttrack" "pppoe" "fasttrack";
    "pppoe-encrypted" "pppoe" "encrypted";
    "pppoe-encrypted-conntrack" "pppoe" "encrypted" "conntrack";
    "l2tp" "l2tp";
    "l2tp-conntrack" "l2tp" "conntrack";
    "l2tp-fasttrack" "l2tp" "fasttrack";
    "l2tp-encrypted" "l2tp" "encrypted";
    "l2tp-encrypted-conntrack" "l2tp" "encrypted" "conntrack";
    "pptp" "pptp";
    "pptp-conntrack" "pptp" "conntrack";
    "pptp-encrypted" "pptp" "encrypted";
    "pptp-encrypted-conntrack" "pptp" "encrypted" "conntrack";
};

/// The names there are, each once.
pub fn names() -> Vec<&'static str> {
    let mut names = Vec::new();
    for configuration in ALL.iter().chain(TUNNELS) {
        if !names.contains(&configuration.name) {
            names.push(configuration.name);
        }
    }
    names
}
