//! SA_INIT (RFC 7296 §1.2): a secret is agreed upon, and found out whether there is NAT on the way.

use super::crypt::{Group, Prf};
use super::exchange::{Bad, Datagram, NONCE, Turn, body, notes, read_ke, read_nonce};
use super::propose::{choose, offer};
use super::settings::{Peer, Policy};
use super::state::{Asked, IkeSa, Keys, Phase, Setup};
use crate::ip::datagram::End;
use sha1::{Digest, Sha1};
use std::collections::VecDeque;
use std::sync::Arc;
use wire::Moment;
use wire::ike::{
    HEADER, Header, Message, NAT_PORT, Notify, PORT, Proposal, exchange, notify, payload, payloads,
};

/// Half-open IKE SAs that others began, of which the next has to show a cookie, and none is more.
const MANY: usize = 32;
pub(super) const MOST: usize = 256;

impl Turn<'_> {
    /// Begins an IKE SA from this address, whose first child is for a policy.
    pub(super) fn begin(&mut self, peer: &Arc<Peer>, policy: Arc<Policy>, own: u32) {
        let Some(&group) = peer.profile.groups.first() else { return };
        let setup = Setup {
            secret: self.random(),
            group: Some(group),
            nonces: [self.random::<NONCE>().to_vec(), vec![]],
            policy: Some(policy),
            ..Setup::default()
        };
        let ends = (
            End { address: own, port: PORT },
            End { address: peer.address.bits(), port: peer.port },
        );
        let spi = self.new_spi();
        let mut sa = self.new_sa(peer, ends, true, [spi, 0], setup);
        self.ask_init(&mut sa);
        self.ike.sas.insert(sa.own_spi(), sa);
    }

    pub(super) fn new_sa(
        &self,
        peer: &Arc<Peer>,
        ends: (End, End),
        began: bool,
        spis: [u64; 2],
        setup: Setup,
    ) -> IkeSa {
        IkeSa {
            peer: peer.clone(),
            ends,
            in_nat: false,
            began,
            spis,
            phase: Phase::Init,
            keys: None,
            setup: Some(Box::new(setup)),
            next_id: 0,
            expected: 0,
            answered: None,
            pending: None,
            wishes: VecDeque::new(),
            heard: self.now,
            keep: self.now,
            since: self.now,
            renew: Moment::from_nanos(u64::MAX),
            other_id: None,
        }
    }

    /// The first message, or again with what the other end wants to see in it.
    fn ask_init(&mut self, sa: &mut IkeSa) {
        let Some(setup) = sa.setup.as_deref_mut() else { return };
        let Some(group) = setup.group else { return };
        let Some(public) = group.public(&setup.secret) else { return };
        let header = Header {
            spis: sa.spis,
            next: 0,
            exchange: exchange::SA_INIT,
            from_initiator: true,
            is_response: false,
            id: 0,
        };
        let mut message = Message::new(header);
        if !setup.cookie.is_empty() {
            message.notify(notify::COOKIE, None, &setup.cookie);
        }
        message.sa(&offer(&sa.peer.profile, &[]));
        message.ke(group.0, &public);
        message.push(payload::NONCE, |to| to.extend(&setup.nonces[0]));
        if sa.peer.profile.nat_traversal {
            tell_ends(&mut message, sa.spis, sa.ends);
        }
        let bytes = message.finish();
        setup.firsts[0] = bytes.clone();
        (sa.next_id, sa.pending) = (0, None);
        self.send_request(sa, bytes, Asked::Init);
    }

    /// Somebody begins.
    pub(super) fn init_asked(
        &mut self,
        ends: (End, End),
        header: Header,
        bytes: &[u8],
    ) -> Result<(), Bad> {
        let is_again = |sa: &&IkeSa| {
            !sa.began && sa.spis[0] == header.spis[0] && sa.ends.1.address == ends.1.address
        };
        if let Some(sa) = self.ike.sas.values().find(is_again) {
            // It has not heard the answer.
            let answer = sa.setup.as_ref().map(|setup| setup.firsts[1].clone()).ok_or(Bad)?;
            let in_nat = ends.0.port == NAT_PORT;
            self.out.push(Datagram { ends, in_nat, bytes: answer });
            return Ok(());
        }
        let peer = self.settings.peer_at(ends.0.address, ends.1.address, false).ok_or(Bad)?.clone();
        let all = payloads(header.next, &bytes[HEADER..]).ok_or(Bad)?;
        let offered = body(&all, payload::SA).and_then(Proposal::read_all).ok_or(Bad)?;
        let (group, public) = body(&all, payload::KE).and_then(read_ke).ok_or(Bad)?;
        let nonce = read_nonce(&all).ok_or(Bad)?;
        let notes = notes(&all);
        let refuse = |turn: &mut Self, kind, data: &[u8]| {
            let mut message = Message::new(Header {
                next: 0,
                from_initiator: false,
                is_response: true,
                ..header
            });
            message.notify(kind, None, data);
            let in_nat = ends.0.port == NAT_PORT;
            turn.out.push(Datagram { ends, in_nat, bytes: message.finish() });
            Ok(())
        };
        let half_open = self.ike.sas.values().filter(|sa| !sa.began && !sa.is_up()).count();
        if half_open >= MANY {
            let cookie = self.cookie(ends.1, header.spis[0], &nonce);
            let has = notes.iter().any(|one| one.kind == notify::COOKIE && one.data == cookie);
            if !has {
                return refuse(self, notify::COOKIE, &cookie);
            }
        }
        if half_open >= MOST {
            return Err(Bad);
        }
        // Both have begun: of two the one of the lower address stays.
        let begun = self.ike.sas.values().find(|sa| {
            sa.began
                && !sa.is_up()
                && sa.peer.item == peer.item
                && sa.ends.1.address == ends.1.address
        });
        if let Some(spi) = begun.map(IkeSa::own_spi) {
            if ends.0.address < ends.1.address {
                return Ok(());
            }
            self.ike.sas.remove(&spi);
        }
        let Some((suite, chosen)) = choose(&peer.profile, &offered) else {
            return refuse(self, notify::NO_PROPOSAL_CHOSEN, &[]);
        };
        if group != suite.group {
            return refuse(self, notify::INVALID_KE_PAYLOAD, &suite.group.0.to_be_bytes());
        }
        let (secret, own_nonce) = (self.random(), self.random::<NONCE>().to_vec());
        let spis = [header.spis[0], self.new_spi()];
        let (Some(shared), Some(own_public)) =
            (group.shared(&secret, public), group.public(&secret))
        else {
            return Err(Bad);
        };
        let mut message = Message::new(Header {
            spis,
            next: 0,
            from_initiator: false,
            is_response: true,
            ..header
        });
        message.sa(&[chosen]);
        message.ke(group.0, &own_public);
        message.push(payload::NONCE, |to| to.extend(&own_nonce));
        if peer.profile.nat_traversal {
            tell_ends(&mut message, spis, ends);
        }
        let answer = message.finish();
        let setup = Setup {
            nonces: [nonce, own_nonce],
            firsts: [bytes.to_vec(), answer.clone()],
            ..Setup::default()
        };
        let [i, r] = &setup.nonces;
        let keys = Keys::new(suite, None, &shared, [i, r], spis, false);
        let mut sa = self.new_sa(&peer, ends, false, spis, setup);
        sa.in_nat = peer.profile.nat_traversal && is_translated(&notes, header.spis, ends);
        (sa.keys, sa.phase, sa.next_id, sa.expected) = (Some(keys), Phase::Auth, 0, 1);
        self.send(&sa, answer);
        self.ike.sas.insert(sa.own_spi(), sa);
        self.ike.due = self.now;
        Ok(())
    }

    fn cookie(&self, from: End, spi: u64, nonce: &[u8]) -> Vec<u8> {
        let key = self.dice.own_key();
        let parts: [&[u8]; 3] = [&from.address.to_be_bytes(), &spi.to_be_bytes(), nonce];
        Prf::Sha256.of(&key, &parts)
    }

    /// The first answer.
    pub(super) fn init_answered(
        &mut self,
        sa: &mut IkeSa,
        header: Header,
        bytes: &[u8],
    ) -> Result<bool, Bad> {
        let all = payloads(header.next, &bytes[HEADER..]).ok_or(Bad)?;
        let notes = notes(&all);
        let setup = sa.setup.as_deref_mut().ok_or(Bad)?;
        if body(&all, payload::SA).is_none() {
            // Nobody has proven this: it is believed a few times.
            setup.refused += 1;
            let refusal = notes.first().ok_or(Bad)?;
            let offered = |group: &&Group| refusal.data == group.0.to_be_bytes();
            match refusal.kind {
                _ if setup.refused > 4 => return Err(Bad),
                notify::COOKIE if (1..=64).contains(&refusal.data.len()) => {
                    setup.cookie = refusal.data.to_vec();
                }
                notify::INVALID_KE_PAYLOAD => {
                    let group = sa.peer.profile.groups.iter().find(offered).ok_or(Bad)?;
                    setup.group = Some(*group);
                }
                _ => return Err(Bad),
            }
            self.ask_init(sa);
            return Ok(true);
        }
        let offered = body(&all, payload::SA).and_then(Proposal::read_all).ok_or(Bad)?;
        let (group, public) = body(&all, payload::KE).and_then(read_ke).ok_or(Bad)?;
        let (suite, _) = choose(&sa.peer.profile, &offered).ok_or(Bad)?;
        if Some(group) != setup.group || suite.group != group || header.spis[1] == 0 {
            return Err(Bad);
        }
        let shared = group.shared(&setup.secret, public).ok_or(Bad)?;
        sa.spis = header.spis;
        setup.nonces[1] = read_nonce(&all).ok_or(Bad)?;
        setup.firsts[1] = bytes.to_vec();
        let [i, r] = &setup.nonces;
        sa.keys = Some(Keys::new(suite, None, &shared, [i, r], sa.spis, true));
        (sa.phase, sa.pending) = (Phase::Auth, None);
        sa.heard = self.now;
        if sa.peer.profile.nat_traversal && is_translated(&notes, sa.spis, sa.ends) {
            sa.in_nat = true;
            sa.ends.0.port = NAT_PORT;
            sa.ends.1.port = NAT_PORT;
        }
        self.ask_auth(sa);
        Ok(true)
    }
}

