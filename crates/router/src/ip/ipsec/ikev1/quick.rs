//! Quick mode (RFC 2409 §5.5): a child, and keys for its packets.

use super::propose::{choose_child, offer_child};
use super::{Keys, Quick, Sa, Talk, body, seal};
use crate::ip::datagram::End;
use crate::ip::ipsec::crypt::Sealer;
use crate::ip::ipsec::exchange::{Bad, NONCE, RETRY, Turn};
use crate::ip::ipsec::propose::ChildSuite;
use crate::ip::ipsec::settings::Policy;
use crate::ip::ipsec::state::{Child, Of};
use std::sync::Arc;
use std::time::Duration;
use wire::ike::{HEADER, Message, NAT_PORT, PAYLOAD_HEADER, Payload, Selector, protocol};
use wire::isakmp::{
    Header, Notify, Proposal, exchange, notify, payload, read_selector, write_selector,
};

/// A child whose place is taken goes on for so long: its packets may be on their way.
const LINGERS: Duration = Duration::from_secs(5);
/// So long may it take until the other end has heard the last message.
const HEARD: Duration = Duration::from_secs(1);
/// Children that the other end may ask for at once.
const MOST: usize = 64;

impl Turn<'_> {
    /// Asks for a policy's child.
    pub(super) fn begin_quick(&mut self, sa: &mut Sa, policy: &Arc<Policy>, replaces: Option<u32>) {
        let Some(keys) = &sa.keys else { return };
        let id = self.new_message();
        let (spi, nonce) = (self.new_child_spi(), self.random::<NONCE>().to_vec());
        let mut quick = Quick {
            policy: policy.clone(),
            replaces,
            began: true,
            is_done: false,
            takes_over: None,
            spi,
            secret: self.random(),
            nonces: [nonce, vec![]],
            iv: keys.iv_of(id),
            talk: Talk::default(),
            since: self.now,
        };
        let sides = sides(sa, policy);
        let offered = offer_child(&policy.proposal, spi, policy.is_tunnel, sa.in_nat);
        let offered = Proposal::write_all(&offered);
        let public = policy.proposal.group.and_then(|group| group.public(&quick.secret));
        let body = |to: &mut Message| {
            to.push(payload::SA, |to| to.extend(offered));
            to.push(payload::NONCE, |to| to.extend(&quick.nonces[0]));
            public.iter().for_each(|public| to.push(payload::KE, |to| to.extend(public)));
            for one in sides {
                to.push(payload::ID, |to| to.extend(write_selector(&one)));
            }
        };
        let message = proving(sa, exchange::QUICK, id, &id.to_be_bytes(), body);
        let bytes = seal(&keys.cipher, &mut quick.iv, message);
        self.say_v1(sa, &mut quick.talk, bytes, true);
        sa.quick.insert(id, quick);
    }

    /// A message of quick mode.
    pub(super) fn quick_mode(
        &mut self,
        sa: &mut Sa,
        ends: (End, End),
        header: Header,
        bytes: &[u8],
    ) -> Result<(), Bad> {
        let Some(mut quick) = sa.quick.remove(&header.id) else {
            return self.quick_asked(sa, ends, header, bytes);
        };
        let done = match (quick.talk.heard == bytes, quick.is_done, quick.began) {
            (true, ..) => {
                self.send_v1(sa, quick.talk.said.clone());
                Ok(())
            }
            (false, true, _) => Err(Bad),
            (false, false, true) => self.quick_answered(sa, &mut quick, (ends, header), bytes),
            (false, false, false) => self.quick_ended(sa, &mut quick, (ends, header), bytes),
        };
        sa.quick.insert(header.id, quick);
        done
    }

    /// The first message.
    fn quick_asked(
        &mut self,
        sa: &mut Sa,
        ends: (End, End),
        header: Header,
        bytes: &[u8],
    ) -> Result<(), Bad> {
        let iv = sa.keys.as_ref().ok_or(Bad)?.iv_of(header.id);
        if sa.quick.values().filter(|quick| !quick.began).count() >= MOST {
            return Err(Bad);
        }
        let id = header.id.to_be_bytes();
        let (asked, iv) = Turn::proven(
            sa,
            (header, &iv),
            bytes,
            |keys, rest| keys.prf.of(&keys.prove, &[&id, rest]),
            |all, _| Asked::read(all),
        )?;
        self.heard_v1(sa, ends);
        let asked = asked.ok_or(Bad)?;
        let implied = [sa.ends.1, sa.ends.0].map(|end| Selector {
            protocol: 0,
            ports: [0, u16::MAX],
            addresses: [end.address; 2],
        });
        let [other, own] = asked.selectors.unwrap_or(implied);
        // In transport mode behind NAT it says addresses that nobody sees here.
        let seen = |one: Selector, end: End| Selector { addresses: [end.address; 2], ..one };
        let sides = |(is_tunnel, in_nat): (bool, bool)| match is_tunnel || !in_nat {
            true => [vec![own], vec![other]],
            false => [vec![seen(own, sa.ends.0)], vec![seen(other, sa.ends.1)]],
        };
        // Who begins says how packets are enclosed: whether there is NAT was not proven.
        const MODES: [(bool, bool); 4] =
            [(true, false), (true, true), (false, false), (false, true)];
        let obeys = sa.peer.profile.obeys;
        let both = MODES.into_iter().find_map(|mode| {
            let (policy, selectors) = self.policy_for(sa.peer.item, &sides(mode), mode.0)?;
            let chosen = choose_child(&policy.proposal, &asked.offered, mode, obeys)?;
            Some((policy, selectors, mode.1, chosen))
        });
        let Some((policy, selectors, in_nat, (suite, chosen, other_spi))) = both else {
            let known = MODES
                .into_iter()
                .any(|mode| self.policy_for(sa.peer.item, &sides(mode), mode.0).is_some());
            let (kind, word) = match known {
                true => (notify::NO_PROPOSAL_CHOSEN, "none of its proposals suits"),
                false => (notify::INVALID_ID_INFORMATION, "there is no such policy"),
            };
            self.say(format!("{} is refused keys: {word}", sa.peer.name));
            self.tell_v1(sa, kind, &[]);
            return Ok(());
        };
        let secret = self.random();
        let mut public = None;
        let mut shared = Vec::new();
        if let Some(group) = suite.group {
            let both = asked.public.and_then(|public| group.shared(&secret, &public));
            shared = both.ok_or(Bad)?;
            public = group.public(&secret);
        }
        let mut quick = Quick {
            policy,
            replaces: None,
            began: false,
            is_done: false,
            takes_over: None,
            spi: self.new_child_spi(),
            secret,
            nonces: [asked.nonce, self.random::<NONCE>().to_vec()],
            iv,
            talk: Talk { heard: bytes.to_vec(), ..Talk::default() },
            since: self.now,
        };
        let spi = quick.spi;
        self.quick_child(sa, &quick, (suite, &shared, in_nat), (other_spi, selectors));
        let chosen = Proposal { spi: spi.to_be_bytes().to_vec(), ..chosen };
        let body = |to: &mut Message| {
            to.push(payload::SA, |to| to.extend(Proposal::write_all(&[chosen])));
            to.push(payload::NONCE, |to| to.extend(&quick.nonces[1]));
            public.iter().for_each(|public| to.push(payload::KE, |to| to.extend(public)));
            if let Some(said) = asked.selectors {
                for one in said {
                    to.push(payload::ID, |to| to.extend(write_selector(&one)));
                }
            }
        };
        let seed = [&id[..], &quick.nonces[0]].concat();
        let message = proving(sa, exchange::QUICK, header.id, &seed, body);
        let keys = sa.keys.as_ref().ok_or(Bad)?;
        let bytes = seal(&keys.cipher, &mut quick.iv, message);
        self.say_v1(sa, &mut quick.talk, bytes, true);
        sa.quick.insert(header.id, quick);
        Ok(())
    }

    /// The second one.
    fn quick_answered(
        &mut self,
        sa: &mut Sa,
        quick: &mut Quick,
        (ends, header): ((End, End), Header),
        bytes: &[u8],
    ) -> Result<(), Bad> {
        let id = header.id.to_be_bytes();
        let (asked, iv) = Turn::proven(
            sa,
            (header, &quick.iv),
            bytes,
            |keys, rest| keys.prf.of(&keys.prove, &[&id, &quick.nonces[0], rest]),
            |all, _| Asked::read(all),
        )?;
        self.heard_v1(sa, ends);
        let asked = asked.ok_or(Bad)?;
        let policy = quick.policy.clone();
        let chosen =
            choose_child(&policy.proposal, &asked.offered, (policy.is_tunnel, sa.in_nat), false);
        let (suite, _, other_spi) = chosen.ok_or(Bad)?;
        let mine = sides(sa, &policy);
        let [own, other] = asked.selectors.unwrap_or(mine);
        let both = (own.and(&mine[0]), other.and(&mine[1]));
        let (Some(own), Some(other)) = both else { return Err(Bad) };
        let mut shared = Vec::new();
        if let Some(group) = suite.group {
            let both = asked.public.and_then(|public| group.shared(&quick.secret, &public));
            shared = both.ok_or(Bad)?;
        }
        quick.nonces[1] = asked.nonce;
        self.quick_child(sa, quick, (suite, &shared, sa.in_nat), (other_spi, [own, other]));
        // The other end has the keys when it has heard the third message.
        let key = policy.key(other.addresses[0]);
        self.ike.current.entry(key).or_insert(quick.spi);
        quick.takes_over = Some(self.now + HEARD);
        if let Some(old) = quick.replaces.and_then(|old| self.ike.children.get_mut(&old)) {
            old.ends_at = old.ends_at.min(self.now + LINGERS);
        }
        let keys = sa.keys.as_ref().ok_or(Bad)?;
        let [i, r] = &quick.nonces;
        let hash = keys.prf.of(&keys.prove, &[&[0], &id, i, r]);
        let mut message = sa.header(exchange::QUICK, header.id, true).message();
        message.push(payload::HASH, |to| to.extend(&hash));
        quick.iv = iv;
        let said = seal(&keys.cipher, &mut quick.iv, message);
        quick.talk.heard = bytes.to_vec();
        quick.is_done = true;
        self.say_v1(sa, &mut quick.talk, said, false);
        Ok(())
    }

    /// The third one: the other end has the keys, too.
    fn quick_ended(
        &mut self,
        sa: &mut Sa,
        quick: &mut Quick,
        (ends, header): ((End, End), Header),
        bytes: &[u8],
    ) -> Result<(), Bad> {
        let id = header.id.to_be_bytes();
        let [i, r] = &quick.nonces;
        let proof = |keys: &Keys, _: &[u8]| keys.prf.of(&keys.prove, &[&[0], &id, i, r]);
        Turn::proven(sa, (header, &quick.iv), bytes, proof, |_, _| ())?;
        self.heard_v1(sa, ends);
        (quick.is_done, quick.talk.again) = (true, None);
        let key = self.ike.children.get(&quick.spi).map(Child::key).ok_or(Bad)?;
        if let Some(old) = self.ike.current.insert(key, quick.spi).filter(|old| *old != quick.spi)
            && let Some(old) = self.ike.children.get_mut(&old)
        {
            // The other end has made them anew: it says so when the old ones are over.
            old.is_replaced = true;
        }
        Ok(())
    }

    /// A child of what both ends have said.
    fn quick_child(
        &mut self,
        sa: &Sa,
        quick: &Quick,
        (suite, shared, in_nat): (ChildSuite, &[u8], bool),
        (other_spi, selectors): (u32, [Selector; 2]),
    ) {
        let Some(keys) = &sa.keys else { return };
        let [to_own, to_other] =
            [quick.spi, other_spi].map(|spi| child_keys(keys, suite, shared, spi, &quick.nonces));
        let spis = [quick.spi, other_spi];
        let sealers = (suite, [to_own, to_other]);
        let mut of = Of { in_nat, ..sa.of() };
        if in_nat && of.ends.0.port != NAT_PORT {
            // Only one of both believes in NAT.
            (of.ends.0.port, of.ends.1.port) = (NAT_PORT, NAT_PORT);
        }
        let child = self.new_child(of, &quick.policy, spis, selectors, sealers);
        self.ike.children.insert(quick.spi, child);
        self.ike.retry.remove(&sa.peer.item);
    }

    /// The other end does not want a child that was asked for.
    pub(super) fn quick_refused(&mut self, sa: &mut Sa, kind: u16) {
        let asked = sa.quick.iter().find(|(_, quick)| quick.began && !quick.is_done);
        let Some(id) = asked.map(|(id, _)| *id) else { return };
        if let Some(quick) = sa.quick.remove(&id)
            && let Some(old) = quick.replaces.and_then(|old| self.ike.children.get_mut(&old))
        {
            (old.is_replaced, old.renew) = (false, self.now + RETRY);
        }
        let word = match kind {
            notify::NO_PROPOSAL_CHOSEN => "none of the proposals suits it".to_string(),
            notify::INVALID_ID_INFORMATION => "it has no such policy".to_string(),
            other => format!("error {other}"),
        };
        self.say(format!("{} refuses keys: {word}", sa.peer.name));
        self.ike.retry.insert(sa.peer.item, self.now + RETRY);
    }

    /// Says something beside.
    pub(super) fn tell_v1(&mut self, sa: &Sa, kind: u16, data: &[u8]) {
        let note = Notify { kind, data }.write(sa.cookies);
        self.inform_v1(sa, payload::NOTIFY, &note);
    }

    /// Sends a message of one payload that nobody answers.
    pub(super) fn inform_v1(&mut self, sa: &Sa, kind: u8, body: &[u8]) {
        let id = self.new_message();
        let Some(keys) = &sa.keys else { return };
        let mut iv = keys.iv_of(id);
        let write = |to: &mut Message| to.push(kind, |to| to.extend(body));
        let message = proving(sa, exchange::INFORMATIONAL, id, &id.to_be_bytes(), write);
        let bytes = seal(&keys.cipher, &mut iv, message);
        self.send_v1(sa, bytes);
    }
}

