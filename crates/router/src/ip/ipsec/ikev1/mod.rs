//! IKEv1 (RFC 2409): keys agreed upon in two phases, in main mode and in quick mode, by what both ends know.
//!
//! ```text
//!  main mode   1 ─► 2 ◄─ what is done │ 3 ─► 4 ◄─ a secret, by Diffie and Hellman │ 5 ─► 6 ◄─ who one is, encrypted
//!  quick mode  1 ─► 2 ◄─ 3 ─►         a child: which packets, and their keys
//!  informational                      whether one lives (RFC 3706); what is over
//! ```
//!
//! Whoever waits for an answer says the last again; whoever hears the last again answers it as before. NAT is found
//! as RFC 3947 has it. A [`Sa`] is taken out of the state while it has its turn. Children are IKEv2's, and outlive it
//! as the children of the one that follows it.
//!
//! Missing: **aggressive mode**, **certificates and XAuth**, **addresses given out** (mode-config), **other addresses
//! told behind NAT** (NAT-OA), **the commit bit**.

// Who one is, and a secret.
mod main_mode;
// What one end would do, and the other chooses.
mod propose;
// Children.
mod quick;
// What is said beside.
mod informed;
// What is due.
mod tick;

use super::crypt::{Encryption, Group, Integrity, Prf, Sealer, Way};
use super::exchange::{AGAIN, Bad, Datagram, Turn};
use super::settings::{Id, Peer, Policy};
use super::state::Of;
use crate::ip::datagram::End;
use std::collections::BTreeMap;
use std::sync::Arc;
use wire::Moment;
use wire::ike::{HEADER, Message, NAT_PORT, Payload, payloads};
use wire::isakmp::{Header, begin_of, end_of, exchange, payload};

/// An IKE SA of version 1.
#[derive(Debug)]
pub(crate) struct Sa {
    pub(super) peer: Arc<Peer>,
    /// The router's, and the other one.
    pub(super) ends: (End, End),
    pub(super) in_nat: bool,
    /// The router began it.
    pub(super) began: bool,
    /// The initiator's, and the responder's.
    pub(super) cookies: [u64; 2],
    pub(super) stage: Stage,
    setup: Box<Setup>,
    keys: Option<Keys>,
    talk: Talk,
    /// Quick modes by their numbers.
    quick: BTreeMap<u32, Quick>,
    pub(super) heard: Moment,
    /// When NAT on the way is to be kept open again.
    keep: Moment,
    pub(super) since: Moment,
    /// When another is to take its place.
    renew: Moment,
    pub(super) other_id: Option<Id>,
    /// Another one has taken its place.
    is_followed: bool,
    /// The other end says whether it lives.
    probes: bool,
    /// How often it was asked since it was heard last, and when next.
    asked: u32,
    ask: Moment,
    /// The number of the last question.
    sequence: u32,
}

/// How far an IKE SA is: which message is to come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    Second,
    Third,
    Fourth,
    Fifth,
    Sixth,
    Up,
}

impl Stage {
    /// What RouterOS calls it.
    pub(super) fn word(self) -> &'static str {
        match self {
            Stage::Second => "message-1-sent",
            Stage::Third => "message-2-sent",
            Stage::Fourth => "message-3-sent",
            Stage::Fifth => "message-4-sent",
            Stage::Sixth => "message-5-sent",
            Stage::Up => "established",
        }
    }
}

/// What is known until both ends have proven who they are.
#[derive(Debug, Default)]
struct Setup {
    suite: Option<Suite>,
    secret: [u8; Group::SECRET],
    /// The initiator's, and the responder's.
    publics: [Vec<u8>; 2],
    nonces: [Vec<u8>; 2],
    /// The SA payload's body of who began.
    offered: Vec<u8>,
    /// The other end knows RFC 3947.
    knows_nat: bool,
    /// For which the first child is.
    policy: Option<Arc<Policy>>,
}

/// What is agreed upon for IKE's own messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Suite {
    encryption: Encryption,
    hash: Prf,
    group: Group,
}

/// The keys of an IKE SA (RFC 2409 §5).
#[derive(Debug)]
struct Keys {
    prf: Prf,
    /// SKEYID, by which ends are proven; SKEYID_d, of which children's keys are made; SKEYID_a, which proves messages.
    id: Vec<u8>,
    derive: Vec<u8>,
    prove: Vec<u8>,
    cipher: Sealer,
    /// The last encrypted block, which the next message begins with.
    iv: Vec<u8>,
}

/// What was said last, in an exchange.
#[derive(Debug, Default)]
struct Talk {
    heard: Vec<u8>,
    said: Vec<u8>,
    tries: u32,
    /// When it is said again, if an answer is waited for.
    again: Option<Moment>,
}