/// Says where a message comes from and goes to, so that the other end finds out whether that is changed on its way
/// (RFC 7296 §2.23).
fn tell_ends(message: &mut Message, spis: [u64; 2], (own, other): (End, End)) {
    message.notify(notify::NAT_DETECTION_SOURCE_IP, None, &told(spis, own));
    message.notify(notify::NAT_DETECTION_DESTINATION_IP, None, &told(spis, other));
}

fn told(spis: [u64; 2], end: End) -> Vec<u8> {
    let [i, r] = spis.map(u64::to_be_bytes);
    let (address, port) = (end.address.to_be_bytes(), end.port.to_be_bytes());
    Sha1::digest([&i[..], &r, &address, &port].concat()).to_vec()
}

/// Whether an answer says otherwise than what came. Who says nothing of it has no NAT in mind.
fn is_translated(notes: &[Notify<'_>], spis: [u64; 2], (own, other): (End, End)) -> bool {
    let differs = |kind, end| {
        let mut said = notes.iter().filter(|one| one.kind == kind).peekable();
        said.peek().is_some() && !said.any(|one| one.data == told(spis, end))
    };
    differs(notify::NAT_DETECTION_SOURCE_IP, other)
        || differs(notify::NAT_DETECTION_DESTINATION_IP, own)
}
