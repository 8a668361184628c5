//! Exchanges of IKEv2 (RFC 7296): asked, answered, asked again.
//!
//! ```text
//!  SA_INIT   a secret, by Diffie and Hellman    ─► keys
//!  AUTH      who one is, proven by what both know; the first child
//!  CREATE_CHILD_SA   another child, or keys made anew
//!  INFORMATIONAL     whether one lives; what is over
//! ```
//!
//! One request at a time is on its way from each end. An [`IkeSa`] is taken out of the state while it has its turn.
//! Missing: **certificates and EAP**, **addresses given out** (mode-config), **messages in pieces** (RFC 7383).

use super::crypt::Group;
use super::settings::Settings;
use super::state::{Asked, Child, Ike, IkeSa, Pending, Phase, Wish};
use crate::ip::datagram::End;
use crate::ip::services::Dice;
use std::time::Duration;
use wire::Moment;
use wire::ike::{
    HEADER, Header, Message, NAT_PORT, Notify, Payload, deleted, exchange, notify, payload,
    payloads,
};
use wire::isakmp;

/// A message that is to be sent.
#[derive(Debug)]
pub(crate) struct Datagram {
    pub(crate) ends: (End, End),
    /// Four zeros stand in front of it.
    pub(crate) in_nat: bool,
    pub(crate) bytes: Vec<u8>,
}

/// A message is nothing that this end has to do with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bad;

/// One end's turn.
pub(crate) struct Turn<'a> {
    pub(crate) ike: &'a mut Ike,
    pub(crate) settings: &'a Settings,
    pub(crate) dice: &'a mut Dice,
    pub(crate) now: Moment,
    pub(crate) out: Vec<Datagram>,
    pub(crate) said: Vec<String>,
}

/// How long an answer is waited for, at first; then twice as long each time.
pub(super) const AGAIN: Duration = Duration::from_millis(500);
pub(super) const PROBES_APART: Duration = Duration::from_secs(5);
/// Whoever was not reached is not asked sooner.
pub(super) const RETRY: Duration = Duration::from_secs(5);
/// A nonce's bytes.
pub(super) const NONCE: usize = 32;

/// What an answer has to say for an IKE SA to go on.
pub(super) type Answer<T> = Result<T, u16>;

