//! Parts of a drawing that all kinds have: its frame, its grid, its labels.
//!
//! ```text
//!  title
//!  y axis's name
//!  LEFT ├────────────── grid ──────────────┤ RIGHT   names of lines, or what is said beside
//!       tick        x axis's name      tick
//! ```
//!
//! Colours are classes of the page's style sheet.

use super::chart::{begin, end, escape};
use std::fmt::Write;

/// Of all drawings.
pub(super) const WIDTH: f64 = 860.0;
/// Where a drawing begins, at least: before it stand numbers or names.
pub(super) const LEFT: f64 = 90.0;
/// Where it ends: behind it stands what is said of it.
pub(super) const RIGHT: f64 = 610.0;

/// A drawing on its way.
#[derive(Default)]
pub(super) struct Svg {
    pub(super) body: String,
    /// The same in words, for who does not see it.
    pub(super) words: String,
}

impl Svg {
    /// A path.
    pub(super) fn path(&mut self, class: &str, d: &str) {
        let _ = writeln!(self.body, "<path class=\"{class}\" d=\"{d}\"/>");
    }

    /// Text that begins at a place.
    pub(super) fn text(&mut self, class: &str, (x, y): (f64, f64), text: &str) {
        self.anchored(class, (x, y), "start", text);
    }

    /// Text that ends before the drawing, at this height.
    pub(super) fn before(&mut self, (x, y): (f64, f64), text: &str) {
        self.anchored("tick", (x - 8.0, y), "end", text);
    }

    /// Text in the middle of a place.
    pub(super) fn middle(&mut self, class: &str, (x, y): (f64, f64), text: &str) {
        self.anchored(class, (x, y), "middle", text);
    }

    fn anchored(&mut self, class: &str, (x, y): (f64, f64), anchor: &str, text: &str) {
        let anchor = match anchor {
            "start" => String::new(),
            other => format!(" text-anchor=\"{other}\""),
        };
        let text = escape(text);
        let _ = writeln!(
            self.body,
            "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\"{anchor}>{text}</text>"
        );
    }

    /// A line of the grid at a height, and its number.
    pub(super) fn level(&mut self, y: f64, number: &str) {
        self.path("grid", &format!("M{LEFT} {y:.1}H{RIGHT}"));
        self.before((LEFT, y + 4.0), number);
    }

    /// Numbers below the drawing, each at its place, and what they are of.
    pub(super) fn below(
        &mut self,
        (left, foot): (f64, f64),
        ticks: impl IntoIterator<Item = (f64, String)>,
        name: &str,
    ) {
        for (x, text) in ticks {
            self.middle("tick", (x, foot + 20.0), &text);
        }
        self.middle("axis", ((left + RIGHT) / 2.0, foot + 42.0), name);
    }

    /// The whole figure.
    pub(super) fn figure(self, title: &str, height: f64, caption: &str) -> String {
        let Svg { body, words } = self;
        format!(
            "{}<svg class=\"chart\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\">\n<title>{}</title>\
             <desc>{}</desc>\n{body}</svg>\n{}",
            begin(title),
            escape(title),
            escape(&words),
            end(caption)
        )
    }
}
