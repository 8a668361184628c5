//! Links between two routers of the swarm: cables, what stands on them, and both ends' addresses.
//!
//! ```text
//!  parent ═══ one cable, or two ═══ router     a port, a VLAN, two tags, a bridge, a bond
//!     └── tunnel or session, between addresses below ──┘
//! ```

use super::{Drawing, Up};
use router::interface::wireguard::key_pair;

/// What a link is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Make {
    Port,
    Vlan,
    TwoTags,
    Bridge,
    /// Bridges with two cables between, of which the spanning tree opens one.
    Ring,
    /// A bond of one slave, of any mode that needs no partner.
    Bond,
    /// A bond of two by LACP.
    Lacp,
    Ipip,
    Gre,
    Eoip,
    /// Frames behind L2TP version 3.
    L2tpEther,
    Wireguard,
    /// IPv4 by the port, IPv6 in a 6to4 tunnel.
    SixToFour,
    Pppoe,
    L2tp,
    Pptp,
    /// The address by DHCP.
    Lease,
}

const ALL: &[Make] = &[
    Make::Port,
    Make::Port,
    Make::Vlan,
    Make::TwoTags,
    Make::Bridge,
    Make::Ring,
    Make::Bond,
    Make::Lacp,
    Make::Ipip,
    Make::Gre,
    Make::Eoip,
    Make::L2tpEther,
    Make::Wireguard,
    Make::SixToFour,
    Make::Pppoe,
    Make::L2tp,
    Make::Pptp,
    Make::Lease,
];

impl Make {
    /// Whether there are two cables.
    fn is_double(self) -> bool {
        matches!(self, Make::Ring | Make::Lacp)
    }

    /// Whether frames go by it, which may have labels.
    fn has_frames(self) -> bool {
        !self.is_session() && !matches!(self, Make::Ipip | Make::Gre | Make::Wireguard)
    }

    /// Whether somebody dials.
    fn is_session(self) -> bool {
        matches!(self, Make::Pppoe | Make::L2tp | Make::Pptp)
    }

    /// Whether there are addresses below, which packets of the link itself are sent to.
    fn has_below(self) -> bool {
        matches!(
            self,
            Make::Ipip
                | Make::Gre
                | Make::Eoip
                | Make::L2tpEther
                | Make::Wireguard
                | Make::L2tp
                | Make::Pptp
        )
    }
}

impl Drawing {
    /// A link from a router to its parent.
    pub(super) fn link(&mut self, number: usize, [parent, at]: [usize; 2]) -> Up {
        let (theirs, own) = (format!("10.200.{number}.1"), format!("10.200.{number}.2"));
        let make = self.dice.of(ALL);
        let vlan = self.dice.between(1, 4094);
        let mut ports = [Vec::new(), Vec::new()];
        let delay_us = self.dice.of(&[1, 10, 100, 1000, 5000]);
        for _ in 0..1 + usize::from(make.is_double()) {
            let ends = [self.port(parent), self.port(at)];
            ports.iter_mut().zip(ends).for_each(|(ports, port)| ports.push(port));
            // Of a double link alike: a bond must not put packets out of order.
            let ends = [self.end(parent, ends[0]), self.end(at, ends[1])];
            self.cable_of(ends, delay_us);
        }
        let below = [1, 2].map(|n| format!("10.201.{number}.{n}"));
        let down = self.on(parent, &ports[0], make, vlan, [&below[0], &below[1]]);
        let mut interface = self.on(at, &ports[1], make, vlan, [&below[1], &below[0]]);
        match make {
            Make::Pppoe => {
                self.session([parent, at], [&theirs, &own], "pppoe");
                self.line(parent, format!("/interface pppoe-server server add interface={down}"));
                let add =
                    format!("/interface pppoe-client add name=pppoe-out1 interface={interface}");
                let user = self.case.boxes[at].name.clone();
                self.line(at, format!("{add} user={user} password=p add-default-route=yes"));
                interface = "pppoe-out1".to_string();
            }
            Make::L2tp | Make::Pptp => {
                let kind = if make == Make::L2tp { "l2tp" } else { "pptp" };
                self.session([parent, at], [&theirs, &own], kind);
                let set = format!("/interface {kind}-server server set enabled=yes");
                self.line(parent, format!("{set} keepalive-timeout=5"));
                let name = format!("{kind}-out1");
                let add =
                    format!("/interface {kind}-client add name={name} connect-to={}", below[0]);
                let user = self.case.boxes[at].name.clone();
                // A server that begins anew knows no session, and says nothing: silence must tell.
                let more = "password=p add-default-route=yes keepalive-timeout=5 disabled=no";
                self.line(at, format!("{add} user={user} {more}"));
                interface = name;
            }
            Make::Lease => self.lease([parent, at], [&down, &interface], [&theirs, &own]),
            _ => {
                let add = "/ip address add address";
                self.line(parent, format!("{add}={theirs}/30 interface={down}"));
                self.line(at, format!("{add}={own}/30 interface={interface}"));
            }
        }
        // What is inside IPIP is IPv4, and inside PPP here.
        let v6 = (self.v6 && !(make == Make::Ipip || make.is_session())).then(|| {
            let mut on = [down.clone(), interface.clone()];
            if make == Make::SixToFour {
                for ((at, on), [own, other]) in
                    [parent, at].iter().zip(&mut on).zip([[&theirs, &own], [&own, &theirs]])
                {
                    let name = format!("x{number}");
                    let add = format!("/interface 6to4 add name={name} local-address={own}");
                    self.line(*at, format!("{add} remote-address={other}"));
                    *on = name;
                }
            }
            let ends = [1, 2].map(|n| format!("fd00:200:{number}::{n}"));
            for ((at, on), end) in [parent, at].iter().zip(&on).zip(&ends) {
                self.line(*at, format!("/ipv6 address add address={end}/64 interface={on}"));
            }
            ends
        });
        if self.labels && make.has_frames() {
            for (at, on) in [(parent, &down), (at, &interface)] {
                let add = format!("/mpls ldp interface add interface={on}");
                self.line(at, format!("{add} hello-interval=1s hold-time=4s"));
            }
        }
        let told = !make.is_session() && make != Make::Lease;
        Up { parent, interface, own, theirs, v6, told }
    }

