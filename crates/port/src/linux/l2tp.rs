//! L2TPv3 over UDP (RFC 3931, 4.1.2): frames in datagrams, to a machine that has no other cable.
//!
//! ```text
//! send ───► | 0003 0000 | session | frame | ─► UDP ─► the other end
//! receive ◄ | 0003 0000 | session | frame | ◄─ UDP ◄─
//! ```
//!
//! Made for the vector device of User Mode Linux, whose other transports lose what a router is to be
//! tested with: by a packet socket (`raw`) the kernel keeps a frame's first VLAN tag to itself, what
//! a bridge inside sends comes back to it, and checksums are left to do. Here frames are what they
//! seem, tags included, and one that the other end cannot take yet is lost, as on a wire.
//!
//! One system call and one copy for each frame. Never binds to anything but the address it is given.
//! Missing: **cookies, sequence numbers, the control channel**: both ends know the session.

use super::Unavailable;
use crate::{Batch, Capabilities, Offloads, Pool, Port, PortCounters, Slab};
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};
use wire::Moment;

/// The session of every port of ours: the UDP ports tell them apart.
pub const SESSION: u32 = 1;

/// What stands before a frame: version 3, a data message, reserved, the session.
const HEADER: [u8; 8] = [0, 3, 0, 0, 0, 0, 0, SESSION as u8];
/// The shortest frame: its Ethernet header.
const SHORTEST: usize = 14;

/// One end of an L2TPv3 session.
pub struct L2tpPort {
    socket: UdpSocket,
    /// Room for a datagram.
    datagram: Vec<u8>,
    capabilities: Capabilities,
    counters: PortCounters,
}

impl L2tpPort {
    /// The end at `own`, in the calling thread's network namespace, of a session with `peer`, whom
    /// it takes datagrams from and nobody else.
    ///
    /// # Errors
    /// [`Unavailable`]: the address is in use, or none of this namespace.
    pub fn open(own: SocketAddr, peer: SocketAddr, slab: &Slab) -> Result<L2tpPort, Unavailable> {
        let opened = UdpSocket::bind(own).and_then(|socket| {
            socket.connect(peer)?;
            socket.set_nonblocking(true)?;
            Ok(socket)
        });
        let socket =
            opened.map_err(|error| Unavailable::because(format!("use UDP at {own}"), error))?;
        let max_frame = slab.slots().max_frame();
        let capabilities = Capabilities {
            max_frame: max_frame as u16,
            offload: Offloads::NONE,
            ..Capabilities::default()
        };
        // One byte more, to know what is longer.
        let datagram = vec![0; HEADER.len() + max_frame + 1];
        Ok(L2tpPort { socket, datagram, capabilities, counters: PortCounters::default() })
    }

    /// The frame of a datagram of this length; `None` if it has none, or there is no slot for it.
    fn frame(&self, len: usize, pool: &mut Pool) -> Option<crate::Frame> {
        let bytes = self.datagram[..len].strip_prefix(&HEADER)?;
        if bytes.len() < SHORTEST {
            return None;
        }
        let mut frame = pool.alloc(bytes.len())?;
        pool.slab().bytes_mut(&mut frame).copy_from_slice(bytes);
        Some(frame)
    }
}

impl Port for L2tpPort {
    fn receive(&mut self, _now: Moment, pool: &mut Pool, batch: &mut Batch) -> usize {
        let before = batch.len();
        for _ in 0..batch.room() {
            let len = match self.socket.recv(&mut self.datagram) {
                Ok(len) => len,
                // Nobody was at the other end when something was sent; told once.
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => continue,
                Err(_) => break,
            };
            match self.frame(len, pool) {
                Some(frame) => {
                    self.counters.rx_packet += 1;
                    self.counters.rx_byte += frame.len() as u64;
                    batch.push(frame);
                }
                None => self.counters.rx_drop += 1,
            }
        }
        batch.len() - before
    }

    fn send(&mut self, _now: Moment, pool: &mut Pool, batch: &mut Batch) {
        for frame in batch.drain() {
            let bytes = pool.slab().bytes(&frame);
            let len = HEADER.len() + bytes.len();
            self.datagram[..HEADER.len()].copy_from_slice(&HEADER);
            self.datagram[HEADER.len()..len].copy_from_slice(bytes);
            match self.socket.send(&self.datagram[..len]) {
                Ok(_) => {
                    self.counters.tx_packet += 1;
                    self.counters.tx_byte += bytes.len() as u64;
                }
                Err(_) => self.counters.tx_drop += 1,
            }
            pool.free(frame);
        }
    }

    fn counters(&self) -> PortCounters {
        self.counters
    }

    fn refused(&self) -> u64 {
        self.counters.tx_drop
    }

    fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        vec![self.socket.as_fd()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Moment = Moment::ZERO;

    #[test]
    fn frames_go_in_datagrams_and_nothing_else_comes() {
        let slab = Slab::new(64).unwrap();
        let (mut pool, mut batch) = (slab.pool(), Batch::new());
        let peer = UdpSocket::bind("127.0.0.1:0").unwrap();
        let free = UdpSocket::bind("127.0.0.1:0").unwrap();
        let own = free.local_addr().unwrap();
        drop(free);
        let mut port = L2tpPort::open(own, peer.local_addr().unwrap(), &slab).unwrap();

        let mut frame = pool.alloc(60).unwrap();
        pool.slab().bytes_mut(&mut frame).fill(7);
        batch.push(frame);
        port.send(NOW, &mut pool, &mut batch);
        let mut datagram = [0; 100];
        assert_eq!(peer.recv(&mut datagram).unwrap(), 68);
        assert_eq!(datagram[..8], HEADER);
        assert_eq!(datagram[8..68], [7; 60]);

        let longest = slab.slots().max_frame();
        let stranger = UdpSocket::bind("127.0.0.1:0").unwrap();
        stranger.send_to(&datagram[..68], own).unwrap();
        for (bytes, len, comes) in [
            (&HEADER[..], 60, true),
            (&HEADER, longest, true),
            (&HEADER, longest + 1, false),
            (&HEADER, 13, false),
            (&[0, 3, 0, 0, 0, 0, 0, 2], 60, false),
            (&[0, 3], 0, false),
        ] {
            peer.send_to(&[bytes, &vec![5; len]].concat(), own).unwrap();
            assert_eq!(port.receive(NOW, &mut pool, &mut batch), usize::from(comes), "{len}");
            for frame in batch.drain() {
                assert_eq!(pool.slab().bytes(&frame), vec![5; len]);
                pool.free(frame);
            }
        }
        let PortCounters { rx_packet, rx_drop, tx_packet, tx_byte, tx_drop, .. } = port.counters();
        assert_eq!((rx_packet, rx_drop, tx_packet, tx_byte, tx_drop), (2, 4, 1, 60, 0));

        // Whoever is away loses what is sent meanwhile, and nothing more.
        let address = peer.local_addr().unwrap();
        drop(peer);
        for _ in 0..4 {
            batch.push(pool.alloc(60).unwrap());
            port.send(NOW, &mut pool, &mut batch);
            assert_eq!(port.receive(NOW, &mut pool, &mut batch), 0);
        }
        let peer = UdpSocket::bind(address).unwrap();
        peer.send_to(&[&HEADER[..], &[5; 60]].concat(), own).unwrap();
        assert_eq!(port.receive(NOW, &mut pool, &mut batch), 1);
        batch.free_all(&mut pool);
    }
}
