//! Rows of the performance table: a script each, and the traffic it is measured with.
//!
//! The scripts are files in `configs/`, built in, so that the bench runs from anywhere. All routing
//! rows but the full table carry the same packets of the same 10,000 connections, there and back:
//! their rates may be divided by each other.

use measure::Mode;

/// A row of the table.
#[derive(Debug)]
pub struct Configuration {
    /// What the device does.
    pub mode: Mode,
    /// As it is called in `--configurations` and in result files.
    pub name: &'static str,
    /// The script's file.
    pub file: &'static str,
    /// The script.
    pub script: &'static str,
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
    ($mode:ident, $name:literal, $file:literal, $traffic:expr) => {
        Configuration {
            mode: Mode::$mode,
            name: $name,
            file: concat!("configs/", $file),
            script: include_str!(concat!("../../../configs/", $file)),
            traffic: $traffic,
        }
    };
}

const PLAIN: Traffic = Traffic::Connections { masqueraded: false };

/// All rows, in the order they are run.
pub const ALL: &[Configuration] = &[
    configuration!(Bridging, "none", "bridging-none.rsc", Traffic::Hosts),
    configuration!(Bridging, "25-filter-rules", "bridging-25-filter-rules.rsc", Traffic::Hosts),
    configuration!(Routing, "none", "routing-none.rsc", PLAIN),
    configuration!(Routing, "25-simple-queues", "routing-25-simple-queues.rsc", PLAIN),
    configuration!(Routing, "25-filter-rules", "routing-25-filter-rules.rsc", PLAIN),
    configuration!(
        Routing,
        "fasttrack",
        "routing-fasttrack.rsc",
        Traffic::Connections { masqueraded: true }
    ),
    configuration!(Routing, "conntrack", "routing-conntrack.rsc", PLAIN),
    configuration!(Routing, "bgp-table", "routing-bgp-table.rsc", Traffic::Table),
];

/// The names there are, each once.
pub fn names() -> Vec<&'static str> {
    let mut names = Vec::new();
    for configuration in ALL {
        if !names.contains(&configuration.name) {
            names.push(configuration.name);
        }
    }
    names
}
