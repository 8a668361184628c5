//! The two-box test of MikroTik's wiki: its commands load as they stand, and traffic passes
//! between all three ports.

use lab::device::Device;
use port::memory::MemoryPort;
use port::{Batch, Pool, Port};
use wire::arp::ArpMessage;
use wire::craft::{self, ip};
use wire::{MacAddr, Moment};

/// The ports of the test, from 0.
const PORTS: [usize; 3] = [0, 5, 10];

macro_rules! script {
    ($name:literal) => {
        ($name, include_str!(concat!("../../../../configs/", $name)))
    };
}

struct Lab {
    device: Device,
    wires: Vec<MemoryPort>,
    pool: Pool,
}

impl Lab {
    fn new(scripts: &[(&str, &str)]) -> Lab {
        let (mut device, wires) = Device::new(11).unwrap();
        for (file, script) in scripts {
            device.load(file, script).unwrap_or_else(|error| panic!("{error}"));
        }
        let pool = device.slab().pool();
        Lab { device, wires, pool }
    }

    /// Sends a frame and returns what comes out, as (port, frame).
    fn pass(&mut self, port: usize, bytes: &[u8]) -> Vec<(usize, Vec<u8>)> {
        let mut frame = self.pool.alloc(bytes.len()).unwrap();
        self.device.slab().bytes_mut(&mut frame).copy_from_slice(bytes);
        let mut batch = Batch::new();
        batch.push(frame);
        self.wires[port].send(Moment::ZERO, &mut self.pool, &mut batch);
        self.device.breathe();
        let mut out = vec![];
        for (port, wire) in self.wires.iter_mut().enumerate() {
            while wire.receive(Moment::ZERO, &mut self.pool, &mut batch) > 0 {
                let slab = self.device.slab();
                out.extend(batch.as_slice().iter().map(|f| (port, slab.bytes(f).to_vec())));
                batch.free_all(&mut self.pool);
            }
        }
        out
    }
}

/// The tester on a port.
fn mac(port: usize) -> MacAddr {
    MacAddr([6, 0, 0, 0, 0, port as u8])
}

/// Its address, the network's host `n`: port 5 is network 2.2.2.0/24.
fn address(port: usize, n: u8) -> u32 {
    let net = port as u8 / 5 + 1;
    ip(net, net, net, n)
}

/// The router's MAC addresses, found by ARP.
fn introduce(lab: &mut Lab) -> Vec<MacAddr> {
    let ask = |port| {
        let request = ArpMessage::request(mac(port), address(port, net(port)), address(port, 254));
        let out = lab.pass(port, &craft::arp(request).build());
        assert_eq!(out.len(), 1, "port {port}");
        MacAddr(*out[0].1[6..].first_chunk().unwrap())
    };
    PORTS.into_iter().map(ask).collect()
}

/// The tester is 1.1.1.1, 2.2.2.2, 3.3.3.3.
fn net(port: usize) -> u8 {
    port as u8 / 5 + 1
}

/// The six streams of the test.
fn pairs() -> impl Iterator<Item = (usize, usize)> {
    (0..3).flat_map(|a| (0..3).map(move |b| (a, b))).filter(|(a, b)| a != b)
}

#[test]
fn routing_at_every_step() {
    let steps = [
        script!("source-001-routing.rsc"),
        script!("source-001-conntrack.rsc"),
        script!("source-001-filter.rsc"),
        script!("source-001-filter-icmp.rsc"),
    ];
    for n in 1..=steps.len() {
        let mut lab = Lab::new(&steps[..n]);
        let macs = introduce(&mut lab);
        for _ in 0..3 {
            for (a, b) in pairs() {
                let (from, to) = (PORTS[a], PORTS[b]);
                let frame = craft::Frame {
                    src_mac: mac(from),
                    dst_mac: macs[a],
                    ..craft::udp(address(from, net(from)), 100, address(to, net(to)), 200)
                };
                let expected = craft::Frame {
                    src_mac: macs[b],
                    dst_mac: mac(to),
                    ttl: frame.ttl - 1,
                    ..frame
                };
                let out = lab.pass(from, &frame.build());
                let why = lab.device.router.discards();
                assert_eq!(out, [(to, expected.build())], "step {n}, {from} to {to}: {why:?}");
            }
        }
        // The last step lets pings through, and their answers.
        let ping = craft::Frame {
            src_mac: mac(0),
            dst_mac: macs[0],
            ..craft::ping(address(0, 1), address(5, 2))
        };
        assert_eq!(lab.pass(0, &ping.build()).len(), 1, "step {n}");
    }
}

#[test]
fn the_icmp_chain_denies_all_other_types() {
    let mut lab = Lab::new(&[
        script!("source-001-routing.rsc"),
        script!("source-001-conntrack.rsc"),
        script!("source-001-filter-icmp.rsc"),
    ]);
    let macs = introduce(&mut lab);
    // A timestamp request (type 13): a new connection to the firewall, and on no list.
    let ping = craft::ping(address(0, 1), address(5, 2));
    let mut bytes = craft::Frame { src_mac: mac(0), dst_mac: macs[0], ..ping }.build();
    bytes[34] = 13;
    let end = 14 + usize::from(u16::from_be_bytes([bytes[16], bytes[17]]));
    bytes[36..38].fill(0);
    let sum = wire::checksum::Sum::default().bytes(&bytes[34..end]).finish();
    bytes[36..38].copy_from_slice(&sum.to_be_bytes());
    assert_eq!(lab.pass(0, &bytes), []);
    let tree = lab.device.tree().clone();
    let counts = lab.device.router.rule_counts("/ip firewall filter", &tree);
    let packets: Vec<u64> = counts.iter().map(|count| count.packets).collect();
    assert_eq!(packets, [1, 0, 0, 0, 0, 0, 0, 0, 0, 1], "the jump, and the last rule");
}

#[test]
fn bridging() {
    let mut lab = Lab::new(&[script!("source-001-bridging.rsc")]);
    for (round, copies) in [(0, 2), (1, 1)] {
        for (a, b) in pairs() {
            let (from, to) = (PORTS[a], PORTS[b]);
            let udp = craft::udp(ip(1, 1, 1, 1), 100, ip(2, 2, 2, 2), 200);
            let frame = craft::Frame { src_mac: mac(from), dst_mac: mac(to), ..udp }.build();
            let out = lab.pass(from, &frame);
            assert!(out.contains(&(to, frame)), "{from} to {to}: {out:?}");
            // Whoever has sent is known; at first nobody has.
            let known = round == 1 || b < a || (a, b) > (1, 0);
            assert!(out.len() == 1 || !known || copies == 2, "{from} to {to}: {out:?}");
            if round == 1 {
                assert_eq!(out.len(), copies, "{from} to {to}");
            }
        }
    }
}

#[test]
fn an_error_names_the_file_and_the_place() {
    let (mut device, _wires) = Device::new(1).unwrap();
    let script = "/ip address\nadd adress=1.1.1.1/24 interface=ether1\n";
    let error = device.load("my.rsc", script).unwrap_err().to_string();
    assert!(error.starts_with("my.rsc:2:5: expected end of command"), "{error}");
    let lines: Vec<&str> = error.lines().collect();
    assert_eq!(lines[1].find("adress"), lines[2].find('^'), "{error}");
    assert!(error.contains("did you mean address?"), "{error}");
    assert!(device.tree().items("/ip address").is_empty());
}
