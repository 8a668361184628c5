//! A set of IPv6 addresses, of prefixes.
//!
//! ```text
//!  prefixes      2001:db8::/32,  2001:db8:5::/48,  2001:db9::/32
//!  ranges        2001:db8:: … 2001:db9:ffff:…:ffff
//! ```
//!
//! Ranges are apart and in order; an address is found among their first ones by halving.
//!
//! Never changes: a change of the list makes another one.

use wire::Ipv6Prefix;

/// Addresses of any number of prefixes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AddressSet6 {
    /// First and last addresses, in order and apart.
    ranges: Vec<(u128, u128)>,
}

impl AddressSet6 {
    /// Whether an address is in it.
    #[inline]
    pub fn contains(&self, address: u128) -> bool {
        let at = self.ranges.partition_point(|&(first, _)| first <= address);
        at.checked_sub(1).is_some_and(|at| address <= self.ranges[at].1)
    }
}

impl FromIterator<Ipv6Prefix> for AddressSet6 {
    fn from_iter<I: IntoIterator<Item = Ipv6Prefix>>(prefixes: I) -> AddressSet6 {
        let mut all: Vec<_> =
            prefixes.into_iter().map(|prefix| (prefix.bits(), prefix.last())).collect();
        all.sort_unstable();
        let mut ranges: Vec<(u128, u128)> = Vec::new();
        for (first, last) in all {
            match ranges.last_mut() {
                // Inside the one before, or right behind it.
                Some(before) if first <= before.1.saturating_add(1) => {
                    before.1 = before.1.max(last)
                }
                _ => ranges.push((first, last)),
            }
        }
        AddressSet6 { ranges }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn holds_what_a_prefix_holds(
            prefixes in proptest::collection::vec((any::<u16>(), 0..=128_u8), 0..40),
            near in any::<u16>(),
        ) {
            // Few bits differ, so that prefixes lie in each other.
            let spread = |bits: u16| u128::from(bits & 0xf000) << 112 | u128::from(bits & 0xfff);
            let prefixes: Vec<_> =
                prefixes.into_iter().map(|(bits, len)| Ipv6Prefix::new(spread(bits), len)).collect();
            let set: AddressSet6 = prefixes.iter().copied().collect();
            let ends = prefixes.iter().flat_map(|prefix| [prefix.bits(), prefix.last()]);
            let around = ends.flat_map(|at| [at.wrapping_sub(1), at, at.wrapping_add(1)]);
            for address in around.chain([spread(near), 0, u128::MAX]) {
                let holds = prefixes.iter().any(|prefix| prefix.contains(address));
                prop_assert_eq!(set.contains(address), holds, "{:x} of {:?}", address, prefixes);
            }
        }
    }
}
