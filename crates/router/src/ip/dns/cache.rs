//! Cache of DNS responses: whole ones by their questions, until they may not be believed.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;
use wire::Moment;
use wire::dns::{Message, code, flag, kind};

/// Who is asked for, and for what.
pub(super) type Key = (String, u16);

/// A response, without EDNS's record.
#[derive(Clone, Debug)]
pub(crate) struct Kept {
    pub(super) message: Vec<u8>,
    pub(super) read: Message,
    pub(super) at: Moment,
    pub(super) expires: Moment,
}

impl Kept {
    /// The response as it is to be passed on now: its TTLs are what is left of them.
    pub(super) fn now(&self, now: Moment, max: Duration) -> Vec<u8> {
        let (mut bytes, age) = (self.message.clone(), now.since(self.at).as_secs());
        for record in &self.read.records {
            let ttl = u64::from(record.ttl).min(max.as_secs()).saturating_sub(age) as u32;
            if let Some(field) = bytes.get_mut(record.ttl_at..record.ttl_at + 4) {
                field.copy_from_slice(&ttl.to_be_bytes());
            }
        }
        bytes
    }

    /// Roughly, in memory.
    fn size(&self) -> usize {
        self.message.len() + 2 * self.read.name.len() + 96 * self.read.records.len() + 256
    }
}

/// All of them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cache {
    kept: HashMap<Key, Kept>,
    ends: BTreeSet<(Moment, Key)>,
    bytes: usize,
}

impl Cache {
    /// Keeps a response, if it may be believed for a while; what ends first makes room for it.
    pub(super) fn put(
        &mut self,
        now: Moment,
        (message, read): (Vec<u8>, Message),
        max_ttl: Duration,
        max_bytes: usize,
    ) {
        let ttl = Duration::from_secs(read.ttl(&message).into()).min(max_ttl);
        let known = matches!(read.code(), code::NO_ERROR | code::NO_SUCH_NAME);
        if ttl.is_zero() || !known || read.flags & flag::TRUNCATED != 0 {
            return;
        }
        let key = (read.name.clone(), read.kind);
        self.remove(&key);
        let kept = Kept { message, read, at: now, expires: now + ttl };
        self.bytes += kept.size();
        self.ends.insert((kept.expires, key.clone()));
        self.kept.insert(key, kept);
        self.shrink(max_bytes);
    }

    /// Makes it no larger than this.
    pub(super) fn shrink(&mut self, max_bytes: usize) {
        while self.bytes > max_bytes
            && let Some((_, key)) = self.ends.first().cloned()
        {
            self.remove(&key);
        }
    }

    /// What is known by now.
    pub(super) fn get(&self, now: Moment, key: &Key) -> Option<&Kept> {
        self.kept.get(key).filter(|kept| now < kept.expires)
    }

    fn remove(&mut self, key: &Key) {
        if let Some(kept) = self.kept.remove(key) {
            self.bytes -= kept.size();
            self.ends.remove(&(kept.expires, key.clone()));
        }
    }

    /// Forgets what has ended; when the next does.
    pub(super) fn expire(&mut self, now: Moment) -> Option<Moment> {
        while let Some((end, key)) = self.ends.first().filter(|(end, _)| *end <= now).cloned() {
            debug_assert!(end <= now);
            self.remove(&key);
        }
        self.ends.first().map(|&(end, _)| end)
    }

    /// Forgets all.
    pub(super) fn flush(&mut self) {
        *self = Cache::default();
    }

    /// How many bytes it takes.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// All, in the order in which they end.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Kept> {
        self.ends.iter().filter_map(|(_, key)| self.kept.get(key))
    }
}

/// A record's kind in words.
pub(super) fn kind_name(kind: u16) -> String {
    let name = match kind {
        kind::A => "A",
        kind::NS => "NS",
        kind::CNAME => "CNAME",
        kind::SOA => "SOA",
        kind::PTR => "PTR",
        kind::MX => "MX",
        kind::TXT => "TXT",
        kind::AAAA => "AAAA",
        kind::SRV => "SRV",
        other => return format!("TYPE{other}"),
    };
    name.to_string()
}