    /// The interface of a link at one end. `below`: its own address below, and the other one's.
    fn on(
        &mut self,
        at: usize,
        ports: &[u8],
        make: Make,
        vlan: u64,
        below: [&String; 2],
    ) -> String {
        let port = ports[0];
        let on = format!("ether{port}");
        if make.has_below() {
            self.line(at, format!("/ip address add address={}/30 interface={on}", below[0]));
        }
        match make {
            Make::Port | Make::SixToFour | Make::Pppoe | Make::L2tp | Make::Pptp | Make::Lease => {
                on
            }
            Make::Vlan => {
                let add = format!("/interface vlan add name=v{port} interface={on}");
                self.line(at, format!("{add} vlan-id={vlan}"));
                format!("v{port}")
            }
            Make::TwoTags => {
                let outer =
                    format!("/interface vlan add name=s{port} interface={on} vlan-id={vlan}");
                self.line(at, format!("{outer} use-service-tag=yes"));
                self.line(
                    at,
                    format!("/interface vlan add name=c{port} interface=s{port} vlan-id=7"),
                );
                format!("c{port}")
            }
            Make::Bond => {
                let modes = [
                    "active-backup",
                    "balance-xor",
                    "balance-rr",
                    "broadcast",
                    "balance-tlb",
                    "balance-alb",
                ];
                let mode = modes[vlan as usize % modes.len()];
                let add = format!("/interface bonding add name=o{port} slaves={on}");
                self.line(at, format!("{add} mode={mode}"));
                format!("o{port}")
            }
            Make::Lacp => {
                let slaves: Vec<String> = ports.iter().map(|port| format!("ether{port}")).collect();
                let hashes = ["layer-2", "layer-2-and-3", "layer-3-and-4"];
                let hash = hashes[vlan as usize % hashes.len()];
                let add =
                    format!("/interface bonding add name=o{port} slaves={}", slaves.join(","));
                let more = format!("mode=802.3ad lacp-rate=1sec transmit-hash-policy={hash}");
                self.line(at, format!("{add} {more}"));
                format!("o{port}")
            }
            Make::Ipip | Make::Gre | Make::Eoip => {
                let (kind, id) = match make {
                    Make::Ipip => ("ipip", String::new()),
                    Make::Gre => ("gre", String::new()),
                    _ => ("eoip", format!(" tunnel-id={vlan}")),
                };
                let add =
                    format!("/interface {kind} add name=u{port} remote-address={}{id}", below[1]);
                self.line(at, format!("{add} keepalive=500ms,3"));
                match vlan % 9 {
                    0 => self.encrypt(at, port, below, "ike2"),
                    3 => self.encrypt(at, port, below, "main"),
                    6 => {
                        self.encrypt_quickly(at);
                        self.line(at, format!("/interface {kind} set u{port} ipsec-secret=s"));
                    }
                    _ => {}
                }
                format!("u{port}")
            }
            Make::L2tpEther => {
                let version = ["l2tpv3-ip", "l2tpv3-udp"][vlan as usize % 2];
                let cookie = ["", "deadbeef", "0123456789abcdef"][vlan as usize % 3];
                let add = format!(
                    "/interface l2tp-ether add name=u{port} connect-to={} unmanaged-mode=yes",
                    below[1]
                );
                let session = format!("local-session-id={vlan} remote-session-id={vlan}");
                let cookies = format!("send-cookie=\"{cookie}\" peer-cookie=\"{cookie}\"");
                self.line(at, format!("{add} {session} {cookies} l2tp-proto-version={version}"));
                format!("u{port}")
            }
            Make::Wireguard => {
                // Of both ends' addresses: a key each, and a port in common.
                let key = |address: &str| {
                    let mut secret = [7; 32];
                    secret[..address.len()].copy_from_slice(address.as_bytes());
                    key_pair(&secret)
                };
                let ([own, _], [_, other]) = (key(below[0]), key(below[1]));
                let port_of = below[0].split('.').nth(2).unwrap_or_default();
                let (name, listens) = (format!("u{port}"), format!("2{port_of:0>4}"));
                let add = format!("/interface wireguard add name={name} listen-port={listens}");
                self.line(at, format!("{add} private-key=\"{own}\""));
                let add = format!(
                    "/interface wireguard peers add interface={name} public-key=\"{other}\" \
                     allowed-address=0.0.0.0/0,::/0 persistent-keepalive=1s"
                );
                let end = format!("endpoint-address={} endpoint-port={listens}", below[1]);
                self.line(at, format!("{add} {end}"));
                name
            }
            Make::Bridge | Make::Ring => {
                let protocol = if make == Make::Ring { "rstp" } else { "none" };
                let add = format!("/interface bridge add name=t{port}");
                self.line(at, format!("{add} protocol-mode={protocol}"));
                for on in ports {
                    let add = format!("/interface bridge port add bridge=t{port}");
                    self.line(at, format!("{add} interface=ether{on}"));
                }
                format!("t{port}")
            }
        }
    }