impl Turn<'_> {
    pub(super) fn random<const N: usize>(&mut self) -> [u8; N] {
        let mut bytes = [0; N];
        self.dice.fill(&mut bytes);
        bytes
    }

    pub(super) fn new_spi(&mut self) -> u64 {
        u64::from_be_bytes(self.random::<8>()).max(1)
    }

    /// One of what is to come that nobody has; the first 255 are reserved.
    pub(super) fn new_child_spi(&mut self) -> u32 {
        loop {
            let spi = u32::from_be_bytes(self.random::<4>());
            if spi > 255 && !self.ike.children.contains_key(&spi) {
                return spi;
            }
        }
    }

    pub(super) fn say(&mut self, text: String) {
        self.said.push(text);
    }

    pub(super) fn send(&mut self, sa: &IkeSa, bytes: Vec<u8>) {
        let in_nat = sa.ends.0.port == NAT_PORT;
        self.out.push(Datagram { ends: sa.ends, in_nat, bytes });
    }

    pub(super) fn send_request(&mut self, sa: &mut IkeSa, bytes: Vec<u8>, asked: Asked) {
        let apart = if matches!(asked, Asked::Probe) { PROBES_APART } else { AGAIN };
        let again = self.now + apart;
        let id = sa.next_id;
        sa.next_id += 1;
        self.send(sa, bytes.clone());
        sa.pending = Some(Pending { id, bytes, tries: 1, again, asked });
    }

    /// Encrypts payloads, of a request or of an answer.
    pub(super) fn seal(&self, sa: &mut IkeSa, message: Message) -> Vec<u8> {
        let Some(keys) = sa.keys.as_mut() else { return Vec::new() };
        let sealer = &keys.own;
        let (mut bytes, iv_at) = message.enclose(sealer.iv_len(), sealer.block(), sealer.icv_len());
        keys.sealed += 1;
        sealer.seal(&mut bytes, iv_at, keys.sealed);
        bytes
    }

    pub(super) fn request(sa: &IkeSa, exchange: u8) -> Message {
        let (spis, id) = (sa.spis, sa.next_id);
        let from_initiator = sa.began;
        Message::new(Header { spis, next: 0, exchange, from_initiator, is_response: false, id })
    }

    pub(super) fn ask(&mut self, sa: &mut IkeSa, message: Message, asked: Asked) {
        let bytes = self.seal(sa, message);
        self.send_request(sa, bytes, asked);
    }

    /// A message has come to one of the router's ends.
    pub(crate) fn received(&mut self, ends: (End, End), bytes: &[u8]) -> Result<(), Bad> {
        if bytes.get(17) == Some(&isakmp::VERSION) {
            return self.received_v1(ends, bytes);
        }
        let header = Header::read(bytes).ok_or(Bad)?;
        let own_spi = header.spis[usize::from(header.from_initiator)];
        if own_spi == 0 {
            let is_first = header.exchange == exchange::SA_INIT && header.from_initiator;
            return match is_first && !header.is_response && header.id == 0 {
                true => self.init_asked(ends, header, bytes),
                false => Err(Bad),
            };
        }
        let mut sa = self.ike.sas.remove(&own_spi).ok_or(Bad)?;
        let is_its = sa.ends.1.address == ends.1.address && sa.began != header.from_initiator;
        let goes_on = match is_its {
            true => self.taken(&mut sa, ends, header, bytes),
            false => Err(Bad),
        };
        // One that has ended is not put back.
        if goes_on != Ok(false) {
            self.ike.sas.insert(own_spi, sa);
        }
        self.ike.due = self.now;
        goes_on.map(|_| ())
    }

    /// A message of an IKE SA; whether it goes on.
    fn taken(
        &mut self,
        sa: &mut IkeSa,
        ends: (End, End),
        header: Header,
        bytes: &[u8],
    ) -> Result<bool, Bad> {
        if header.exchange == exchange::SA_INIT {
            let is_awaited = sa.phase == Phase::Init && sa.began && header.is_response;
            return match is_awaited {
                true => self.init_answered(sa, header, bytes),
                false => Err(Bad),
            };
        }
        let keys = sa.keys.as_ref().ok_or(Bad)?;
        let mut bytes = bytes.to_vec();
        let all = payloads(header.next, &bytes[HEADER..]).ok_or(Bad)?;
        let sk = all.last().filter(|last| last.kind == payload::SK).ok_or(Bad)?;
        let iv_at = HEADER + sk.at;
        let is_last = iv_at + sk.body.len() == bytes.len();
        let first = bytes[iv_at - 4];
        let plain = keys.other.open(&mut bytes, iv_at).filter(|_| is_last).ok_or(Bad)?;
        let padding = usize::from(*bytes[plain.clone()].last().ok_or(Bad)?);
        let end =
            plain.end.checked_sub(padding + 1).filter(|end| *end >= plain.start).ok_or(Bad)?;
        let inner = &bytes[plain.start..end];
        // From here on it is proven that the other end has said it.
        sa.heard = self.now;
        (sa.ends.0.port, sa.ends.1) = (ends.0.port, ends.1);
        let all = payloads(first, inner).ok_or(Bad)?;
        if header.is_response {
            let pending = sa.pending.take_if(|pending| pending.id == header.id).ok_or(Bad)?;
            return Ok(self.answered(sa, pending, &all));
        }
        if sa.answered.as_ref().is_some_and(|(id, _)| *id == header.id) {
            let answer = sa.answered.as_ref().map(|(_, answer)| answer.clone());
            self.send(sa, answer.unwrap_or_default());
            return Ok(true);
        }
        if header.id != sa.expected {
            return Err(Bad);
        }
        sa.expected += 1;
        Ok(self.asked(sa, header, &all))
    }

    /// A request; whether the IKE SA goes on.
    fn asked(&mut self, sa: &mut IkeSa, header: Header, all: &[Payload<'_>]) -> bool {
        let mut message =
            Message::new(Header { next: 0, from_initiator: sa.began, is_response: true, ..header });
        let unknown = all.iter().find(|one| one.is_critical && !payload::KNOWN.contains(&one.kind));
        let goes_on = match (unknown, header.exchange, sa.phase) {
            (Some(one), ..) => {
                message.notify(notify::UNSUPPORTED_CRITICAL_PAYLOAD, None, &[one.kind]);
                true
            }
            (None, exchange::AUTH, Phase::Auth) => self.auth_asked(sa, all, &mut message),
            (None, exchange::CREATE_CHILD_SA, Phase::Up) => {
                if let Err(why) = self.child_or_rekey_asked(sa, all, &mut message) {
                    let group = sa.peer.profile.groups.first().map_or(0, |group| group.0);
                    let data = group.to_be_bytes();
                    let says = why == notify::INVALID_KE_PAYLOAD;
                    message.notify(why, None, if says { &data } else { &[] });
                }
                true
            }
            (None, exchange::INFORMATIONAL, _) => self.informed(sa, all, &mut message),
            _ => true,
        };
        let bytes = self.seal(sa, message);
        sa.answered = Some((header.id, bytes.clone()));
        self.send(sa, bytes);
        goes_on
    }

    /// An answer; whether the IKE SA goes on.
    fn answered(&mut self, sa: &mut IkeSa, pending: Pending, all: &[Payload<'_>]) -> bool {
        let outcome = match pending.asked {
            Asked::Init => return true,
            Asked::Auth => match self.auth_answered(sa, all) {
                Ok(()) => return true,
                Err(why) => {
                    self.say(format!("{} is not proven: {}", sa.peer.name, word(why)));
                    self.ike.retry.insert(sa.peer.item, self.now + RETRY);
                    return false;
                }
            },
            Asked::Child { policy, replaces, spi, secret, nonce } => {
                let done = self.child_answered(sa, &policy, (spi, &secret, &nonce), all);
                if let Some(old) = replaces.and_then(|old| self.ike.children.get_mut(&old)) {
                    match done {
                        Ok(()) => sa.wishes.push_back(Wish::Delete(vec![old.spis[0]])),
                        Err(_) => (old.is_replaced, old.renew) = (false, self.now + RETRY),
                    }
                }
                done
            }
            Asked::Rekey { spi, secret, group, nonce } => {
                let done = self.rekey_answered(sa, (spi, &secret, group, &nonce), all);
                match done {
                    Ok(()) => sa.wishes.push_back(Wish::Close),
                    Err(_) => sa.renew = self.now + RETRY,
                }
                done
            }
            Asked::Probe => Ok(()),
            // What the other end had sent by them before it knew has come by now.
            Asked::Delete(spis) => {
                spis.into_iter().for_each(|spi| self.end_child(spi));
                Ok(())
            }
            Asked::Close => return false,
        };
        if let Err(why) = outcome {
            self.say(format!("{} refuses keys: {}", sa.peer.name, word(why)));
            self.ike.retry.insert(sa.peer.item, self.now + RETRY);
        }
        true
    }

    /// Something is over, or the other end asks whether the router lives; whether the IKE SA goes on.
    fn informed(&mut self, sa: &mut IkeSa, all: &[Payload<'_>], to: &mut Message) -> bool {
        let mut goes_on = sa.phase != Phase::Init;
        let mut own = Vec::new();
        for one in all.iter().filter(|one| one.kind == payload::DELETE) {
            let Some(spis) = deleted(one.body) else { continue };
            if spis.is_empty() {
                goes_on = false;
                self.end_children(sa.own_spi());
                continue;
            }
            let is_it = |child: &&Child| child.of == sa.own_spi() && spis.contains(&child.spis[1]);
            own.extend(self.ike.children.values().filter(is_it).map(|child| child.spis[0]));
        }
        if !own.is_empty() {
            own.iter().for_each(|spi| self.end_child(*spi));
            to.delete(&own);
        }
        goes_on
    }
}

pub(super) fn read_ke(body: &[u8]) -> Option<(Group, &[u8])> {
    let head = body.first_chunk::<4>()?;
    Some((Group(u16::from_be_bytes([head[0], head[1]])), &body[4..]))
}

/// What the first payload of a kind says.
pub(super) fn body<'a>(all: &[Payload<'a>], kind: u8) -> Option<&'a [u8]> {
    all.iter().find(|one| one.kind == kind).map(|one| one.body)
}

