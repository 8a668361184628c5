//! Microsoft's CHAP, versions 1 and 2 (RFC 2433, RFC 2759), and the keys it leaves for MPPE (RFC 3079).
//!
//! ```text
//! password ─► NT hash ─► three DES keys ─► the challenge encrypted: 24 bytes
//!                 └► its hash ─┬► version 2: proof that the server knows it, too
//!                              └► start keys of MPPE, one for each direction
//! ```
//!
//! Never compares passwords: who checks an answer makes it, too. What it protects is as well: MD4 and DES
//! are broken. Missing: the **LAN Manager** answer of version 1, which gives the password away, and MPPE
//! of 40 bits behind version 1, whose key is made of it; **changing the password**.

use des::Des;
use des::cipher::{BlockCipherEncrypt, KeyInit};
use md4::{Digest, Md4};
use sha1::Sha1;

/// An answer's length: both versions have one.
pub(crate) const ANSWER: usize = 49;

/// The start keys of MPPE: of what this end sends, and of what it receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Keys {
    pub(crate) send: [u8; 16],
    pub(crate) receive: [u8; 16],
    /// Whether 40 and 56 bits can be made of them.
    pub(crate) has_short: bool,
}

/// MD4 of the password in UTF-16 (RFC 2759 §8.3).
pub(crate) fn nt_hash(password: &str) -> [u8; 16] {
    let bytes: Vec<u8> = password.encode_utf16().flat_map(u16::to_le_bytes).collect();
    Md4::digest(bytes).into()
}

fn hash_of_hash(hash: &[u8; 16]) -> [u8; 16] {
    Md4::digest(hash).into()
}

/// A hash cut in three keys, and the challenge encrypted with each (RFC 2759 §8.5).
pub(crate) fn response(challenge: &[u8; 8], hash: &[u8; 16]) -> [u8; 24] {
    let mut padded = [0; 21];
    padded[..16].copy_from_slice(hash);
    let mut out = [0; 24];
    for (key, to) in padded.chunks_exact(7).zip(out.chunks_exact_mut(8)) {
        let mut block = (*challenge).into();
        Des::new(&with_parity(key).into()).encrypt_block(&mut block);
        to.copy_from_slice(&block);
    }
    out
}

/// 56 bits with room for a parity bit behind each seven, which DES does not read.
fn with_parity(key: &[u8]) -> [u8; 8] {
    let bits = key.iter().fold(0_u64, |bits, &byte| bits << 8 | u64::from(byte));
    std::array::from_fn(|n| ((bits >> (49 - 7 * n)) as u8) << 1)
}

/// What version 2 encrypts: both challenges and the name, without its domain (RFC 2759 §8.2).
pub(crate) fn challenge_hash(peer: &[u8; 16], authenticator: &[u8; 16], user: &str) -> [u8; 8] {
    let user = user.rsplit_once('\\').map_or(user, |(_, user)| user);
    let digest: [u8; 20] = Sha1::new()
        .chain_update(peer)
        .chain_update(authenticator)
        .chain_update(user)
        .finalize()
        .into();
    std::array::from_fn(|n| digest[n])
}

/// What the server proves itself with: `S=` and 40 digits (RFC 2759 §8.7).
pub(crate) fn server_proof(hash: &[u8; 16], nt_response: &[u8], challenge: &[u8; 8]) -> String {
    const MAGIC: [&[u8]; 2] =
        [b"Magic server to client signing constant", b"Pad to make it do more than one iteration"];
    let sha = Sha1::new().chain_update(hash_of_hash(hash)).chain_update(nt_response);
    let digest = sha.chain_update(MAGIC[0]).finalize();
    let sha = Sha1::new().chain_update(digest).chain_update(challenge);
    let digest: [u8; 20] = sha.chain_update(MAGIC[1]).finalize().into();
    let hex: String = digest.iter().map(|byte| format!("{byte:02X}")).collect();
    format!("S={hex}")
}

const PAD1: [u8; 40] = [0; 40];
const PAD2: [u8; 40] = [0xf2; 40];

