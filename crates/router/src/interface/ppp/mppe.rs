//! Microsoft's Point-to-Point Encryption (RFC 3078): what CCP has agreed upon, done to packets.
//!
//! ```text
//! | 0x00fd | A B C D, count 12 bits | encrypted: protocol, packet |
//!            A: the key is new      D: it is encrypted
//!
//! stateless   each packet has the next key: lost ones are skipped, and their keys kept for a while,
//!             so that packets in another order are read (256 of them)
//! stateful    one stream of RC4 for 256 packets: a lost one loses all until a new key, which is asked for
//! ```
//!
//! Encrypts and decrypts in place, and allocates nothing. RC4 is broken, and whoever records a stateless
//! session's packets can do so, too: it keeps out the curious.

use super::mschap::next_key;

/// What both ends can do, and one of them (RFC 3078 §2.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Mode {
    pub(crate) bits: Bits,
    pub(crate) stateless: bool,
}

/// How long keys are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Bits {
    Short40,
    Short56,
    #[default]
    Long128,
}

/// The option's bits.
const STATELESS: u32 = 0x0100_0000;
const LENGTHS: [(u32, Bits); 3] =
    [(0x40, Bits::Long128), (0x80, Bits::Short56), (0x20, Bits::Short40)];

impl Mode {
    /// The option's value.
    pub(crate) fn option(self) -> [u8; 4] {
        let bit = LENGTHS.iter().find(|(_, bits)| *bits == self.bits).map_or(0, |(bit, _)| *bit);
        (bit | if self.stateless { STATELESS } else { 0 }).to_be_bytes()
    }

    /// The best of what an option names, and whether it names that alone.
    pub(crate) fn read(value: &[u8], has_short: bool) -> Option<(Mode, bool)> {
        let value = u32::from_be_bytes(value.try_into().ok()?);
        let may = |bits: Bits| has_short || bits == Bits::Long128;
        let mut known = LENGTHS.iter().filter(|(bit, bits)| value & bit != 0 && may(*bits));
        let &(_, bits) = known.next()?;
        let mode = Mode { bits, stateless: value & STATELESS != 0 };
        Some((mode, mode.option() == value.to_be_bytes()))
    }

    /// As RouterOS shows it.
    pub(crate) fn name(self) -> &'static str {
        match (self.bits, self.stateless) {
            (Bits::Long128, true) => "MPPE128 stateless",
            (Bits::Long128, false) => "MPPE128 stateful",
            (Bits::Short56, true) => "MPPE56 stateless",
            (Bits::Short56, false) => "MPPE56 stateful",
            (Bits::Short40, true) => "MPPE40 stateless",
            (Bits::Short40, false) => "MPPE40 stateful",
        }
    }
}

/// RC4: a stream of bytes that depends on a key.
#[derive(Clone, Debug)]
struct Rc4 {
    state: [u8; 256],
    i: u8,
    j: u8,
}

impl Rc4 {
    fn new(key: &[u8]) -> Rc4 {
        let mut state: [u8; 256] = std::array::from_fn(|n| n as u8);
        let mut j = 0_u8;
        for i in 0..256 {
            j = j.wrapping_add(state[i]).wrapping_add(key[i % key.len()]);
            state.swap(i, usize::from(j));
        }
        Rc4 { state, i: 0, j: 0 }
    }

    fn apply(&mut self, bytes: &mut [u8]) {
        for byte in bytes {
            self.i = self.i.wrapping_add(1);
            let a = self.state[usize::from(self.i)];
            self.j = self.j.wrapping_add(a);
            let b = self.state[usize::from(self.j)];
            (self.state[usize::from(self.i)], self.state[usize::from(self.j)]) = (b, a);
            *byte ^= self.state[usize::from(a.wrapping_add(b))];
        }
    }
}

/// A key and how it goes on.
#[derive(Clone, Copy, Debug)]
struct Key {
    start: [u8; 16],
    now: [u8; 16],
    bits: Bits,
}

