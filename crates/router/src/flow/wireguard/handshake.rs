//! Handshakes of WireGuard: begun, answered, given a cookie.
//!
//! ```text
//!  begin ─► initiation ─► [initiated] ─► response ─► [responded] ─► what waits leaves
//!                             └─ too many: a cookie ─► [given_cookie] ─► the next initiation proves its address
//! ```

use super::{Place, ends, listener, place_of_number, send, tick};
use crate::discard::Discard;
use crate::interface::wireguard::noise::{self, KeyPair, Timestamp};
use crate::interface::wireguard::state::{Handshake, PeerState, Session};
use crate::interface::wireguard::{Peer, Wireguard};
use crate::ip::datagram::send_between;
use crate::router::Router;
use std::net::SocketAddr;
use wire::Moment;
use wire::wireguard::{Cookie, Initiation, MAC, Message, Response};

/// What came: from whom to which end, and the whole of it.
struct Came<'a> {
    ends: (SocketAddr, SocketAddr),
    bytes: &'a [u8],
    /// The interface that listens there, and its place.
    wireguard: &'a Wireguard,
    at: usize,
    own: KeyPair,
}

/// A message of a handshake has come.
pub(super) fn receive(
    r: &mut Router,
    now: Moment,
    ends: (SocketAddr, SocketAddr),
    bytes: &[u8],
) -> Result<(), Discard> {
    let program = r.program.clone();
    let at = listener(r, ends.0.port()).ok_or(Discard::NoListener)?;
    let wireguard = &program.wireguards[at];
    let own = r.link.wireguard.keys_of(wireguard).ok_or(Discard::NoSecurityAssociation)?;
    let came = Came { ends, bytes, wireguard, at, own };
    match Message::read(bytes) {
        Some(Message::Initiation(said)) => initiated(r, now, &came, &said)?,
        Some(Message::Response(said)) => responded(r, now, &came, &said)?,
        Some(Message::Cookie(said)) => given_cookie(r, now, &came, &said)?,
        Some(Message::Data(_)) | None => return Err(Discard::MalformedTunnel),
    }
    r.services.due = now;
    Ok(())
}

/// Somebody begins: he is answered, if he is a peer.
fn initiated(
    r: &mut Router,
    now: Moment,
    came: &Came<'_>,
    said: &Initiation<'_>,
) -> Result<(), Discard> {
    if !is_meant(r, now, came, said.sender)? {
        return Ok(());
    }
    let mut asked = noise::asked(&came.own, said).ok_or(Discard::Undecryptable)?;
    let peer = came.wireguard.peers.iter().find(|peer| peer.public == asked.other);
    let peer = peer.ok_or(Discard::NoSecurityAssociation)?;
    let statics = peer.statics(came.own);
    let time = asked.time(&statics).ok_or(Discard::Undecryptable)?;
    tick::reconcile(r);
    let (number, ephemeral) = (fresh(r), random(r));
    let state = state_of(r, peer)?;
    if !state.is_new(now, time) {
        return Err(Discard::Repeated);
    }
    let answer = asked.answer(&statics, number, ephemeral);
    let (mut message, keys, theirs) = answer.ok_or(Discard::Undecryptable)?;
    noise::prove(&mut message, &peer.public, fresh_cookie(state, now).as_ref());
    state.answered(Session::new((number, theirs), keys, now, false));
    state.endpoint = Some((Some(came.ends.0.ip()), came.ends.1));
    state.heard_from(now, false);
    state.said(now, false);
    state.bytes[0] += came.bytes.len() as u64;
    state.bytes[1] += message.len() as u64;
    r.link.wireguard.number_anew();
    send_between(r, now, came.ends, &message);
    Ok(())
}

/// A peer has answered: the keys are used.
fn responded(
    r: &mut Router,
    now: Moment,
    came: &Came<'_>,
    said: &Response<'_>,
) -> Result<(), Discard> {
    if !is_meant(r, now, came, said.sender)? {
        return Ok(());
    }
    let peer = peer_of(r, came, said.receiver)?;
    let state = state_of(r, peer)?;
    let begun = state.handshake.as_ref().filter(|begun| begun.own == said.receiver);
    let begun = begun.ok_or(Discard::NoSecurityAssociation)?;
    let keys = begun.begun.answered(&peer.statics(came.own), said);
    let keys = keys.ok_or(Discard::Undecryptable)?;
    state.agreed(now, Session::new((said.receiver, said.sender), keys, now, true));
    state.endpoint = Some((Some(came.ends.0.ip()), came.ends.1));
    state.heard_from(now, false);
    state.bytes[0] += came.bytes.len() as u64;
    let has_none = state.waiting.is_empty();
    r.link.wireguard.number_anew();
    agreed(r, now, came.wireguard, peer);
    if has_none {
        // Only by this the other end knows that the keys are used.
        send(r, now, came.wireguard, peer, None);
    }
    Ok(())
}