/// The keys behind version 2 (RFC 3079 §3); `is_server` is whose they are.
pub(crate) fn keys(hash: &[u8; 16], nt_response: &[u8], is_server: bool) -> Keys {
    let sha = Sha1::new().chain_update(hash_of_hash(hash)).chain_update(nt_response);
    let master = sha.chain_update(b"This is the MPPE Master Key").finalize();
    let start = |magic: &[u8]| -> [u8; 16] {
        let sha = Sha1::new().chain_update(&master[..16]).chain_update(PAD1);
        let digest = sha.chain_update(magic).chain_update(PAD2).finalize();
        std::array::from_fn(|n| digest[n])
    };
    let server = start(
        b"On the client side, this is the receive key; on the server side, it is the send key.",
    );
    let client = start(
        b"On the client side, this is the send key; on the server side, it is the receive key.",
    );
    let (send, receive) = if is_server { (server, client) } else { (client, server) };
    Keys { send, receive, has_short: true }
}

/// The key behind version 1, one for both directions (RFC 3079 §2.3).
pub(crate) fn keys_v1(hash: &[u8; 16], challenge: &[u8; 8]) -> Keys {
    keys_v1_of(&hash_of_hash(hash), challenge)
}

/// The same of the hash's own hash, which is what RADIUS tells.
pub(crate) fn keys_v1_of(twice: &[u8; 16], challenge: &[u8; 8]) -> Keys {
    let digest =
        Sha1::new().chain_update(twice).chain_update(twice).chain_update(challenge).finalize();
    let key = std::array::from_fn(|n| digest[n]);
    Keys { send: key, receive: key, has_short: false }
}

/// The next key of a session (RFC 3079 §7.3, `GetNewKeyFromSHA`); of it as many bytes count as the start
/// key has.
pub(crate) fn next_key(start: &[u8], session: &[u8]) -> [u8; 16] {
    let sha = Sha1::new().chain_update(start).chain_update(PAD1).chain_update(session);
    let digest = sha.chain_update(PAD2).finalize();
    std::array::from_fn(|n| digest[n])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(text: &str) -> Vec<u8> {
        let digits: Vec<char> = text.chars().filter(|c| !c.is_whitespace()).collect();
        let byte = |pair: &[char]| u8::from_str_radix(&pair.iter().collect::<String>(), 16);
        digits.chunks(2).map(|pair| byte(pair).unwrap()).collect()
    }

    fn array<const N: usize>(text: &str) -> [u8; N] {
        hex(text).try_into().unwrap()
    }

    /// RFC 2759 §9.2 and RFC 3079 §3.5.3.
    #[test]
    fn the_rfcs_examples() {
        let hash = nt_hash("clientPass");
        assert_eq!(hash[..], hex("44EBBA8D5312B8D611474411F56989AE"));
        let authenticator = array("5B5D7C7D7B3F2F3E3C2C602132262628");
        let peer = array("21402324255E262A28295F2B3A337C7E");
        let challenge = challenge_hash(&peer, &authenticator, "User");
        assert_eq!(challenge[..], hex("D02E4386BCE91226"));
        assert_eq!(challenge_hash(&peer, &authenticator, "HOME\\User"), challenge);
        let answer = response(&challenge, &hash);
        assert_eq!(answer[..], hex("82309ECD8D708B5EA08FAA3981CD83544233114A3D85D6DF"));
        let proof = server_proof(&hash, &answer, &challenge);
        assert_eq!(proof, "S=407A5589115FD0D6209F510FE9C04566932CDA56");
        let keys = keys(&hash, &answer, true);
        assert_eq!(keys.send[..], hex("8B7CDC149B993A1BA118CB153F56DCCB"));
        let session = next_key(&keys.send, &keys.send);
        assert_eq!(session[..], hex("405CB2247A7956E6E211007AE27B22D4"));
        let short = next_key(&keys.send[..8], &keys.send[..8]);
        assert_eq!(
            short[3..8],
            hex("C49FA62E3E")[..],
            "40 bits: the first three bytes are replaced"
        );
    }

    /// RFC 2433's example, and RFC 3079 §2.5.3: 128 bits.
    #[test]
    fn version_1() {
        let hash = nt_hash("clientPass");
        let challenge = array("102DB5DF085D3041");
        assert_eq!(
            response(&challenge, &nt_hash("MyPw"))[..],
            hex("4E9D3C8F9CFD385D5BF4D3246791956CA4C351AB409A3D61")
        );
        let keys = keys_v1(&hash, &challenge);
        assert_eq!(keys.send[..], hex("A8947850CFC0ACC1D1789FB62DDCDDB0"));
        assert_eq!(
            next_key(&keys.send, &keys.send)[..],
            hex("59D159BC09F76F1DA2A86A28FFEC0B1E")[..]
        );
    }
}
