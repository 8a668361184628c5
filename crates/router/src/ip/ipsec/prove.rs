//! AUTH (RFC 7296 §1.2): both ends say who they are, and prove it by what both know.

use super::exchange::{Answer, RETRY, Turn, body, has, refusal, word};
use super::propose::offer_child;
use super::settings::Id;
use super::state::{Asked, IkeSa, Phase, Setup};
use wire::ike::{Message, Payload, exchange, notify, payload};

impl Turn<'_> {
    pub(super) fn ask_auth(&mut self, sa: &mut IkeSa) {
        let spi = self.new_child_spi();
        let mut message = Turn::request(sa, exchange::AUTH);
        let own = own_id(sa);
        message.push(payload::ID_I, |to| to.extend(own.body()));
        if sa.peer.initial_contact {
            message.notify(notify::INITIAL_CONTACT, None, &[]);
        }
        let other = sa.peer.identity.as_ref().and_then(|identity| identity.other.as_ref());
        if let Some(other) = other {
            message.push(payload::ID_R, |to| to.extend(other.body()));
        }
        let proof = proof(sa, &own, true);
        write_auth(&mut message, &proof);
        let policy = sa.setup.as_mut().and_then(|setup| {
            setup.spi = spi;
            setup.policy.clone()
        });
        if let Some(policy) = policy {
            if !policy.is_tunnel {
                message.notify(notify::USE_TRANSPORT_MODE, None, &[]);
            }
            message.sa(&offer_child(&policy.proposal, spi, false));
            message.selectors(payload::TS_I, &[policy.own]);
            message.selectors(payload::TS_R, &[policy.other]);
        }
        self.ask(sa, message, Asked::Auth);
    }

    /// Whoever began says who it is.
    pub(super) fn auth_asked(
        &mut self,
        sa: &mut IkeSa,
        all: &[Payload<'_>],
        to: &mut Message,
    ) -> bool {
        let id = body(all, payload::ID_I).and_then(Id::read);
        if !is_proven(sa, id.as_ref(), body(all, payload::AUTH)) {
            self.say(format!("{} is not proven", sa.peer.name));
            to.notify(notify::AUTHENTICATION_FAILED, None, &[]);
            return false;
        }
        sa.other_id = id;
        let own = own_id(sa);
        to.push(payload::ID_R, |to| to.extend(own.body()));
        let proof = proof(sa, &own, false);
        write_auth(to, &proof);
        self.up(sa);
        if has(all, notify::INITIAL_CONTACT) {
            self.forget_others(sa);
        }
        if body(all, payload::SA).is_some() {
            let nonces = sa.setup.as_mut().map(|setup| std::mem::take(&mut setup.nonces));
            let nonces = nonces.unwrap_or_default();
            let done = self.child_asked(sa, all, (&nonces, None), to);
            if let Err(why) = done {
                to.notify(why, None, &[]);
            }
        }
        sa.setup = None;
        true
    }

    /// It is proven who the other end is.
    pub(super) fn up(&mut self, sa: &mut IkeSa) {
        sa.phase = Phase::Up;
        sa.since = self.now;
        // Who began makes keys anew first, so that both do not at once.
        let share = if sa.began { 90 } else { 97 };
        sa.renew = self.now + sa.peer.profile.lifetime * share / 100;
        self.ike.retry.remove(&sa.peer.item);
        let (name, other) = (&sa.peer.name, std::net::Ipv4Addr::from(sa.ends.1.address));
        let text = format!("{name} at {other} is proven");
        self.say(text);
    }

    /// Whatever was agreed upon with the same end before is no longer.
    fn forget_others(&mut self, sa: &IkeSa) {
        let (peer, address) = (sa.peer.item, sa.ends.1.address);
        let is_it = |other: &IkeSa| other.peer.item == peer && other.ends.1.address == address;
        let gone = self.ike.sas.values().filter(|other| is_it(other)).map(IkeSa::own_spi);
        for spi in gone.collect::<Vec<_>>() {
            self.ike.sas.remove(&spi);
            self.end_children(spi);
        }
    }

    pub(super) fn auth_answered(&mut self, sa: &mut IkeSa, all: &[Payload<'_>]) -> Answer<()> {
        let id = body(all, payload::ID_R).and_then(Id::read);
        if !is_proven(sa, id.as_ref(), body(all, payload::AUTH)) {
            return Err(refusal(all).unwrap_or(notify::AUTHENTICATION_FAILED));
        }
        sa.other_id = id;
        self.up(sa);
        let Some(setup) = sa.setup.take() else { return Ok(()) };
        let Setup { nonces, policy: Some(policy), spi, .. } = *setup else { return Ok(()) };
        let done = self.child_made(sa, &policy, (spi, &nonces), None, all);
        if let Err(why) = done {
            self.say(format!("{} refuses keys: {}", sa.peer.name, word(why)));
            self.ike.retry.insert(sa.peer.item, self.now + RETRY);
        }
        Ok(())
    }
}

/// Who the router says it is.
fn own_id(sa: &IkeSa) -> Id {
    let typed = sa.peer.identity.as_ref().and_then(|identity| identity.own.clone());
    typed.unwrap_or_else(|| Id::of_address(sa.ends.0.address))
}

const SHARED_KEY: u8 = 2;

fn write_auth(message: &mut Message, proof: &[u8]) {
    message.push(payload::AUTH, |to| {
        to.extend([SHARED_KEY, 0, 0, 0]);
        to.extend(proof);
    });
}

/// What proves that an end knows the secret, and has sent its first message (RFC 7296 §2.15).
fn proof(sa: &IkeSa, id: &Id, of_initiator: bool) -> Vec<u8> {
    let (Some(keys), Some(setup), Some(identity)) = (&sa.keys, &sa.setup, &sa.peer.identity) else {
        return Vec::new();
    };
    let prf = keys.suite.prf;
    let (own, other) = if of_initiator { (0, 1) } else { (1, 0) };
    let who = prf.of(&keys.proofs[own], &[&id.body()]);
    let key = prf.of(&identity.secret, &[b"Key Pad for IKEv2"]);
    prf.of(&key, &[&setup.firsts[own], &setup.nonces[other], &who])
}

/// Whether the other end has proven that it is who it says, and is who it has to be.
fn is_proven(sa: &IkeSa, id: Option<&Id>, auth: Option<&[u8]>) -> bool {
    let (Some(id), Some(auth)) = (id, auth.filter(|auth| auth.len() > 4)) else { return false };
    let expected = sa.peer.identity.as_ref().and_then(|identity| identity.other.as_ref());
    let proof = proof(sa, id, !sa.began);
    let differs = proof.iter().zip(&auth[4..]).fold(0, |all, (one, other)| all | (one ^ other));
    let is_same = !proof.is_empty() && proof.len() == auth.len() - 4 && differs == 0;
    auth[0] == SHARED_KEY && is_same && expected.is_none_or(|expected| expected == id)
}
