//! Framing of the line behind, by which a packet's cost differs from Ethernet's: `cake-overhead`, `cake-mpu`,
//! `cake-atm`, and the schemes that name them together, as tc-cake(8) has them.
//!
//! ```text
//! IP length ─► + overhead ─► at least mpu ─► atm: whole cells, 53 bytes for 48
//!                                            ptm: 65 bytes for 64
//! ```

/// What a line puts around packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Framing {
    /// Bytes more than the IP packet; `None` is Ethernet's header without FCS, 14.
    pub overhead: Option<i16>,
    /// Bytes that the shortest packet takes.
    pub mpu: u16,
    /// Into what packets are cut.
    pub cells: Cells,
}

/// `cake-atm`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cells {
    /// They are not.
    None,
    /// ATM's cells of 48 bytes, 5 bytes of header for each; the last is filled up.
    Atm,
    /// VDSL2's blocks of 64 bytes, one more for each.
    Ptm,
}

/// `cake-overhead-scheme`.
pub(in crate::queue) const SCHEMES: &[&str] = &[
    "none",
    "raw",
    "conservative",
    "ipoa-vcmux",
    "ipoa-llcsnap",
    "bridged-vcmux",
    "bridged-llcsnap",
    "pppoa-vcmux",
    "pppoa-llc",
    "pppoe-vcmux",
    "pppoe-llcsnap",
    "bridged-ptm",
    "pppoe-ptm",
    "docsis",
    "ethernet",
    "ether-vlan",
];

impl Framing {
    /// Ethernet's header, and nothing else.
    pub(in crate::queue) const NONE: Framing =
        Framing { overhead: None, mpu: 0, cells: Cells::None };

    /// That of a scheme.
    pub(in crate::queue) fn of(scheme: &str) -> Framing {
        let with = |overhead, mpu, cells| Framing { overhead: Some(overhead), mpu, cells };
        match scheme {
            "conservative" => with(48, 0, Cells::Atm),
            "ipoa-vcmux" => with(8, 0, Cells::Atm),
            "ipoa-llcsnap" => with(16, 0, Cells::Atm),
            "bridged-vcmux" => with(24, 0, Cells::Atm),
            "bridged-llcsnap" => with(32, 0, Cells::Atm),
            "pppoa-vcmux" => with(10, 0, Cells::Atm),
            "pppoa-llc" => with(14, 0, Cells::Atm),
            "pppoe-vcmux" => with(32, 0, Cells::Atm),
            "pppoe-llcsnap" => with(40, 0, Cells::Atm),
            "bridged-ptm" => with(22, 0, Cells::Ptm),
            "pppoe-ptm" => with(30, 0, Cells::Ptm),
            "docsis" => with(18, 64, Cells::None),
            "ethernet" => with(38, 84, Cells::None),
            "ether-vlan" => with(42, 84, Cells::None),
            _ => Framing::NONE,
        }
    }

    /// The bytes that a packet of `len` (IP length + 14) takes.
    pub(super) fn len(self, len: u32) -> u32 {
        let len = match self.overhead {
            Some(overhead) => len.saturating_sub(14).saturating_add_signed(overhead.into()),
            None => len,
        };
        let len = len.max(self.mpu.into());
        match self.cells {
            Cells::None => len,
            Cells::Atm => len.div_ceil(48) * 53,
            Cells::Ptm => len + len.div_ceil(64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lengths by the formulas of tc-cake(8), of packets of 40 and 1,500 bytes.
    #[test]
    fn packets_take_what_the_line_puts_around_them() {
        for (scheme, short, long) in [
            ("none", 54, 1514),
            ("raw", 54, 1514),
            ("conservative", 2 * 53, 33 * 53),
            ("ipoa-vcmux", 53, 32 * 53),
            ("pppoe-llcsnap", 2 * 53, 33 * 53),
            ("pppoe-ptm", 70 + 2, 1530 + 24),
            ("docsis", 64, 1518),
            ("ethernet", 84, 1538),
            ("ether-vlan", 84, 1542),
        ] {
            let framing = Framing::of(scheme);
            assert_eq!((framing.len(54), framing.len(1514)), (short, long), "{scheme}");
        }
        let less = Framing { overhead: Some(-20), ..Framing::NONE };
        assert_eq!((less.len(54), less.len(20)), (20, 0));
    }
}
