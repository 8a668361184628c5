//! Children (RFC 7296 §1.3): keys that packets are encrypted with, and IKE's own made anew.

use super::crypt::{Group, Sealer};
use super::exchange::{Answer, NONCE, Turn, body, has, notes, read_ke, read_nonce, refusal};
use super::propose::{ChildSuite, Suite, choose, choose_child};
use super::settings::{Action, Policy};
use super::state::{Asked, Child, IkeSa, Keys, Of, Phase, Setup, Window, Wish};
use config::ItemId;
use std::sync::Arc;
use wire::Moment;
use wire::ike::{Message, Payload, Proposal, Selector, notify, payload, protocol};

impl Turn<'_> {
    /// What the answer says of a child that was asked for.
    pub(super) fn child_made(
        &mut self,
        sa: &mut IkeSa,
        policy: &Arc<Policy>,
        (spi, [i, r]): (u32, &[Vec<u8>; 2]),
        shared: Option<(Group, Vec<u8>)>,
        all: &[Payload<'_>],
    ) -> Answer<()> {
        let refused = refusal(all);
        let offered = body(all, payload::SA).and_then(Proposal::read_all);
        let offered = offered.ok_or(refused.unwrap_or(notify::NO_PROPOSAL_CHOSEN))?;
        let (suite, _, other_spi) = choose_child(&policy.proposal, &offered, shared.is_some())
            .ok_or(notify::NO_PROPOSAL_CHOSEN)?;
        if suite.group != shared.as_ref().map(|(group, _)| *group) {
            return Err(notify::NO_PROPOSAL_CHOSEN);
        }
        let side = |kind, mine: &Selector| {
            let said = Selector::read_all(body(all, kind)?)?;
            said.iter().find_map(|one| one.and(mine))
        };
        let own = side(payload::TS_I, &policy.own).ok_or(notify::TS_UNACCEPTABLE)?;
        let other = side(payload::TS_R, &policy.other).ok_or(notify::TS_UNACCEPTABLE)?;
        let is_tunnel = !has(all, notify::USE_TRANSPORT_MODE);
        if is_tunnel != policy.is_tunnel {
            return Err(notify::NO_PROPOSAL_CHOSEN);
        }
        let keys = sa.keys.as_ref().ok_or(notify::NO_PROPOSAL_CHOSEN)?;
        let shared = shared.map(|(_, shared)| shared).unwrap_or_default();
        let [to_other, to_own] = keys.child(suite, &shared, [i, r]);
        let keys = (suite, [to_own, to_other]);
        let child = self.new_child(sa.of(), policy, [spi, other_spi], [own, other], keys);
        self.ike.children.insert(spi, child);
        self.ike.current.insert(policy.key(0), spi);
        Ok(())
    }

    /// A child with its keys: for what comes, and for what leaves.
    pub(super) fn new_child(
        &self,
        sa: Of,
        policy: &Arc<Policy>,
        spis: [u32; 2],
        selectors: [Selector; 2],
        (suite, sealers): (ChildSuite, [Sealer; 2]),
    ) -> Child {
        let lifetime = policy.proposal.lifetime;
        let share = if sa.began { 80 } else { 90 };
        Child {
            policy: policy.clone(),
            of: sa.spi,
            spis,
            sealers: Arc::new(sealers),
            suite,
            ends: sa.ends,
            in_nat: sa.in_nat,
            is_tunnel: policy.is_tunnel,
            selectors,
            sequence: 0,
            window: Window::default(),
            counts: Default::default(),
            since: self.now,
            renew: self.now + lifetime * share / 100,
            ends_at: self.now + lifetime,
            is_replaced: false,
        }
    }

    pub(super) fn child_or_rekey_asked(
        &mut self,
        sa: &mut IkeSa,
        all: &[Payload<'_>],
        to: &mut Message,
    ) -> Answer<()> {
        let offered = body(all, payload::SA).and_then(Proposal::read_all);
        let offered = offered.ok_or(notify::NO_PROPOSAL_CHOSEN)?;
        let nonce = read_nonce(all).ok_or(notify::NO_PROPOSAL_CHOSEN)?;
        let is_rekey = offered.first().is_some_and(|one| one.protocol == protocol::IKE);
        // RFC 7296 §2.25: what is asked meanwhile would be of the SA that goes.
        let is_busy = match sa.pending.as_ref().map(|pending| &pending.asked) {
            Some(Asked::Rekey { .. }) => true,
            Some(Asked::Child { .. }) => is_rekey,
            _ => false,
        };
        if is_busy {
            return Err(notify::TEMPORARY_FAILURE);
        }
        if is_rekey {
            return self.rekey_asked(sa, &offered, (nonce, body(all, payload::KE)), to);
        }
        let nonces = [nonce, self.random::<NONCE>().to_vec()];
        let rekeyed = notes(all).into_iter().find(|one| one.kind == notify::REKEY_SA);
        let Some(rekeyed) = rekeyed else {
            return self.child_asked(sa, all, (&nonces, body(all, payload::KE)), to);
        };
        // It is named by the other end's SPI: of what comes to it.
        let of = sa.own_spi();
        let is_it = |child: &&mut Child| child.of == of && Some(child.spis[1]) == rekeyed.spi;
        let old = self.ike.children.values_mut().find(is_it);
        let old = old.ok_or(notify::CHILD_SA_NOT_FOUND)?;
        if std::mem::replace(&mut old.is_replaced, true) {
            return Err(notify::TEMPORARY_FAILURE);
        }
        let old = old.spis[0];
        let done = self.child_asked(sa, all, (&nonces, body(all, payload::KE)), to);
        if let (Err(_), Some(old)) = (done, self.ike.children.get_mut(&old)) {
            old.is_replaced = false;
        }
        done
    }

    /// Another child is asked for, by its selectors; or the first one, which has no secret of its own.
    pub(super) fn child_asked(
        &mut self,
        sa: &mut IkeSa,
        all: &[Payload<'_>],
        (nonces, ke): (&[Vec<u8>; 2], Option<&[u8]>),
        to: &mut Message,
    ) -> Answer<()> {
        let offered = body(all, payload::SA).and_then(Proposal::read_all);
        let offered = offered.ok_or(notify::NO_PROPOSAL_CHOSEN)?;
        let sides = [payload::TS_R, payload::TS_I]
            .map(|kind| body(all, kind).and_then(Selector::read_all).unwrap_or_default());
        let is_tunnel = !has(all, notify::USE_TRANSPORT_MODE);
        let found = self.policy_for(sa.peer.item, &sides, is_tunnel);
        let (policy, selectors) = found.ok_or(notify::TS_UNACCEPTABLE)?;
        let is_first = sa.phase == Phase::Up && sa.setup.is_some();
        let (suite, chosen, other_spi) = choose_child(&policy.proposal, &offered, !is_first)
            .ok_or(notify::NO_PROPOSAL_CHOSEN)?;
        let spi = self.new_child_spi();
        let mut shared = Vec::new();
        let mut public = None;
        if let Some(group) = suite.group {
            let (said, other) = ke.and_then(read_ke).ok_or(notify::INVALID_KE_PAYLOAD)?;
            let secret = self.random();
            let both = group.shared(&secret, other).filter(|_| said == group);
            shared = both.ok_or(notify::INVALID_KE_PAYLOAD)?;
            public = group.public(&secret).map(|public| (group, public));
        }
        let keys = sa.keys.as_ref().ok_or(notify::NO_PROPOSAL_CHOSEN)?;
        let [i, r] = nonces;
        let [to_own, to_other] = keys.child(suite, &shared, [i, r]);
        if !is_tunnel {
            to.notify(notify::USE_TRANSPORT_MODE, None, &[]);
        }
        to.sa(&[Proposal { spi: spi.to_be_bytes().to_vec(), ..chosen }]);
        if !is_first {
            to.push(payload::NONCE, |to| to.extend(r));
        }
        if let Some((group, public)) = public {
            to.ke(group.0, &public);
        }
        to.selectors(payload::TS_I, &[selectors[1]]);
        to.selectors(payload::TS_R, &[selectors[0]]);
        let keys = (suite, [to_own, to_other]);
        let child = self.new_child(sa.of(), &policy, [spi, other_spi], selectors, keys);
        self.ike.children.insert(spi, child);
        // With an older one packets go by that until the other end has shown that it knows this.
        self.ike.current.entry(policy.key(0)).or_insert(spi);
        sa.setup = None;
        Ok(())
    }

    /// The policy that selectors of the router's side and the other are for, and what both say: all of the policy, or
    /// all that is offered.
    pub(super) fn policy_for(
        &self,
        peer: ItemId,
        [own, other]: &[Vec<Selector>; 2],
        is_tunnel: bool,
    ) -> Option<(Arc<Policy>, [Selector; 2])> {
        let pairs = || own.iter().flat_map(|own| other.iter().map(move |other| (own, other)));
        let policies = self.settings.policies.iter().filter(|policy| {
            policy.action == Action::Encrypt
                && policy.peer == Some(peer)
                && policy.is_tunnel == is_tunnel
        });
        let mut all = Vec::new();
        for policy in policies {
            for (own, other) in pairs() {
                let (Some(a), Some(b)) = (own.and(&policy.own), other.and(&policy.other)) else {
                    continue;
                };
                let is_whole = (a, b) == (policy.own, policy.other);
                let is_all = (&a, &b) == (own, other);
                if is_whole || is_all {
                    all.push((is_whole && is_all, policy, [a, b]));
                }
            }
        }
        let exact = all.iter().find(|(is_exact, ..)| *is_exact).or(all.first());
        exact.map(|(_, policy, selectors)| ((*policy).clone(), *selectors))
    }

    pub(super) fn child_answered(
        &mut self,
        sa: &mut IkeSa,
        policy: &Arc<Policy>,
        (spi, secret, nonce): (u32, &[u8; Group::SECRET], &[u8]),
        all: &[Payload<'_>],
    ) -> Answer<()> {
        let refused = || refusal(all).unwrap_or(notify::NO_PROPOSAL_CHOSEN);
        let other = read_nonce(all).ok_or_else(refused)?;
        let shared = match (policy.proposal.group, body(all, payload::KE).and_then(read_ke)) {
            (Some(group), Some((said, public))) if said == group => {
                let shared = group.shared(secret, public);
                Some((group, shared.ok_or(notify::INVALID_KE_PAYLOAD)?))
            }
            _ => None,
        };
        self.child_made(sa, policy, (spi, &[nonce.to_vec(), other]), shared, all)
    }

    /// The keys of the IKE SA itself are to be made anew.
    fn rekey_asked(
        &mut self,
        sa: &mut IkeSa,
        offered: &[Proposal],
        (nonce, ke): (Vec<u8>, Option<&[u8]>),
        to: &mut Message,
    ) -> Answer<()> {
        let (suite, chosen) =
            choose(&sa.peer.profile, offered).ok_or(notify::NO_PROPOSAL_CHOSEN)?;
        let spi = chosen.spi.first_chunk::<8>().ok_or(notify::NO_PROPOSAL_CHOSEN)?;
        let spis = [u64::from_be_bytes(*spi), self.new_spi()];
        let (group, public) = ke.and_then(read_ke).ok_or(notify::INVALID_KE_PAYLOAD)?;
        let secret = self.random();
        let shared = group.shared(&secret, public).filter(|_| group == suite.group);
        let shared = shared.ok_or(notify::INVALID_KE_PAYLOAD)?;
        let own = group.public(&secret).ok_or(notify::INVALID_KE_PAYLOAD)?;
        let own_nonce = self.random::<NONCE>();
        to.sa(&[Proposal { spi: spis[1].to_be_bytes().to_vec(), ..chosen }]);
        to.push(payload::NONCE, |to| to.extend(own_nonce));
        to.ke(group.0, &own);
        self.succeed(sa, suite, &shared, [&nonce, &own_nonce], (spis, false));
        Ok(())
    }

    pub(super) fn rekey_answered(
        &mut self,
        sa: &mut IkeSa,
        (spi, secret, group, nonce): (u64, &[u8; Group::SECRET], Group, &[u8]),
        all: &[Payload<'_>],
    ) -> Answer<()> {
        let offered = body(all, payload::SA).and_then(Proposal::read_all);
        let offered = offered.ok_or(refusal(all).unwrap_or(notify::NO_PROPOSAL_CHOSEN))?;
        let (suite, chosen) =
            choose(&sa.peer.profile, &offered).ok_or(notify::NO_PROPOSAL_CHOSEN)?;
        let other = chosen.spi.first_chunk::<8>().ok_or(notify::NO_PROPOSAL_CHOSEN)?;
        let (said, public) =
            body(all, payload::KE).and_then(read_ke).ok_or(notify::INVALID_KE_PAYLOAD)?;
        let shared = group.shared(secret, public).filter(|_| said == group && suite.group == group);
        let shared = shared.ok_or(notify::INVALID_KE_PAYLOAD)?;
        let other_nonce = read_nonce(all).ok_or(notify::NO_PROPOSAL_CHOSEN)?;
        let spis = [spi, u64::from_be_bytes(*other)];
        self.succeed(sa, suite, &shared, [nonce, &other_nonce], (spis, true));
        Ok(())
    }

    /// An IKE SA with other keys takes the place of one; its children are that one's.
    fn succeed(
        &mut self,
        sa: &mut IkeSa,
        suite: Suite,
        shared: &[u8],
        nonces: [&[u8]; 2],
        (spis, began): ([u64; 2], bool),
    ) {
        let Some(old) = &sa.keys else { return };
        let before = Some((old.suite.prf, &old.derive[..]));
        let keys = Keys::new(suite, before, shared, nonces, spis, began);
        let mut new = self.new_sa(&sa.peer, sa.ends, began, spis, Setup::default());
        (new.keys, new.setup, new.in_nat) = (Some(keys), None, sa.in_nat);
        new.other_id = sa.other_id.clone();
        self.up(&mut new);
        let (from, to) = (sa.own_spi(), new.own_spi());
        self.ike
            .children
            .values_mut()
            .filter(|child| child.of == from)
            .for_each(|child| child.of = to);
        let wishes = std::mem::take(&mut sa.wishes);
        new.wishes = wishes.into_iter().filter(|wish| !matches!(wish, Wish::Rekey)).collect();
        sa.renew = Moment::from_nanos(u64::MAX);
        self.ike.sas.insert(to, new);
    }

    pub(super) fn end_children(&mut self, of: u64) {
        let its = self.ike.children.values().filter(|child| child.of == of);
        let spis: Vec<u32> = its.map(|child| child.spis[0]).collect();
        spis.into_iter().for_each(|spi| self.end_child(spi));
    }

    /// A child is over: what leaves goes by another one of the policy, if there is one.
    pub(super) fn end_child(&mut self, spi: u32) {
        let Some(gone) = self.ike.children.remove(&spi) else { return };
        let key = gone.key();
        if self.ike.current.get(&key) == Some(&spi) {
            let others = self.ike.children.values().filter(|child| child.key() == key);
            match others.max_by_key(|child| child.since) {
                Some(other) => _ = self.ike.current.insert(key, other.spis[0]),
                None => _ = self.ike.current.remove(&key),
            }
        }
    }
}
