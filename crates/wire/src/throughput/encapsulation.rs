//! Headers between Ethernet and the packet that matters.

use crate::{BitRate, PacketRate};

/// Ethernet header and FCS.
const ETHERNET: u32 = 18;
/// Preamble, start of frame and gap.
const WIRE: u32 = 20;
/// The shortest frame, FCS included.
const SHORTEST: u32 = 64;

/// What stands around an IP packet beside Ethernet: the names, and the bytes each takes.
pub const KINDS: [(&str, u32, &str); 11] = [
    ("vlan", 4, "an 802.1Q tag"),
    ("qinq", 8, "two tags, 802.1ad"),
    ("mpls", 4, "a label, RFC 3032"),
    ("pppoe", 8, "PPPoE 6 and PPP 2, RFC 2516"),
    ("l2tp", 38, "IP 20, UDP 8, L2TP 6, PPP 4 (source 004's tables: 38)"),
    ("pptp", 36, "IP 20, GRE 12, PPP 4, RFC 2637"),
    ("gre", 24, "IP 20 and GRE 4, RFC 2784"),
    ("ipip", 20, "IP 20, RFC 2003"),
    ("6to4", 20, "IP 20, RFC 3056"),
    ("eoip", 42, "IP 20, GRE 8, Ethernet 14"),
    ("vxlan", 50, "IP 20, UDP 8, VXLAN 8, Ethernet 14, RFC 7348"),
];

/// A stack of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Encapsulation {
    /// All their bytes together.
    pub bytes: u32,
    /// Those of them that are in the outermost IP packet.
    pub inside_ip: u32,
}

impl Encapsulation {
    /// `vlan`, `mpls+mpls`, `vlan+pppoe`; nothing is plain Ethernet. `None` if a name is none of
    /// [`KINDS`].
    pub fn named(text: &str) -> Option<Encapsulation> {
        let mut all = Encapsulation::default();
        for word in text.split('+').filter(|_| !text.is_empty()) {
            let (_, bytes, around) = KINDS.iter().find(|(name, ..)| *name == word)?;
            all.bytes += bytes;
            if all.inside_ip > 0 || around.starts_with("IP ") {
                all.inside_ip += bytes;
            }
        }
        Some(all)
    }

    /// The longest IP packet that fits in: one around it is no longer than 65,535 bytes.
    pub fn longest(self) -> u32 {
        65_535 - self.inside_ip.min(65_535)
    }

    /// Bytes of the frame that carries an IP packet of so many bytes, FCS included: 64 at least.
    pub fn l2(self, packet: u32) -> u32 {
        packet.saturating_add(self.bytes).saturating_add(ETHERNET).max(SHORTEST)
    }

    /// Bytes that frame takes of the wire's time.
    pub fn l1(self, packet: u32) -> u32 {
        self.l2(packet).saturating_add(WIRE)
    }

    /// The most IP packets of this size that a wire carries.
    pub fn max_packets(self, wire: BitRate, packet: u32) -> PacketRate {
        PacketRate(wire.0 / 8.0 / f64::from(self.l1(packet)))
    }

    /// The share of the wire's time that is IP packets.
    pub fn efficiency(self, packet: u32) -> f64 {
        f64::from(packet) / f64::from(self.l1(packet))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn source_000s_efficiencies() {
        // A bare TCP acknowledgement, the mean packet of its provider, a full packet.
        let plain = Encapsulation::default();
        for (packet, l2, l1, percent) in
            [(40, 64, 84, 47.62), (1028, 1046, 1066, 96.435), (1500, 1518, 1538, 97.53)]
        {
            assert_eq!((plain.l2(packet), plain.l1(packet)), (l2, l1));
            assert!((plain.efficiency(packet) * 100.0 - percent).abs() < 0.005, "{packet}");
        }
    }

    #[test]
    fn tunnels() {
        // Source 003: PPPoE at 512 byte packets over two wires of 10 Gbit/s, 4,634.2 printed.
        // Its size is the frame's, without PPPoE.
        let pppoe = Encapsulation::named("pppoe").unwrap();
        let most = pppoe.max_packets(BitRate(20e9), 512 - ETHERNET).0;
        assert!((most - 4_629_629.63).abs() < 0.01, "{most}");
        assert_eq!(Encapsulation::named("vlan+pppoe").unwrap().bytes, 12);
        assert_eq!(Encapsulation::named("mpls+mpls").unwrap().l2(1500), 1526);
        assert_eq!(Encapsulation::named("").unwrap(), Encapsulation::default());
        assert_eq!(Encapsulation::named("vlan+"), None);
        let longest = |text: &str| Encapsulation::named(text).unwrap().longest();
        assert_eq!(
            ["", "vlan", "gre", "vlan+gre", "gre+vlan"].map(longest),
            [65_535, 65_535, 65_511, 65_511, 65_507]
        );
        assert_eq!(Encapsulation::named("wireguard"), None);
        assert_eq!(pppoe.l1(u32::MAX), u32::MAX, "no overflow");
    }
}
