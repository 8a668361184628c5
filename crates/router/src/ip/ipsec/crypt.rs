//! Cryptography of IPsec: what proposals name, and what is done with their keys.
//!
//! ```text
//!  ESP   │ SPI, sequence │ IV │ packet, padding, … │ ICV │
//!  IKE   │ header … SK   │ IV │ payloads, padding  │ ICV │
//!          authenticated        encrypted
//! ```
//!
//! The algorithms are RustCrypto's: AES by the processor's instructions where it has them.

use aes::cipher::{
    Block, BlockCipherDecrypt, BlockCipherEncrypt, BlockModeDecrypt, BlockModeEncrypt, InnerIvInit,
    KeyInit,
};
use aes::{Aes128, Aes192, Aes256};
use aes_gcm::aead::AeadInOut;
use aes_gcm::{AesGcm, aead::consts::U12};
use crypto_bigint::modular::{BoxedMontyForm, BoxedMontyParams};
use crypto_bigint::{BoxedUint, Odd, Resize};
use des::TdesEde3;
use hmac::{Hmac, Mac};
use p256::elliptic_curve::sec1::{FromSec1Point, ToSec1Point};
use sha1::{Digest, Sha1};
use sha2::{Sha256, Sha384, Sha512};
use std::fmt;
use std::ops::Range;
use x25519_dalek::{PublicKey, StaticSecret};

/// How packets are encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Encryption {
    /// Not at all.
    Null,
    /// AES in CBC, by its key's bits.
    Cbc(u16),
    /// 3DES in CBC.
    TripleDes,
    /// AES in GCM with an ICV of 16 bytes, which proves packets, too.
    Gcm(u16),
}

/// How packets are proven.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Integrity {
    /// By their encryption, or not at all.
    None,
    /// HMAC-SHA1-96.
    Sha1,
    /// HMAC-SHA2-256-128.
    Sha256,
    /// HMAC-SHA2-512-256.
    Sha512,
}

/// By what keys are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Prf {
    /// HMAC-SHA1.
    Sha1,
    /// HMAC-SHA2-256.
    Sha256,
    /// HMAC-SHA2-384.
    Sha384,
    /// HMAC-SHA2-512.
    Sha512,
}

/// How a secret is agreed upon, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Group(pub(crate) u16);

impl Encryption {
    /// Its number, and its key's bits if they are said.
    pub(crate) fn transform(self) -> (u16, u16) {
        match self {
            Encryption::Null => (11, 0),
            Encryption::Cbc(bits) => (12, bits),
            Encryption::TripleDes => (3, 0),
            Encryption::Gcm(bits) => (20, bits),
        }
    }

    /// Whether it proves packets, too.
    pub(crate) fn is_aead(self) -> bool {
        matches!(self, Encryption::Gcm(_))
    }

    /// The key's bytes; of GCM with four of salt.
    pub(crate) fn key_len(self) -> usize {
        match self {
            Encryption::Null => 0,
            Encryption::Cbc(bits) => usize::from(bits / 8),
            Encryption::TripleDes => 24,
            Encryption::Gcm(bits) => usize::from(bits / 8) + SALT,
        }
    }

    fn iv_len(self) -> usize {
        match self {
            Encryption::Null => 0,
            Encryption::Cbc(_) => 16,
            Encryption::TripleDes | Encryption::Gcm(_) => 8,
        }
    }

    fn block(self) -> usize {
        match self {
            Encryption::Cbc(_) => 16,
            Encryption::TripleDes => 8,
            Encryption::Null | Encryption::Gcm(_) => 4,
        }
    }
}

const SALT: usize = 4;

impl Integrity {
    /// Its number.
    pub(crate) fn transform(self) -> u16 {
        match self {
            Integrity::None => 0,
            Integrity::Sha1 => 2,
            Integrity::Sha256 => 12,
            Integrity::Sha512 => 14,
        }
    }

    /// The key's bytes.
    pub(crate) fn key_len(self) -> usize {
        match self {
            Integrity::None => 0,
            Integrity::Sha1 => 20,
            Integrity::Sha256 => 32,
            Integrity::Sha512 => 64,
        }
    }

