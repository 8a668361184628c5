//! `time`: hours of days of the week, by the device's clock.
//!
//! ```text
//! time=8h-17h,mon,tue     from 08:00:00 to 17:00:00, both included
//! time=22h-6h,fri         friday from 0 to 6 and from 22 to 24 o'clock: the day is the packet's own
//! ```
//!
//! Between two changes the answer is the same for all packets, so it does not keep a flow from having
//! a recipe: whoever asks notes when the answer may change next, and the router then forgets what it
//! has learnt.

use crate::firewall::syntax;
use config::Value;
use std::time::Duration;
use wire::Moment;

/// `time`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hours {
    /// First and last second of the day; the first after the last over midnight.
    seconds: (u32, u32),
    /// Bit 0 is sunday.
    days: u8,
}

const DAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
const DAY: u64 = 86_400;

impl Hours {
    /// Reads `from-to,days`.
    pub fn parse(text: &str) -> Option<Hours> {
        let mut words = text.split(',');
        let (from, to) = words.next()?.split_once('-')?;
        let seconds = |text| {
            let time: Duration = syntax::time(text)?;
            u32::try_from(time.as_secs()).ok().filter(|&s| u64::from(s) <= DAY)
        };
        let seconds = (seconds(from)?, seconds(to)?);
        let days = words.try_fold(0u8, |days, word| {
            Some(days | 1 << DAYS.iter().position(|&day| day == word)?)
        })?;
        (days != 0).then_some(Hours { seconds, days })
    }

    /// Whether it is that time, `unix` seconds after 1970 (UTC), and after how many seconds that may
    /// be otherwise.
    pub(crate) fn holds(&self, unix: u64) -> (bool, u64) {
        let second = (unix % DAY) as u32;
        // The first of 1970 was a thursday.
        let day = (unix / DAY + 4) % 7;
        let (from, to) = self.seconds;
        let in_time = if from <= to {
            from <= second && second <= to
        } else {
            from <= second || second <= to
        };
        let bounds = [from, to.saturating_add(1), DAY as u32].map(u64::from);
        let next = bounds.into_iter().filter(|&at| at > u64::from(second)).min().unwrap_or(DAY);
        (in_time && self.days >> day & 1 == 1, next.min(DAY) - u64::from(second))
    }
}

/// Reads `time`.
pub fn read(text: &str) -> Result<Value, String> {
    let expected = "from-to,days, as in 8h-17h,mon,tue,wed,thu,fri";
    syntax::keep(text, Hours::parse(text).is_some(), expected)
}

/// The device's clock, and when an answer that was given may change.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    /// What [`Moment::ZERO`] is, in seconds since 1970 (UTC).
    pub(crate) zero: u64,
    /// The first moment at which a rule that was asked may answer otherwise.
    pub(crate) changes: Moment,
}

impl Default for Clock {
    fn default() -> Clock {
        Clock { zero: 0, changes: Moment::from_nanos(u64::MAX) }
    }
}

impl Clock {
    /// Whether it is that time now.
    pub(crate) fn is(&mut self, hours: &Hours, now: Moment) -> bool {
        let second = Duration::from_secs(1).as_nanos() as u64;
        let since = now.as_nanos() / second;
        let (holds, next) = hours.holds(self.zero.saturating_add(since));
        let changes = Moment::from_nanos((since + next).saturating_mul(second));
        self.changes = self.changes.min(changes);
        holds
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A day of the week and a time of day, in seconds since 1970.
    fn at(day: u64, hour: u64, minute: u64, second: u64) -> u64 {
        (day + 3) * DAY + hour * 3600 + minute * 60 + second // 4 january 1970 was a sunday
    }

    #[test]
    fn hours_of_days() {
        let work = "8h-17h,mon,tue,wed,thu,fri";
        let night = "22h-6h,fri";
        let cases = [
            (work, at(1, 8, 0, 0), true, 9 * 3600 + 1),
            (work, at(1, 7, 59, 59), false, 1),
            (work, at(1, 17, 0, 0), true, 1),
            (work, at(1, 17, 0, 1), false, 7 * 3600 - 1),
            (work, at(0, 12, 0, 0), false, 5 * 3600 + 1),
            (work, at(6, 12, 0, 0), false, 5 * 3600 + 1),
            (night, at(5, 23, 0, 0), true, 3600),
            (night, at(5, 3, 0, 0), true, 3 * 3600 + 1),
            (night, at(5, 12, 0, 0), false, 10 * 3600),
            (night, at(6, 3, 0, 0), false, 3 * 3600 + 1),
            ("0s-1d,sun,sat", at(6, 23, 59, 59), true, 1),
            ("0s-1d,sun,sat", at(1, 0, 0, 0), false, DAY),
        ];
        for (text, unix, holds, next) in cases {
            let hours = Hours::parse(text).expect(text);
            assert_eq!(hours.holds(unix), (holds, next), "{text} at {}", unix - 3 * DAY);
        }
    }

    #[test]
    fn an_answer_holds_until_the_time_it_gives() {
        for text in ["8h-17h,mon,tue,wed", "22h-6h,fri,sat", "13h59m-14h1m,thu", "0s-0s,sun"] {
            let hours = Hours::parse(text).expect(text);
            let (mut now, end) = (at(0, 0, 0, 0), at(7, 0, 0, 0));
            while now < end {
                let (holds, next) = hours.holds(now);
                assert!((1..=DAY).contains(&next));
                for later in [now, now + next / 2, now + next - 1] {
                    assert_eq!(hours.holds(later).0, holds, "{text} {now} {later}");
                }
                now += next;
            }
        }
    }

    #[test]
    fn syntax() {
        for bad in
            ["", "8h-17h", "8h,mon", "8h-17h,monday", "8h-25h,mon", "8h-17h,mon,", "x-1h,mon"]
        {
            assert!(read(bad).is_err(), "{bad}");
        }
    }
}
