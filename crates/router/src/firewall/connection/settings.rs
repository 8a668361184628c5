//! `/ip firewall connection tracking`: how long connections live without traffic.

use super::service::Services;
use std::time::Duration;

/// Which timeout holds for a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Class {
    /// `tcp-syn-sent-timeout`.
    TcpSynSent,
    /// `tcp-syn-received-timeout`.
    TcpSynReceived,
    /// `tcp-established-timeout`.
    TcpEstablished,
    /// `tcp-fin-wait-timeout`.
    TcpFinWait,
    /// `tcp-close-wait-timeout`.
    TcpCloseWait,
    /// `tcp-last-ack-timeout`.
    TcpLastAck,
    /// `tcp-time-wait-timeout`.
    TcpTimeWait,
    /// `tcp-close-timeout`.
    TcpClose,
    /// `tcp-max-retrans-timeout`: after three retransmissions without acknowledgement.
    TcpMaxRetrans,
    /// `tcp-unacked-timeout`: while the last data is not acknowledged.
    TcpUnacked,
    /// `udp-timeout`.
    Udp,
    /// `udp-stream-timeout`: after traffic both ways.
    UdpStream,
    /// `icmp-timeout`.
    Icmp,
    /// `generic-timeout`: every other protocol.
    Generic,
    /// `sip-timeout` of `/ip firewall service-port`: a call's connection, with traffic both ways.
    Sip,
}

impl Class {
    /// All of this menu, in order, each with the property's name, its default as typed, and what it means.
    pub const ALL: [(Class, &'static str, &'static str, &'static str); 14] = [
        (Class::TcpSynSent, "tcp-syn-sent-timeout", "5s", "After a SYN."),
        (Class::TcpSynReceived, "tcp-syn-received-timeout", "5s", "After a SYN was answered."),
        (Class::TcpEstablished, "tcp-established-timeout", "1d", "While established."),
        (Class::TcpFinWait, "tcp-fin-wait-timeout", "10s", "After a FIN."),
        (Class::TcpCloseWait, "tcp-close-wait-timeout", "10s", "After a FIN was acknowledged."),
        (Class::TcpLastAck, "tcp-last-ack-timeout", "10s", "After the other side's FIN."),
        (Class::TcpTimeWait, "tcp-time-wait-timeout", "10s", "After that was acknowledged."),
        (Class::TcpClose, "tcp-close-timeout", "10s", "After a RST."),
        (
            Class::TcpMaxRetrans,
            "tcp-max-retrans-timeout",
            "5m",
            "After three retransmissions, or with the window closed.",
        ),
        (Class::TcpUnacked, "tcp-unacked-timeout", "5m", "While data is not acknowledged."),
        (Class::Udp, "udp-timeout", "10s", "Before traffic goes both ways."),
        (Class::UdpStream, "udp-stream-timeout", "3m", "With traffic both ways."),
        (Class::Icmp, "icmp-timeout", "10s", "ICMP queries."),
        (Class::Generic, "generic-timeout", "10m", "Every other protocol."),
    ];
}

/// The timeouts, in milliseconds, by class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts([u32; Class::ALL.len() + 1]);

impl Timeouts {
    /// The longest timeout: 12 days. Time stamps tell times apart that are twice as far.
    pub const MAX: Duration = Duration::from_millis(1 << 30);

    /// In milliseconds.
    #[inline(always)]
    pub const fn millis(&self, class: Class) -> u32 {
        self.0[class as usize]
    }

    /// As a length of time.
    pub const fn get(&self, class: Class) -> Duration {
        Duration::from_millis(self.millis(class) as u64)
    }

    /// Sets one; longer ones than [`MAX`](Self::MAX) are cut.
    pub fn set(&mut self, class: Class, timeout: Duration) {
        self.0[class as usize] = timeout.min(Self::MAX).as_millis() as u32;
    }

    /// The class with the shorter timeout; the first one if both are the same.
    #[inline(always)]
    pub(super) const fn shorter(&self, a: Class, b: Class) -> Class {
        if self.millis(b) < self.millis(a) { b } else { a }
    }
}

impl Default for Timeouts {
    /// RouterOS 6's; a test compares them with the texts in [`Class::ALL`].
    fn default() -> Timeouts {
        const S: u32 = 1000;
        const M: u32 = 60 * S;
        const D: u32 = 24 * 60 * M;
        let all = Class::ALL.map(|(class, ..)| class);
        let timeout = |class| match class {
            Class::TcpEstablished => D,
            Class::TcpSynSent | Class::TcpSynReceived => 5 * S,
            Class::TcpMaxRetrans | Class::TcpUnacked => 5 * M,
            Class::UdpStream => 3 * M,
            Class::Generic => 10 * M,
            Class::Sip => 60 * M,
            _ => 10 * S,
        };
        Timeouts(std::array::from_fn(|at| timeout(all.get(at).copied().unwrap_or(Class::Sip))))
    }
}

/// `enabled`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Enabled {
    /// As soon as something needs it: a rule of the firewall, for one.
    #[default]
    Auto,
    /// Always.
    Yes,
    /// Never; what needs it stops working.
    No,
}

/// What the menu holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// `enabled`.
    pub enabled: Enabled,
    /// All timeouts.
    pub timeouts: Timeouts,
    /// `loose-tcp-tracking`: a segment from the middle may begin a connection.
    pub loose_tcp: bool,
    /// `/ip firewall service-port`.
    pub services: Services,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            enabled: Enabled::Auto,
            timeouts: Timeouts::default(),
            loose_tcp: true,
            services: Services::default(),
        }
    }
}