    fn icv_len(self) -> usize {
        match self {
            Integrity::None => 0,
            Integrity::Sha1 => 12,
            Integrity::Sha256 => 16,
            Integrity::Sha512 => 32,
        }
    }
}

impl Prf {
    /// Its number.
    pub(crate) fn transform(self) -> u16 {
        match self {
            Prf::Sha1 => 2,
            Prf::Sha256 => 5,
            Prf::Sha384 => 6,
            Prf::Sha512 => 7,
        }
    }

    /// The bytes of what it makes, and of the keys it likes.
    pub(crate) fn len(self) -> usize {
        match self {
            Prf::Sha1 => 20,
            Prf::Sha256 => 32,
            Prf::Sha384 => 48,
            Prf::Sha512 => 64,
        }
    }

    /// The function itself.
    pub(crate) fn of(self, key: &[u8], parts: &[&[u8]]) -> Vec<u8> {
        fn with<M: Mac + KeyInit>(key: &[u8], parts: &[&[u8]]) -> Vec<u8> {
            let mut mac =
                <M as KeyInit>::new_from_slice(key).expect("HMAC takes keys of any length");
            parts.iter().for_each(|part| mac.update(part));
            mac.finalize().into_bytes().to_vec()
        }
        match self {
            Prf::Sha1 => with::<Hmac<Sha1>>(key, parts),
            Prf::Sha256 => with::<Hmac<Sha256>>(key, parts),
            Prf::Sha384 => with::<Hmac<Sha384>>(key, parts),
            Prf::Sha512 => with::<Hmac<Sha512>>(key, parts),
        }
    }

    /// The hash that it is made of.
    pub(crate) fn digest(self, parts: &[&[u8]]) -> Vec<u8> {
        fn with<D: Digest>(parts: &[&[u8]]) -> Vec<u8> {
            let mut digest = D::new();
            parts.iter().for_each(|part| digest.update(part));
            digest.finalize().to_vec()
        }
        match self {
            Prf::Sha1 => with::<Sha1>(parts),
            Prf::Sha256 => with::<Sha256>(parts),
            Prf::Sha384 => with::<Sha384>(parts),
            Prf::Sha512 => with::<Sha512>(parts),
        }
    }

    /// `prf+` (RFC 7296 §2.13): as many bytes as these keys have, in their order.
    pub(crate) fn keys<const N: usize>(
        self,
        key: &[u8],
        seed: &[&[u8]],
        lens: [usize; N],
    ) -> [Vec<u8>; N] {
        let (all, mut made, mut last) = (lens.iter().sum::<usize>(), Vec::new(), Vec::new());
        for n in 1..=u8::MAX {
            if made.len() >= all {
                break;
            }
            last = self.of(key, &[&[&last[..]], seed, &[&[n]]].concat());
            made.extend(&last);
        }
        let mut at = 0;
        lens.map(|len| {
            at += len;
            made[at - len..at].to_vec()
        })
    }
}

/// What is done to a message of IKEv1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    Encrypt,
    Decrypt,
}

/// A way to encrypt and prove that both ends know the keys of.
#[derive(Clone)]
pub(crate) struct Sealer {
    cipher: Cipher,
    mac: Keyed,
    encryption: Encryption,
    integrity: Integrity,
}

#[derive(Clone)]
enum Cipher {
    Null,
    TripleDes(TdesEde3),
    Cbc128(Aes128),
    Cbc192(Aes192),
    Cbc256(Aes256),
    Gcm128(Box<Gcm<Aes128>>, [u8; SALT]),
    Gcm192(Box<Gcm<Aes192>>, [u8; SALT]),
    Gcm256(Box<Gcm<Aes256>>, [u8; SALT]),
}

type Gcm<C> = AesGcm<C, U12>;

#[derive(Clone)]
enum Keyed {
    None,
    Sha1(Hmac<Sha1>),
    Sha256(Hmac<Sha256>),
    Sha512(Hmac<Sha512>),
}

