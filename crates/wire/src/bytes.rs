//! Big-endian fields at fixed places in a header.
//!
//! The views call these behind the one length check in their `new`, so an index out of range
//! is a fault of this crate, not of a packet.

#[inline]
pub(crate) fn be16(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

#[inline]
pub(crate) fn be32(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

#[inline]
pub(crate) fn mac(bytes: &[u8], at: usize) -> crate::MacAddr {
    let b = &bytes[at..at + 6];
    crate::MacAddr([b[0], b[1], b[2], b[3], b[4], b[5]])
}

#[inline]
pub(crate) fn put<const N: usize>(bytes: &mut [u8], at: usize, value: [u8; N]) {
    bytes[at..at + N].copy_from_slice(&value);
}