/// Which packets a policy's child is for: in transport mode those of the two ends.
fn sides(sa: &Sa, policy: &Policy) -> [Selector; 2] {
    let of = |one: Selector, end: End| match policy.is_tunnel {
        true => one,
        false => Selector { addresses: [end.address; 2], ..one },
    };
    [of(policy.own, sa.ends.0), of(policy.other, sa.ends.1)]
}

/// What a first or a second message says.
struct Asked {
    offered: Vec<Proposal>,
    nonce: Vec<u8>,
    public: Option<Vec<u8>>,
    /// Of who began, and of the other end.
    selectors: Option<[Selector; 2]>,
}

impl Asked {
    fn read(all: &[Payload<'_>]) -> Option<Asked> {
        let nonce = body(all, payload::NONCE)?;
        let mut ids = all.iter().filter(|one| one.kind == payload::ID).map(|one| one.body);
        let selectors = match (ids.next(), ids.next()) {
            (Some(i), Some(r)) => Some([read_selector(i)?, read_selector(r)?]),
            _ => None,
        };
        (8..=256).contains(&nonce.len()).then_some(Asked {
            offered: Proposal::read_all(body(all, payload::SA)?)?,
            nonce: nonce.to_vec(),
            public: body(all, payload::KE).map(<[u8]>::to_vec),
            selectors,
        })
    }
}

/// A message whose proof is of `seed` and all that is written behind it.
fn proving(
    sa: &Sa,
    exchange: u8,
    id: u32,
    seed: &[u8],
    write: impl FnOnce(&mut Message),
) -> Message {
    let Some(keys) = &sa.keys else { return sa.header(exchange, id, true).message() };
    let empty = vec![0; keys.prf.len()];
    let mut message = sa.header(exchange, id, true).message();
    message.push(payload::HASH, |to| to.extend(&empty));
    write(&mut message);
    let at = HEADER + PAYLOAD_HEADER;
    message.fill(at, |rest| keys.prf.of(&keys.prove, &[seed, &rest[empty.len()..]]))
}

/// What packets to an end are encrypted with: it has said its SPI.
fn child_keys(
    keys: &Keys,
    suite: ChildSuite,
    shared: &[u8],
    spi: u32,
    [i, r]: &[Vec<u8>; 2],
) -> Sealer {
    let [cipher, proof] = suite.key_lens();
    let spi = spi.to_be_bytes();
    let (mut made, mut last) = (Vec::new(), Vec::new());
    while made.len() < cipher + proof {
        last = keys.prf.of(&keys.derive, &[&last, shared, &[protocol::ESP], &spi, i, r]);
        made.extend(&last);
    }
    suite.sealer(&made[..cipher], &made[cipher..cipher + proof])
}
