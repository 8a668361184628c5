//! NAT-PMP (RFC 6886): a host asks its router for a port of the address outside.
//!
//! ```text
//! | version 0 | opcode |                                                          the address outside
//! | version 0 | opcode | reserved 2 | internal port 2 | external port 2 | lifetime 4 |    a mapping
//! | version 0 | opcode + 128 | result 2 | epoch 4 | …                             the answer to either
//! ```
//!
//! **Missing**: announcements (§3.2.1), PCP, to which version 1 of the results is the answer.

/// The router's UDP port.
pub const PORT: u16 = 5351;

/// Results.
pub mod result {
    /// It is done.
    pub const SUCCESS: u16 = 0;
    /// Another version.
    pub const VERSION: u16 = 1;
    /// The host may not.
    pub const REFUSED: u16 = 2;
    /// The router has no address outside.
    pub const NETWORK: u16 = 3;
    /// There is no room.
    pub const RESOURCES: u16 = 4;
    /// Another opcode.
    pub const OPCODE: u16 = 5;
}

const UDP: u8 = 17;
const TCP: u8 = 6;

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// The address outside.
    Address,
    /// A mapping.
    Map(Mapping),
    /// Something that is not known: the opcode, and the result that says so.
    Unknown(u8, u16),
}

/// A mapping, asked for or given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// TCP's number, or UDP's.
    pub protocol: u8,
    /// The host's port; 0: all of them, to be forgotten.
    pub internal: u16,
    /// The port outside; 0: any.
    pub external: u16,
    /// For how long, seconds; 0: no longer.
    pub lifetime: u32,
}

/// Reads a request; `None` if it is none.
pub fn read(bytes: &[u8]) -> Option<Request> {
    let [version, opcode] = *bytes.first_chunk()?;
    if opcode >= 128 {
        return None;
    }
    if version != 0 {
        return Some(Request::Unknown(opcode, result::VERSION));
    }
    let protocol = match opcode {
        0 => return Some(Request::Address),
        1 => UDP,
        2 => TCP,
        _ => return Some(Request::Unknown(opcode, result::OPCODE)),
    };
    let &[_, _, _, _, a, b, c, d, rest @ ..] = bytes.first_chunk::<12>()?;
    let (internal, external) = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
    let lifetime = u32::from_be_bytes(rest);
    Some(Request::Map(Mapping { protocol, internal, external, lifetime }))
}

/// The beginning of every answer; `epoch` are the seconds since the router has forgotten its mappings.
fn head(opcode: u8, result: u16, epoch: u32) -> Vec<u8> {
    let mut bytes = vec![0, opcode | 128];
    bytes.extend(result.to_be_bytes());
    bytes.extend(epoch.to_be_bytes());
    bytes
}

/// The answer to what is not known.
pub fn unknown(opcode: u8, result: u16, epoch: u32) -> Vec<u8> {
    head(opcode, result, epoch)
}

/// The answer with the address outside, or why there is none.
pub fn address(address: Result<u32, u16>, epoch: u32) -> Vec<u8> {
    let mut bytes = head(0, address.err().unwrap_or(result::SUCCESS), epoch);
    bytes.extend(address.unwrap_or(0).to_be_bytes());
    bytes
}

/// The answer with a mapping; with another result than success, the one that was asked for.
pub fn mapped(result: u16, mapping: Mapping, epoch: u32) -> Vec<u8> {
    let mut bytes = head(if mapping.protocol == UDP { 1 } else { 2 }, result, epoch);
    bytes.extend(mapping.internal.to_be_bytes());
    bytes.extend(mapping.external.to_be_bytes());
    bytes.extend(mapping.lifetime.to_be_bytes());
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests() {
        let mapping = Mapping { protocol: 6, internal: 80, external: 8080, lifetime: 3600 };
        let map = [0, 2, 0, 0, 0, 80, 0x1f, 0x90, 0, 0, 0x0e, 0x10];
        for (bytes, expected) in [
            (&[0, 0][..], Some(Request::Address)),
            (&map, Some(Request::Map(mapping))),
            (&map[..11], None),
            (&[2, 1, 0], Some(Request::Unknown(1, result::VERSION))),
            (&[0, 3], Some(Request::Unknown(3, result::OPCODE))),
            (&[0, 129], None),
            (&[0], None),
        ] {
            assert_eq!(read(bytes), expected, "{bytes:?}");
        }
        let answer = mapped(result::SUCCESS, mapping, 7);
        assert_eq!(answer, [0, 130, 0, 0, 0, 0, 0, 7, 0, 80, 0x1f, 0x90, 0, 0, 0x0e, 0x10]);
        assert_eq!(address(Ok(0x0102_0304), 7), [0, 128, 0, 0, 0, 0, 0, 7, 1, 2, 3, 4]);
        assert_eq!(address(Err(result::NETWORK), 7)[..4], [0, 128, 0, 3]);
    }
}
