//! A session to the router, PPPoE's or L2TP's: who dials, and what its frames look like.
//!
//! ```text
//! host 1 behind ether n: a router of ours ══ PADI … IPCP ══ both routers, which say the same
//! 172.16.7.1 ─► [ MAC MAC | tag | 0x8864 11 00 id len | 0x0021 ] IP     wrap, unwrap
//! ```

use crate::rig::Rig;
use port::{Capabilities, Slab};
use std::cell::{Cell, RefCell};
use std::time::Duration;
use wire::pppoe::{self, ETHERTYPE_SESSION, OVERHEAD, PPP_IPV4};
use wire::{craft, l2tp};

/// PPP's number of IPv6 (RFC 5072).
const PPP_IPV6: u16 = 0x0057;

/// What the servers are told, beside where they are.
pub(crate) const SECRET: &str = "/ppp profile add name=p change-tcp-mss=no\n/ppp secret add name=bob password=secret profile=p \
     local-address=172.16.7.254 remote-address=172.16.7.1";

/// Dials by a port of all routers, whose frames there have this tag.
pub(crate) fn dial(rigs: &mut [Rig], port: u8, vlan: Option<u16>, l2tp: bool) {
    let mut client = Rig::with_slab(&slab(), &[Capabilities::default()]);
    let on = if vlan.is_some() { "trunk" } else { "ether1" };
    client.run(&format!("/interface ethernet set ether1 mac-address=06:00:00:00:0{port}:01"));
    if let Some(id) = vlan {
        client.run(&format!("/interface vlan add name=trunk interface=ether1 vlan-id={id}"));
    }
    let dials = match l2tp {
        false => format!("pppoe-client add interface={on}"),
        true => {
            client.run(&format!("/ip address add address=10.0.{port}.1/24 interface={on}"));
            format!("l2tp-client add connect-to=10.0.{port}.254 keepalive-timeout=disabled")
        }
    };
    client.run(&format!("/interface {dials} user=bob password=secret disabled=no"));
    for _ in 0..40 {
        let said = client.take(1);
        for rig in rigs.iter_mut() {
            for frame in &said {
                rig.send(port.into(), frame);
                if let Some((ids, _)) = data(frame) {
                    IDS.set(ids);
                }
            }
            rig.now = rig.now + Duration::from_millis(100);
            rig.breathe();
        }
        for n in 1..=rigs[0].n_ports() {
            let said: Vec<_> = rigs.iter_mut().map(|rig| rig.take(n)).collect();
            assert!(said.windows(2).all(|two| two[0] == two[1]), "what a session begins with");
            said[0].iter().filter(|_| n == port.into()).for_each(|frame| client.send(1, frame));
        }
        client.now = client.now + Duration::from_millis(100);
        client.breathe();
        // The client's last word is on its way.
        let program = rigs[0].router.program();
        let session = program.sessions.list().first();
        let has6 = |on| program.v6.addresses.iter().any(|own| own.interface == on);
        if session.is_some_and(|standing| has6(standing.interface)) {
            break;
        }
    }
}

/// A slab for clients: what one holds when it is dropped is lost.
fn slab() -> Slab {
    thread_local! {
        static SLAB: RefCell<Slab> = RefCell::new(Slab::new(4096).unwrap());
    }
    SLAB.with_borrow_mut(|slab| {
        if slab.frames_out() > slab.capacity() / 2 {
            *slab = Slab::new(slab.capacity()).unwrap();
        }
        slab.clone()
    })
}

/// A frame of IP as one of a session, whose header stands behind the tags.
pub(crate) fn wrap(frame: &[u8], id: u16) -> Vec<u8> {
    let Ok(layers) = wire::layers::parse(frame) else { return frame.to_vec() };
    let (l3, end) = (usize::from(layers.l3), usize::from(layers.l3_end));
    let ppp = match layers.ether_type {
        wire::layers::ETHERTYPE_IPV4 => PPP_IPV4,
        wire::layers::ETHERTYPE_IPV6 => PPP_IPV6,
        _ => return frame.to_vec(),
    };
    let ip = &frame[l3..end];
    let header = pppoe::header(id, ip.len() as u16 + 2);
    let (session, ppp) = (ETHERTYPE_SESSION.to_be_bytes(), ppp.to_be_bytes());
    [&frame[..l3 - 2], &session, &header, &ppp, ip].concat()
}

