//! Syslog: lines of the log as datagrams of the router's own.
//!
//! ```text
//! plain      dhcp,info lan assigned 10.0.0.9 to 02:00:00:00:00:01
//! RFC 3164   <30>Nov 25 19:30:00 gw dhcp,info lan assigned …
//! RFC 5424   <30>1 2026-11-25T19:30:00.000Z gw dhcp,info - - - lan assigned …
//! ```
//!
//! They go through OUTPUT as all that the router says itself. A rule there that logs them would send
//! another for each: what is logged while they are sent goes to no server.

use super::{Format, Remote};
use crate::ip::datagram::{self, End};
use crate::ip::dns::resolver::own_address;
use crate::router::Router;
use wire::{Moment, date};

/// The port they come from: RouterOS's.
const PORT: u16 = 514;
/// Bytes of a datagram, beyond which a line is cut.
const LONGEST: usize = 1024;
/// Lines sent at once, a thousand times a second.
const BURST: usize = 32;

/// Sends what waits for syslog servers.
pub(crate) fn send(r: &mut Router, now: Moment) {
    let program = r.program.clone();
    for _ in 0..BURST {
        let Some((line, action)) = r.stats.log.next_remote() else { return };
        let super::Target::Remote(remote) = &action.target else { continue };
        let names = |id: crate::interface::InterfaceId| {
            program.interfaces.get(id.index()).map(|interface| &*interface.name)
        };
        let message = line.display(names).to_string();
        let at = r.rules.clock.zero * 1000 + line.at.as_nanos() / 1_000_000;
        let mut text = write(remote, &program.system.identity, at, line.topics(), &message);
        text.truncate(text.floor_char_boundary(LONGEST));
        let Some(own) = remote.src.or_else(|| own_address(r, remote.to.address)) else { continue };
        let ends = (End { address: own, port: PORT }, remote.to);
        r.stats.log.is_sending(true);
        datagram::send(r, now, ends, text.as_bytes());
        r.stats.log.is_sending(false);
    }
}

/// A datagram's text; `at` is in milliseconds since 1970.
fn write(remote: &Remote, host: &str, at: u64, topics: &str, message: &str) -> String {
    let priority = remote.facility * 8 + remote.severity.unwrap_or_else(|| severity(topics));
    // Neither header has room for blanks.
    let host: String = host.chars().map(|c| if c.is_ascii_graphic() { c } else { '-' }).collect();
    let host = if host.is_empty() { "-" } else { &host };
    match remote.format {
        Format::Plain => format!("{topics} {message}"),
        Format::Bsd => {
            let (_, month, day) = date::civil(at / 1000 / 86_400);
            let (month, time) = (date::MONTHS[month as usize - 1], date::clock(at / 1000));
            let (first, rest) = month.split_at(1);
            let month = first.to_uppercase() + rest;
            format!("<{priority}>{month} {day:2} {time} {host} {topics} {message}")
        }
        Format::Iso => {
            let (year, month, day) = date::civil(at / 1000 / 86_400);
            let (time, ms) = (date::clock(at / 1000), at % 1000);
            format!(
                "<{priority}>1 {year:04}-{month:02}-{day:02}T{time}.{ms:03}Z {host} {topics} - - - {message}"
            )
        }
    }
}

/// How important a line of these topics is.
fn severity(topics: &str) -> u8 {
    let levels = [("critical", 2), ("error", 3), ("warning", 4), ("info", 6), ("debug", 7)];
    let has = |level: &str| topics.split(',').any(|topic| topic == level);
    levels.into_iter().find(|(level, _)| has(level)).map_or(5, |(_, severity)| severity)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_the_rfcs_have_it() {
        const AT: u64 = 1_795_635_005_042;
        let to = End { address: 1, port: 514 };
        for (format, severity, topics, expected) in [
            (Format::Plain, None, "dhcp,info", "dhcp,info hello"),
            (Format::Bsd, None, "dhcp,info", "<30>Nov 25 19:30:05 my-gw dhcp,info hello"),
            (Format::Bsd, Some(0), "dhcp,info", "<24>Nov 25 19:30:05 my-gw dhcp,info hello"),
            (
                Format::Iso,
                None,
                "dhcp,critical,error",
                "<26>1 2026-11-25T19:30:05.042Z my-gw dhcp,critical,error - - - hello",
            ),
        ] {
            let remote = Remote { to, src: None, format, facility: 3, severity };
            assert_eq!(write(&remote, "my gw", AT, topics, "hello"), expected);
        }
    }
}
