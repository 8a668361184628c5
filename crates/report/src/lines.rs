//! JSON that people and version control can read: what is large stands on lines, what is small on one.
//!
//! ```text
//!  {
//!    "cells": [
//!      {
//!        "procedure": "throughput",
//!        "trials": [
//!          {"kind":"steady","load":1488095.2,"sent":297618,"received":297618,"outcome":"pass"},
//! ```
//!
//! A trial with each of its numbers on a line of its own takes three times the room, and nobody sees
//! the next one beside it.

use serde::Serialize;
use serde_json::ser::{CompactFormatter, Formatter, PrettyFormatter, Serializer};
use std::io::{self, Write};

/// As deep as this, each has a line of its own.
const DEEP: usize = 4;

/// JSON, with a newline at the end.
///
/// # Errors
/// The value's own.
pub(crate) fn write<T: Serialize>(value: &T) -> Result<String, String> {
    let mut out = Vec::new();
    let lines = Lines { depth: 0, pretty: PrettyFormatter::new() };
    let mut serializer = Serializer::with_formatter(&mut out, lines);
    value.serialize(&mut serializer).map_err(|error| error.to_string())?;
    out.push(b'\n');
    String::from_utf8(out).map_err(|error| error.to_string())
}

struct Lines {
    depth: usize,
    pretty: PrettyFormatter<'static>,
}

impl Lines {
    fn one(&self) -> Option<CompactFormatter> {
        (self.depth > DEEP).then_some(CompactFormatter)
    }
}

/// Each of these as it is done at this depth: on a line of its own, or on one with the others.
macro_rules! by_depth {
    ($($name:ident($($flag:ident)?) $before:literal $after:literal;)*) => {
        impl Formatter for Lines {
            $(fn $name<W: ?Sized + Write>(&mut self, to: &mut W $(, $flag: bool)?) -> io::Result<()> {
                self.depth += $before;
                let done = match self.one() {
                    Some(mut one) => one.$name(to $(, $flag)?),
                    None => self.pretty.$name(to $(, $flag)?),
                };
                self.depth -= $after;
                done
            })*
        }
    };
}

by_depth! {
    begin_array() 1 0;
    end_array() 0 1;
    begin_array_value(first) 0 0;
    end_array_value() 0 0;
    begin_object() 1 0;
    end_object() 0 1;
    begin_object_key(first) 0 0;
    begin_object_value() 0 0;
    end_object_value() 0 0;
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_small_stands_on_one_line() {
        let value = json!({"cells": [{"trials": [{"a": 1, "b": [2, 3]}, {"a": {}}], "x": []}]});
        let text = write(&value).unwrap();
        let expected = "{\n  \"cells\": [\n    {\n      \"trials\": [\n        {\"a\":1,\"b\":[2,3]},\n        \
                        {\"a\":{}}\n      ],\n      \"x\": []\n    }\n  ]\n}\n";
        assert_eq!(text, expected);
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
    }
}