    /// All between two ends is encrypted, by a version of IKE.
    fn encrypt(&mut self, at: usize, port: u8, [own, other]: [&String; 2], mode: &str) {
        self.encrypt_quickly(at);
        let add = format!("/ip ipsec peer add name=p{port} address={other}/32");
        self.line(at, format!("{add} exchange-mode={mode}"));
        self.line(at, format!("/ip ipsec identity add peer=p{port} secret=s"));
        let add = format!("/ip ipsec policy add peer=p{port}");
        self.line(at, format!("{add} src-address={own}/32 dst-address={other}/32"));
    }

    /// Keys are soon agreed upon, and soon old.
    fn encrypt_quickly(&mut self, at: usize) {
        let ike = "dh-group=x25519 dpd-interval=2s lifetime=15s";
        self.line(at, format!("/ip ipsec profile set [find] {ike}"));
        self.line(at, "/ip ipsec proposal set [find] pfs-group=x25519 lifetime=10s".to_string());
    }

    /// The account of a session toward the parent, which gives both addresses.
    fn session(&mut self, [parent, at]: [usize; 2], ends: [&String; 2], service: &str) {
        let (user, [theirs, own]) = (self.case.boxes[at].name.clone(), ends);
        let secret = format!("/ppp secret add name={user} password=p service={service}");
        self.line(parent, format!("{secret} local-address={theirs} remote-address={own}"));
    }

    /// An address by DHCP from the parent, which has but one to give.
    fn lease(&mut self, [parent, at]: [usize; 2], on: [&String; 2], ends: [&String; 2]) {
        let (interface, [theirs, own]) = (on[0], ends);
        self.line(parent, format!("/ip address add address={theirs}/30 interface={interface}"));
        self.line(parent, format!("/ip pool add name={interface} ranges={own}"));
        let add = format!("/ip dhcp-server add name={interface} interface={interface}");
        let lease = self.dice.of(&["3s", "10s", "10m"]);
        self.line(parent, format!("{add} address-pool={interface} lease-time={lease}"));
        let add = "/ip dhcp-server network add address";
        self.line(parent, format!("{add}={theirs}/30 gateway={theirs} netmask=30"));
        self.line(at, format!("/ip dhcp-client add interface={}", on[1]));
    }
}
