//! A client's side of TCP, in the swarm: what it sends next, and what an answer moves.

use super::host::FIRST_PORT;
use wire::TcpFlags;

/// A client's TCP connection, one after another: opened, a few times asked and answered, closed.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Client {
    /// Of which connection: it makes the port.
    round: u16,
    stage: Stage,
    seq: u32,
    ack: u32,
    asked: u8,
    /// How often the same was sent in vain.
    tries: u8,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    #[default]
    Opening,
    Asking,
    Closing,
}

impl Client {
    /// The port of the connection, of a flow.
    pub(super) fn port(&self, flow: u16) -> u16 {
        FIRST_PORT + 64 * (flow + 1) + self.round % 64
    }

    /// What is to be sent now: new, or once more.
    pub(super) fn next(&mut self) -> (TcpFlags, (u32, u32), bool) {
        self.tries += 1;
        if self.tries > 8 {
            self.again();
        }
        match self.stage {
            Stage::Opening => (TcpFlags::SYN, (self.seq, 0), false),
            Stage::Asking => (TcpFlags::ACK | TcpFlags::PSH, (self.seq, self.ack), true),
            Stage::Closing => (TcpFlags::FIN | TcpFlags::ACK, (self.seq, self.ack), false),
        }
    }

    fn again(&mut self) {
        *self = Client {
            round: self.round + 1,
            seq: self.seq.wrapping_add(70_000),
            ..Client::default()
        };
    }

    /// A segment has come for it.
    pub(super) fn take(&mut self, flags: TcpFlags, seq: u32, ack: u32, len: u32, asked_len: u32) {
        if flags.intersects(TcpFlags::RST) {
            return self.again();
        }
        let has = |flags_wanted| flags.contains(flags_wanted);
        match self.stage {
            Stage::Opening
                if has(TcpFlags::SYN | TcpFlags::ACK) && ack == self.seq.wrapping_add(1) =>
            {
                (self.stage, self.seq, self.ack) = (Stage::Asking, ack, seq.wrapping_add(1));
                self.tries = 0;
            }
            Stage::Asking if len > 0 && ack == self.seq.wrapping_add(asked_len) => {
                (self.seq, self.ack) = (ack, seq.wrapping_add(len));
                (self.asked, self.tries) = (self.asked + 1, 0);
                if self.asked == 5 {
                    self.stage = Stage::Closing;
                }
            }
            Stage::Closing if has(TcpFlags::FIN) => self.again(),
            _ => {}
        }
    }
}
