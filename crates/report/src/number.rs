//! Numbers as the tables print them: thousands by comma, one decimal.

/// `119047.62` as `119,047.6`; a dash for what is not a number.
pub(crate) fn thousands(value: f64) -> String {
    if !value.is_finite() {
        return "-".into();
    }
    let text = format!("{:.1}", value.abs());
    let (whole, decimal) = text.split_once('.').unwrap_or((&text, "0"));
    let mut out = String::new();
    for (i, digit) in whole.chars().enumerate() {
        if i > 0 && (whole.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    let is_zero = text.bytes().all(|b| matches!(b, b'0' | b'.'));
    format!("{}{out}.{decimal}", if value < 0.0 && !is_zero { "-" } else { "" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known() {
        for (value, text) in [
            (0.0, "0.0"),
            (-0.0, "0.0"),
            (-0.01, "0.0"),
            (0.05, "0.1"),
            (81.2, "81.2"),
            (999.94, "999.9"),
            (999.96, "1,000.0"),
            (119_047.619, "119,047.6"),
            (1_234_567.0, "1,234,567.0"),
            (-1234.5, "-1,234.5"),
            (f64::NAN, "-"),
            (f64::INFINITY, "-"),
        ] {
            assert_eq!(thousands(value), text);
        }
    }

    proptest! {
        #[test]
        fn without_commas_it_is_the_plain_number(value in -1e12f64..1e12) {
            let plain: f64 = thousands(value).replace(',', "").parse().unwrap();
            prop_assert!((plain - value).abs() <= 0.0501);
        }
    }
}
