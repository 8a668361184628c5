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

impl Formatter for Lines {
    fn begin_array<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.depth += 1;
        match self.one() {
            Some(mut one) => one.begin_array(to),
            None => self.pretty.begin_array(to),
        }
    }

    fn end_array<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        let ended = match self.one() {
            Some(mut one) => one.end_array(to),
            None => self.pretty.end_array(to),
        };
        self.depth -= 1;
        ended
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, to: &mut W, first: bool) -> io::Result<()> {
        match self.one() {
            Some(mut one) => one.begin_array_value(to, first),
            None => self.pretty.begin_array_value(to, first),
        }
    }

    fn end_array_value<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        match self.one() {
            Some(mut one) => one.end_array_value(to),
            None => self.pretty.end_array_value(to),
        }
    }

    fn begin_object<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.depth += 1;
        match self.one() {
            Some(mut one) => one.begin_object(to),
            None => self.pretty.begin_object(to),
        }
    }

    fn end_object<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        let ended = match self.one() {
            Some(mut one) => one.end_object(to),
            None => self.pretty.end_object(to),
        };
        self.depth -= 1;
        ended
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, to: &mut W, first: bool) -> io::Result<()> {
        match self.one() {
            Some(mut one) => one.begin_object_key(to, first),
            None => self.pretty.begin_object_key(to, first),
        }
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        match self.one() {
            Some(mut one) => one.begin_object_value(to),
            None => self.pretty.begin_object_value(to),
        }
    }

    fn end_object_value<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        match self.one() {
            Some(mut one) => one.end_object_value(to),
            None => self.pretty.end_object_value(to),
        }
    }
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
