//! The handshake of WireGuard: Noise_IKpsk2 by Curve25519, ChaCha20-Poly1305 and BLAKE2s (§5.4).
//!
//! ```text
//!  begins   e, es, s, ss, the time ──────────►   answers
//!           ◄────────── e, ee, se, psk, nothing
//!  each: two keys, one for each way
//! ```
//!
//! Both ends mix what they know into one chain of keys; whoever lacks any of it opens nothing. Pure: secrets,
//! random bytes and the time come in.

use blake2::digest::consts::U16;
use blake2::digest::{KeyInit, Mac};
use blake2::{Blake2s256, Blake2sMac, Digest};
use chacha20poly1305::aead::{Aead, AeadInOut, Payload};
use chacha20poly1305::{ChaCha20Poly1305, XChaCha20Poly1305};
use hmac::SimpleHmac;
use std::net::{IpAddr, SocketAddr};
use wire::wireguard::{Cookie, INITIATION, Initiation, MAC, RESPONSE, Response, TAG, macs};
use x25519_dalek::{X25519_BASEPOINT_BYTES, x25519};

const CONSTRUCTION: &[u8] = b"Noise_IKpsk2_25519_ChaChaPoly_BLAKE2s";
const IDENTIFIER: &[u8] = b"WireGuard v1 zx2c4 Jason@zx2c4.com";
const LABEL_MAC: &[u8] = b"mac1----";
const LABEL_COOKIE: &[u8] = b"cookie--";

/// A public key, a secret one, or one of both ends.
pub(crate) type Key = [u8; 32];
/// A moment as TAI64N has it: later ones are greater.
pub(crate) type Timestamp = [u8; 12];

/// The public key of a secret one.
pub(crate) fn public(secret: &Key) -> Key {
    x25519(*secret, X25519_BASEPOINT_BYTES)
}

/// A secret key with its public one: what is asked for with each message is not reckoned each time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KeyPair {
    pub(crate) secret: Key,
    pub(crate) public: Key,
}

impl KeyPair {
    pub(crate) fn of(secret: Key) -> KeyPair {
        KeyPair { secret, public: public(&secret) }
    }
}

/// What both ends of a handshake know of themselves and of each other for good.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Statics {
    /// The router's own.
    pub(crate) own: KeyPair,
    /// The other end's public key.
    pub(crate) other: Key,
    /// A secret of both; zeros if there is none.
    pub(crate) shared: Key,
}

/// The two keys that a handshake ends with.
#[derive(Clone)]
pub(crate) struct Keys {
    pub(crate) sends: ChaCha20Poly1305,
    pub(crate) takes: ChaCha20Poly1305,
}

/// A handshake under way: its chain of keys, and the hash of all that was said.
#[derive(Clone, Debug)]
struct Chain {
    key: Key,
    hash: Key,
}

/// What who has begun keeps until he is answered.
#[derive(Clone, Debug)]
pub(crate) struct Begun {
    chain: Chain,
    ephemeral: Key,
}

/// What an initiation says to whom it is for.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    chain: Chain,
    /// Whose number it is to be answered by.
    sender: u32,
    ephemeral: Key,
    sealed_timestamp: [u8; 28],
    /// Who says he has begun.
    pub(crate) other: Key,
}

fn hash(parts: &[&[u8]]) -> Key {
    let mut hasher = Blake2s256::new();
    parts.iter().for_each(|part| Digest::update(&mut hasher, part));
    hasher.finalize().into()
}

fn hmac(key: &Key, parts: &[&[u8]]) -> Key {
    let Ok(mut hmac) = <SimpleHmac<Blake2s256> as KeyInit>::new_from_slice(key) else {
        unreachable!("HMAC takes keys of any length")
    };
    parts.iter().for_each(|part| hmac.update(part));
    hmac.finalize().into_bytes().into()
}

/// HKDF (RFC 5869): three keys, of which the first ones are the same if fewer are needed.
fn derive(key: &Key, input: &[u8]) -> [Key; 3] {
    let secret = hmac(key, &[input]);
    let one = hmac(&secret, &[&[1]]);
    let two = hmac(&secret, &[&one, &[2]]);
    let three = hmac(&secret, &[&two, &[3]]);
    [one, two, three]
}

/// The nonce of a counter.
pub(crate) fn nonce(counter: u64) -> [u8; 12] {
    let mut nonce = [0; 12];
    nonce[4..].copy_from_slice(&counter.to_le_bytes());
    nonce
}

fn cipher(key: &Key) -> ChaCha20Poly1305 {
    ChaCha20Poly1305::new(&(*key).into())
}

/// What is shared of a secret and a public key; `None` of a public key that gives away the result.
fn agree(secret: &Key, public: &Key) -> Option<Key> {
    Some(x25519(*secret, *public)).filter(|shared| *shared != [0; 32])
}

