//! SNMP version 3's users: their keys, and what is asked and answered with them (RFC 3414, RFC 3826).
//!
//! ```text
//! engine ours? ─► user known? ─► level enough? ─► digest right? ─► in time? ─► decrypted ─► GET … as ever
//!     └ no ──────────┴ no ───────────┴ no ────────────┴ no ──────────┴ no ─► a report of how often
//! ```
//!
//! The router is the engine that has authority: managers learn its name and clock from its first report. How
//! often it began are the minutes from 1970 to its start, so that it is more after each.

use super::{Community, Level, Settings};
use aes::Aes128;
use des::Des;
use des::cipher::{Array, BlockCipherDecrypt, BlockCipherEncrypt, KeyInit};
use sha1::{Digest, Sha1};
use wire::Moment;
use wire::snmp::v3::{self, DIGEST, Head, Message, SALT, Scoped, flag};

/// MikroTik's number among enterprises, and that a text follows (RFC 3411 §5).
const ENGINE: [u8; 5] = [0x80, 0, 0x3a, 0x8c, 4];
/// The most bytes of an engine's name.
const LONGEST: usize = 32;
/// By how many seconds a message may be late or early (RFC 3414 §2.2.3).
const WINDOW: u64 = 150;
/// Bytes that are answered at most.
const MOST: i32 = 1472;
/// What a password is repeated to before it becomes a key (RFC 3414 §A.2).
const REPEATED: usize = 1 << 20;

/// How digests are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hash {
    Md5,
    Sha1,
}

/// How messages are encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cipher {
    Des,
    Aes,
}

/// What a user knows, and what becomes of it for one engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Keys {
    pub(super) hash: Hash,
    pub(super) cipher: Cipher,
    pub(super) passwords: [String; 2],
    engine: Vec<u8>,
    authentic: Vec<u8>,
    private: Vec<u8>,
}

/// What was wrong, as the counters of `usmStats` count it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wrong {
    Level = 1,
    Time = 2,
    User = 3,
    Engine = 4,
    Digest = 5,
    Decryption = 6,
}

/// How often each was wrong.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counts([u64; 7]);

/// The engine's name: a text behind MikroTik's number.
pub(super) fn engine(text: &str) -> Vec<u8> {
    ENGINE.iter().chain(text.as_bytes()).copied().take(LONGEST).collect()
}

impl Hash {
    fn digest(self, bytes: &[u8]) -> Vec<u8> {
        match self {
            Hash::Md5 => wire::md5::digest(bytes).to_vec(),
            Hash::Sha1 => Sha1::digest(bytes).to_vec(),
        }
    }

    /// A password's key for an engine (RFC 3414 §A.2). It takes some milliseconds.
    fn key(self, password: &str, engine: &[u8]) -> Vec<u8> {
        if password.is_empty() {
            return Vec::new();
        }
        let repeated: Vec<u8> = password.bytes().cycle().take(REPEATED).collect();
        let key = self.digest(&repeated);
        self.digest(&[&key, engine, &key].concat())
    }

    /// HMAC's first bytes (RFC 2104).
    fn sign(self, key: &[u8], bytes: &[u8]) -> Vec<u8> {
        let pad = |with: u8| {
            let mut pad = [with; 64];
            pad.iter_mut().zip(key).for_each(|(pad, key)| *pad ^= key);
            pad
        };
        let inner = self.digest(&[&pad(0x36)[..], bytes].concat());
        let mut digest = self.digest(&[&pad(0x5c)[..], &inner].concat());
        digest.truncate(DIGEST);
        digest
    }
}