impl Key {
    fn new(start: [u8; 16], bits: Bits) -> Key {
        let mut key = Key { start, now: start, bits };
        key.now = next_key(&start[..key.len()], &start[..key.len()]);
        key.shorten();
        key
    }

    fn len(&self) -> usize {
        if self.bits == Bits::Long128 { 16 } else { 8 }
    }

    /// RFC 3079 §2.2: what is left of short keys is known.
    fn shorten(&mut self) {
        match self.bits {
            Bits::Long128 => {}
            Bits::Short56 => self.now[0] = 0xd1,
            Bits::Short40 => self.now[..3].copy_from_slice(&[0xd1, 0x26, 0x9e]),
        }
    }

    /// RFC 3078 §7.3.
    fn change(&mut self) {
        let len = self.len();
        let interim = next_key(&self.start[..len], &self.now[..len]);
        self.now = interim;
        Rc4::new(&interim[..len]).apply(&mut self.now[..len]);
        self.shorten();
    }

    fn stream(&self) -> Rc4 {
        Rc4::new(&self.now[..self.len()])
    }
}

const NEW_KEY: u8 = 0x80;
const ENCRYPTED: u8 = 0x10;
/// Counts have 12 bits.
const COUNTS: u16 = 0x1000;
/// Packets that may come in another order than they were sent: as RouterOS since 6.8.
const ORDER: usize = 256;

/// What leaves.
#[derive(Clone, Debug)]
pub(crate) struct Sender {
    stateless: bool,
    key: Key,
    stream: Rc4,
    /// The next packet's.
    count: u16,
    flush: bool,
}

impl Sender {
    pub(crate) fn new(start: [u8; 16], mode: Mode) -> Sender {
        let key = Key::new(start, mode.bits);
        Sender { stateless: mode.stateless, key, stream: key.stream(), count: 0, flush: false }
    }

    /// The other end has lost a packet, and begins with a new key.
    pub(crate) fn flush(&mut self) {
        self.flush = true;
    }

    /// Encrypts the protocol and the packet; gives the header that stands before it.
    pub(crate) fn encrypt(&mut self, bytes: &mut [u8]) -> [u8; 2] {
        let count = self.count;
        self.count = (count + 1) % COUNTS;
        let new_key = self.stateless || self.flush || count & 0xff == 0xff;
        if new_key {
            self.key.change();
            self.stream = self.key.stream();
            self.flush = false;
        }
        self.stream.apply(bytes);
        let flags = ENCRYPTED | if new_key { NEW_KEY } else { 0 };
        [flags | (count >> 8) as u8, count as u8]
    }
}

/// Why a packet cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unread {
    /// It is cut off, not encrypted, or contradicts the mode.
    Malformed,
    /// It has come too late, or twice.
    Late,
    /// One before it was lost: a new key is needed, and to be asked for if this is the first.
    Lost { first: bool },
}

/// What comes.
#[derive(Clone, Debug)]
pub(crate) struct Receiver {
    stateless: bool,
    key: Key,
    stream: Rc4,
    /// The last packet's; once one was lost, the first lost one's.
    count: u16,
    /// The keys of those that were skipped, by the count's last byte.
    skipped: Vec<Option<(u16, [u8; 16])>>,
    lost: bool,
}

impl Receiver {
    pub(crate) fn new(start: [u8; 16], mode: Mode) -> Receiver {
        let key = Key::new(start, mode.bits);
        Receiver {
            stateless: mode.stateless,
            key,
            stream: key.stream(),
            count: COUNTS - 1,
            skipped: if mode.stateless { vec![None; ORDER] } else { Vec::new() },
            lost: false,
        }
    }

