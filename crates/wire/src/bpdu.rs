//! BPDUs: what bridges of a spanning tree tell each other (IEEE 802.1D-2004, clause 9).
//!
//! ```text
//! | 01:80:C2:00:00:00 | port's MAC | length | LLC 42 42 03 | BPDU |
//! | 0, version, type | flags | root 8 | cost 4 | bridge 8 | port 2 | age, max, hello, delay 2 each | 0 |
//! ```
//!
//! Times on the wire are 1/256 s; in a [`Message`] they are seconds, fractions rounded up.
//!
//! Never decides anything. **MSTP**: its messages are read as RSTP's, of which they are an extension.

use crate::bytes::{be16, be32};
use crate::mac::MacAddr;

/// Where BPDUs are sent: the Bridge Group Address.
pub const GROUP: MacAddr = MacAddr([0x01, 0x80, 0xc2, 0, 0, 0]);

/// The role of the port that sent a BPDU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Role {
    /// Not said.
    #[default]
    Unknown,
    /// Alternate or Backup: it does not forward.
    Alternate,
    /// Root: towards the root bridge.
    Root,
    /// Designated: away from the root bridge.
    Designated,
}

/// What a bridge believes of the tree, in the order in which two are compared: less is better.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Vector {
    /// The root bridge: priority 16 bits, MAC address 48.
    pub root: u64,
    /// The cost of the way there.
    pub cost: u32,
    /// The bridge that says so.
    pub bridge: u64,
    /// The port by which it says so: priority 4 bits, number 12.
    pub port: u16,
}

/// Times, in seconds, as the root gives them to all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// Bridges that the message has passed.
    pub age: u16,
    /// How old a message may become.
    pub max_age: u16,
    /// Between two messages.
    pub hello: u16,
    /// From listening to learning, and from learning to forwarding, where nobody agrees.
    pub forward_delay: u16,
}

/// What a configuration message says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Message {
    /// Who, how far from the root.
    pub vector: Vector,
    /// Its times.
    pub times: Times,
    /// The sender's role; of the old STP, always [`Role::Designated`].
    pub role: Role,
    /// The topology has changed.
    pub topology_change: bool,
    /// A topology change notification was heard (STP only).
    pub acknowledgement: bool,
    /// The sender would forward if we agree.
    pub proposal: bool,
    /// The sender agrees.
    pub agreement: bool,
    /// The sending port learns.
    pub learning: bool,
    /// The sending port forwards.
    pub forwarding: bool,
}

/// A BPDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bpdu {
    /// STP's configuration message.
    Config(Message),
    /// STP's topology change notification.
    Notification,
    /// RSTP's message.
    Rapid(Message),
}

const LLC: [u8; 3] = [0x42, 0x42, 0x03];
const CONFIG: u8 = 0;
const RAPID: u8 = 2;
const NOTIFICATION: u8 = 0x80;

impl Bpdu {
    /// Reads a frame to the [`GROUP`]; `None` if it is no BPDU, or cut off (9.3.4). A configuration
    /// message that is older than it may become is none either.
    pub fn read(frame: &[u8]) -> Option<Bpdu> {
        let length = usize::from(be16(frame.get(12..14)?, 0));
        let payload = frame.get(14..)?.get(..length)?.strip_prefix(&LLC)?;
        let &[0, 0, version, kind] = payload.first_chunk()? else { return None };
        match (version, kind) {
            (_, NOTIFICATION) => Some(Bpdu::Notification),
            (_, CONFIG) => {
                let Message { vector, times, topology_change, acknowledgement, .. } =
                    Message::read(payload.first_chunk()?);
                let message = Message {
                    vector,
                    times,
                    topology_change,
                    acknowledgement,
                    role: Role::Designated,
                    ..Message::default()
                };
                (times.age < times.max_age).then_some(Bpdu::Config(message))
            }
            (2.., RAPID) => Some(Bpdu::Rapid(Message::read(payload.first_chunk()?))),
            _ => None,
        }
    }