impl fmt::Debug for Sealer {
    /// Keys are nobody's business.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} {:?}", self.encryption, self.integrity)
    }
}

impl Sealer {
    /// With these keys, which have the lengths that the algorithms say.
    ///
    /// # Panics
    /// If they have not.
    pub(crate) fn new(
        encryption: Encryption,
        key: &[u8],
        integrity: Integrity,
        proof: &[u8],
    ) -> Sealer {
        fn with<C: KeyInit>(key: &[u8]) -> C {
            C::new_from_slice(key).expect("a key of the algorithm's length")
        }
        let salted = || key.split_last_chunk().expect("a key with its salt");
        let cipher = match encryption {
            Encryption::Null => Cipher::Null,
            Encryption::TripleDes => Cipher::TripleDes(with(key)),
            Encryption::Cbc(128) => Cipher::Cbc128(with(key)),
            Encryption::Cbc(192) => Cipher::Cbc192(with(key)),
            Encryption::Cbc(_) => Cipher::Cbc256(with(key)),
            Encryption::Gcm(128) => Cipher::Gcm128(Box::new(with(salted().0)), *salted().1),
            Encryption::Gcm(192) => Cipher::Gcm192(Box::new(with(salted().0)), *salted().1),
            Encryption::Gcm(_) => Cipher::Gcm256(Box::new(with(salted().0)), *salted().1),
        };
        let mac = match integrity {
            Integrity::None => Keyed::None,
            Integrity::Sha1 => Keyed::Sha1(with(proof)),
            Integrity::Sha256 => Keyed::Sha256(with(proof)),
            Integrity::Sha512 => Keyed::Sha512(with(proof)),
        };
        Sealer { cipher, mac, encryption, integrity }
    }

    /// The IV's bytes.
    pub(crate) fn iv_len(&self) -> usize {
        self.encryption.iv_len()
    }

    /// Bytes of which what is encrypted is a multiple.
    pub(crate) fn block(&self) -> usize {
        self.encryption.block()
    }

    /// The ICV's bytes.
    pub(crate) fn icv_len(&self) -> usize {
        if self.encryption.is_aead() { 16 } else { self.integrity.icv_len() }
    }

    /// Encrypts and proves `bytes` where they are: what stands in front of `iv_at` is proven, there the IV is written,
    /// and at the end the ICV. `n` is another number each time.
    pub(crate) fn seal(&self, bytes: &mut [u8], iv_at: usize, n: u64) {
        let (head, rest) = bytes.split_at_mut(iv_at);
        let (iv, rest) = rest.split_at_mut(self.iv_len());
        let (text, icv) = rest.split_at_mut(rest.len() - self.icv_len());
        match &self.cipher {
            Cipher::Null => {}
            Cipher::TripleDes(des) => seal_cbc(des, iv, text, n),
            Cipher::Cbc128(aes) => seal_cbc(aes, iv, text, n),
            Cipher::Cbc192(aes) => seal_cbc(aes, iv, text, n),
            Cipher::Cbc256(aes) => seal_cbc(aes, iv, text, n),
            Cipher::Gcm128(gcm, salt) => return seal_gcm(&**gcm, *salt, (head, iv, text, icv), n),
            Cipher::Gcm192(gcm, salt) => return seal_gcm(&**gcm, *salt, (head, iv, text, icv), n),
            Cipher::Gcm256(gcm, salt) => return seal_gcm(&**gcm, *salt, (head, iv, text, icv), n),
        }
        let end = bytes.len() - self.icv_len();
        let (proven, icv) = bytes.split_at_mut(end);
        self.prove(proven, icv);
    }

