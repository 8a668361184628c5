//! Proposals of IKEv1: what one end would do, and what the other one chooses of it.

use super::Suite;
use crate::ip::ipsec::crypt::{Encryption, Group, Integrity, Prf};
use crate::ip::ipsec::propose::ChildSuite;
use crate::ip::ipsec::settings::{self, Profile};
use wire::ike::protocol;
use wire::isakmp::{Proposal, Transform, phase1, phase2};

const SECONDS: u32 = 1;
const SHARED_KEY: u32 = 1;
const TUNNEL: u32 = 1;
const TRANSPORT: u32 = 2;
/// Behind NAT, in UDP: by so much greater.
const IN_UDP: u32 = 2;

/// What IKE's own messages are hashed by.
fn hash(profile: &Profile) -> Prf {
    match profile.integrity {
        Integrity::Sha256 => Prf::Sha256,
        Integrity::Sha512 => Prf::Sha512,
        Integrity::Sha1 | Integrity::None => Prf::Sha1,
    }
}

fn hash_number(hash: Prf) -> u32 {
    match hash {
        Prf::Sha1 => 2,
        Prf::Sha256 => 4,
        Prf::Sha384 => 5,
        Prf::Sha512 => 6,
    }
}

/// The algorithm's number, and its key's bits if they are said; none of what messages are not encrypted by.
fn cipher(encryption: Encryption) -> Option<(u32, Option<u32>)> {
    match encryption {
        Encryption::TripleDes => Some((5, None)),
        Encryption::Cbc(bits) => Some((7, Some(bits.into()))),
        Encryption::Null | Encryption::Gcm(_) => None,
    }
}

/// What the router would do as a peer's profile says.
pub(super) fn offer(profile: &Profile) -> Vec<Proposal> {
    let mut transforms = Vec::new();
    for &encryption in &profile.encryption {
        let Some((number, bits)) = cipher(encryption) else { continue };
        for group in &profile.groups {
            let mut attributes = vec![
                (phase1::ENCRYPTION, number),
                (phase1::HASH, hash_number(hash(profile))),
                (phase1::METHOD, SHARED_KEY),
                (phase1::GROUP, group.0.into()),
                (phase1::LIFE_TYPE, SECONDS),
                (phase1::LIFE, profile.lifetime.as_secs() as u32),
            ];
            attributes.extend(bits.map(|bits| (phase1::KEY_LENGTH, bits)));
            transforms.push(Transform { number: transforms.len() as u8 + 1, id: 1, attributes });
        }
    }
    vec![Proposal { number: 1, protocol: protocol::IKE, spi: vec![], transforms }]
}

/// What of another's proposals the router would do, the first first, and how that is said.
pub(super) fn choose(profile: &Profile, offered: &[Proposal]) -> Option<(Suite, Proposal)> {
    let all = offered.iter().filter(|one| one.protocol == protocol::IKE);
    let mut all = all.flat_map(|one| one.transforms.iter().map(move |transform| (one, transform)));
    all.find_map(|(proposal, transform)| {
        let get = |attribute| transform.get(attribute);
        let encryption = *profile.encryption.iter().find(|&&one| {
            cipher(one).is_some_and(|(number, bits)| {
                get(phase1::ENCRYPTION) == Some(number) && get(phase1::KEY_LENGTH) == bits
            })
        })?;
        let group = profile.groups.iter().find(|one| get(phase1::GROUP) == Some(one.0.into()))?;
        let hash = hash(profile);
        let is_same =
            get(phase1::HASH) == Some(hash_number(hash)) && get(phase1::METHOD) == Some(SHARED_KEY);
        let chosen = Proposal { transforms: vec![transform.clone()], ..proposal.clone() };
        is_same.then_some((Suite { encryption, hash, group: *group }, chosen))
    })
}

/// How packets are proven, as a number.
fn integrity(one: Integrity) -> Option<u32> {
    match one {
        Integrity::None => None,
        Integrity::Sha1 => Some(2),
        Integrity::Sha256 => Some(5),
        Integrity::Sha512 => Some(7),
    }
}

/// How packets are enclosed.
fn mode(is_tunnel: bool, in_nat: bool) -> u32 {
    (if is_tunnel { TUNNEL } else { TRANSPORT }) + if in_nat { IN_UDP } else { 0 }
}

/// What the router would do with a policy's packets.
pub(super) fn offer_child(
    ours: &settings::Proposal,
    spi: u32,
    is_tunnel: bool,
    in_nat: bool,
) -> Vec<Proposal> {
    let mut transforms = Vec::new();
    for &encryption in &ours.encryption {
        let proofs = if encryption.is_aead() { &[Integrity::None][..] } else { &ours.integrity };
        for &proof in proofs {
            let (id, bits) = encryption.transform();
            let mut attributes = vec![
                (phase2::LIFE_TYPE, SECONDS),
                (phase2::LIFE, ours.lifetime.as_secs() as u32),
                (phase2::MODE, mode(is_tunnel, in_nat)),
            ];
            attributes.extend(ours.group.map(|group| (phase2::GROUP, group.0.into())));
            attributes.extend(integrity(proof).map(|proof| (phase2::INTEGRITY, proof)));
            attributes.extend((bits != 0).then_some((phase2::KEY_LENGTH, bits.into())));
            let number = transforms.len() as u8 + 1;
            transforms.push(Transform { number, id: id as u8, attributes });
        }
    }
    let spi = spi.to_be_bytes().to_vec();
    vec![Proposal { number: 1, protocol: protocol::ESP, spi, transforms }]
}

/// What of another's proposals for packets the router would do, how that is said, and the other end's SPI. With `obeys`
/// the other end decides whether there is a secret for them alone.
pub(super) fn choose_child(
    ours: &settings::Proposal,
    offered: &[Proposal],
    (is_tunnel, in_nat): (bool, bool),
    obeys: bool,
) -> Option<(ChildSuite, Proposal, u32)> {
    let all = offered.iter().filter(|one| one.protocol == protocol::ESP);
    let mut all = all.flat_map(|one| one.transforms.iter().map(move |transform| (one, transform)));
    all.find_map(|(proposal, transform)| {
        let spi = u32::from_be_bytes(proposal.spi[..].try_into().ok()?);
        let encryption = *ours.encryption.iter().find(|one| {
            let (id, bits) = one.transform();
            let said = transform.get(phase2::KEY_LENGTH).unwrap_or(0);
            u16::from(transform.id) == id && said == u32::from(bits)
        })?;
        let said = transform.get(phase2::INTEGRITY);
        let proof = match encryption.is_aead() {
            true => Integrity::None,
            false => *ours.integrity.iter().find(|&&one| integrity(one) == said)?,
        };
        let group = transform.get(phase2::GROUP).map(|group| Group(group as u16));
        let suits = group == ours.group || obeys && group.is_none_or(Group::is_there);
        let is_same = suits && transform.get(phase2::MODE) == Some(mode(is_tunnel, in_nat));
        let suite = ChildSuite { encryption, integrity: proof, group };
        let chosen = Proposal { transforms: vec![transform.clone()], ..proposal.clone() };
        is_same.then_some((suite, chosen, spi))
    })
}