impl Chain {
    /// Of a handshake with whoever has this public key.
    fn new(answers: &Key) -> Chain {
        let key = hash(&[CONSTRUCTION]);
        let known = hash(&[&key, IDENTIFIER]);
        Chain { key, hash: hash(&[&known, answers]) }
    }

    fn mix_hash(&mut self, said: &[u8]) {
        self.hash = hash(&[&self.hash, said]);
    }

    /// Mixes a secret in; a key for what is said next.
    fn mix_key(&mut self, secret: &[u8]) -> Key {
        let [chain, key, _] = derive(&self.key, secret);
        self.key = chain;
        key
    }

    /// Says something sealed.
    fn seal<const N: usize>(&mut self, key: &Key, plain: &[u8]) -> [u8; N] {
        let mut sealed = [0; N];
        let payload = Payload { msg: plain, aad: &self.hash };
        if let Ok(bytes) = cipher(key).encrypt(&nonce(0).into(), payload) {
            sealed.copy_from_slice(&bytes);
        }
        self.mix_hash(&sealed);
        sealed
    }

    /// Hears it.
    fn open<const N: usize>(&mut self, key: &Key, sealed: &[u8]) -> Option<[u8; N]> {
        let payload = Payload { msg: sealed, aad: &self.hash };
        let plain = cipher(key).decrypt(&nonce(0).into(), payload).ok()?;
        self.mix_hash(sealed);
        plain.try_into().ok()
    }

    /// The keys of who has begun: the first is his to send with.
    fn keys(&self, began: bool) -> Keys {
        let [one, two, _] = derive(&self.key, &[]);
        let [one, two] = [one, two].map(|key| cipher(&key));
        match began {
            true => Keys { sends: one, takes: two },
            false => Keys { sends: two, takes: one },
        }
    }
}

/// The first message; `ephemeral` is random. `None` if the other end's public key is none.
pub(crate) fn begin(
    statics: &Statics,
    sender: u32,
    ephemeral: Key,
    time: Timestamp,
) -> Option<([u8; INITIATION], Begun)> {
    let mut chain = Chain::new(&statics.other);
    let own = public(&ephemeral);
    chain.mix_key(&own);
    chain.mix_hash(&own);
    let key = chain.mix_key(&agree(&ephemeral, &statics.other)?);
    let sealed_static = chain.seal(&key, &statics.own.public);
    let key = chain.mix_key(&agree(&statics.own.secret, &statics.other)?);
    let sealed_timestamp = chain.seal(&key, &time);
    let message = Initiation {
        sender,
        ephemeral: &own,
        sealed_static: &sealed_static,
        sealed_timestamp: &sealed_timestamp,
    };
    Some((message.write(), Begun { chain, ephemeral }))
}

/// Who has sent an initiation to the owner of these keys; `None` if it is for somebody else.
pub(crate) fn asked(own: &KeyPair, said: &Initiation<'_>) -> Option<Asked> {
    let mut chain = Chain::new(&own.public);
    chain.mix_key(said.ephemeral);
    chain.mix_hash(said.ephemeral);
    let key = chain.mix_key(&agree(&own.secret, said.ephemeral)?);
    let other = chain.open(&key, said.sealed_static)?;
    let (sender, ephemeral) = (said.sender, *said.ephemeral);
    Some(Asked { chain, sender, ephemeral, sealed_timestamp: *said.sealed_timestamp, other })
}

impl Asked {
    /// When it was sent: proof that whoever says so knows the secret of his key.
    pub(crate) fn time(&mut self, statics: &Statics) -> Option<Timestamp> {
        let key = self.chain.mix_key(&agree(&statics.own.secret, &self.other)?);
        self.chain.open(&key, &self.sealed_timestamp)
    }

    /// The answer, after [`time`](Asked::time), and the keys; `ephemeral` is random.
    pub(crate) fn answer(
        mut self,
        statics: &Statics,
        sender: u32,
        ephemeral: Key,
    ) -> Option<([u8; RESPONSE], Keys, u32)> {
        let (chain, own) = (&mut self.chain, public(&ephemeral));
        chain.mix_key(&own);
        chain.mix_hash(&own);
        chain.mix_key(&agree(&ephemeral, &self.ephemeral)?);
        chain.mix_key(&agree(&ephemeral, &self.other)?);
        let [next, known, key] = derive(&chain.key, &statics.shared);
        chain.key = next;
        chain.mix_hash(&known);
        let sealed_nothing = chain.seal(&key, &[]);
        let message = Response {
            sender,
            receiver: self.sender,
            ephemeral: &own,
            sealed_nothing: &sealed_nothing,
        };
        Some((message.write(), chain.keys(false), self.sender))
    }
}

