//! Numbers as tables have them: thousands parted, decimal commas, units behind.
//!
//! ```text
//!  1,488,095.2   1'488'095.2   1 488 095,2   1.488.095,2   14.88e6   99.5 %   1.2 Gbps
//! ```

/// Which of point and comma parts the decimals of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    Point,
    Comma,
}

impl Style {
    /// The style of cells: what numbers can only be read one way by, else the comma if `comma`.
    pub(super) fn of<'a>(cells: impl Iterator<Item = &'a str>, comma: bool) -> Style {
        let mut seen = [0_u32; 2];
        for cell in cells {
            match decided(cell) {
                Some(Style::Point) => seen[0] += 1,
                Some(Style::Comma) => seen[1] += 1,
                None => {}
            }
        }
        match (seen[0].cmp(&seen[1]), comma) {
            (std::cmp::Ordering::Greater, _) => Style::Point,
            (std::cmp::Ordering::Less, _) | (_, true) => Style::Comma,
            (_, false) => Style::Point,
        }
    }
}

/// A number, and how it is written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Number<'a> {
    pub(super) value: f64,
    /// How many digits stand behind its decimal point.
    pub(super) decimals: i32,
    /// What follows it.
    pub(super) tail: &'a str,
}

impl Number<'_> {
    /// What its last digit is worth; of one with all that a program knows, what programs make of it.
    pub(super) fn digit(&self) -> f64 {
        10f64.powi(-self.decimals).max(self.value.abs() * 1e-11)
    }
}

/// The number that a text begins with; none if it is not finite.
pub(super) fn parse(text: &str, style: Style) -> Option<Number<'_>> {
    let text = text.trim();
    let (digits, tail) = split(text);
    let style = decided(text).unwrap_or(style);
    let (thousands, point) = match style {
        Style::Point => (',', '.'),
        Style::Comma => ('.', ','),
    };
    // More than one point, or one alone that a file with the other style has: parts of thousands.
    let mut plain: String =
        digits.chars().filter(|c| !matches!(c, ' ' | '\'' | '\u{a0}')).collect();
    plain.retain(|c| c != thousands);
    let plain = plain.replace(point, ".");
    let (exponent, tail) = exponent(tail);
    let value = plain.parse::<f64>().ok()? * 10f64.powi(exponent);
    let decimals = plain.split_once('.').map_or(0, |(_, after)| after.len()) as i32 - exponent;
    value.is_finite().then_some(Number { value, decimals, tail: tail.trim() })
}

/// The digits that a text begins with, with what parts them, and the rest.
fn split(text: &str) -> (&str, &str) {
    let is_part =
        |c: char| c.is_ascii_digit() || matches!(c, '.' | ',' | ' ' | '-' | '+' | '\'' | '\u{a0}');
    let end = text.find(|c| !is_part(c)).unwrap_or(text.len());
    let digits = text[..end].trim_end_matches(['.', ',', ' ', '\u{a0}']);
    (digits, &text[end..])
}

/// `e6` of `14.88e6 fps`.
fn exponent(tail: &str) -> (i32, &str) {
    let Some(rest) = tail.strip_prefix(['e', 'E']) else { return (0, tail) };
    let sign = rest.starts_with(['+', '-']) as usize;
    let digits = rest[sign..].find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len() - sign);
    match rest[..sign + digits].parse::<i32>() {
        // No number that is measured has more.
        Ok(exponent) => (exponent.clamp(-400, 400), &rest[sign + digits..]),
        Err(_) => (0, tail),
    }
}

/// The style that a number can only be of.
fn decided(text: &str) -> Option<Style> {
    let (digits, _) = split(text);
    let (points, commas) = (digits.matches('.').count(), digits.matches(',').count());
    let last = digits.rfind(['.', ','])?;
    let is_point = digits[last..].starts_with('.');
    let style = |is_point| if is_point { Style::Point } else { Style::Comma };
    let whole = if points > 0 && commas > 0 { &digits[..last] } else { digits };
    // An address and a version have points, too.
    let are_thousands = whole.split(['.', ',']).skip(1).all(|part| part.len() == 3);
    match (points, commas) {
        (2.., _) | (_, 2..) if !are_thousands => None,
        // The last of both, if the others before it part thousands.
        (1.., 1..) => Some(style(is_point)),
        // Several part thousands.
        (2.., 0) => Some(Style::Comma),
        (0, 2..) => Some(Style::Point),
        // One alone: thousands are three digits, and have no zero before them.
        _ => {
            let (before, after) = (&digits[..last], &digits[last + 1..]);
            let before = before.trim_start_matches(['-', '+']);
            let may_be_thousands =
                after.len() == 3 && (1..=3).contains(&before.len()) && !before.starts_with('0');
            (!may_be_thousands).then_some(style(is_point))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_to_write_them() {
        use Style::{Comma, Point};
        for (text, style, value, decimals, tail) in [
            ("1.5", Point, 1.5, 1, ""),
            ("1,5", Comma, 1.5, 1, ""),
            ("1,5", Point, 1.5, 1, ""),
            ("1.5", Comma, 1.5, 1, ""),
            ("1,488", Point, 1488.0, 0, ""),
            ("1,488", Comma, 1.488, 3, ""),
            ("1.488", Point, 1.488, 3, ""),
            ("1.488", Comma, 1488.0, 0, ""),
            ("0,488", Point, 0.488, 3, ""),
            ("1.488.095,2", Point, 1_488_095.2, 1, ""),
            ("1,488,095.2", Comma, 1_488_095.2, 1, ""),
            ("1.488.095", Point, 1_488_095.0, 0, ""),
            ("1 488 095,2", Point, 1_488_095.2, 1, ""),
            ("1\u{a0}488", Point, 1488.0, 0, ""),
            ("1'488'095", Point, 1_488_095.0, 0, ""),
            ("99.5 %", Point, 99.5, 1, "%"),
            ("1.2 Gbps", Point, 1.2, 1, "Gbps"),
            ("14.88e6 fps", Point, 14.88e6, -4, "fps"),
            ("-5", Point, -5.0, 0, ""),
            ("717 ...", Point, 717.0, 0, ""),
            ("5 each", Point, 5.0, 0, "each"),
        ] {
            let found = parse(text, style).unwrap();
            assert!((found.value - value).abs() <= value.abs() * 1e-12, "{text}: {found:?}");
            assert_eq!((found.decimals, found.tail), (decimals, tail), "{text} {style:?}");
        }
        for none in ["", "nan", "inf", "-inf", "1e400", "-", ".", "1.2,3.4", "1-2", "x5", "±5"] {
            assert_eq!(parse(none, Point), None, "{none}");
        }
        for (cells, comma, style) in [
            (&["64", "1.488"][..], false, Point),
            (&["64", "1.488"], true, Comma),
            (&["1.488", "0,5"], false, Comma),
            (&["1,488", "0.5"], true, Point),
            (&["10.0.0.1", "6.30.1", "1.488"], false, Point),
        ] {
            assert_eq!(Style::of(cells.iter().copied(), comma), style, "{cells:?}");
        }
    }
}