    /// Decrypts what [`seal`](Self::seal) has made, where it is, and says where it stands; `None` if it is not proven.
    pub(crate) fn open(&self, bytes: &mut [u8], iv_at: usize) -> Option<Range<usize>> {
        let from = iv_at + self.iv_len();
        let to = bytes.len().checked_sub(self.icv_len()).filter(|to| *to >= from)?;
        let is_whole = (to - from).is_multiple_of(self.block().max(1)) || self.encryption.is_aead();
        if !is_whole {
            return None;
        }
        if !self.encryption.is_aead() {
            let mut icv = [0; 64];
            let icv = &mut icv[..self.icv_len()];
            self.prove(&bytes[..to], icv);
            // In a time that does not tell where they differ.
            let differs =
                icv.iter().zip(&bytes[to..]).fold(0, |all, (one, other)| all | (one ^ other));
            if differs != 0 {
                return None;
            }
        }
        let (head, rest) = bytes.split_at_mut(iv_at);
        let (iv, rest) = rest.split_at_mut(self.iv_len());
        let (text, icv) = rest.split_at_mut(to - from);
        match &self.cipher {
            Cipher::Null => {}
            Cipher::TripleDes(des) => open_cbc(des, iv, text),
            Cipher::Cbc128(aes) => open_cbc(aes, iv, text),
            Cipher::Cbc192(aes) => open_cbc(aes, iv, text),
            Cipher::Cbc256(aes) => open_cbc(aes, iv, text),
            Cipher::Gcm128(gcm, salt) => open_gcm(&**gcm, *salt, (head, iv, text, icv))?,
            Cipher::Gcm192(gcm, salt) => open_gcm(&**gcm, *salt, (head, iv, text, icv))?,
            Cipher::Gcm256(gcm, salt) => open_gcm(&**gcm, *salt, (head, iv, text, icv))?,
        }
        Some(from..to)
    }

    /// Encrypts or decrypts whole blocks in CBC, with this IV in front of them; proves nothing. (IKEv1's messages.)
    pub(crate) fn cbc(&self, iv: &[u8], text: &mut [u8], way: Way) {
        fn with<C: BlockCipherEncrypt + BlockCipherDecrypt>(
            cipher: &C,
            iv: &[u8],
            text: &mut [u8],
            way: Way,
        ) {
            match way {
                Way::Encrypt => {
                    let (blocks, _) = Block::<C>::slice_as_chunks_mut(text);
                    let iv = Block::<C>::try_from(iv).expect("an IV is a block");
                    cbc::Encryptor::inner_iv_init(cipher, &iv).encrypt_blocks(blocks);
                }
                Way::Decrypt => open_cbc(cipher, iv, text),
            }
        }
        match &self.cipher {
            Cipher::TripleDes(des) => with(des, iv, text, way),
            Cipher::Cbc128(aes) => with(aes, iv, text, way),
            Cipher::Cbc192(aes) => with(aes, iv, text, way),
            Cipher::Cbc256(aes) => with(aes, iv, text, way),
            Cipher::Null | Cipher::Gcm128(..) | Cipher::Gcm192(..) | Cipher::Gcm256(..) => {}
        }
    }

    fn prove(&self, bytes: &[u8], icv: &mut [u8]) {
        fn with<M: Mac + Clone>(mac: &M, bytes: &[u8], icv: &mut [u8]) {
            let mut mac = mac.clone();
            mac.update(bytes);
            icv.copy_from_slice(&mac.finalize().into_bytes()[..icv.len()]);
        }
        match &self.mac {
            Keyed::None => {}
            Keyed::Sha1(mac) => with(mac, bytes, icv),
            Keyed::Sha256(mac) => with(mac, bytes, icv),
            Keyed::Sha512(mac) => with(mac, bytes, icv),
        }
    }
}

/// Nobody foresees the IV: it is the number, encrypted (NIST SP 800-38A, appendix C).
fn seal_cbc<C: BlockCipherEncrypt>(cipher: &C, iv: &mut [u8], text: &mut [u8], n: u64) {
    let mut block = Block::<C>::default();
    let at = block.len() - 8;
    block[at..].copy_from_slice(&n.to_be_bytes());
    cipher.encrypt_block(&mut block);
    iv.copy_from_slice(&block);
    let (blocks, _) = Block::<C>::slice_as_chunks_mut(text);
    cbc::Encryptor::inner_iv_init(cipher, &block).encrypt_blocks(blocks);
}

