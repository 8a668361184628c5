//! Text as a script must quote it.

/// A value as `export` writes it: quoted only where it must be.
pub(crate) fn quote(text: &str) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-._/:,!*%".contains(&b);
    if !text.is_empty() && text.bytes().all(plain) { text.to_string() } else { quote_always(text) }
}

/// A value in quotes, as `print` shows names and texts.
pub fn quote_always(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' | b'$' | b'?' => quoted.extend(['\\', byte as char]),
            b'\n' => quoted.push_str("\\n"),
            b'\r' => quoted.push_str("\\r"),
            b'\t' => quoted.push_str("\\t"),
            b' '..=b'~' => quoted.push(byte as char),
            _ => quoted.push_str(&format!("\\{byte:02X}")),
        }
    }
    quoted.push('"');
    quoted
}
