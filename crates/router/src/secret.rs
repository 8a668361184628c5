//! The hash of tables that packets ask: a multiplication for each part of a key, with a secret, so that
//! nobody outside chooses keys that collide. The standard one takes 150 instructions for a 5-tuple.

use std::hash::{BuildHasher, Hasher, RandomState};

/// A table's secret.
#[derive(Clone, Debug)]
pub(crate) struct Secret(u64);

impl Default for Secret {
    fn default() -> Secret {
        Secret(RandomState::new().hash_one(0))
    }
}

impl BuildHasher for Secret {
    type Hasher = Mixed;

    #[inline]
    fn build_hasher(&self) -> Mixed {
        Mixed { state: self.0, secret: self.0 | 1 }
    }
}

pub(crate) struct Mixed {
    state: u64,
    secret: u64,
}

impl Mixed {
    #[inline]
    fn mix(&mut self, part: u64) {
        let product = u128::from(self.state ^ part) * u128::from(self.secret);
        self.state = (product >> 64) as u64 ^ product as u64;
    }
}

impl Hasher for Mixed {
    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        for part in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..part.len()].copy_from_slice(part);
            self.mix(u64::from_le_bytes(word));
        }
    }

    #[inline]
    fn write_u8(&mut self, part: u8) {
        self.mix(part.into());
    }

    #[inline]
    fn write_u16(&mut self, part: u16) {
        self.mix(part.into());
    }

    #[inline]
    fn write_u32(&mut self, part: u32) {
        self.mix(part.into());
    }

    #[inline]
    fn write_u64(&mut self, part: u64) {
        self.mix(part);
    }

    #[inline]
    fn write_usize(&mut self, part: usize) {
        self.mix(part as u64);
    }

    #[inline]
    fn finish(&self) -> u64 {
        self.state
    }
}