fn open_cbc<C: BlockCipherDecrypt>(cipher: &C, iv: &[u8], text: &mut [u8]) {
    let (blocks, _) = Block::<C>::slice_as_chunks_mut(text);
    let iv = Block::<C>::try_from(iv).expect("an IV is a block");
    cbc::Decryptor::inner_iv_init(cipher, &iv).decrypt_blocks(blocks);
}

type Parts<'a> = (&'a [u8], &'a mut [u8], &'a mut [u8], &'a mut [u8]);

fn seal_gcm<G>(gcm: &G, salt: [u8; SALT], (head, iv, text, icv): Parts<'_>, n: u64)
where
    G: AeadInOut<NonceSize = U12, TagSize = aes::cipher::consts::U16>,
{
    iv.copy_from_slice(&n.to_be_bytes());
    let tag = gcm.encrypt_inout_detached(&nonce(salt, iv).into(), head, text.into());
    icv.copy_from_slice(&tag.expect("a packet is short enough"));
}

fn open_gcm<G>(gcm: &G, salt: [u8; SALT], (head, iv, text, icv): Parts<'_>) -> Option<()>
where
    G: AeadInOut<NonceSize = U12, TagSize = aes::cipher::consts::U16>,
{
    let tag = (&*icv).try_into().ok()?;
    gcm.decrypt_inout_detached(&nonce(salt, iv).into(), head, text.into(), tag).ok()
}

fn nonce(salt: [u8; SALT], iv: &[u8]) -> [u8; 12] {
    let mut nonce = [0; 12];
    nonce[..SALT].copy_from_slice(&salt);
    nonce[SALT..].copy_from_slice(iv);
    nonce
}

impl Group {
    const ECP256: Group = Group(19);
    const X25519: Group = Group(31);

    /// Whether it is built.
    pub(crate) fn is_there(self) -> bool {
        matches!(self.0, 2 | 5 | 14 | 15 | 16) || [Group::ECP256, Group::X25519].contains(&self)
    }

    /// The bytes that a secret is made of.
    pub(crate) const SECRET: usize = 32;

    /// What the other end is to be told of a secret, which is random; `None` of a group that there is not.
    pub(crate) fn public(self, secret: &[u8; Group::SECRET]) -> Option<Vec<u8>> {
        match self {
            Group::X25519 => {
                Some(PublicKey::from(&StaticSecret::from(*secret)).to_bytes().to_vec())
            }
            Group::ECP256 => {
                let point = p256_secret(secret).public_key().to_sec1_point(false);
                Some(point.as_bytes()[1..].to_vec())
            }
            _ => {
                let prime = self.prime()?;
                let two = BoxedUint::from(2u64).resize(prime.bits_precision());
                Some(power(&two, secret, &prime))
            }
        }
    }

    /// What both ends know then; `None` if the other one's public value cannot be.
    pub(crate) fn shared(self, secret: &[u8; Group::SECRET], public: &[u8]) -> Option<Vec<u8>> {
        match self {
            Group::X25519 => {
                let public: [u8; 32] = public.try_into().ok()?;
                let shared = StaticSecret::from(*secret).diffie_hellman(&PublicKey::from(public));
                shared.was_contributory().then(|| shared.to_bytes().to_vec())
            }
            Group::ECP256 => {
                let point = [&[4], public].concat();
                let point = p256::Sec1Point::from_bytes(&point).ok()?;
                let public = Option::from(p256::PublicKey::from_sec1_point(&point));
                let public: p256::PublicKey = public?;
                let scalar = p256_secret(secret).to_nonzero_scalar();
                let shared = p256::ecdh::diffie_hellman(scalar, public.as_affine());
                Some(shared.raw_secret_bytes().to_vec())
            }
            _ => {
                let prime = self.prime()?;
                let bits = prime.bits_precision();
                let public = BoxedUint::from_be_slice(public, bits).ok()?;
                let least = BoxedUint::from(2u64).resize(bits);
                let most = prime.as_ref() - &least;
                (least..=most).contains(&public).then(|| power(&public, secret, &prime))
            }
        }
    }

    /// Of the groups of RFC 2409 and RFC 3526 the prime: of `n` bits
    /// 2^n - 2^(n-64) - 1 + 2^64 ([2^(n-130) pi] + addend), where the one that is taken off makes the last 64 bits ones.
    fn prime(self) -> Option<Odd<BoxedUint>> {
        let (bits, addend) = match self.0 {
            2 => (1024, 129_093u64),
            5 => (1536, 741_804),
            14 => (2048, 124_476),
            15 => (3072, 1_690_314),
            16 => (4096, 240_904),
            _ => return None,
        };
        let pi: String = PI.split_whitespace().collect();
        let digits = bits as usize / 4 - 32;
        let ones = "f".repeat(16);
        let hex = format!("{ones}{}{ones}", &pi[..digits]);
        let prime = BoxedUint::from_str_radix_with_precision_vartime(&hex, 16, bits).ok()?;
        let addend = BoxedUint::from(addend - 1).resize(bits) << 64;
        let prime: BoxedUint = prime + addend;
        Option::from(prime.to_odd())
    }
}

/// Pi, from its first bit on, in hexadecimal.
const PI: &str = "
    c90fdaa22168c234c4c6628b80dc1cd129024e088a67cc74020bbea63b139b22514a08798e3404ddef9519b3
    cd3a431b302b0a6df25f14374fe1356d6d51c245e485b576625e7ec6f44c42e9a637ed6b0bff5cb6f406b7ed
    ee386bfb5a899fa5ae9f24117c4b1fe649286651ece45b3dc2007cb8a163bf0598da48361c55d39a69163fa8
    fd24cf5f83655d23dca3ad961c62f356208552bb9ed529077096966d670c354e4abc9804f1746c08ca18217c
    32905e462e36ce3be39e772c180e86039b2783a2ec07a28fb5c55df06f4c52c9de2bcbf6955817183995497c
    ea956ae515d2261898fa051015728e5a8aaac42dad33170d04507a33a85521abdf1cba64ecfb850458dbef0a
    8aea71575d060c7db3970f85a6e1e4c7abf5ae8cdb0933d71e8c94e04a25619dcee3d2261ad2ee6bf12ffa06
    d98a0864d87602733ec86a64521f2b18177b200cbbe117577a615d6c770988c0bad946e208e24fa074e5ab31
    43db5bfce0fd108e4b82d120a92108011a723c12a787e6d788719a10bdba5b2699c327186af4e23c1a946834
    b6150bda2583e9ca2ad44ce8dbbbc2db04de8ef92e8efc141fbecaa6287c59474e6bc05d99b2964fa090c3a2
    233ba186515be7ed1f612970cee2d7afb81bdd762170481cd0069127d5b05aa993b4ea988d8fddc186ffb7dc
    90a6c08f4df435c934028492
";

fn p256_secret(secret: &[u8; Group::SECRET]) -> p256::SecretKey {
    // One of 2^32 bytes is none of the group; then another is.
    let next = |mut bytes: [u8; 32]| {
        bytes[0] >>= 1;
        bytes[31] |= 1;
        bytes
    };
    p256::SecretKey::from_slice(secret)
        .or_else(|_| p256::SecretKey::from_slice(&next(*secret)))
        .expect("less than the group's order, and not zero")
}

fn power(base: &BoxedUint, exponent: &[u8], prime: &Odd<BoxedUint>) -> Vec<u8> {
    let params = BoxedMontyParams::new(prime.clone());
    let exponent = BoxedUint::from_be_slice(exponent, 8 * exponent.len() as u32).expect("its bits");
    let power = BoxedMontyForm::new(base.clone(), &params).pow(&exponent);
    power.retrieve().to_be_bytes().to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What one end has sealed the other opens; and nothing that differs in a bit.
    #[test]
    fn what_is_sealed_is_opened_unless_it_was_changed() {
        let all = [128, 192, 256];
        let ciphers = all.iter().flat_map(|&bits| [Encryption::Cbc(bits), Encryption::Gcm(bits)]);
        for encryption in ciphers.chain([Encryption::Null, Encryption::TripleDes]) {
            for integrity in [Integrity::Sha1, Integrity::Sha256, Integrity::Sha512] {
                let integrity = if encryption.is_aead() { Integrity::None } else { integrity };
                let key = |len| (0..len as u8).collect::<Vec<u8>>();
                let [one, two] = [key(encryption.key_len()), key(integrity.key_len())];
                let sealer = Sealer::new(encryption, &one, integrity, &two);
                let text = [7; 48];
                let around = 8 + sealer.iv_len() + sealer.icv_len();
                let mut bytes = vec![0; around + text.len()];
                bytes[8 + sealer.iv_len()..][..text.len()].copy_from_slice(&text);
                sealer.seal(&mut bytes, 8, 1);
                let is_plain = bytes.windows(16).any(|some| some == [7; 16]);
                assert_eq!(is_plain, encryption == Encryption::Null, "{sealer:?}");
                let opened = |mut bytes: Vec<u8>| {
                    let range = sealer.open(&mut bytes, 8)?;
                    Some(bytes[range].to_vec())
                };
                assert_eq!(opened(bytes.clone()), Some(text.to_vec()), "{sealer:?}");
                for at in 0..bytes.len() {
                    let mut other = bytes.clone();
                    other[at] ^= 1;
                    assert_eq!(opened(other), None, "{sealer:?}, byte {at}");
                }
                for len in 8..bytes.len() {
                    assert_eq!(opened(bytes[..len].to_vec()), None, "{sealer:?}, {len} bytes");
                }
            }
        }
    }

    /// RFC 4231's second case, and RFC 2202's.
    #[test]
    fn functions_say_what_the_rfcs_have() {
        let made = |prf: Prf| prf.of(b"Jefe", &[b"what do ya want ", b"for nothing?"]);
        for (prf, first) in [
            (Prf::Sha1, [0xef, 0xfc, 0xdf, 0x6a]),
            (Prf::Sha256, [0x5b, 0xdc, 0xc1, 0x46]),
            (Prf::Sha384, [0xaf, 0x45, 0xd2, 0xe3]),
            (Prf::Sha512, [0x16, 0x4b, 0x7a, 0x7b]),
        ] {
            assert_eq!((made(prf)[..4].to_vec(), made(prf).len()), (first.to_vec(), prf.len()));
            let [one, two] = prf.keys(b"key", &[b"seed"], [5, 100]);
            assert_eq!((one.len(), two.len()), (5, 100));
        }
    }

    /// The last bytes that the RFCs have in front of the ones.
    #[test]
    fn primes_are_those_of_the_rfcs() {
        for (group, expected) in [
            (2, 0x4928_6651_ece6_5381u64),
            (5, 0xf174_6c08_ca23_7327),
            (14, 0x1572_8e5a_8aac_aa68),
            (15, 0x4b82_d120_a93a_d2ca),
            (16, 0x4df4_35c9_3406_3199),
        ] {
            let bytes = Group(group).prime().unwrap().to_be_bytes();
            let last = bytes[bytes.len() - 16..].first_chunk().unwrap();
            assert_eq!(u64::from_be_bytes(*last), expected, "{group}: {bytes:x?}");
        }
    }

    #[test]
    fn both_ends_know_the_same() {
        let [one, two] = [[0x5a; Group::SECRET], [0xff; Group::SECRET]];
        for (group, len) in
            [(2, 128), (5, 192), (14, 256), (15, 384), (16, 512), (19, 64), (31, 32)]
        {
            let group = Group(group);
            let [a, b] = [one, two].map(|secret| group.public(&secret).unwrap());
            assert_eq!((a.len(), b.len()), (len, len), "{group:?}");
            let shared = group.shared(&one, &b);
            assert!(shared.is_some() && shared == group.shared(&two, &a), "{group:?}");
            for bad in [vec![], vec![0; len], vec![0xff; len], vec![1; len + 1]] {
                let is_point = group == Group::X25519 && bad == vec![0xff; 32];
                assert_eq!(group.shared(&one, &bad).is_some(), is_point, "{group:?}: {bad:?}");
            }
        }
        assert_eq!(Group(1).public(&one), None);
    }
}
