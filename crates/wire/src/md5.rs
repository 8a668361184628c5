//! MD5 (RFC 1321), for the protocols that ask for it: CHAP, RADIUS, VRRP.
//!
//! Never for anything that must be secret: it is broken, and what it protects is as well.

/// The digest of these bytes.
///
/// ```
/// assert_eq!(wire::md5::digest(b"abc")[..4], [0x90, 0x01, 0x50, 0x98]);
/// ```
pub fn digest(bytes: &[u8]) -> [u8; 16] {
    let mut state = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476];
    let mut padded = bytes.to_vec();
    padded.push(0x80);
    padded.resize((bytes.len() + 8) / 64 * 64 + 56, 0);
    padded.extend((bytes.len() as u64 * 8).to_le_bytes());
    for block in padded.chunks_exact(64) {
        add(&mut state, block);
    }
    let mut digest = [0; 16];
    for (to, word) in digest.chunks_exact_mut(4).zip(state) {
        to.copy_from_slice(&word.to_le_bytes());
    }
    digest
}

/// HMAC with it (RFC 2104).
pub fn hmac(key: &[u8], bytes: &[u8]) -> [u8; 16] {
    let mut block = [0; 64];
    match key.len() > 64 {
        true => block[..16].copy_from_slice(&digest(key)),
        false => block[..key.len()].copy_from_slice(key),
    }
    let with = |pad: u8| block.map(|byte| byte ^ pad);
    let inner = digest(&[&with(0x36)[..], bytes].concat());
    digest(&[&with(0x5c)[..], &inner].concat())
}

/// How far each step turns, by round.
const TURNS: [[u32; 4]; 4] = [[7, 12, 17, 22], [5, 9, 14, 20], [4, 11, 16, 23], [6, 10, 15, 21]];

/// One block of 64 bytes (§3.4).
fn add(state: &mut [u32; 4], block: &[u8]) {
    let word = |at: usize| {
        let bytes = block[4 * at..].first_chunk().expect("four bytes of a block");
        u32::from_le_bytes(*bytes)
    };
    let [mut a, mut b, mut c, mut d] = *state;
    for step in 0..64 {
        let (mix, at) = match step / 16 {
            0 => (b & c | !b & d, step),
            1 => (d & b | !d & c, 5 * step + 1),
            2 => (b ^ c ^ d, 3 * step + 5),
            _ => (c ^ (b | !d), 7 * step),
        };
        let sine = (((step + 1) as f64).sin().abs() * 4_294_967_296.0) as u32;
        let sum = a.wrapping_add(mix).wrapping_add(sine).wrapping_add(word(at % 16));
        let turned = b.wrapping_add(sum.rotate_left(TURNS[step / 16][step % 4]));
        (a, d, c, b) = (d, c, b, turned);
    }
    for (sum, word) in state.iter_mut().zip([a, b, c, d]) {
        *sum = sum.wrapping_add(word);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 1321 §A.5.
    #[test]
    fn the_rfcs_vectors() {
        let letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
        let digits = "1234567890".repeat(8);
        for (text, hex) in [
            ("", "d41d8cd98f00b204e9800998ecf8427e"),
            ("a", "0cc175b9c0f1b6a831c399e269772661"),
            ("abc", "900150983cd24fb0d6963f7d28e17f72"),
            ("message digest", "f96b697d7cb7938d525a2f31aaf161d0"),
            (letters, "d174ab98d277d9f5a5611c2c9f419d9f"),
            (&digits, "57edf4a22be3c955ac49da2e2107b67a"),
        ] {
            let digest: String =
                digest(text.as_bytes()).iter().map(|b| format!("{b:02x}")).collect();
            assert_eq!(digest, hex, "{text}");
        }
    }
}
