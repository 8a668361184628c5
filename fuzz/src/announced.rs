//! Any bytes as what others say to the router's own services: none of them panics.

use wire::discovery::{cdp, lldp, mndp};
use wire::snmp::agent;

/// Reads the bytes as what others say to the router's own services: SNMP, LLDP, CDP, MNDP, NTP, DHCP,
/// DNS. What SNMP has been asked is written and read again.
pub fn run(bytes: &[u8]) {
    let told = [lldp::read(bytes), cdp::read(bytes), mndp::read(bytes)];
    for told in told.into_iter().flatten() {
        // A character that is none becomes one of three bytes.
        assert!(told.identity.len() <= 3 * wire::discovery::LONGEST, "{told:?}");
    }
    if let Some(request) = agent::read(bytes) {
        assert_eq!(agent::read(&agent::request(&request)), Some(request));
    }
    let _ = wire::ntp::read(bytes);
    let _ = wire::dhcp::Message::read(bytes);
    let _ = wire::dns::Message::read(bytes);
}
