//! `/system`, as far as the router itself acts on it: its name, where its log goes.
//!
//! ```text
//! /system identity   the name that neighbours, managers and prompts are told
//! /system logging    rules and actions: memory, disk, echo, remote
//! /system ntp        the time of day, asked of others, and told to others
//! ```
//!
//! What a box is made of and its scripts are the daemon's.

// `/system identity`.
pub(crate) mod identity;
// `/system logging`.
pub mod logging;
// `/system ntp`.
pub(crate) mod ntp;

pub use identity::IDENTITY;

use crate::ip::discovery;
use crate::snmp;
use std::sync::Arc;

/// `/system`, compiled.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings {
    /// `/system identity`.
    pub(crate) identity: Arc<str>,
    /// `/system logging`.
    pub(crate) logging: Arc<logging::Logging>,
    /// `/system ntp client`.
    pub(crate) ntp: Arc<ntp::Settings>,
    /// `/system ntp server`.
    pub(crate) serving: ntp::Serving,
    /// `/snmp`.
    pub(crate) snmp: Arc<snmp::Settings>,
    /// `/ip neighbor discovery-settings`.
    pub(crate) discovery: Arc<discovery::Settings>,
}