impl Keys {
    /// Of these passwords; `known` are keys that may be the same.
    pub(super) fn new<'a>(
        hash: Hash,
        cipher: Cipher,
        passwords: [String; 2],
        engine: &[u8],
        mut known: impl Iterator<Item = &'a Keys>,
    ) -> Keys {
        let same = |known: &&Keys| {
            (known.hash, known.cipher) == (hash, cipher)
                && known.passwords == passwords
                && known.engine == engine
        };
        if let Some(known) = known.find(same) {
            return known.clone();
        }
        let [authentic, private] = [0, 1].map(|at| hash.key(&passwords[at], engine));
        Keys { hash, cipher, passwords, engine: engine.to_vec(), authentic, private }
    }

    fn encrypt(&self, head: &Head, mut bytes: Vec<u8>) -> Vec<u8> {
        if self.cipher == Cipher::Des {
            bytes.resize(bytes.len().next_multiple_of(8), 0);
        }
        self.crypt(head, &mut bytes, true);
        bytes
    }

    fn decrypt(&self, head: &Head, bytes: &[u8]) -> Option<Vec<u8>> {
        let mut bytes = bytes.to_vec();
        let is_whole = self.cipher == Cipher::Aes || bytes.len().is_multiple_of(8);
        is_whole.then(|| self.crypt(head, &mut bytes, false))?;
        Some(bytes)
    }

    /// CBC of DES (RFC 3414 §8.1.1), CFB of AES (RFC 3826 §3.1).
    fn crypt(&self, head: &Head, bytes: &mut [u8], encrypts: bool) {
        let key: [u8; 16] = std::array::from_fn(|at| self.private.get(at).copied().unwrap_or(0));
        let salt: [u8; SALT] = std::array::from_fn(|at| head.salt.get(at).copied().unwrap_or(0));
        match self.cipher {
            Cipher::Des => {
                let (key, vector) = key.split_at(8);
                let des = Des::new(&Array::try_from(key).expect("eight bytes"));
                let mut before: [u8; 8] = std::array::from_fn(|at| vector[at] ^ salt[at]);
                for block in bytes.as_chunks_mut::<8>().0 {
                    let came = *block;
                    let mut one = Array::from(came);
                    if encrypts {
                        one.iter_mut().zip(before).for_each(|(byte, before)| *byte ^= before);
                        des.encrypt_block(&mut one);
                        before = one.into();
                    } else {
                        des.decrypt_block(&mut one);
                        one.iter_mut().zip(before).for_each(|(byte, before)| *byte ^= before);
                        before = came;
                    }
                    *block = one.into();
                }
            }
            Cipher::Aes => {
                let aes = Aes128::new(&Array::from(key));
                let (boots, time) = (head.boots.to_be_bytes(), head.time.to_be_bytes());
                let vector = [&boots[..], &time, &salt].concat();
                let mut before: [u8; 16] = std::array::from_fn(|at| vector[at]);
                for block in bytes.chunks_mut(16) {
                    let mut stream = Array::from(before);
                    aes.encrypt_block(&mut stream);
                    for ((byte, stream), before) in block.iter_mut().zip(stream).zip(&mut before) {
                        let came = *byte;
                        *byte ^= stream;
                        *before = if encrypts { *byte } else { came };
                    }
                }
            }
        }
    }
}

/// Whose a message is, and what is in it; else what is wrong with it, and whose it is if that is sure.
type Opened<'a> = Result<(Option<&'a Community>, Scoped), (Wrong, Option<&'a Community>)>;

/// What the router knows of itself when it hears a message.
pub(super) struct Here<'a> {
    pub(super) settings: &'a Settings,
    /// Those who may ask from there.
    pub(super) users: Vec<&'a Community>,
    /// Seconds from 1970 to the start.
    pub(super) zero: u64,
    pub(super) now: Moment,
    pub(super) dice: u64,
}