/// A nonce, if it has a length that it may have (RFC 7296 §3.9).
pub(super) fn read_nonce(all: &[Payload<'_>]) -> Option<Vec<u8>> {
    let nonce = body(all, payload::NONCE)?;
    (16..=256).contains(&nonce.len()).then(|| nonce.to_vec())
}

/// All notifications.
pub(super) fn notes<'a>(all: &[Payload<'a>]) -> Vec<Notify<'a>> {
    let notes = all.iter().filter(|one| one.kind == payload::NOTIFY);
    notes.filter_map(|one| Notify::read(one.body)).collect()
}

pub(super) fn has(all: &[Payload<'_>], kind: u16) -> bool {
    notes(all).iter().any(|one| one.kind == kind)
}

/// The error that an answer says.
pub(super) fn refusal(all: &[Payload<'_>]) -> Option<u16> {
    notes(all).iter().map(|one| one.kind).find(|kind| *kind < notify::STATUS)
}

/// What a refusal says.
pub(super) fn word(why: u16) -> String {
    let word = match why {
        notify::NO_PROPOSAL_CHOSEN => "none of the proposals suits it",
        notify::AUTHENTICATION_FAILED => "the secret or the identity is another",
        notify::TS_UNACCEPTABLE => "it has no such policy",
        notify::INVALID_KE_PAYLOAD => "it wants another group",
        notify::TEMPORARY_FAILURE => "it makes keys anew itself",
        other => return format!("error {other}"),
    };
    word.to_string()
}
