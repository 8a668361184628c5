//! Netlink messages: made and read.
//!
//! ```text
//!  message    length kind flags sequence port │ header of the kind │ attribute attribute …
//!  attribute  length kind │ value, which may be attributes again │ up to three zeros
//! ```
//!
//! All numbers are in the machine's own order, addresses in the network's. Reading never fails: what
//! is cut short or lies about its length ends what is read.
//!
//! Source: `netlink(7)`, `rtnetlink(7)`, `linux/netlink.h`.

/// Length of a message's own header.
const HEADER: usize = 16;

/// A request in the making.
pub(super) struct Message(Vec<u8>);

impl Message {
    /// A request of this kind with these flags and the header of its kind.
    pub(super) fn new(kind: u16, flags: u16, header: &[u8]) -> Message {
        let mut bytes = Vec::with_capacity(256);
        bytes.extend([0; 4]);
        bytes.extend(kind.to_ne_bytes());
        bytes.extend(flags.to_ne_bytes());
        bytes.extend([0; 8]);
        bytes.extend(header);
        let mut message = Message(bytes);
        message.pad();
        message
    }

    /// With an attribute.
    pub(super) fn with(mut self, kind: u16, value: &[u8]) -> Message {
        self.add(kind, value);
        self
    }

    /// With an attribute that is a number.
    pub(super) fn with_u32(self, kind: u16, value: u32) -> Message {
        self.with(kind, &value.to_ne_bytes())
    }

    /// With a name, ended by a zero.
    pub(super) fn with_name(mut self, kind: u16, name: &str) -> Message {
        let mut bytes = name.as_bytes().to_vec();
        bytes.push(0);
        self.add(kind, &bytes);
        self
    }

    /// With an attribute whose value is what `inside` puts there.
    pub(super) fn with_nest(
        mut self,
        kind: u16,
        inside: impl FnOnce(Message) -> Message,
    ) -> Message {
        let at = self.0.len();
        self.add(kind, &[]);
        let mut message = inside(self);
        let len = (message.0.len() - at) as u16;
        message.0[at..at + 2].copy_from_slice(&len.to_ne_bytes());
        message
    }

    /// With bytes that are no attribute: the header inside a nest.
    pub(super) fn with_bytes(mut self, bytes: &[u8]) -> Message {
        self.0.extend(bytes);
        self.pad();
        self
    }

    /// The bytes to send, numbered.
    pub(super) fn finish(mut self, sequence: u32) -> Vec<u8> {
        let len = self.0.len() as u32;
        self.0[0..4].copy_from_slice(&len.to_ne_bytes());
        self.0[8..12].copy_from_slice(&sequence.to_ne_bytes());
        self.0
    }

    fn add(&mut self, kind: u16, value: &[u8]) {
        let len = (4 + value.len()) as u16;
        self.0.extend(len.to_ne_bytes());
        self.0.extend(kind.to_ne_bytes());
        self.0.extend(value);
        self.pad();
    }

    fn pad(&mut self) {
        self.0.resize(self.0.len().next_multiple_of(4), 0);
    }
}

/// A message that came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Received<'a> {
    /// What it is: `RTM_NEWLINK` and the like.
    pub(super) kind: u16,
    /// `NLM_F_…`.
    pub(super) flags: u16,
    /// Of the request it answers.
    pub(super) sequence: u32,
    /// The header of its kind and its attributes.
    pub(super) body: &'a [u8],
}

/// The messages in what was received at once.
pub(super) fn messages(mut bytes: &[u8]) -> impl Iterator<Item = Received<'_>> {
    std::iter::from_fn(move || {
        let len = u32_at(bytes, 0)? as usize;
        let whole = bytes.get(..len).filter(|whole| whole.len() >= HEADER)?;
        bytes = bytes.get(len.next_multiple_of(4)..).unwrap_or_default();
        Some(Received {
            kind: u16_at(whole, 4)?,
            flags: u16_at(whole, 6)?,
            sequence: u32_at(whole, 8)?,
            body: &whole[HEADER..],
        })
    })
}

/// Attributes by kind, without the bits that say how the value is built.
pub(super) fn attributes(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let len = usize::from(u16_at(bytes, 0)?);
        let value = bytes.get(4..len)?;
        let kind = u16_at(bytes, 2)? & 0x3fff;
        bytes = bytes.get(len.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, value))
    })
}

/// The attribute of this kind.
pub(super) fn attribute(bytes: &[u8], kind: u16) -> Option<&[u8]> {
    attributes(bytes).find(|(found, _)| *found == kind).map(|(_, value)| value)
}

/// A text that ends at its first zero.
pub(super) fn text(value: &[u8]) -> String {
    let end = value.iter().position(|&byte| byte == 0).unwrap_or(value.len());
    String::from_utf8_lossy(&value[..end]).into_owned()
}

/// A number in the machine's order.
pub(super) fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

/// A number in the machine's order.
pub(super) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// An IPv4 address, in the network's order.
pub(super) fn ipv4(value: &[u8]) -> Option<u32> {
    Some(u32::from_be_bytes(value.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_made_is_read() {
        let message = Message::new(16, 5, &[1, 2, 3, 4])
            .with_name(3, "eth1")
            .with_nest(18, |inside| inside.with_name(1, "veth").with(2, &[7]))
            .with_u32(4, 1500);
        let mut bytes = message.finish(9);
        let len = bytes.len();
        bytes.extend(Message::new(3, 0, &[]).finish(10));
        let all: Vec<_> = messages(&bytes).collect();
        assert_eq!(all.len(), 2);
        assert_eq!((all[0].kind, all[0].flags, all[0].sequence), (16, 5, 9));
        assert_eq!((all[1].kind, all[1].sequence, all[1].body), (3, 10, &[][..]));
        assert_eq!(all[0].body.len() + HEADER, len);
        let of = &all[0].body[4..];
        assert_eq!(attribute(of, 3).map(text), Some("eth1".to_string()));
        assert_eq!(attribute(of, 4).and_then(|value| u32_at(value, 0)), Some(1500));
        let nest = attribute(of, 18).unwrap();
        assert_eq!(attribute(nest, 1).map(text), Some("veth".to_string()));
        assert_eq!(attribute(nest, 2), Some(&[7][..]));
        assert_eq!(attribute(nest, 3), None);
    }

    #[test]
    fn reading_ends_whatever_the_bytes_say() {
        let whole = Message::new(24, 2, &[2; 12])
            .with_nest(9, |inside| inside.with(1, &[8; 9]).with_u32(5, 1))
            .with_u32(4, 7)
            .finish(1);
        for cut in 0..whole.len() {
            assert_eq!(messages(&whole[..cut]).count(), 0, "cut at {cut}");
        }
        for at in 0..whole.len() {
            for byte in [0, 1, 3, 4, 0x80, 0xff] {
                let mut bytes = whole.clone();
                bytes[at] = byte;
                for message in messages(&bytes) {
                    let inside = |(_, value)| attributes(value).count();
                    let n: usize = attributes(message.body).map(inside).sum();
                    assert!(n < whole.len(), "byte {at} = {byte}");
                }
            }
        }
    }
}