/// A child that is being agreed upon.
#[derive(Debug)]
struct Quick {
    policy: Arc<Policy>,
    /// Another child goes.
    replaces: Option<u32>,
    began: bool,
    /// It is over, but what was said last may be asked for again.
    is_done: bool,
    /// When packets leave by its child, if not by another one any more.
    takes_over: Option<Moment>,
    /// The router's SPI.
    spi: u32,
    secret: [u8; Group::SECRET],
    nonces: [Vec<u8>; 2],
    iv: Vec<u8>,
    talk: Talk,
    since: Moment,
}

impl Sa {
    /// The router's own cookie.
    pub(super) fn own_cookie(&self) -> u64 {
        self.cookies[usize::from(!self.began)]
    }

    pub(super) fn is_up(&self) -> bool {
        self.stage == Stage::Up
    }

    /// Whether a child is asked for: strongSwan knows but three quick modes of an SA at a time, and forgets how the
    /// first of four was encrypted.
    pub(super) fn asks(&self) -> bool {
        self.quick.values().any(|one| one.began && !one.is_done)
    }

    pub(super) fn of(&self) -> Of {
        let (ends, in_nat, began) = (self.ends, self.in_nat, self.began);
        Of { spi: self.own_cookie(), ends, in_nat, began }
    }

    /// A header of this SA.
    fn header(&self, exchange: u8, id: u32, is_encrypted: bool) -> Header {
        Header { cookies: self.cookies, next: 0, exchange, is_encrypted, id }
    }
}

impl Keys {
    /// Of what both ends know.
    fn new(suite: Suite, word: &[u8], shared: &[u8], setup: &Setup, cookies: [u64; 2]) -> Keys {
        let prf = suite.hash;
        let [i, r] = &setup.nonces;
        let id = prf.of(word, &[i, r]);
        let [one, two] = cookies.map(u64::to_be_bytes);
        let next = |before: &[u8], n: u8| prf.of(&id, &[before, shared, &one, &two, &[n]]);
        let derive = next(&[], 0);
        let prove = next(&derive, 1);
        let encrypt = next(&prove, 2);
        let len = suite.encryption.key_len();
        let key = if encrypt.len() >= len { encrypt } else { longer(prf, &encrypt, len) };
        let cipher = Sealer::new(suite.encryption, &key[..len], Integrity::None, &[]);
        let [i, r] = &setup.publics;
        let mut iv = prf.digest(&[i, r]);
        iv.truncate(cipher.iv_len());
        Keys { prf, id, derive, prove, cipher, iv }
    }

    /// The first IV of an exchange behind main mode.
    fn iv_of(&self, id: u32) -> Vec<u8> {
        let mut iv = self.prf.digest(&[&self.iv, &id.to_be_bytes()]);
        iv.truncate(self.cipher.iv_len());
        iv
    }
}

/// A key that is longer than what the function makes (RFC 2409, appendix B).
fn longer(prf: Prf, key: &[u8], len: usize) -> Vec<u8> {
    let (mut made, mut last) = (Vec::new(), vec![0]);
    while made.len() < len {
        last = prf.of(key, &[&last]);
        made.extend(&last);
    }
    made
}

/// Encrypts what is behind a message's header; the IV becomes that of the next message.
fn seal(cipher: &Sealer, iv: &mut Vec<u8>, message: Message) -> Vec<u8> {
    let mut bytes = message.finish();
    let block = cipher.block();
    bytes.resize(HEADER + (bytes.len() - HEADER).next_multiple_of(block), 0);
    let len = bytes.len() as u32;
    bytes[24..HEADER].copy_from_slice(&len.to_be_bytes());
    cipher.cbc(iv, &mut bytes[HEADER..], Way::Encrypt);
    *iv = bytes[bytes.len() - block..].to_vec();
    bytes
}

/// Decrypts what is behind a message's header; also the IV of the next message. `None` if it is not in whole blocks.
fn open(cipher: &Sealer, iv: &[u8], bytes: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
    let mut text = bytes[HEADER..].to_vec();
    let block = cipher.block();
    if text.is_empty() || !text.len().is_multiple_of(block) {
        return None;
    }
    let next = text[text.len() - block..].to_vec();
    cipher.cbc(iv, &mut text, Way::Decrypt);
    Some((text, next))
}

/// Whether two proofs are the same, in a time that does not tell where they differ.
fn is_same(one: &[u8], two: &[u8]) -> bool {
    one.len() == two.len() && one.iter().zip(two).fold(0, |all, (a, b)| all | (a ^ b)) == 0
}

/// What the first payload of a kind says.
fn body<'a>(all: &[Payload<'a>], kind: u8) -> Option<&'a [u8]> {
    super::exchange::body(all, kind)
}