/// The next initiation is to prove its address.
fn given_cookie(
    r: &mut Router,
    now: Moment,
    came: &Came<'_>,
    said: &Cookie<'_>,
) -> Result<(), Discard> {
    let peer = peer_of(r, came, said.receiver)?;
    let state = state_of(r, peer)?;
    let mac = state.handshake.as_ref().ok_or(Discard::NoSecurityAssociation)?.mac;
    let cookie = noise::take_cookie(said, &peer.public, &mac).ok_or(Discard::Undecryptable)?;
    state.cookie = Some((cookie, now));
    Ok(())
}

/// The peer of the interface whose a number is.
fn peer_of<'a>(r: &Router, came: &Came<'a>, number: u32) -> Result<&'a Peer, Discard> {
    let place = place_of_number(r, number).filter(|place| place.0 == came.at);
    place.map(|(_, n)| &came.wireguard.peers[n]).ok_or(Discard::NoSecurityAssociation)
}

fn state_of<'a>(r: &'a mut Router, peer: &Peer) -> Result<&'a mut PeerState, Discard> {
    let state = r.link.wireguard.peers.get_mut(&peer.item);
    state.ok_or(Discard::NoSecurityAssociation)
}

/// Keys are agreed upon: what waits for them leaves; who has begun says something in any case.
pub(super) fn agreed(r: &mut Router, now: Moment, wireguard: &Wireguard, peer: &Peer) {
    let Some(state) = r.link.wireguard.peers.get_mut(&peer.item) else { return };
    let waiting = std::mem::take(&mut state.waiting);
    for frame in waiting {
        send(r, now, wireguard, peer, Some(frame));
    }
    let name = &wireguard.name;
    let text = format!("{name}: [{}] keys are agreed upon", peer.name);
    r.stats.log.say(now, "wireguard,debug", &text);
}

/// Whether a message is from somebody who knows whom he speaks to, which costs next to nothing; when there are very
/// many, whoever has not proved his address is told how.
fn is_meant(r: &mut Router, now: Moment, came: &Came<'_>, sender: u32) -> Result<bool, Discard> {
    let (fresh, nonce) = (random(r), random(r));
    let secret = r.link.wireguard.cookie_secret(now, || fresh);
    let cookie = noise::cookie(&secret, came.ends.1);
    let (is_known, is_there) = noise::is_proved(came.bytes, &came.own.public, &cookie);
    if !is_known {
        return Err(Discard::Undecryptable);
    }
    if !r.link.wireguard.is_busy(now) || is_there {
        return Ok(true);
    }
    let message = noise::give_cookie(&cookie, came.bytes, sender, &came.own.public, &nonce);
    send_between(r, now, came.ends, &message);
    Ok(false)
}

/// Sends an initiation to a peer, if it is known where he is.
pub(super) fn begin(r: &mut Router, now: Moment, (at, n): Place) {
    let program = r.program.clone();
    let (wireguard, peer) = (&program.wireguards[at], &program.wireguards[at].peers[n]);
    let Some((own, to)) = ends(r, wireguard, peer) else { return };
    let Some(keys) = r.link.wireguard.keys_of(wireguard) else { return };
    let (number, ephemeral, time) = (fresh(r), random(r), timestamp(r, now));
    let begun = noise::begin(&peer.statics(keys), number, ephemeral, time);
    let (Some((mut message, begun)), Some(state)) =
        (begun, r.link.wireguard.peers.get_mut(&peer.item))
    else {
        return;
    };
    let mac = noise::prove(&mut message, &peer.public, fresh_cookie(state, now).as_ref());
    state.handshake = Some(Handshake { own: number, begun, mac });
    state.asked(now);
    state.bytes[1] += message.len() as u64;
    r.link.wireguard.number_anew();
    send_between(r, now, (own, to), &message);
}

/// The cookie of a peer, while it is worth something.
fn fresh_cookie(state: &PeerState, now: Moment) -> Option<[u8; MAC]> {
    state.cookie.and_then(|(cookie, since)| PeerState::is_fresh(since, now).then_some(cookie))
}

/// Random bytes.
pub(super) fn random<const N: usize>(r: &mut Router) -> [u8; N] {
    let mut bytes = [0; N];
    r.services.dice.fill(&mut bytes);
    bytes
}

/// A number that nobody has.
fn fresh(r: &mut Router) -> u32 {
    loop {
        let number = r.services.dice.throw() as u32;
        if !r.link.wireguard.numbers.contains_key(&number) {
            return number;
        }
    }
}

/// The time (TAI64N), later than any that was said before.
fn timestamp(r: &mut Router, now: Moment) -> Timestamp {
    const EPOCH: u64 = (1 << 62) + 10;
    let since = now.since(Moment::ZERO);
    let mut time = [0; 12];
    time[..8].copy_from_slice(&(EPOCH + r.rules.clock.zero + since.as_secs()).to_be_bytes());
    time[8..].copy_from_slice(&since.subsec_nanos().to_be_bytes());
    let told = &mut r.link.wireguard.told;
    if time <= *told {
        time = *told;
        let nanos = u32::from_be_bytes([time[8], time[9], time[10], time[11]]) + 1;
        time[8..].copy_from_slice(&nanos.to_be_bytes());
    }
    *told = time;
    time
}