thread_local! {
    /// What the router calls the tunnel of L2TP's session, and the session.
    static IDS: Cell<(u16, u16)> = const { Cell::new((0, 0)) };
}

/// The numbers in a data packet of L2TP, and what is behind them: PPP.
fn data(frame: &[u8]) -> Option<((u16, u16), &[u8])> {
    let layers = wire::layers::parse(frame).ok()?;
    let tuple = layers.tuple;
    if (tuple.protocol, tuple.src_port, tuple.dst_port) != (17, l2tp::PORT, l2tp::PORT) {
        return None;
    }
    let udp = frame.get(usize::from(layers.l4) + 8..usize::from(layers.l3_end))?;
    let (header, range) = l2tp::locate(udp)?;
    let ppp = udp[range].strip_prefix(&[0xff, 0x03])?;
    (!header.control && !layers.fragment).then_some(((header.tunnel, header.session), ppp))
}

/// A frame of IP as one of L2TP's session, from host 1 behind a port.
pub(crate) fn wrap_l2tp(frame: &[u8], port: usize) -> Vec<u8> {
    let Ok(layers) = wire::layers::parse(frame) else { return frame.to_vec() };
    if layers.ether_type != wire::layers::ETHERTYPE_IPV4 {
        return frame.to_vec();
    }
    let ip = &frame[layers.l3.into()..layers.l3_end.into()];
    let (tunnel, session) = IDS.get();
    let payload = [&l2tp::data_header(tunnel, session)[..], &PPP_IPV4.to_be_bytes(), ip].concat();
    let mac = |at: usize| wire::MacAddr(*frame[at..].first_chunk().unwrap());
    let address = |host| craft::ip(10, 0, port as u8, host);
    let mut outer = craft::Frame {
        dst_mac: mac(0),
        src_mac: mac(6),
        vlan: layers.vlan.map(wire::vlan::Tci).filter(|_| layers.l3 == 18),
        src: address(1),
        dst: address(254),
        body: craft::Body::Udp { src_port: l2tp::PORT, dst_port: l2tp::PORT },
        payload: &payload,
        ..craft::Frame::default()
    }
    .build();
    // Most leave the checksum to what is inside.
    if ip.len().is_multiple_of(2) {
        let l4 = usize::from(layers.l3) + 20;
        outer[l4 + 6..l4 + 8].fill(0);
    }
    outer
}

/// The frame of IP that one of L2TP's session carries; `None` of any other.
pub(crate) fn unwrap_l2tp(frame: &[u8]) -> Option<Vec<u8>> {
    let ip = data(frame)?.1.strip_prefix(&PPP_IPV4.to_be_bytes()[..])?;
    let l3 = usize::from(wire::layers::parse(frame).ok()?.l3);
    Some([&frame[..l3], ip].concat())
}

/// The frame of IP that one of a session carries, and the session's number; `None` of any other.
pub(crate) fn unwrap(frame: &[u8]) -> Option<(Vec<u8>, u16)> {
    let tagged = frame.get(12..14)? == [0x81, 0x00];
    let at = if tagged { 16 } else { 12 };
    if frame.get(at..at + 2)? != ETHERTYPE_SESSION.to_be_bytes() {
        return None;
    }
    let (id, ppp) = pppoe::session(&frame[at + 2..])?;
    let says = |kind: u16| ppp.strip_prefix(&kind.to_be_bytes()[..]);
    let (kind, ip) = match says(PPP_IPV4) {
        Some(ip) => ([0x08, 0x00], ip),
        None => ([0x86, 0xdd], says(PPP_IPV6)?),
    };
    assert!(frame.len() >= at + 2 + OVERHEAD + ip.len());
    Some(([&frame[..at], &kind, ip].concat(), id))
}
