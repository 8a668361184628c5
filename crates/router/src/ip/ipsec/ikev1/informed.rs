//! Messages beside (RFC 2408 §3.14, §3.15; RFC 3706): what is over, whether one lives, why not.

use super::{Sa, Turn};
use crate::ip::datagram::End;
use crate::ip::ipsec::exchange::Bad;
use wire::isakmp::{Delete, Header, Notify, notify, payload};

/// What one of them says.
enum Said {
    Over(Delete),
    Asks(Vec<u8>),
    Lives(Vec<u8>),
    Refuses(u16),
    Nothing,
}

impl Turn<'_> {
    /// Whether the IKE SA goes on.
    pub(super) fn informed_v1(
        &mut self,
        sa: &mut Sa,
        ends: (End, End),
        header: Header,
        bytes: &[u8],
    ) -> Result<bool, Bad> {
        let iv = sa.keys.as_ref().ok_or(Bad)?.iv_of(header.id);
        let id = header.id.to_be_bytes();
        let (all, _) = Turn::proven(
            sa,
            (header, &iv),
            bytes,
            |keys, rest| keys.prf.of(&keys.prove, &[&id, rest]),
            |all, _| {
                let said = all.iter().map(|one| match one.kind {
                    payload::DELETE => Delete::read(one.body).map_or(Said::Nothing, Said::Over),
                    payload::NOTIFY => match Notify::read(one.body) {
                        Some(Notify { kind: notify::R_U_THERE, data }) => Said::Asks(data.to_vec()),
                        Some(Notify { kind: notify::R_U_THERE_ACK, data }) => {
                            Said::Lives(data.to_vec())
                        }
                        Some(Notify { kind, .. }) if kind < notify::STATUS => Said::Refuses(kind),
                        _ => Said::Nothing,
                    },
                    _ => Said::Nothing,
                });
                said.collect::<Vec<_>>()
            },
        )?;
        let mut goes_on = true;
        for said in all {
            match said {
                Said::Over(Delete::Esp(spis)) => {
                    let of = sa.own_cookie();
                    let its = self.ike.children.values();
                    let its = its.filter(|child| child.of == of && spis.contains(&child.spis[1]));
                    let its: Vec<u32> = its.map(|child| child.spis[0]).collect();
                    its.into_iter().for_each(|spi| self.end_child(spi));
                }
                Said::Over(Delete::Ike(cookies)) if cookies == sa.cookies => goes_on = false,
                Said::Asks(data) => self.tell_v1(sa, notify::R_U_THERE_ACK, &data),
                // What was recorded may be said again: only this answer is new for certain.
                Said::Lives(data) if data == sa.sequence.to_be_bytes() => self.heard_v1(sa, ends),
                Said::Refuses(kind) => self.quick_refused(sa, kind),
                Said::Over(_) | Said::Lives(_) | Said::Nothing => {}
            }
        }
        if !goes_on {
            self.end_children(sa.own_cookie());
        }
        Ok(goes_on)
    }
}
