//! Ledger of the slab's slots that one queue has lent to the kernel.
//!
//! ```text
//!  lend(slot, parts) ─► address for a ring      … kernel …      returned(address) ─► slot, when
//!                                                               all its parts are back
//! ```
//!
//! A byte a slot: how many descriptors of it the kernel has. The ledger is why a slot can be trusted
//! when it comes back: an address that was not lent gives none.

/// The slots one queue has lent.
pub(super) struct Ledger {
    lent: Box<[u8]>,
    stride: u64,
    /// 2⁶⁴ / stride, rounded up: a multiplication instead of a division for each frame. Exact for
    /// addresses below 2⁴⁸ (see the test), since the error is below stride < 2¹⁶ in each.
    reciprocal: u64,
}

impl Ledger {
    pub(super) fn new(slots: usize, stride: usize) -> Ledger {
        let stride = stride as u64;
        Ledger {
            lent: vec![0; slots].into(),
            stride,
            reciprocal: (u64::MAX / stride).wrapping_add(1),
        }
    }

    /// Notes that the kernel gets a slot, in so many descriptors, and returns where it begins.
    #[inline]
    pub(super) fn lend(&mut self, slot: u32, parts: u8) -> u64 {
        self.lent[slot as usize] = parts;
        u64::from(slot) * self.stride
    }

    /// The kernel has given back one descriptor: the slot it was in, if that was the last of its.
    #[inline]
    pub(super) fn returned(&mut self, addr: u64) -> Option<u32> {
        let slot = self.slot(addr);
        let lent = self.lent.get_mut(slot as usize)?;
        *lent = lent.checked_sub(1)?;
        (*lent == 0).then_some(slot as u32)
    }

    /// Where in its slot an address is.
    #[inline]
    pub(super) fn offset(&self, addr: u64, slot: u32) -> usize {
        (flat(addr) - u64::from(slot) * self.stride) as usize
    }

    #[inline]
    fn slot(&self, addr: u64) -> u64 {
        ((u128::from(flat(addr)) * u128::from(self.reciprocal)) >> 64) as u64
    }

    /// Takes back all that is lent.
    pub(super) fn take_all(&mut self, mut each: impl FnMut(u32)) {
        for (slot, lent) in self.lent.iter_mut().enumerate().filter(|(_, lent)| **lent != 0) {
            *lent = 0;
            each(slot as u32);
        }
    }
}

/// In unaligned mode the upper 16 bits are an offset (`XSK_UNALIGNED_BUF_OFFSET_SHIFT`).
#[inline]
fn flat(addr: u64) -> u64 {
    (addr & ((1 << 48) - 1)) + (addr >> 48)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_slot_is_back_with_its_last_part_and_only_once() {
        let mut ledger = Ledger::new(10, 10_112);
        let base = ledger.lend(3, 3);
        assert_eq!(base, 30_336);
        assert_eq!(ledger.returned(base + 256), None);
        assert_eq!(ledger.returned(base + 256 + 4096), None);
        assert_eq!(ledger.returned(base | 8448 << 48), Some(3));
        assert_eq!(ledger.returned(base), None, "not lent any more");
        assert_eq!(ledger.returned(10 * 10_112), None, "no such slot");
        assert_eq!(ledger.returned(u64::MAX), None);
        ledger.lend(9, 2);
        ledger.lend(0, 1);
        let mut back = vec![];
        ledger.take_all(|slot| back.push(slot));
        ledger.take_all(|slot| back.push(slot));
        assert_eq!(back, [0, 9]);
    }

    proptest! {
        #[test]
        fn an_address_is_in_the_slot_that_division_says(
            slot in 0u64..1 << 24, lines in 16u64..512, within in 0u64..65_536,
        ) {
            let stride = lines * 128;
            let within = within % stride;
            let ledger = Ledger::new(1, stride as usize);
            let addr = slot * stride;
            for addr in [addr + within, addr | within << 48] {
                prop_assert_eq!(ledger.slot(addr), slot);
                prop_assert_eq!(ledger.offset(addr, slot as u32) as u64, within);
            }
        }
    }
}
