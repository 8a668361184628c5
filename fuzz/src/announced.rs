//! Any bytes as what others say to the router's own services: none of them panics.

use wire::discovery::{cdp, lldp, mndp};
use wire::snmp::{agent, v3};

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
    if let Some(scoped) = v3::read(bytes).and_then(|message| v3::scoped(message.body)) {
        assert_eq!(v3::scoped(&v3::request(&scoped)), Some(scoped));
    }
    let _ = agent::names(bytes);
    let _ = wire::ntp::read(bytes);
    let _ = wire::dhcp::Message::read(bytes);
    let _ = wire::dns::Message::read(bytes);
}
