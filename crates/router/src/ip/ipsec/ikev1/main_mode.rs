//! Main mode (RFC 2409 §5.4): what is done, a secret, and who one is, which nobody else sees.

use super::propose::{choose, offer};
use super::{Keys, Sa, Setup, Stage, Talk, body, is_same, open, seal};
use crate::ip::datagram::End;
use crate::ip::ipsec::exchange::{Bad, Datagram, NONCE, RETRY, Turn};
use crate::ip::ipsec::init::MOST;
use crate::ip::ipsec::settings::{Id, Peer, Policy};
use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::Arc;
use wire::Moment;
use wire::ike::{HEADER, Message, NAT_PORT, PORT, Payload, payloads};
use wire::isakmp::{Header, NAT_VENDOR, Notify, PROBE_VENDOR, Proposal, exchange, notify, payload};

/// What cannot be shorter, and need not be longer.
const NONCES: std::ops::RangeInclusive<usize> = 8..=256;

impl Turn<'_> {
    /// Begins an IKE SA from this address, whose first child is for a policy.
    pub(in crate::ip::ipsec) fn begin_v1(
        &mut self,
        peer: &Arc<Peer>,
        policy: Option<Arc<Policy>>,
        own: u32,
    ) {
        let ends = (
            End { address: own, port: PORT },
            End { address: peer.address.bits(), port: peer.port },
        );
        let offered = Proposal::write_all(&offer(&peer.profile));
        let setup = Setup { policy, offered, secret: self.random(), ..Setup::default() };
        let cookies = [self.new_cookie(), 0];
        let mut sa = self.new_sa_v1(peer, ends, true, (cookies, Stage::Second), setup);
        let mut message = sa.header(exchange::MAIN, 0, false).message();
        message.push(payload::SA, |to| to.extend(&sa.setup.offered));
        tell_vendors(&mut message, peer);
        let mut talk = Talk::default();
        self.say_v1(&sa, &mut talk, message.finish(), true);
        sa.talk = talk;
        self.ike.v1.insert(cookies[0], sa);
    }

    fn new_cookie(&mut self) -> u64 {
        loop {
            let cookie = self.new_spi();
            if !self.ike.v1.contains_key(&cookie) {
                return cookie;
            }
        }
    }

    fn new_sa_v1(
        &self,
        peer: &Arc<Peer>,
        ends: (End, End),
        began: bool,
        (cookies, stage): ([u64; 2], Stage),
        setup: Setup,
    ) -> Sa {
        Sa {
            peer: peer.clone(),
            ends,
            in_nat: false,
            began,
            cookies,
            stage,
            setup: Box::new(setup),
            keys: None,
            talk: Talk::default(),
            quick: BTreeMap::new(),
            heard: self.now,
            keep: self.now,
            since: self.now,
            renew: Moment::from_nanos(u64::MAX),
            other_id: None,
            is_followed: false,
            probes: false,
            asked: 0,
            ask: self.now,
            sequence: 0,
        }
    }

    /// Somebody begins.
    pub(super) fn first_asked(
        &mut self,
        ends: (End, End),
        header: Header,
        bytes: &[u8],
    ) -> Result<(), Bad> {
        let is_again = |sa: &&Sa| {
            !sa.began && sa.cookies[0] == header.cookies[0] && sa.ends.1.address == ends.1.address
        };
        if let Some(sa) = self.ike.v1.values().find(is_again) {
            // It has not heard the answer.
            if sa.talk.heard == bytes {
                let in_nat = ends.0.port == NAT_PORT;
                self.out.push(Datagram { ends, in_nat, bytes: sa.talk.said.clone() });
            }
            return Ok(());
        }
        let (own, other) = (ends.0.address, ends.1.address);
        let peer = self.settings.peer_at(own, other, true).ok_or(Bad)?.clone();
        let all = payloads(header.next, &bytes[HEADER..]).ok_or(Bad)?;
        let said = body(&all, payload::SA).ok_or(Bad)?;
        let offered = Proposal::read_all(said).ok_or(Bad)?;
        if self.ike.v1.values().filter(|sa| !sa.began && !sa.is_up()).count() >= MOST {
            return Err(Bad);
        }
        // Both have begun: of two the one of the lower address stays.
        let begun = |sa: &&Sa| {
            sa.began && !sa.is_up() && sa.peer.item == peer.item && sa.ends.1.address == other
        };
        if let Some(cookie) = self.ike.v1.values().find(begun).map(Sa::own_cookie) {
            if own < other {
                return Ok(());
            }
            self.ike.v1.remove(&cookie);
        }
        let cookies = [header.cookies[0], self.new_cookie()];
        let Some((suite, chosen)) = choose(&peer.profile, &offered) else {
            let id = self.new_message();
            let head = Header { exchange: exchange::INFORMATIONAL, cookies, next: 0, id, ..header };
            let mut message = head.message();
            let why = Notify { kind: notify::NO_PROPOSAL_CHOSEN, data: &[] };
            message.push(payload::NOTIFY, |to| to.extend(why.write(cookies)));
            let in_nat = ends.0.port == NAT_PORT;
            self.out.push(Datagram { ends, in_nat, bytes: message.finish() });
            self.say(format!(
                "none of the proposals of {} suits {}",
                Ipv4Addr::from(other),
                peer.name
            ));
            return Ok(());
        };
        let (knows_nat, probes) = vendors(&all);
        let setup = Setup {
            suite: Some(suite),
            secret: self.random(),
            offered: said.to_vec(),
            knows_nat,
            ..Setup::default()
        };
        let mut sa = self.new_sa_v1(&peer, ends, false, (cookies, Stage::Third), setup);
        sa.probes = probes;
        let mut message = sa.header(exchange::MAIN, 0, false).message();
        message.push(payload::SA, |to| to.extend(Proposal::write_all(&[chosen])));
        tell_vendors(&mut message, &peer);
        let mut talk = Talk { heard: bytes.to_vec(), ..Talk::default() };
        self.say_v1(&sa, &mut talk, message.finish(), false);
        sa.talk = talk;
        self.ike.v1.insert(cookies[1], sa);
        self.ike.due = self.now;
        Ok(())
    }

    /// The next message; whether the IKE SA goes on.
    pub(super) fn main_mode(
        &mut self,
        sa: &mut Sa,
        ends: (End, End),
        header: Header,
        bytes: &[u8],
    ) -> Result<bool, Bad> {
        let is_encrypted = matches!(sa.stage, Stage::Fifth | Stage::Sixth);
        if header.is_encrypted != is_encrypted || header.id != 0 {
            return Err(Bad);
        }
        let all = match is_encrypted {
            false => payloads(header.next, &bytes[HEADER..]).ok_or(Bad)?,
            true => Vec::new(),
        };
        match sa.stage {
            Stage::Second => {
                let said = body(&all, payload::SA).and_then(Proposal::read_all).ok_or(Bad)?;
                let (suite, _) = choose(&sa.peer.profile, &said).ok_or(Bad)?;
                sa.cookies[1] = header.cookies[1];
                sa.setup.suite = Some(suite);
                (sa.setup.knows_nat, sa.probes) = vendors(&all);
                let message = self.secret_told(sa)?;
                self.step(sa, message, Stage::Fourth, true);
            }
            Stage::Third => {
                (sa.ends.0.port, sa.ends.1) = (ends.0.port, ends.1);
                let is_translated = self.secret_heard(sa, &all)?;
                let message = self.secret_told(sa)?;
                self.agree(sa, is_translated)?;
                self.step(sa, message, Stage::Fifth, false);
            }
            Stage::Fourth => {
                let is_translated = self.secret_heard(sa, &all)?;
                self.agree(sa, is_translated)?;
                if sa.in_nat {
                    (sa.ends.0.port, sa.ends.1.port) = (NAT_PORT, NAT_PORT);
                }
                let message = self.proof_told(sa)?;
                self.step(sa, message, Stage::Sixth, true);
            }
            Stage::Fifth => {
                if !self.proof_heard(sa, header, bytes) {
                    return Err(Bad);
                }
                (sa.ends.0.port, sa.ends.1) = (ends.0.port, ends.1);
                let message = self.proof_told(sa)?;
                self.step(sa, message, Stage::Up, false);
                self.up_v1(sa);
            }
            Stage::Sixth => {
                if !self.proof_heard(sa, header, bytes) {
                    return Err(Bad);
                }
                (sa.stage, sa.talk.again) = (Stage::Up, None);
                self.up_v1(sa);
                if let Some(policy) = sa.setup.policy.take() {
                    self.begin_quick(sa, &policy, None);
                }
            }
            Stage::Up => return Err(Bad),
        }
        Ok(true)
    }

    fn step(&mut self, sa: &mut Sa, bytes: Vec<u8>, stage: Stage, waits: bool) {
        let mut talk = std::mem::take(&mut sa.talk);
        self.say_v1(sa, &mut talk, bytes, waits);
        (sa.talk, sa.stage) = (talk, stage);
    }

    /// The third message, or the fourth.
    fn secret_told(&mut self, sa: &mut Sa) -> Result<Vec<u8>, Bad> {
        let own = usize::from(!sa.began);
        let suite = sa.setup.suite.ok_or(Bad)?;
        let public = suite.group.public(&sa.setup.secret).ok_or(Bad)?;
        sa.setup.nonces[own] = self.random::<NONCE>().to_vec();
        let mut message = sa.header(exchange::MAIN, 0, false).message();
        message.push(payload::KE, |to| to.extend(&public));
        message.push(payload::NONCE, |to| to.extend(&sa.setup.nonces[own]));
        sa.setup.publics[own] = public;
        if sa.setup.knows_nat && sa.peer.profile.nat_traversal {
            for end in [sa.ends.1, sa.ends.0] {
                message.push(payload::NAT_D, |to| to.extend(told(sa, end)));
            }
        }
        Ok(message.finish())
    }

    /// What such a message says; whether there is NAT on the way.
    fn secret_heard(&self, sa: &mut Sa, all: &[Payload<'_>]) -> Result<bool, Bad> {
        let other = usize::from(sa.began);
        let public = body(all, payload::KE).ok_or(Bad)?.to_vec();
        let nonce = body(all, payload::NONCE).ok_or(Bad)?.to_vec();
        if !NONCES.contains(&nonce.len()) {
            return Err(Bad);
        }
        (sa.setup.publics[other], sa.setup.nonces[other]) = (public, nonce);
        let mut said = all.iter().filter(|one| one.kind == payload::NAT_D).map(|one| one.body);
        let Some(of_own) = said.next().filter(|_| sa.peer.profile.nat_traversal) else {
            return Ok(false);
        };
        let of_other = told(sa, sa.ends.1);
        Ok(of_own != told(sa, sa.ends.0) || !said.any(|one| one == of_other))
    }

    /// Both have said what they say of a secret.
    fn agree(&self, sa: &mut Sa, is_translated: bool) -> Result<(), Bad> {
        let suite = sa.setup.suite.ok_or(Bad)?;
        let public = &sa.setup.publics[usize::from(sa.began)];
        let shared = suite.group.shared(&sa.setup.secret, public).ok_or(Bad)?;
        let word = sa.peer.identity.as_ref().map(|identity| &identity.secret).ok_or(Bad)?;
        sa.keys = Some(Keys::new(suite, word, &shared, &sa.setup, sa.cookies));
        sa.in_nat = is_translated;
        Ok(())
    }

    /// The fifth message, or the sixth: who the router is.
    fn proof_told(&self, sa: &mut Sa) -> Result<Vec<u8>, Bad> {
        let typed = sa.peer.identity.as_ref().and_then(|identity| identity.own.clone());
        let id = typed.unwrap_or_else(|| Id::of_address(sa.ends.0.address)).body();
        let mut message = sa.header(exchange::MAIN, 0, true).message();
        let is_first = self.ike.v1.values().all(|other| other.peer.item != sa.peer.item);
        let keys = sa.keys.as_ref().ok_or(Bad)?;
        let proof = proof(sa, keys, sa.began, &id);
        message.push(payload::ID, |to| to.extend(&id));
        message.push(payload::HASH, |to| to.extend(&proof));
        if sa.began && is_first && sa.peer.initial_contact {
            let contact = Notify { kind: notify::INITIAL_CONTACT, data: &[] };
            message.push(payload::NOTIFY, |to| to.extend(contact.write(sa.cookies)));
        }
        let keys = sa.keys.as_mut().ok_or(Bad)?;
        Ok(seal(&keys.cipher, &mut keys.iv, message))
    }

    /// Whether the other end has proven that it is who it says, and is who it has to be.
    fn proof_heard(&mut self, sa: &mut Sa, header: Header, bytes: &[u8]) -> bool {
        let opened = sa.keys.as_ref().and_then(|keys| {
            let (text, next) = open(&keys.cipher, &keys.iv, bytes)?;
            let all = payloads(header.next, &text)?;
            let (id, said) = (body(&all, payload::ID)?, body(&all, payload::HASH)?);
            if !is_same(&proof(sa, keys, !sa.began, id), said) {
                return None;
            }
            let mut notes = all.iter().filter(|one| one.kind == payload::NOTIFY);
            let is_first = |one: &Payload<'_>| {
                Notify::read(one.body).is_some_and(|one| one.kind == notify::INITIAL_CONTACT)
            };
            Some((Id::read(id)?, next, notes.any(is_first)))
        });
        let expected = sa.peer.identity.as_ref().and_then(|identity| identity.other.clone());
        let opened = opened.filter(|(id, ..)| expected.is_none_or(|expected| expected == *id));
        let Some((id, next, is_first)) = opened else {
            self.say(format!(
                "{} is not proven: the secret or the identity is another",
                sa.peer.name
            ));
            self.ike.retry.insert(sa.peer.item, self.now + RETRY);
            return false;
        };
        sa.other_id = Some(id);
        if let Some(keys) = &mut sa.keys {
            keys.iv = next;
        }
        if is_first {
            let (peer, address) = (sa.peer.item, sa.ends.1.address);
            let is_its = |sa: &&Sa| sa.peer.item == peer && sa.ends.1.address == address;
            let gone = self.ike.v1.values().filter(is_its).map(Sa::own_cookie);
            for cookie in gone.collect::<Vec<_>>() {
                self.ike.v1.remove(&cookie);
                self.end_children(cookie);
            }
        }
        true
    }

    /// It is proven who the other end is: children of the IKE SA before are this one's.
    fn up_v1(&mut self, sa: &mut Sa) {
        (sa.since, sa.heard) = (self.now, self.now);
        // Who began makes keys anew first, so that both do not at once.
        let share = if sa.began { 90 } else { 97 };
        sa.renew = self.now + sa.peer.profile.lifetime * share / 100;
        self.ike.retry.remove(&sa.peer.item);
        let (peer, address) = (sa.peer.item, sa.ends.1.address);
        let its =
            |one: &&mut Sa| one.is_up() && one.peer.item == peer && one.ends.1.address == address;
        let to = sa.own_cookie();
        for old in self.ike.v1.values_mut().filter(its) {
            let from = old.own_cookie();
            let children = self.ike.children.values_mut().filter(|child| child.of == from);
            children.for_each(|child| child.of = to);
            old.is_followed = sa.began;
        }
        let text = format!("{} at {} is proven", sa.peer.name, Ipv4Addr::from(address));
        self.say(text);
    }
}