    /// Decrypts what stands behind the header, in place.
    pub(crate) fn decrypt(&mut self, header: [u8; 2], bytes: &mut [u8]) -> Result<(), Unread> {
        let count = u16::from_be_bytes([header[0] & 0xf, header[1]]);
        let new_key = header[0] & NEW_KEY != 0;
        // Compression (B, C) is not agreed upon.
        let is_ours = header[0] & 0xf0 & !NEW_KEY == ENCRYPTED;
        let must = self.stateless || count & 0xff == 0xff;
        if !is_ours || must && !new_key || bytes.is_empty() {
            return Err(Unread::Malformed);
        }
        match self.stateless {
            true => self.in_any_order(count, bytes),
            false => self.in_order(count, new_key, bytes),
        }
    }

    fn in_any_order(&mut self, count: u16, bytes: &mut [u8]) -> Result<(), Unread> {
        let ahead = count.wrapping_sub(self.count) % COUNTS;
        if ahead == 0 || ahead > COUNTS / 2 {
            let place = &mut self.skipped[usize::from(count) % ORDER];
            let Some((_, key)) = place.take_if(|(of, _)| *of == count) else {
                return Err(Unread::Late);
            };
            Rc4::new(&key[..self.key.len()]).apply(bytes);
            return Ok(());
        }
        for n in 1..=ahead {
            let at = (self.count + n) % COUNTS;
            self.key.change();
            let kept = (n < ahead).then_some((at, self.key.now));
            self.skipped[usize::from(at) % ORDER] = kept;
        }
        self.count = count;
        self.key.stream().apply(bytes);
        Ok(())
    }

    /// RFC 3078 §8.2.
    fn in_order(&mut self, count: u16, new_key: bool, bytes: &mut [u8]) -> Result<(), Unread> {
        let next = if self.lost { self.count } else { (self.count + 1) % COUNTS };
        if !new_key && (self.lost || count != next) {
            let first = !self.lost;
            (self.lost, self.count) = (true, next);
            return Err(Unread::Lost { first });
        }
        if count.wrapping_sub(next) % COUNTS > COUNTS / 2 {
            return Err(Unread::Late);
        }
        // A key for each flag packet that was missed.
        let mut at = next;
        while at & !0xff != count & !0xff {
            self.key.change();
            at = (at + 256) % COUNTS;
        }
        self.lost = false;
        self.count = count;
        if new_key {
            self.key.change();
            self.stream = self.key.stream();
        }
        self.stream.apply(bytes);
        Ok(())
    }
}

/// Both directions of a session.
#[derive(Clone, Debug)]
pub(crate) struct Mppe {
    pub(crate) sender: Sender,
    pub(crate) receiver: Receiver,
    /// How far the packets since the last good one speak for keys out of step.
    strays: u8,
}

impl Mppe {
    pub(crate) fn new(sender: Sender, receiver: Receiver) -> Mppe {
        Mppe { sender, receiver, strays: 0 }
    }

    /// A packet has made sense.
    pub(crate) fn is_in_step(&mut self) {
        self.strays = 0;
    }