impl Begun {
    /// The keys, of the answer; `None` if it is not the other end's.
    pub(crate) fn answered(&self, statics: &Statics, said: &Response<'_>) -> Option<Keys> {
        let mut chain = self.chain.clone();
        chain.mix_key(said.ephemeral);
        chain.mix_hash(said.ephemeral);
        chain.mix_key(&agree(&self.ephemeral, said.ephemeral)?);
        chain.mix_key(&agree(&statics.own.secret, said.ephemeral)?);
        let [next, known, key] = derive(&chain.key, &statics.shared);
        chain.key = next;
        chain.mix_hash(&known);
        chain.open::<0>(&key, said.sealed_nothing)?;
        Some(chain.keys(true))
    }
}

impl Keys {
    /// Seals `bytes` but for the room of the tag at their end.
    pub(crate) fn seal(&self, counter: u64, bytes: &mut [u8]) {
        let Some(at) = bytes.len().checked_sub(TAG) else { return };
        let (plain, room) = bytes.split_at_mut(at);
        if let Ok(tag) =
            self.sends.encrypt_inout_detached(&nonce(counter).into(), &[], plain.into())
        {
            room.copy_from_slice(&tag);
        }
    }

    /// Opens `bytes`, whose last are the tag, where they are; whether they are what was sent.
    pub(crate) fn open(&self, counter: u64, bytes: &mut [u8]) -> bool {
        let Some(at) = bytes.len().checked_sub(TAG) else { return false };
        let (sealed, tag) = bytes.split_at_mut(at);
        let Ok(tag) = <[u8; TAG]>::try_from(&*tag) else { return false };
        let nonce = nonce(counter).into();
        self.takes.decrypt_inout_detached(&nonce, &[], sealed.into(), &tag.into()).is_ok()
    }
}

/// A proof of a message by a key.
fn mac(key: &[u8], parts: &[&[u8]]) -> [u8; MAC] {
    let Ok(mut mac) = <Blake2sMac<U16> as KeyInit>::new_from_slice(key) else {
        unreachable!("BLAKE2s takes keys of up to 32 bytes")
    };
    parts.iter().for_each(|part| Mac::update(&mut mac, part));
    mac.finalize().into_bytes().into()
}

/// Writes the proofs of a message to whoever has this public key: that its sender knows the key, and (with a
/// cookie) that he is where he says. Returns the first.
pub(crate) fn prove(message: &mut [u8], receiver: &Key, cookie: Option<&[u8; MAC]>) -> [u8; MAC] {
    let [one, two] = macs(message);
    let first = mac(&hash(&[LABEL_MAC, receiver]), &[&message[..one.start]]);
    message[one].copy_from_slice(&first);
    if let Some(cookie) = cookie {
        let second = mac(cookie, &[&message[..two.start]]);
        message[two].copy_from_slice(&second);
    }
    first
}

/// Whether a message's sender knows the public key of its receiver, and whether he has this cookie.
pub(crate) fn is_proved(message: &[u8], receiver: &Key, cookie: &[u8; MAC]) -> (bool, bool) {
    let [one, two] = macs(message);
    let first = mac(&hash(&[LABEL_MAC, receiver]), &[&message[..one.start]]);
    let second = mac(cookie, &[&message[..two.start]]);
    (message[one] == first, message[two] == second)
}

/// The cookie of whoever sends from there; the secret changes from time to time.
pub(crate) fn cookie(secret: &Key, from: SocketAddr) -> [u8; MAC] {
    let address = from.ip().to_canonical();
    let port = from.port().to_be_bytes();
    match address {
        IpAddr::V4(v4) => mac(secret, &[&v4.octets(), &port]),
        IpAddr::V6(v6) => mac(secret, &[&v6.octets(), &port]),
    }
}

/// A message that gives a cookie to whoever has sent `message`; `nonce` is random.
pub(crate) fn give_cookie(
    cookie: &[u8; MAC],
    message: &[u8],
    sender: u32,
    own: &Key,
    nonce: &[u8; 24],
) -> Vec<u8> {
    let [one, _] = macs(message);
    let payload = Payload { msg: cookie, aad: &message[one] };
    let cipher = XChaCha20Poly1305::new(&hash(&[LABEL_COOKIE, own]).into());
    let sealed = cipher.encrypt(&(*nonce).into(), payload).unwrap_or_default();
    let Ok(sealed) = <[u8; 32]>::try_from(sealed) else { return Vec::new() };
    Cookie { receiver: sender, nonce, sealed: &sealed }.write().to_vec()
}

/// The cookie that a message gives, in answer to one whose first proof was `mac`.
pub(crate) fn take_cookie(said: &Cookie<'_>, other: &Key, mac: &[u8; MAC]) -> Option<[u8; MAC]> {
    let payload = Payload { msg: said.sealed, aad: mac };
    let cipher = XChaCha20Poly1305::new(&hash(&[LABEL_COOKIE, other]).into());
    cipher.decrypt(&(*said.nonce).into(), payload).ok()?.try_into().ok()
}