impl Turn<'_> {
    fn send_v1(&mut self, sa: &Sa, bytes: Vec<u8>) {
        let in_nat = sa.ends.0.port == NAT_PORT;
        self.out.push(Datagram { ends: sa.ends, in_nat, bytes });
    }

    /// Says something in an exchange; whether an answer is waited for.
    fn say_v1(&mut self, sa: &Sa, talk: &mut Talk, bytes: Vec<u8>, waits: bool) {
        self.send_v1(sa, bytes.clone());
        (talk.said, talk.tries) = (bytes, 1);
        talk.again = waits.then(|| self.now + AGAIN);
    }

    /// A message of version 1 has come to one of the router's ends.
    pub(super) fn received_v1(&mut self, ends: (End, End), bytes: &[u8]) -> Result<(), Bad> {
        let header = Header::read(bytes).ok_or(Bad)?;
        if header.cookies[1] == 0 {
            return match (header.exchange, header.is_encrypted, header.id) {
                (exchange::MAIN, false, 0) if header.cookies[0] != 0 => {
                    self.first_asked(ends, header, bytes)
                }
                _ => Err(Bad),
            };
        }
        let own = header.cookies.into_iter().find(|cookie| self.ike.v1.contains_key(cookie));
        // Of one that the router has begun the other cookie is not known yet.
        let own = own.ok_or(Bad)?;
        let mut sa = self.ike.v1.remove(&own).ok_or(Bad)?;
        let known = [sa.cookies[0] == header.cookies[0], sa.cookies[1] == header.cookies[1]];
        let is_its = known[0] && (known[1] || sa.stage == Stage::Second);
        let is_its = is_its && sa.ends.1.address == ends.1.address;
        let goes_on = match is_its {
            true => self.taken_v1(&mut sa, ends, header, bytes),
            false => Err(Bad),
        };
        if goes_on != Ok(false) {
            self.ike.v1.insert(own, sa);
        }
        self.ike.due = self.now;
        goes_on.map(|_| ())
    }

    /// A message of an IKE SA; whether it goes on.
    fn taken_v1(
        &mut self,
        sa: &mut Sa,
        ends: (End, End),
        header: Header,
        bytes: &[u8],
    ) -> Result<bool, Bad> {
        match header.exchange {
            exchange::MAIN => {
                if sa.talk.heard == bytes {
                    // (Whoever has the last word answers nothing to the same again.)
                    if !(sa.began && sa.is_up()) {
                        self.send_v1(sa, sa.talk.said.clone());
                    }
                    return Ok(true);
                }
                let goes_on = self.main_mode(sa, ends, header, bytes)?;
                sa.talk.heard = bytes.to_vec();
                sa.heard = self.now;
                Ok(goes_on)
            }
            exchange::QUICK if sa.is_up() && header.is_encrypted && header.id != 0 => {
                self.quick_mode(sa, ends, header, bytes).map(|()| true)
            }
            exchange::INFORMATIONAL if sa.is_up() && header.is_encrypted && header.id != 0 => {
                self.informed_v1(sa, ends, header, bytes)
            }
            _ => Err(Bad),
        }
    }

    /// A message that is proven has come.
    fn heard_v1(&self, sa: &mut Sa, ends: (End, End)) {
        (sa.heard, sa.asked) = (self.now, 0);
        (sa.ends.0.port, sa.ends.1) = (ends.0.port, ends.1);
    }

    /// A number for an exchange.
    fn new_message(&mut self) -> u32 {
        u32::from_be_bytes(self.random::<4>()).max(1)
    }

    /// The payloads of a message of an exchange behind main mode, if its proof is `proof` of all behind it; and its next
    /// IV.
    fn proven<T>(
        sa: &Sa,
        (header, iv): (Header, &[u8]),
        bytes: &[u8],
        proof: impl FnOnce(&Keys, &[u8]) -> Vec<u8>,
        run: impl FnOnce(&[Payload<'_>], &[u8]) -> T,
    ) -> Result<(T, Vec<u8>), Bad> {
        let keys = sa.keys.as_ref().ok_or(Bad)?;
        let (text, next) = open(&keys.cipher, iv, bytes).ok_or(Bad)?;
        let all = payloads(header.next, &text).ok_or(Bad)?;
        let hash = all.first().filter(|first| first.kind == payload::HASH).ok_or(Bad)?;
        let rest = &text[hash.at + hash.body.len()..end_of(&all)];
        if !is_same(&proof(keys, rest), hash.body) {
            return Err(Bad);
        }
        debug_assert!(all.get(1).is_none_or(|one| begin_of(one) == hash.at + hash.body.len()));
        Ok((run(&all, rest), next))
    }
}
