//! Values that TOML has no words for: times, rates, shares, prefixes; each knows its place.

use super::BadPlan;
use crate::plans::{self, quantity};
use std::time::Duration;
use toml::Spanned;
use wire::Ipv4Prefix;

/// A place in a file, both from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct At {
    /// The line.
    pub line: usize,
    /// The column, in characters.
    pub column: usize,
}

/// No trial is shorter, nor made shorter.
pub(super) const LEAST_TRIAL: Duration = Duration::from_millis(10);

/// The text whose values these are.
#[derive(Clone, Copy)]
pub(super) struct Source<'a>(pub(super) &'a str);

impl Source<'_> {
    /// The place of a byte.
    pub(super) fn at(self, byte: usize) -> At {
        let before = self.0.get(..byte).unwrap_or(self.0);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
        At { line, column }
    }

    /// Why something at a value cannot be.
    pub(super) fn bad<T>(self, value: &Spanned<T>, why: impl Into<String>) -> BadPlan {
        BadPlan { at: Some(self.at(value.span().start)), why: why.into() }
    }

    /// `200ms`, `60s`, `2m`.
    pub(super) fn time(self, text: &Spanned<String>) -> Result<Duration, BadPlan> {
        let it = text.get_ref();
        let time = plans::seconds(it).filter(|seconds| *seconds > 0.0 && *seconds <= 86_400.0);
        time.map(Duration::from_secs_f64).ok_or_else(|| {
            let why = format!("{it:?} is no time: 200ms, 60s or 2m, above zero and at most a day");
            self.bad(text, why)
        })
    }

    /// A time of trials whose frames are counted for a verdict: one of a frame or two proves nothing.
    pub(super) fn trial(self, text: &Spanned<String>) -> Result<Duration, BadPlan> {
        let time = self.time(text)?;
        if time >= LEAST_TRIAL {
            return Ok(time);
        }
        let why =
            format!("{time:?} of frames prove nothing: a trial takes {LEAST_TRIAL:?} or longer");
        Err(self.bad(text, why))
    }

    /// Bits per second: `10G`, `100M`, or a number.
    pub(super) fn bits(self, text: &Spanned<String>) -> Result<f64, BadPlan> {
        let rate = quantity(text.get_ref()).filter(|rate| (1e3..=1e13).contains(rate));
        rate.ok_or_else(|| {
            let why = format!("{:?} is no rate of a wire: 100M, 10G; 1k to 10T", text.get_ref());
            self.bad(text, why)
        })
    }

    /// A share above zero and at most one: `0.001` or `"0.1%"`.
    pub(super) fn share(self, value: &Spanned<Number>, what: &str) -> Result<f64, BadPlan> {
        value.get_ref().share().filter(|share| *share > 0.0 && *share <= 1.0).ok_or_else(|| {
            self.bad(value, format!("{what} is a share above 0 and at most 1: 0.001, \"0.1%\""))
        })
    }

    /// Frames per second, or a share of the wire: `1000`, `"1.2M"`, `"80%"`. Shares are negative.
    pub(super) fn rate(self, value: &Spanned<Number>) -> Result<Rate, BadPlan> {
        let rate = match value.get_ref() {
            Number::Float(rate) => Some(Rate::Frames(*rate)),
            Number::Whole(rate) => Some(Rate::Frames(*rate as f64)),
            Number::Text(text) => match text.strip_suffix('%') {
                Some(percent) => {
                    percent.trim().parse::<f64>().ok().map(|percent| Rate::Share(percent / 100.0))
                }
                None => quantity(text).map(Rate::Frames),
            },
        };
        let is_above_zero =
            |rate: &Rate| matches!(rate, Rate::Frames(rate) | Rate::Share(rate) if *rate > 0.0);
        rate.filter(is_above_zero).ok_or_else(|| {
            self.bad(
                value,
                "a rate is frames per second (1000, \"1.2M\") or a share of the wire (\"80%\")",
            )
        })
    }

    /// `198.18.1.0/24`.
    pub(super) fn prefix(self, text: &Spanned<String>) -> Result<Ipv4Prefix, BadPlan> {
        text.get_ref().parse().map_err(|_| {
            self.bad(text, format!("{:?} is no network: 198.18.1.0/24", text.get_ref()))
        })
    }
}

/// A rate as it was written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Rate {
    Frames(f64),
    Share(f64),
}

/// A number, or one with a unit.
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(untagged)]
pub(super) enum Number {
    Whole(i64),
    Float(f64),
    Text(String),
}

impl Number {
    /// A share: `0.001` or `"0.1%"`.
    pub(super) fn share(&self) -> Option<f64> {
        match self {
            Number::Float(share) => Some(*share),
            Number::Whole(share) => Some(*share as f64),
            Number::Text(text) => {
                let per_cent = text.strip_suffix('%')?.trim().parse::<f64>().ok()?;
                Some(per_cent / 100.0)
            }
        }
    }
}
