//! Proposals: what one end would do, and what the other one chooses of it.

use super::crypt::{Encryption, Group, Integrity, Prf, Sealer};
use super::settings::{self, Profile};
use wire::ike::{Proposal, Transform, protocol, transform};

/// What is agreed upon for IKE's own messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Suite {
    pub(crate) encryption: Encryption,
    pub(crate) integrity: Integrity,
    pub(crate) prf: Prf,
    pub(crate) group: Group,
}

/// What is agreed upon for packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ChildSuite {
    pub(crate) encryption: Encryption,
    pub(crate) integrity: Integrity,
    /// By which a secret for them alone is agreed upon.
    pub(crate) group: Option<Group>,
}

impl ChildSuite {
    /// The lengths of a direction's keys.
    pub(crate) fn key_lens(self) -> [usize; 2] {
        [self.encryption.key_len(), self.integrity.key_len()]
    }

    pub(crate) fn sealer(self, key: &[u8], proof: &[u8]) -> Sealer {
        Sealer::new(self.encryption, key, self.integrity, proof)
    }
}

impl Encryption {
    fn offered(self) -> Transform {
        let (id, key_bits) = self.transform();
        Transform { kind: transform::ENCRYPTION, id, key_bits }
    }
}

fn plain(kind: u8, id: u16) -> Transform {
    Transform { kind, id, key_bits: 0 }
}

/// What the router would do as a peer's profile says; of a later IKE SA with its SPI.
pub(crate) fn offer(profile: &Profile, spi: &[u8]) -> Vec<Proposal> {
    let mut transforms: Vec<Transform> =
        profile.encryption.iter().map(|one| one.offered()).collect();
    transforms.push(plain(transform::PRF, profile.prf.transform()));
    transforms.push(plain(transform::INTEGRITY, profile.integrity.transform()));
    transforms.extend(profile.groups.iter().map(|group| plain(transform::GROUP, group.0)));
    vec![Proposal { number: 1, protocol: protocol::IKE, spi: spi.to_vec(), transforms }]
}

/// What of another's proposals the router would do, the first first, and how that is said; an SPI is the proposal's.
pub(crate) fn choose(profile: &Profile, offered: &[Proposal]) -> Option<(Suite, Proposal)> {
    let mut all = offered.iter().filter(|one| one.protocol == protocol::IKE);
    all.find_map(|proposal| {
        let has = |one: &Transform| proposal.transforms.contains(one);
        let encryption = *pick(&proposal.transforms, &profile.encryption, |one| one.offered())?;
        let group =
            pick(&proposal.transforms, &profile.groups, |group| plain(transform::GROUP, group.0))?;
        let prf = plain(transform::PRF, profile.prf.transform());
        let integrity = plain(transform::INTEGRITY, profile.integrity.transform());
        let suite =
            Suite { encryption, integrity: profile.integrity, prf: profile.prf, group: *group };
        let transforms =
            vec![encryption.offered(), prf, integrity, plain(transform::GROUP, group.0)];
        let chosen = Proposal { transforms, ..proposal.clone() };
        (has(&prf) && has(&integrity)).then_some((suite, chosen))
    })
}

/// The first of what is offered that is ours, too.
fn pick<'a, T>(
    offered: &[Transform],
    ours: &'a [T],
    as_transform: impl Fn(&T) -> Transform,
) -> Option<&'a T> {
    offered.iter().find_map(|one| ours.iter().find(|own| as_transform(own) == *one))
}

/// What the router would do with a policy's packets: proven by their encryption, or apart. A first SA has no secret of
/// its own, so it has no group.
pub(crate) fn offer_child(
    proposal: &settings::Proposal,
    spi: u32,
    with_group: bool,
) -> Vec<Proposal> {
    let (aead, others): (Vec<Encryption>, Vec<Encryption>) =
        proposal.encryption.iter().partition(|one| one.is_aead());
    let mut all: Vec<Proposal> = Vec::new();
    for (ciphers, is_aead) in [(aead, true), (others, false)] {
        if ciphers.is_empty() {
            continue;
        }
        let mut transforms: Vec<Transform> = ciphers.iter().map(|one| one.offered()).collect();
        let proofs = proposal.integrity.iter().filter(|_| !is_aead);
        transforms.extend(proofs.map(|one| plain(transform::INTEGRITY, one.transform())));
        let group = proposal.group.filter(|_| with_group);
        transforms.extend(group.map(|group| plain(transform::GROUP, group.0)));
        transforms.push(plain(transform::EXTENDED_SEQUENCE, 0));
        let number = all.len() as u8 + 1;
        let spi = spi.to_be_bytes().to_vec();
        all.push(Proposal { number, protocol: protocol::ESP, spi, transforms });
    }
    all
}

/// What of another's proposals for packets the router would do, how that is said, and the other end's SPI. `group` is
/// whether there may be one.
pub(crate) fn choose_child(
    ours: &settings::Proposal,
    offered: &[Proposal],
    with_group: bool,
) -> Option<(ChildSuite, Proposal, u32)> {
    let mut all = offered.iter().filter(|one| one.protocol == protocol::ESP);
    all.find_map(|proposal| {
        let spi = u32::from_be_bytes(proposal.spi[..].try_into().ok()?);
        let of = |kind| proposal.transforms.iter().filter(move |one| one.kind == kind);
        let encryption = *pick(&proposal.transforms, &ours.encryption, |one| one.offered())?;
        let integrity = match encryption.is_aead() {
            true => Integrity::None,
            false => *pick(&proposal.transforms, &ours.integrity, |one| {
                plain(transform::INTEGRITY, one.transform())
            })
            .or_else(|| {
                // Whoever proves nothing need not say so.
                let none = of(transform::INTEGRITY).next().is_none();
                ours.integrity.iter().find(|one| none && **one == Integrity::None)
            })?,
        };
        let offered_group = of(transform::GROUP).next().is_some() && with_group;
        let group = match ours.group.filter(|_| with_group) {
            Some(group) => {
                let is_it = |one: &Transform| one.id == group.0;
                Some(of(transform::GROUP).find(|one| is_it(one)).map(|_| group)?)
            }
            None if offered_group && !of(transform::GROUP).any(|one| one.id == 0) => return None,
            None => None,
        };
        let mut transforms = vec![encryption.offered()];
        if integrity != Integrity::None {
            transforms.push(plain(transform::INTEGRITY, integrity.transform()));
        }
        transforms.extend(group.map(|group| plain(transform::GROUP, group.0)));
        let sequence = plain(transform::EXTENDED_SEQUENCE, 0);
        let has_sequence = of(transform::EXTENDED_SEQUENCE).next().is_some();
        if has_sequence && !proposal.transforms.contains(&sequence) {
            return None;
        }
        transforms.extend(has_sequence.then_some(sequence));
        let chosen = Proposal { transforms, ..proposal.clone() };
        Some((ChildSuite { encryption, integrity, group }, chosen, spi))
    })
}
