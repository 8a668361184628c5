//! Liveness of a tunnel: its keepalives, by RouterOS's rules.
//!
//! ```text
//!        route to the other end            retries intervals without a sign of life
//!  down ───────────────────────► up ──────────────────────────────────────────────► down, asks on
//!   ▲  no route ◄────────────────┘▲                   anything from the other end ───┘
//! ```
//!
//! Pure: `now` comes in, and whether to ask goes out. What comes out of the tunnel at all is a sign
//! of life; a keepalive is what makes a tunnel without traffic show one.

use super::Keepalive;
use wire::Moment;

/// What is known of the other end.
#[derive(Clone, Debug)]
pub(crate) struct Life {
    /// A route leads there.
    route: bool,
    /// When to ask next; `None` if nobody was asked yet.
    asks: Option<Moment>,
    /// How often was asked since it was heard last.
    asked: u32,
}

impl Life {
    /// Of a tunnel that is new: alive, once a route leads there.
    pub(crate) const NEW: Life = Life { route: false, asks: None, asked: 0 };

    /// Something came out of the tunnel.
    #[inline]
    pub(crate) fn heard(&mut self) {
        self.asked = 0;
    }

    /// Whether packets pass.
    pub(crate) fn is_up(&self, keepalive: Option<Keepalive>) -> bool {
        self.route && keepalive.is_none_or(|keepalive| self.asked <= keepalive.retries)
    }

    /// Takes in whether a route leads to the other end; says whether to ask it now.
    pub(crate) fn tick(&mut self, now: Moment, route: bool, keepalive: Option<Keepalive>) -> bool {
        self.route = route;
        let Some(Keepalive { interval, retries }) = keepalive.filter(|_| route) else {
            (self.asks, self.asked) = (None, 0);
            return false;
        };
        match self.asks {
            Some(at) if now < at => false,
            _ => {
                self.asks = Some(now + interval);
                self.asked = self.asked.saturating_add(1).min(retries.saturating_add(1));
                true
            }
        }
    }

    /// When it has something to do, if nothing comes until then.
    pub(crate) fn due(&self) -> Option<Moment> {
        self.asks
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// Seconds, what happens there, and whether it is up then.
    enum Does {
        Heard,
        Route(bool),
        Nothing,
    }
    use Does::{Heard, Nothing, Route};

    #[test]
    fn a_tunnels_life() {
        let keepalive = Some(Keepalive { interval: Duration::from_secs(10), retries: 2 });
        for (keepalive, steps) in [
            // Two questions may stay unanswered: at the third it is over.
            (
                keepalive,
                &[
                    (0, Route(true), true),
                    (19, Nothing, true),
                    (20, Nothing, false),
                    (95, Heard, true),
                    (114, Nothing, true),
                    (120, Nothing, false),
                ][..],
            ),
            (
                keepalive,
                &[
                    (0, Route(false), false),
                    (50, Route(true), true),
                    (69, Nothing, true),
                    (70, Nothing, false),
                ],
            ),
            (
                keepalive,
                &[
                    (0, Route(true), true),
                    (20, Nothing, false),
                    (25, Route(false), false),
                    (30, Route(true), true),
                ],
            ),
            (None, &[(0, Route(true), true), (900, Nothing, true), (901, Route(false), false)]),
        ] {
            let (mut life, mut route, mut second) = (Life::NEW, false, 0);
            for (at, does, up) in steps {
                for now in second..=*at {
                    if now == *at {
                        match does {
                            Heard => life.heard(),
                            Route(there) => route = *there,
                            Nothing => {}
                        }
                    }
                    life.tick(Moment::ZERO + Duration::from_secs(now), route, keepalive);
                }
                second = at + 1;
                assert_eq!(life.is_up(keepalive), *up, "at {at} of {keepalive:?}: {life:?}");
            }
        }
    }
}
