//! Sums and quotients that are printed with their result, and shares that should be a whole.
//!
//! ```text
//! expr ::= term (('+' | '-') term)*    term ::= power (('*' | 'x' | '/') power)*
//! power ::= atom ('^' atom)?           atom ::= number [k M G] | '(' expr ')'
//! ```

use super::table::{Row, Table};
use super::{Kind, Known, Note};

/// Checks tables of `expression` (or an `item` that ends with one) and `printed`, and of profiles:
/// `metric` and `value`, where shares of a `case` add up to 100.
pub(super) fn check(table: &Table, _: &Known, note: &mut Note) -> bool {
    let printed = table.has("printed") && (table.has("expression") || table.has("item"));
    if printed {
        for row in table.rows() {
            expression(table, row, note);
        }
    }
    let profiles = table.has("metric") && table.has("value") && table.has("case");
    if profiles {
        self::profiles(table, note);
    }
    printed || profiles
}

fn expression(table: &Table, row: &Row, note: &mut Note) {
    let item = table.text(row, "item").rsplit(' ').next().unwrap_or("");
    let text = if table.has("expression") { table.text(row, "expression") } else { item };
    let is_expression = text.contains(['+', '*', '/']);
    let (Some(printed), true) = (number_of(table.text(row, "printed")), is_expression) else {
        return;
    };
    let Some(exact) = evaluate(text) else { return };
    let exact = if table.text(row, "topic").contains('%') { exact * 100.0 } else { exact };
    let shown = table.text(row, "printed");
    let decimals = shown.trim_end_matches(char::is_alphabetic).split_once('.');
    let unit = scale(shown) * 10f64.powi(-(decimals.map_or(0, |(_, after)| after.len()) as i32));
    let off = (printed - exact).abs();
    if off <= unit / 2.0 * 1.000_001 {
        let text = format!("{text} is {exact:.3}, printed {shown}: cut off or rounded half down");
        if off > unit * 0.495 && off > 1e-6 * exact {
            note(Some(row.line), Kind::Rounded, text);
        }
    } else if off < unit && printed < exact {
        note(Some(row.line), Kind::Rounded, format!("{text} is {exact:.3}, cut off to {shown}"));
    } else {
        let text = format!("{text} is {}, not {shown}", rounded(exact / scale(shown)));
        note(Some(row.line), Kind::Inconsistent, text);
    }
}

fn rounded(number: f64) -> f64 {
    (number * 1e4).round() / 1e4
}

/// Shares of one case: `profile_NAME` each in a row, or all in one, `NAME share;NAME share`.
fn profiles(table: &Table, note: &mut Note) {
    let mut sums: Vec<(&str, u64, f64)> = Vec::new();
    for row in table.rows() {
        let (case, metric, value) =
            (table.text(row, "case"), table.text(row, "metric"), table.text(row, "value"));
        if metric == "profile" {
            let shares =
                value.split(';').filter_map(|share| share.rsplit(' ').next()?.parse::<f64>().ok());
            sums.push((case, row.line, shares.sum()));
        } else if let (true, Ok(share)) = (metric.starts_with("profile_"), value.parse::<f64>()) {
            match sums.iter_mut().find(|(other, ..)| *other == case) {
                Some((_, _, sum)) => *sum += share,
                None => sums.push((case, row.line, share)),
            }
        }
    }
    for (case, line, sum) in sums {
        if (sum - 100.0).abs() > 0.01 {
            let text = format!("the shares of the case {case} add up to {sum}, not to 100");
            note(Some(line), Kind::Inconsistent, text);
        }
    }
}

/// `4.6Gbps`, `162 Gbps`, `47.62`.
fn number_of(text: &str) -> Option<f64> {
    let digits = text.trim_end_matches(|c: char| c.is_alphabetic() || c == ' ');
    digits.parse::<f64>().ok().map(|number| number * scale(text))
}

/// What the unit behind a number stands for.
fn scale(text: &str) -> f64 {
    let unit = text.trim_start_matches(|c: char| !c.is_alphabetic());
    match unit.chars().next() {
        Some('k') => 1e3,
        Some('M') => 1e6,
        Some('G') => 1e9,
        _ => 1.0,
    }
}

fn evaluate(text: &str) -> Option<f64> {
    let compact: Vec<char> = text.chars().filter(|c| *c != ' ').collect();
    let mut parser = Parser { rest: &compact, depth: 0 };
    let value = parser.sum()?;
    (parser.rest.is_empty() && value.is_finite()).then_some(value)
}

struct Parser<'a> {
    rest: &'a [char],
    depth: u32,
}

impl Parser<'_> {
    fn sum(&mut self) -> Option<f64> {
        let mut value = self.product()?;
        while let Some(&sign @ ('+' | '-')) = self.rest.first() {
            self.rest = &self.rest[1..];
            let next = self.product()?;
            value += if sign == '+' { next } else { -next };
        }
        Some(value)
    }

    fn product(&mut self) -> Option<f64> {
        let mut value = self.power()?;
        while let Some(&sign @ ('*' | 'x' | '/')) = self.rest.first() {
            self.rest = &self.rest[1..];
            let next = self.power()?;
            value = if sign == '/' { value / next } else { value * next };
        }
        Some(value)
    }

    fn power(&mut self) -> Option<f64> {
        let base = self.atom()?;
        if self.rest.first() != Some(&'^') {
            return Some(base);
        }
        self.rest = &self.rest[1..];
        Some(base.powf(self.atom()?))
    }

    fn atom(&mut self) -> Option<f64> {
        if self.rest.first() == Some(&'(') && self.depth < 100 {
            self.rest = &self.rest[1..];
            self.depth += 1;
            let value = self.sum()?;
            self.depth -= 1;
            self.rest = self.rest.strip_prefix(&[')'])?;
            return Some(value);
        }
        let end = self.rest.iter().position(|c| !(c.is_ascii_digit() || *c == '.'));
        let (digits, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        let number: f64 = digits.iter().collect::<String>().parse().ok()?;
        let unit = match rest.first() {
            Some('k') => 1e3,
            Some('M') => 1e6,
            Some('G') => 1e9,
            _ => 1.0,
        };
        self.rest = if unit > 1.0 { &rest[1..] } else { rest };
        Some(number * unit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions() {
        for (text, value) in [
            ("46+18", Some(64.0)),
            ("500*1024^3/522288426", Some(1_027.920_4)),
            ("1.3G+0.3G+1G*2", Some(3.6e9)),
            ("(8*10G+1*1G)*2", Some(162e9)),
            ("2-3x4", Some(-10.0)),
            ("40 B", None),
            ("1+", None),
            ("(1", None),
            ("1/0", None),
            ("", None),
        ] {
            let got = evaluate(text);
            let near = match (got, value) {
                (Some(got), Some(value)) => (got - value).abs() < value.abs() * 1e-6,
                (got, value) => got.is_none() && value.is_none(),
            };
            assert!(near, "{text}: {got:?}, {value:?}");
        }
        assert_eq!(evaluate(&"(".repeat(100_000)), None, "no stack is deep enough");
    }
}
