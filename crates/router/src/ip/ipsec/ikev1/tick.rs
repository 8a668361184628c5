//! Timers of IKEv1: what is said again, keys made anew, silent ends given up.

use super::{Sa, Turn};
use crate::ip::ipsec::exchange::{AGAIN, Datagram, PROBES_APART, RETRY};
use crate::ip::ipsec::settings::{Peer, Policy};
use crate::ip::ipsec::state::Child;
use crate::ip::ipsec::tick::{KEPT_OPEN, LATEST, PATIENCE, TRIES};
use std::sync::Arc;
use wire::Moment;
use wire::isakmp::{Delete, notify, payload};

impl Turn<'_> {
    /// Does what is due of version 1.
    pub(in crate::ip::ipsec) fn tick_v1(&mut self, next: &mut Moment) {
        for cookie in self.ike.v1.keys().copied().collect::<Vec<_>>() {
            let Some(mut sa) = self.ike.v1.remove(&cookie) else { continue };
            match self.has_turn_v1(&mut sa, next) {
                true => _ = self.ike.v1.insert(cookie, sa),
                false => self.end_children(cookie),
            }
        }
        let over = self.ike.children.values().filter(|child| self.now >= child.ends_at);
        let over: Vec<(u64, u32)> = over.map(|child| (child.of, child.spis[0])).collect();
        for (of, spi) in over {
            if let Some(sa) = self.ike.v1.remove(&of) {
                self.inform_v1(&sa, payload::DELETE, &Delete::Esp(vec![spi]).write());
                self.ike.v1.insert(of, sa);
            }
        }
    }

    /// Sees to it that a policy has keys, with an end of version 1; whether there is an IKE SA for that.
    pub(in crate::ip::ipsec) fn want_v1(&mut self, policy: &Arc<Policy>, peer: &Peer) -> bool {
        let its = self.ike.v1.values().filter(|sa| sa.peer.item == peer.item && !sa.is_followed);
        let Some(cookie) = its.max_by_key(|sa| (sa.is_up(), sa.since)).map(Sa::own_cookie) else {
            return false;
        };
        let Some(mut sa) = self.ike.v1.remove(&cookie) else { return false };
        let is_asked = sa.quick.values().any(|one| !one.is_done && one.policy.item == policy.item);
        if sa.is_up() && !is_asked && !sa.asks() {
            self.begin_quick(&mut sa, policy, None);
        }
        self.ike.v1.insert(cookie, sa);
        true
    }

    /// What an IKE SA has to do by now; whether it goes on.
    fn has_turn_v1(&mut self, sa: &mut Sa, next: &mut Moment) -> bool {
        let item = sa.peer.item;
        let is_known = self.settings.peer(item).is_some_and(|peer| *peer == sa.peer);
        if !is_known {
            self.close_v1(sa);
            return false;
        }
        if !sa.is_up() && self.now.since(sa.since) >= PATIENCE {
            return false;
        }
        let mut talk = std::mem::take(&mut sa.talk);
        let goes_on = self.again_v1(sa, &mut talk, next);
        sa.talk = talk;
        if !goes_on {
            self.say(format!("{} does not answer", sa.peer.name));
            self.ike.retry.insert(item, self.now + RETRY);
            return false;
        }
        if !sa.is_up() {
            return true;
        }
        for id in sa.quick.keys().copied().collect::<Vec<_>>() {
            let Some(mut quick) = sa.quick.remove(&id) else { continue };
            let mut talk = std::mem::take(&mut quick.talk);
            let goes_on =
                self.again_v1(sa, &mut talk, next) && self.now.since(quick.since) < PATIENCE;
            quick.talk = talk;
            match quick.takes_over {
                Some(at) if self.now < at => *next = (*next).min(at),
                Some(_) => {
                    let key = self.ike.children.get(&quick.spi).map(Child::key);
                    key.into_iter().for_each(|key| _ = self.ike.current.insert(key, quick.spi));
                    quick.takes_over = None;
                }
                _ => {}
            }
            if goes_on {
                sa.quick.insert(id, quick);
            } else if !quick.is_done {
                if !quick.began {
                    self.end_child(quick.spi);
                }
                if let Some(old) = quick.replaces.and_then(|old| self.ike.children.get_mut(&old)) {
                    (old.is_replaced, old.renew) = (false, self.now + RETRY);
                }
            }
        }
        if sa.in_nat && self.now >= sa.keep {
            sa.keep = self.now + KEPT_OPEN;
            self.out.push(Datagram { ends: sa.ends, in_nat: false, bytes: vec![0xff] });
        }
        if sa.is_followed || self.now >= sa.since + sa.peer.profile.lifetime {
            self.close_v1(sa);
            return false;
        }
        if self.now >= sa.renew {
            self.follow(sa);
        }
        self.look_at_children(sa);
        self.probe_v1(sa, next)
    }

    /// Says again what nobody has answered; whether that is to go on.
    fn again_v1(&mut self, sa: &Sa, talk: &mut super::Talk, next: &mut Moment) -> bool {
        let Some(again) = talk.again else { return true };
        if self.now < again {
            *next = (*next).min(again);
            return true;
        }
        if talk.tries >= TRIES {
            return false;
        }
        let again = self.now + (AGAIN * (1 << talk.tries)).min(LATEST);
        (talk.tries, talk.again) = (talk.tries + 1, Some(again));
        *next = (*next).min(again);
        self.send_v1(sa, talk.said.clone());
        true
    }

    /// The time of an IKE SA is nearly over: whoever began it begins another.
    fn follow(&mut self, sa: &mut Sa) {
        sa.renew = self.now + PATIENCE;
        if sa.began {
            self.begin_v1(&sa.peer, None, sa.ends.0.address);
        }
    }

    /// Children whose policy is another now, or whose keys are old.
    fn look_at_children(&mut self, sa: &mut Sa) {
        let (gone, old) = self.out_of_date(sa.own_cookie(), usize::from(!sa.asks()));
        if !gone.is_empty() {
            self.inform_v1(sa, payload::DELETE, &Delete::Esp(gone.clone()).write());
            gone.into_iter().for_each(|spi| self.end_child(spi));
        }
        for (policy, spi) in old {
            self.begin_quick(sa, &policy, Some(spi));
        }
    }

    /// Asks a silent end whether it lives; whether it may.
    fn probe_v1(&mut self, sa: &mut Sa, next: &mut Moment) -> bool {
        let Some(after) = sa.peer.profile.probe_after.filter(|_| sa.probes) else { return true };
        if self.now.since(sa.heard) < after || self.now < sa.ask {
            return true;
        }
        if sa.asked >= sa.peer.profile.probes {
            self.say(format!("{} does not answer", sa.peer.name));
            self.ike.retry.insert(sa.peer.item, self.now + RETRY);
            return false;
        }
        (sa.asked, sa.ask) = (sa.asked + 1, self.now + PROBES_APART);
        sa.sequence = sa.sequence.wrapping_add(1);
        *next = (*next).min(sa.ask);
        let sequence = sa.sequence.to_be_bytes();
        self.tell_v1(sa, notify::R_U_THERE, &sequence);
        true
    }

    /// Tells the other end that an IKE SA is over, with all its children.
    fn close_v1(&mut self, sa: &Sa) {
        if !sa.is_up() {
            return;
        }
        let of = sa.own_cookie();
        let its = self.ike.children.values().filter(|child| child.of == of);
        let its: Vec<u32> = its.map(|child| child.spis[0]).collect();
        if !its.is_empty() {
            self.inform_v1(sa, payload::DELETE, &Delete::Esp(its).write());
        }
        self.inform_v1(sa, payload::DELETE, &Delete::Ike(sa.cookies).write());
    }
}
