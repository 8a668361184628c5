//! Timers of IKE: peers asked, asked again, keys made anew, silent ends given up.

use super::exchange::{AGAIN, Datagram, NONCE, PROBES_APART, RETRY, Turn};
use super::propose::{offer, offer_child};
use super::settings::{Action, Policy};
use super::state::{Asked, IkeSa, Wish};
use std::sync::Arc;
use std::time::Duration;
use wire::Moment;
use wire::ike::{exchange, notify, payload};

/// An IKE SA that has not come up by then is given up.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);
pub(super) const TRIES: u32 = 8;
/// NAT forgets who is silent for longer (RFC 3948 §4).
pub(super) const KEPT_OPEN: Duration = Duration::from_secs(20);
/// No longer than that is an answer waited for before it is asked for again.
pub(super) const LATEST: Duration = Duration::from_secs(4);
/// Packets after which keys are made anew, before their numbers end.
const LAST: u32 = 1 << 31;

impl Turn<'_> {
    /// Does what is due; `own` says which address leads to another one.
    pub(crate) fn tick(&mut self, own: impl Fn(u32) -> Option<u32>) {
        let mut next = self.now + Duration::from_secs(1);
        for spi in self.ike.sas.keys().copied().collect::<Vec<_>>() {
            let Some(mut sa) = self.ike.sas.remove(&spi) else { continue };
            match self.has_turn(&mut sa, &mut next) {
                true => _ = self.ike.sas.insert(spi, sa),
                false => self.end_children(spi),
            }
        }
        self.tick_v1(&mut next);
        let over = self.ike.children.values().filter(|child| self.now >= child.ends_at);
        let over: Vec<u32> = over.map(|child| child.spis[0]).collect();
        over.into_iter().for_each(|spi| self.end_child(spi));
        for policy in &self.settings.policies {
            self.want(policy, &own, &mut next);
        }
        self.ike.due = next;
    }

    /// Sees to it that a policy has keys.
    fn want(&mut self, policy: &Arc<Policy>, own: &impl Fn(u32) -> Option<u32>, next: &mut Moment) {
        let is_there = self.ike.current.contains_key(&policy.key(0));
        let Some(peer) = policy.peer.and_then(|item| self.settings.peer(item)) else { return };
        if is_there || policy.action != Action::Encrypt {
            return;
        }
        if let Some(&retry) = self.ike.retry.get(&peer.item).filter(|retry| self.now < **retry) {
            *next = (*next).min(retry);
            return;
        }
        if peer.is_v1 && self.want_v1(policy, peer) {
            return;
        }
        let mut its = self.ike.sas.values_mut().filter(|sa| sa.peer.item == peer.item);
        if let Some(sa) = its.next() {
            // What is on its way comes first.
            let is_wished = sa.wishes.iter().any(|wish| matches!(wish, Wish::Child { .. }));
            if sa.is_up() && sa.pending.is_none() && !is_wished && sa.renew > self.now {
                sa.wishes.push_back(Wish::Child { policy: policy.clone(), replaces: None });
                *next = self.now;
            }
            return;
        }
        let can = !peer.passive && peer.address.len() == 32;
        let address = peer.own.or(policy.own_end).or_else(|| own(peer.address.bits()));
        if let Some(address) = address.filter(|_| can) {
            self.ike.retry.insert(peer.item, self.now + RETRY);
            match peer.is_v1 {
                true => self.begin_v1(peer, Some(policy.clone()), address),
                false => self.begin(peer, policy.clone(), address),
            }
        }
    }

    /// What an IKE SA has to do by now; whether it goes on.
    fn has_turn(&mut self, sa: &mut IkeSa, next: &mut Moment) -> bool {
        let item = sa.peer.item;
        let is_known = self.settings.peer(item).is_some_and(|peer| *peer == sa.peer);
        if !is_known {
            if sa.is_up() {
                let mut message = Turn::request(sa, exchange::INFORMATIONAL);
                message.delete(&[]);
                let bytes = self.seal(sa, message);
                self.send(sa, bytes);
            }
            return false;
        }
        if !sa.is_up() && self.now.since(sa.since) >= PATIENCE {
            return false;
        }
        let probes = sa.peer.profile.probes;
        if let Some(pending) = &mut sa.pending {
            if self.now < pending.again {
                *next = (*next).min(pending.again);
                return true;
            }
            let is_probe = matches!(pending.asked, Asked::Probe);
            if pending.tries >= if is_probe { probes } else { TRIES } {
                let text = format!("{} does not answer", sa.peer.name);
                self.say(text);
                self.ike.retry.insert(item, self.now + RETRY);
                return false;
            }
            let apart =
                if is_probe { PROBES_APART } else { (AGAIN * (1 << pending.tries)).min(LATEST) };
            (pending.tries, pending.again) = (pending.tries + 1, self.now + apart);
            *next = (*next).min(pending.again);
            let bytes = pending.bytes.clone();
            self.send(sa, bytes);
            return true;
        }
        if !sa.is_up() {
            return true;
        }
        if sa.in_nat && self.now >= sa.keep {
            sa.keep = self.now + KEPT_OPEN;
            self.out.push(Datagram { ends: sa.ends, in_nat: false, bytes: vec![0xff] });
        }
        self.wish(sa);
        if let Some(wish) = sa.wishes.pop_front() {
            self.grant(sa, wish);
            *next = (*next).min(self.now + AGAIN);
        }
        true
    }

    /// Notes what an IKE SA is to ask.
    fn wish(&mut self, sa: &mut IkeSa) {
        let now = self.now;
        let (gone, old) = self.out_of_date(sa.own_spi(), usize::MAX);
        for (policy, spi) in old {
            sa.wishes.push_back(Wish::Child { policy, replaces: Some(spi) });
        }
        if !gone.is_empty() {
            sa.wishes.push_back(Wish::Delete(gone));
        }
        if now >= sa.renew {
            sa.renew = Moment::from_nanos(u64::MAX);
            sa.wishes.push_back(Wish::Rekey);
        }
        let silent = now.since(sa.heard);
        if sa.wishes.is_empty() && sa.peer.profile.probe_after.is_some_and(|after| silent >= after)
        {
            sa.wishes.push_back(Wish::Probe);
        }
    }

    /// Children of an IKE SA whose policy is another now, and those whose keys are old, which are to be replaced: at most
    /// so many at once.
    pub(super) fn out_of_date(
        &mut self,
        of: u64,
        most: usize,
    ) -> (Vec<u32>, Vec<(Arc<Policy>, u32)>) {
        let (mut gone, mut old) = (Vec::new(), Vec::new());
        for child in self.ike.children.values_mut().filter(|child| child.of == of) {
            let policy = self.settings.policy(child.policy.item);
            if policy.is_none_or(|policy| *policy != child.policy) {
                gone.push(child.spis[0]);
            } else if (self.now >= child.renew || child.sequence >= LAST)
                && !child.is_replaced
                && old.len() < most
            {
                child.is_replaced = true;
                old.push((child.policy.clone(), child.spis[0]));
            }
        }
        (gone, old)
    }

    fn grant(&mut self, sa: &mut IkeSa, wish: Wish) {
        match wish {
            Wish::Probe => {
                let message = Turn::request(sa, exchange::INFORMATIONAL);
                self.ask(sa, message, Asked::Probe);
            }
            Wish::Close => {
                let mut message = Turn::request(sa, exchange::INFORMATIONAL);
                message.delete(&[]);
                self.ask(sa, message, Asked::Close);
            }
            Wish::Delete(spis) => {
                let mut message = Turn::request(sa, exchange::INFORMATIONAL);
                message.delete(&spis);
                self.ask(sa, message, Asked::Delete(spis));
            }
            Wish::Rekey => {
                let Some(&group) = sa.keys.as_ref().map(|keys| &keys.suite.group) else { return };
                let (secret, nonce) = (self.random(), self.random::<NONCE>().to_vec());
                let spi = self.new_spi();
                let Some(public) = group.public(&secret) else { return };
                let mut message = Turn::request(sa, exchange::CREATE_CHILD_SA);
                message.sa(&offer(&sa.peer.profile, &spi.to_be_bytes()));
                message.push(payload::NONCE, |to| to.extend(&nonce));
                message.ke(group.0, &public);
                self.ask(sa, message, Asked::Rekey { spi, secret, group, nonce });
            }
            Wish::Child { policy, replaces } => {
                let old = replaces.and_then(|spi| self.ike.children.get(&spi));
                if replaces.is_some() && old.is_none() {
                    return;
                }
                let replaced = old.map(|old| old.spis[0]);
                let (secret, nonce) = (self.random(), self.random::<NONCE>().to_vec());
                let spi = self.new_child_spi();
                let mut message = Turn::request(sa, exchange::CREATE_CHILD_SA);
                if let Some(replaced) = replaced {
                    message.notify(notify::REKEY_SA, Some(replaced), &[]);
                }
                if !policy.is_tunnel {
                    message.notify(notify::USE_TRANSPORT_MODE, None, &[]);
                }
                message.sa(&offer_child(&policy.proposal, spi, true));
                message.push(payload::NONCE, |to| to.extend(&nonce));
                let group = policy.proposal.group;
                if let Some((group, public)) = group.and_then(|g| Some((g, g.public(&secret)?))) {
                    message.ke(group.0, &public);
                }
                message.selectors(payload::TS_I, &[policy.own]);
                message.selectors(payload::TS_R, &[policy.other]);
                self.ask(sa, message, Asked::Child { policy, replaces, spi, secret, nonce });
            }
        }
    }
}