/// What one knows.
fn tell_vendors(message: &mut Message, peer: &Peer) {
    if peer.profile.nat_traversal {
        message.push(payload::VENDOR, |to| to.extend(NAT_VENDOR));
    }
    message.push(payload::VENDOR, |to| to.extend(PROBE_VENDOR));
}

/// Whether the other end knows of NAT, and says whether it lives.
fn vendors(all: &[Payload<'_>]) -> (bool, bool) {
    let says =
        |vendor: &[u8]| all.iter().any(|one| one.kind == payload::VENDOR && one.body == vendor);
    (says(&NAT_VENDOR), says(&PROBE_VENDOR))
}

/// Where a message comes from or goes to, so that the other end finds out whether that is changed on its way.
fn told(sa: &Sa, end: End) -> Vec<u8> {
    let [i, r] = sa.cookies.map(u64::to_be_bytes);
    let (address, port) = (end.address.to_be_bytes(), end.port.to_be_bytes());
    sa.setup.suite.map_or_else(Vec::new, |suite| suite.hash.digest(&[&i, &r, &address, &port]))
}

/// What proves that an end knows the secret.
fn proof(sa: &Sa, keys: &Keys, of_initiator: bool, id: &[u8]) -> Vec<u8> {
    let (own, other) = if of_initiator { (0, 1) } else { (1, 0) };
    let (publics, cookies) = (&sa.setup.publics, sa.cookies.map(u64::to_be_bytes));
    let parts: [&[u8]; 6] =
        [&publics[own], &publics[other], &cookies[own], &cookies[other], &sa.setup.offered, id];
    keys.prf.of(&keys.id, &parts)
}