    /// The frame, 60 bytes: padded, without FCS.
    pub fn frame(&self, from: MacAddr) -> [u8; 60] {
        let mut frame = [0; 60];
        frame[..6].copy_from_slice(&GROUP.0);
        frame[6..12].copy_from_slice(&from.0);
        frame[14..17].copy_from_slice(&LLC);
        let length = match self {
            Bpdu::Notification => {
                frame[20] = NOTIFICATION;
                4
            }
            Bpdu::Config(message) => {
                write(&mut frame[17..], message, message.flags() & 0x81);
                35
            }
            Bpdu::Rapid(message) => {
                (frame[19], frame[20]) = (2, RAPID);
                write(&mut frame[17..], message, message.flags() & 0x7f);
                36
            }
        };
        frame[13] = 3 + length;
        frame
    }
}

impl Message {
    fn read(payload: &[u8; 35]) -> Message {
        let be64 = |at| u64::from(be32(payload, at)) << 32 | u64::from(be32(payload, at + 4));
        let seconds = |at| be16(payload, at).div_ceil(256);
        let flags = payload[4];
        let bit = |at: u8| flags >> at & 1 == 1;
        Message {
            vector: Vector {
                root: be64(5),
                cost: be32(payload, 13),
                bridge: be64(17),
                port: be16(payload, 25),
            },
            times: Times {
                age: seconds(27),
                max_age: seconds(29),
                hello: seconds(31).max(1),
                forward_delay: seconds(33),
            },
            role: match flags >> 2 & 3 {
                1 => Role::Alternate,
                2 => Role::Root,
                3 => Role::Designated,
                _ => Role::Unknown,
            },
            topology_change: bit(0),
            proposal: bit(1),
            learning: bit(4),
            forwarding: bit(5),
            agreement: bit(6),
            acknowledgement: bit(7),
        }
    }

    fn flags(&self) -> u8 {
        let bit = |set: bool, at: u8| u8::from(set) << at;
        bit(self.topology_change, 0)
            | bit(self.proposal, 1)
            | (self.role as u8) << 2
            | bit(self.learning, 4)
            | bit(self.forwarding, 5)
            | bit(self.agreement, 6)
            | bit(self.acknowledgement, 7)
    }
}

fn write(payload: &mut [u8], message: &Message, flags: u8) {
    let Message { vector, times, .. } = message;
    payload[4] = flags;
    payload[5..13].copy_from_slice(&vector.root.to_be_bytes());
    payload[13..17].copy_from_slice(&vector.cost.to_be_bytes());
    payload[17..25].copy_from_slice(&vector.bridge.to_be_bytes());
    payload[25..27].copy_from_slice(&vector.port.to_be_bytes());
    for (at, time) in
        [times.age, times.max_age, times.hello, times.forward_delay].iter().enumerate()
    {
        let at = 27 + 2 * at;
        payload[at..at + 2].copy_from_slice(&time.saturating_mul(256).to_be_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MESSAGE: Message = Message {
        vector: Vector {
            root: 0x1000_0200_0000_0001,
            cost: 20,
            bridge: 0x8000_0200_0000_0002,
            port: 0x8003,
        },
        times: Times { age: 1, max_age: 20, hello: 2, forward_delay: 15 },
        role: Role::Root,
        topology_change: true,
        acknowledgement: false,
        proposal: false,
        agreement: true,
        learning: true,
        forwarding: true,
    };

    #[test]
    fn what_is_written_is_read() {
        let config = Message {
            role: Role::Designated,
            agreement: false,
            learning: false,
            forwarding: false,
            acknowledgement: true,
            ..MESSAGE
        };
        for bpdu in [Bpdu::Rapid(MESSAGE), Bpdu::Config(config), Bpdu::Notification] {
            let frame = bpdu.frame(MacAddr([2, 0, 0, 0, 0, 1]));
            assert_eq!(Bpdu::read(&frame), Some(bpdu), "{frame:02x?}");
        }
    }

    /// Whatever is cut off is none, and nothing panics.
    #[test]
    fn cut_off() {
        let frame = Bpdu::Rapid(MESSAGE).frame(MacAddr([2, 0, 0, 0, 0, 1]));
        for end in 0..53 {
            assert_eq!(Bpdu::read(&frame[..end]), None, "{end} bytes");
        }
    }

    /// A message as old as it may become says nothing (9.3.4).
    #[test]
    fn too_old() {
        let times = Times { age: 20, ..MESSAGE.times };
        let frame = Bpdu::Config(Message { times, ..MESSAGE }).frame(MacAddr::default());
        assert_eq!(Bpdu::read(&frame), None);
    }
}