impl Here<'_> {
    fn clock(&self) -> (i32, i32) {
        let boots = (self.zero / 60).clamp(1, i32::MAX as u64 - 1) as i32;
        (boots, (self.now.as_nanos() / 1_000_000_000).min(i32::MAX as u64) as i32)
    }

    /// Takes a message; `answer` is what a request is answered with, a scoped PDU. `None`: it is kept silent
    /// about.
    pub(super) fn hear(
        &self,
        counts: &mut Counts,
        payload: &[u8],
        answer: impl FnOnce(&Scoped) -> Vec<u8>,
    ) -> Option<Vec<u8>> {
        let message = v3::read(payload).filter(|_| !self.users.is_empty())?;
        match self.open(payload, &message) {
            Ok((user, scoped)) => Some(self.say(&message.head, user, answer(&scoped))),
            Err((wrong, user)) => {
                let count = &mut counts.0[wrong as usize];
                *count += 1;
                if message.head.flags & flag::REPORTABLE == 0 {
                    return None;
                }
                // Whose time is wrong learns the right one from a report that is signed.
                let level = if wrong == Wrong::Time { flag::AUTHENTIC } else { 0 };
                let is_plain = message.head.flags & flag::PRIVATE == 0;
                let asked = v3::scoped(message.body).filter(|_| is_plain);
                let request = asked.map_or(0, |asked| asked.request.request);
                let counter = [1, 3, 6, 1, 6, 3, 15, 1, 1, wrong as u32, 0];
                let report = v3::report(&self.settings.engine, request, &counter, *count);
                Some(self.say(&Head { flags: level, ..message.head }, user, report))
            }
        }
    }

    fn open(&self, payload: &[u8], message: &Message) -> Opened<'_> {
        let head = &message.head;
        if head.engine != self.settings.engine {
            return Err((Wrong::Engine, None));
        }
        let user = self.users.iter().find(|user| user.name.as_bytes() == head.user);
        let user = *user.ok_or((Wrong::User, None))?;
        let [is_authentic, is_private] =
            [flag::AUTHENTIC, flag::PRIVATE].map(|flag| head.flags & flag != 0);
        let needed = match user.level {
            Level::None => !is_authentic,
            Level::Authorized => is_authentic,
            Level::Private => is_private,
        };
        let keys = user
            .keys
            .as_ref()
            .filter(|keys| !keys.authentic.is_empty() && (!is_private || !keys.private.is_empty()));
        if !needed || is_authentic && keys.is_none() {
            return Err((Wrong::Level, None));
        }
        let Some(keys) = keys.filter(|_| is_authentic) else {
            let scoped = v3::scoped(message.body);
            return Ok((None, scoped.ok_or((Wrong::Decryption, None))?));
        };
        let mut unsigned = payload.to_vec();
        unsigned[message.digest_at..][..DIGEST].fill(0);
        // All of it is compared, so that the time it takes tells nothing.
        let digest = keys.hash.sign(&keys.authentic, &unsigned);
        let differs = digest.iter().zip(&head.digest).fold(0, |all, (a, b)| all | (a ^ b));
        if differs != 0 {
            return Err((Wrong::Digest, None));
        }
        let (boots, time) = self.clock();
        if head.boots != boots || u64::from(head.time.abs_diff(time)) > WINDOW {
            return Err((Wrong::Time, Some(user)));
        }
        let opened = match is_private {
            true => keys.decrypt(head, message.body),
            false => Some(message.body.to_vec()),
        };
        let scoped = opened.and_then(|body| v3::scoped(&body));
        Ok((Some(user), scoped.ok_or((Wrong::Decryption, Some(user)))?))
    }

    /// A message of the router's, at the level of the one that it answers.
    fn say(&self, to: &Head, user: Option<&Community>, body: Vec<u8>) -> Vec<u8> {
        let (boots, time) = self.clock();
        let engine = self.settings.engine.clone();
        let keys = user.and_then(|user| user.keys.as_ref());
        let level = if keys.is_some() { to.flags & !flag::REPORTABLE } else { 0 };
        let (id, user) = (to.id, to.user.clone());
        let (digest, salt) = (Vec::new(), Vec::new());
        let mut head = Head { id, flags: level, engine, boots, time, user, digest, salt };
        let Some(keys) = keys.filter(|_| level != 0) else {
            return v3::write(&head, MOST, &body);
        };
        let body = match level & flag::PRIVATE != 0 {
            true => {
                head.salt = self.dice.to_be_bytes().to_vec();
                keys.encrypt(&head, body)
            }
            false => body,
        };
        head.digest = vec![0; DIGEST];
        head.digest = keys.hash.sign(&keys.authentic, &v3::write(&head, MOST, &body));
        v3::write(&head, MOST, &body)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 3414 §A.3, RFC 2202 §2.
    #[test]
    fn keys_and_digests() {
        let mut engine = [0; 12];
        engine[11] = 2;
        for (hash, key) in [
            (Hash::Md5, "526f5eed9fcce26f8964c2930787d82b"),
            (Hash::Sha1, "6695febc9288e36282235fc7151f128497b38f3f"),
        ] {
            let made = hash.key("maplesyrup", &engine);
            let hex: String = made.iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(hex, key, "{hash:?}");
        }
        assert_eq!(
            Hash::Md5.sign(b"Jefe", b"what do ya want for nothing?")[..4],
            [0x75, 0x0c, 0x78, 0x3e]
        );
    }

    #[test]
    fn what_is_encrypted_is_decrypted() {
        for cipher in [Cipher::Des, Cipher::Aes] {
            let passwords = ["authentic", "privately"].map(str::to_string);
            let keys = Keys::new(Hash::Sha1, cipher, passwords, b"engine", std::iter::empty());
            let salt = vec![1, 2, 3, 4, 5, 6, 7, 8];
            let head = Head { boots: 3, time: 9, salt, ..Head::default() };
            for len in [0, 1, 8, 15, 16, 17, 100] {
                let plain: Vec<u8> = (0..len).collect();
                let secret = keys.encrypt(&head, plain.clone());
                assert!(len == 0 || secret[..plain.len()] != plain, "{cipher:?} {len}");
                let shown = keys.decrypt(&head, &secret).unwrap();
                assert_eq!(shown[..plain.len()], plain, "{cipher:?} {len}");
            }
        }
    }
}