    /// A packet was of no protocol when it was decrypted, or seemed late: whether so many in a row come of
    /// no chance. As counts go round (12 bits), nobody can tell how many keys to skip when 4,096 packets were
    /// lost at once, and with more than half of them lost what comes next seems late. A new session has new
    /// keys. Linux allows for as many late ones.
    pub(crate) fn is_out_of_step(&mut self, seemed_late: bool) -> bool {
        self.strays += if seemed_late { 1 } else { 2 };
        let is_it = self.strays >= 16;
        if is_it {
            self.strays = 0;
        }
        is_it
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rc4() {
        let mut bytes = *b"Plaintext";
        Rc4::new(b"Key").apply(&mut bytes);
        assert_eq!(bytes, [0xbb, 0xf3, 0x16, 0xe8, 0xd9, 0x40, 0xaf, 0x0a, 0xd3]);
    }

    /// Packets in the order in which they come, and which of them are read.
    #[test]
    fn packets_in_any_order() {
        let late = Err(Unread::Late);
        let first = Err(Unread::Lost { first: true });
        let lost = Err(Unread::Lost { first: false });
        for (stateless, order, read) in [
            (true, &[0_usize, 1, 2, 3][..], &[Ok(()); 4][..]),
            (true, &[3, 0, 2, 1, 1, 4], &[Ok(()), Ok(()), Ok(()), Ok(()), late, Ok(())]),
            (true, &[255, 1, 0], &[Ok(()), Ok(()), Ok(())]),
            (true, &[256, 1, 0], &[Ok(()), Ok(()), late]),
            (true, &[2000, 2000, 1999], &[Ok(()), late, Ok(())]),
            (true, &[2000, 4000, 4096], &[Ok(()); 3]),
            (false, &[0, 1, 2], &[Ok(()); 3]),
            (false, &[0, 2, 3, 255, 256], &[Ok(()), first, lost, Ok(()), Ok(())]),
            (false, &[0, 300, 511, 512], &[Ok(()), first, Ok(()), Ok(())]),
        ] {
            for bits in [Bits::Long128, Bits::Short56, Bits::Short40] {
                let mode = Mode { bits, stateless };
                let mut sender = Sender::new([7; 16], mode);
                let packets: Vec<_> = (0..5000_u32)
                    .map(|n| {
                        let mut bytes = n.to_be_bytes();
                        (sender.encrypt(&mut bytes), bytes)
                    })
                    .collect();
                let mut receiver = Receiver::new([7; 16], mode);
                for (&n, wanted) in order.iter().zip(read) {
                    let (header, mut bytes) = packets[n];
                    let said = receiver.decrypt(header, &mut bytes);
                    assert_eq!(said, *wanted, "{mode:?} {order:?} {n}");
                    if said.is_ok() {
                        assert_eq!(bytes, (n as u32).to_be_bytes(), "{mode:?} {order:?} {n}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_new_key_is_asked_for() {
        let mode = Mode { bits: Bits::Long128, stateless: false };
        let (mut sender, mut receiver) = (Sender::new([1; 16], mode), Receiver::new([1; 16], mode));
        let send = |sender: &mut Sender| {
            let mut bytes = *b"abc";
            (sender.encrypt(&mut bytes), bytes)
        };
        send(&mut sender);
        let (header, mut bytes) = send(&mut sender);
        assert_eq!(receiver.decrypt(header, &mut bytes), Err(Unread::Lost { first: true }));
        sender.flush();
        for _ in 0..300 {
            let (header, mut bytes) = send(&mut sender);
            assert_eq!((receiver.decrypt(header, &mut bytes), bytes), (Ok(()), *b"abc"));
        }
        for header in [[0, 0], [0x20, 0], [0xf0, 0], [0x40, 9]] {
            assert_eq!(receiver.decrypt(header, &mut [1]), Err(Unread::Malformed));
        }
        assert_eq!(receiver.decrypt([0x90, 0], &mut []), Err(Unread::Malformed));
    }

    #[test]
    fn options() {
        for (value, short, read) in [
            ([1, 0, 0, 0x40], true, Some(("MPPE128 stateless", true))),
            ([0, 0, 0, 0x40], true, Some(("MPPE128 stateful", true))),
            ([1, 0, 0, 0xe0], true, Some(("MPPE128 stateless", false))),
            ([1, 0, 0, 0x61], true, Some(("MPPE128 stateless", false))),
            ([1, 0, 0, 0x20], true, Some(("MPPE40 stateless", true))),
            ([1, 0, 0, 0x20], false, None),
            ([1, 0, 0, 0x01], true, None),
        ] {
            let found = Mode::read(&value, short).map(|(mode, alone)| (mode.name(), alone));
            assert_eq!(found, read, "{value:02x?}");
        }
        assert_eq!(Mode::read(&[1, 0, 0], true), None);
    }
}
