//! The calendar: days counted from 1970-01-01, as RouterOS and the RFCs write them. Always UTC.
//!
//! Never reads a clock.

/// `10:01:02` of a moment, seconds since 1970.
pub fn clock(unix: u64) -> String {
    let second = unix % 86_400;
    format!("{:02}:{:02}:{:02}", second / 3600, second / 60 % 60, second % 60)
}

/// `jan/02/1970` of a moment, as RouterOS v6 writes it.
pub fn date(unix: u64) -> String {
    let (year, month, day) = civil(unix / 86_400);
    format!("{}/{day:02}/{year:04}", MONTHS[month as usize - 1])
}

/// The year, month and day of a day, counted from 1970-01-01.
pub fn civil(days: u64) -> (u64, u64, u64) {
    // Years are counted from March, so that the leap day is a year's last; 400 years are 146,097
    // days (the proleptic Gregorian calendar).
    let from_march = days + 719_468;
    let (era, day) = (from_march / 146_097, from_march % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    (year + era * 400 + next, month, day)
}

/// Months as RouterOS v6 writes them.
pub const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

/// The day that a date names, counted from 1970-01-01: `jan/02/2024`, or `2024-01-02`.
pub fn day_of(date: &str) -> Option<u64> {
    let (year, month, day): (u64, u64, u64) = match date.split(['/', '-']).collect::<Vec<_>>()[..] {
        [month, day, year] if date.contains('/') => {
            let month = MONTHS.iter().position(|name| *name == month)? as u64 + 1;
            (year.parse().ok()?, month, day.parse().ok()?)
        }
        [year, month, day] => (year.parse().ok()?, month.parse().ok()?, day.parse().ok()?),
        _ => return None,
    };
    // Days grow with dates, so the one that is that date is found by halves.
    let date = (1970..=9999).contains(&year).then_some((year, month, day))?;
    let (mut from, mut to) = (0, 3_000_000);
    while from < to {
        let middle = (from + to) / 2;
        if civil(middle) < date { from = middle + 1 } else { to = middle }
    }
    (civil(from) == date).then_some(from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_of_dates() {
        for (date, expected) in [
            ("jan/01/1970", Some(0)),
            ("2000-02-29", Some(11_016)),
            ("feb/29/2023", None),
            ("jan/32/2023", None),
            ("2024-13-01", None),
            ("soon", None),
        ] {
            assert_eq!(day_of(date), expected, "{date}");
        }
    }

    #[test]
    fn days_as_routeros_writes_them() {
        for (unix, expected) in [
            (0, "jan/01/1970 00:00:00"),
            (951_868_799, "feb/29/2000 23:59:59"),
            (1_795_219_262, "nov/21/2026 00:01:02"),
        ] {
            assert_eq!(format!("{} {}", date(unix), clock(unix)), expected);
        }
    }
}
