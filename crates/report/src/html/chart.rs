//! Line charts as SVG: what a result has many of, seen at once.
//!
//! ```text
//!  title
//!  │ - - - - - - - - - - - reference        every line ends at its own name: no legend to look
//!  │      ●────●────●  a                    up, nothing that only a colour tells apart
//!  │ ●────●────●────●  b
//!  └──┴────┴────┴────┴──
//! ```
//!
//! Colours are classes of the page's style sheet, so that the same drawing is read by day, by
//! night and on paper; marks differ in shape, too, and lines in their dashes, for paper without colours.

use super::distribution::round;
use super::svg::{LEFT, RIGHT, Svg};
use crate::suite::{short, whole};
use std::fmt::Write;

/// A chart, with what it is of above it and how to read it below.
pub(super) struct Chart<'a> {
    pub(super) title: String,
    /// How to read it: criteria, what marks mean. Empty for none.
    pub(super) caption: String,
    /// What is up and what is right, with units.
    pub(super) y_name: &'a str,
    pub(super) x_name: &'a str,
    /// Places on the x axis, side by side; or, where [`Chart::at`] has numbers, none.
    pub(super) x: Vec<String>,
    /// Where on a scale from zero the points are, ascending.
    pub(super) at: Vec<f64>,
    /// Whether each step upwards is ten times the last.
    pub(super) logarithmic: bool,
    /// Where the y axis ends at least, though all points lie lower; zero where they say.
    pub(super) up_to: f64,
    pub(super) series: Vec<Series>,
    /// A number on the y axis.
    pub(super) show: fn(f64) -> String,
}

impl Default for Chart<'_> {
    fn default() -> Self {
        Chart {
            title: String::new(),
            caption: String::new(),
            y_name: "",
            x_name: "",
            x: vec![],
            at: vec![],
            logarithmic: false,
            up_to: 0.0,
            series: vec![],
            show: whole,
        }
    }
}

/// A line.
#[derive(Default)]
pub(super) struct Series {
    pub(super) name: String,
    /// One for each place on the x axis; `None` where nothing was measured.
    pub(super) points: Vec<Option<f64>>,
    /// Which of them are not what they seem, and are hollow: the caption says why.
    pub(super) hollow: Vec<bool>,
    /// Whether it is a limit, not a measurement: drawn dashed.
    pub(super) reference: bool,
    /// Whether its points are trials one after the other, and no line.
    pub(super) scattered: bool,
}

impl Series {
    /// What was measured.
    pub(super) fn line(name: impl Into<String>, points: Vec<Option<f64>>) -> Series {
        Series { name: name.into(), points, ..Series::default() }
    }

    /// A limit.
    pub(super) fn limit(name: impl Into<String>, points: Vec<Option<f64>>) -> Series {
        Series { name: name.into(), points, reference: true, ..Series::default() }
    }

    fn is_hollow(&self, i: usize) -> bool {
        self.hollow.get(i).copied().unwrap_or(false)
    }
}

/// Letters of a line's name.
const ROOM: usize = 34;
const TOP: f64 = 34.0;
const BOTTOM: f64 = 318.0;
const HEIGHT: f64 = 372.0;
/// Between two names.
const LINE: f64 = 17.0;
/// A limit at a place by itself.
const DASH: f64 = 28.0;
/// How many colours there are, and marks.
pub(super) const COLOURS: usize = 12;

impl Chart<'_> {
    /// One of times by the share of frames that do not take longer.
    pub(super) fn of_times(shares: &[&str]) -> Self {
        Chart {
            x_name: "share of frames that are not slower",
            x: shares.iter().map(ToString::to_string).collect(),
            logarithmic: true,
            show: round,
            ..Chart::default()
        }
    }

    /// The drawing; empty if there is nothing to draw.
    pub(super) fn svg(&self) -> String {
        let values = self.series.iter().flat_map(|series| series.points.iter().flatten().copied());
        let values: Vec<f64> = values.filter(|value| self.is_drawable(*value)).collect();
        if values.is_empty() {
            return String::new();
        }
        let ticks = match self.logarithmic {
            true => decades(&values),
            false => round_steps(&[&values[..], &[self.up_to]].concat()),
        };
        let (low, high) = (ticks[0], ticks[ticks.len() - 1]);
        let y = |value: f64| {
            let share = if self.logarithmic {
                (value.max(low).log10() - low.log10()) / (high.log10() - low.log10())
            } else {
                (value - low) / (high - low)
            };
            BOTTOM - share.clamp(0.0, 1.0) * (BOTTOM - TOP)
        };
        let step = (RIGHT - LEFT) / self.x.len().max(1) as f64;
        let scale = round_steps(&self.at);
        let widest = scale[scale.len() - 1];
        let x = |i: usize| match self.at.get(i) {
            Some(at) => LEFT + (at / widest).clamp(0.0, 1.0) * (RIGHT - LEFT),
            None => LEFT + (i as f64 + 0.5) * step,
        };
        let mut svg = Svg { words: self.in_words(), ..Svg::default() };
        svg.text("axis", (0.0, 14.0), self.y_name);
        for &tick in &ticks {
            svg.level(y(tick), &(self.show)(tick));
        }
        let on_scale = |tick: &f64| (LEFT + tick / widest * (RIGHT - LEFT), whole(*tick));
        let places: Vec<(f64, String)> = match self.at.is_empty() {
            true => self.x.iter().enumerate().map(|(i, name)| (x(i), name.clone())).collect(),
            false => scale.iter().map(on_scale).collect(),
        };
        svg.below((LEFT, BOTTOM), places, self.x_name);
        self.lines(&mut svg.body, x, y);
        svg.figure(&self.title, HEIGHT, &self.caption)
    }

    /// What the drawing shows, for who does not see it: each line's first and last point.
    fn in_words(&self) -> String {
        let place = |i: usize| match (self.at.get(i), self.x.get(i)) {
            (Some(at), _) => short(*at),
            (_, Some(name)) => name.clone(),
            _ => String::new(),
        };
        let mut out = format!("Up: {}. To the right: {}.", self.y_name, self.x_name);
        for series in &self.series {
            let seen = series.points.iter().enumerate();
            let mut seen = seen.filter_map(|(i, point)| {
                Some((i, point.filter(|value| self.is_drawable(*value))?))
            });
            let Some(first) = seen.next() else { continue };
            let said = |(i, value): (usize, f64)| format!("{} at {}", (self.show)(value), place(i));
            let _ = write!(out, " {}: {}", series.name, said(first));
            let _ = match seen.next_back() {
                Some(last) => write!(out, " … {}.", said(last)),
                None => write!(out, "."),
            };
        }
        out
    }

    fn lines(&self, svg: &mut String, x: impl Fn(usize) -> f64, y: impl Fn(f64) -> f64) {
        let mut names: Vec<(f64, (f64, f64), usize)> = vec![]; // place, the line's end, which
        for (n, series) in self.series.iter().enumerate() {
            let class = self.class(n);
            let mut path = String::new();
            let mut pen_down = false;
            let (mut last, mut marks) = (None, String::new());
            for (i, point) in series.points.iter().enumerate() {
                let Some(value) = point.filter(|value| self.is_drawable(*value)) else {
                    pen_down = false;
                    continue;
                };
                let (x, y) = (x(i), y(value));
                let is_alone = !pen_down && series.points.get(i + 1).is_none_or(Option::is_none);
                if series.reference && is_alone {
                    // A line of one place is none: a dash.
                    let _ = write!(path, "M{:.1} {y:.1}h{:.0}", x - DASH / 2.0, DASH);
                } else {
                    let _ = write!(path, "{}{x:.1} {y:.1}", if pen_down { "L" } else { "M" });
                }
                (pen_down, last) = (true, Some((x, y)));
                if !series.reference {
                    let text = escape(&format!("{}: {}", series.name, (self.show)(value)));
                    let hollow = if series.is_hollow(i) { " hollow" } else { "" };
                    let _ = write!(
                        marks,
                        "<path class=\"point {class}{hollow}\" d=\"{}\"><title>{text}</title></path>",
                        mark(self.number(n), x, y)
                    );
                }
            }
            if !series.scattered {
                let dash = dash(self.number(n));
                let _ = writeln!(svg, "<path class=\"line {class}{dash}\" d=\"{path}\"/>");
            }
            let _ = writeln!(svg, "{marks}");
            if let Some((x, y)) = last {
                names.push((y, (x, y), n));
            }
        }
        // From top to bottom, pushed apart where they would lie on each other.
        names.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut least = TOP - 4.0;
        for (at, ..) in &mut names {
            *at = at.max(least);
            least = *at + LINE;
        }
        let mut most = BOTTOM + 4.0;
        for (at, ..) in names.iter_mut().rev() {
            *at = at.min(most);
            most = *at - LINE;
        }
        for (at, (x, end), n) in names {
            let (class, name) = (self.class(n), shortened(&self.series[n].name, ROOM));
            let key = match self.series[n].reference {
                true => String::new(),
                false => {
                    let place = mark(self.number(n), RIGHT + 10.0, at);
                    format!("<path class=\"point {class}\" d=\"{place}\"/>")
                }
            };
            let _ = writeln!(
                svg,
                "<path class=\"lead {class}\" d=\"M{:.0} {end:.1}L{:.0} {at:.1}\"/>{key}\
                 <text class=\"name {class}\" x=\"{:.0}\" y=\"{:.1}\">{}</text>",
                x + 7.0,
                RIGHT + 2.0,
                RIGHT + 19.0,
                at + 4.0,
                escape(&name)
            );
        }
    }

    /// What no measurement is has no place on an axis; nothing has one where it has a zero.
    fn is_drawable(&self, value: f64) -> bool {
        let least = if self.logarithmic { 1e-12 } else { 0.0 };
        (least..1e18).contains(&value)
    }

    fn class(&self, n: usize) -> String {
        if self.series[n].reference {
            return "reference".to_string();
        }
        format!("c{}", self.number(n) % COLOURS)
    }

    /// A measurement's number among them.
    fn number(&self, n: usize) -> usize {
        self.series[..n].iter().filter(|series| !series.reference).count()
    }
}

/// Before a drawing: what it is of.
pub(super) fn begin(title: &str) -> String {
    format!("<figure>\n<h3>{}</h3>\n", escape(title))
}

/// Behind it: how to read it.
pub(super) fn end(caption: &str) -> String {
    if caption.is_empty() {
        return "</figure>\n".to_string();
    }
    format!("<figcaption>{}</figcaption>\n</figure>\n", escape(caption))
}

/// A measurement's mark: shapes tell lines apart where colours do not. Later ones are smaller, so that
/// marks on the same place are all seen. All of them are areas: hollow ones are of what is hollow.
fn mark(n: usize, x: f64, y: f64) -> String {
    let n = n % COLOURS;
    let r = 6.0 - 0.28 * n as f64;
    if n == 0 {
        return format!(
            "M{:.1} {y:.1}a{r} {r} 0 1 0 {:.1} 0a{r} {r} 0 1 0 -{:.1} 0z",
            x - r,
            2.0 * r,
            2.0 * r
        );
    }
    let mut path = String::new();
    for (i, (right, down)) in shape(n).into_iter().enumerate() {
        let step = if i == 0 { 'M' } else { 'L' };
        let _ = write!(path, "{step}{:.1} {:.1}", x + r * right, y + r * down);
    }
    path + "z"
}

/// The corners of a mark that is no circle, of one whose radius is 1.
fn shape(n: usize) -> Vec<(f64, f64)> {
    const THIN: f64 = 0.28;
    let turned = |corners: Vec<(f64, f64)>| -> Vec<(f64, f64)> {
        let half = std::f64::consts::FRAC_1_SQRT_2;
        corners.into_iter().map(|(x, y)| ((x - y) * half, (x + y) * half)).collect()
    };
    // So many corners, every other at another distance from the middle.
    let star = |corners: u32, inner: f64| -> Vec<(f64, f64)> {
        let corner = |i: u32| {
            let angle = std::f64::consts::TAU * (f64::from(i) / f64::from(corners) - 0.25);
            let far = if i.is_multiple_of(2) { 1.0 } else { inner };
            (far * angle.cos(), far * angle.sin())
        };
        (0..corners).map(corner).collect()
    };
    let plus = || {
        let (r, w) = (1.0, THIN);
        let right = [(w, -r), (w, -w), (r, -w), (r, w), (w, w), (w, r)];
        let left = right.map(|(x, y)| (-x, -y));
        [right, left].concat()
    };
    match n {
        1 => vec![(-0.8, -0.8), (0.8, -0.8), (0.8, 0.8), (-0.8, 0.8)],
        2 => vec![(0.0, -1.1), (1.1, 0.0), (0.0, 1.1), (-1.1, 0.0)],
        3 => vec![(0.0, -1.0), (1.0, 0.8), (-1.0, 0.8)],
        4 => vec![(0.0, 1.0), (1.0, -0.8), (-1.0, -0.8)],
        5 => turned(plus()),
        6 => plus(),
        7 => star(10, 0.4),
        // An hourglass, and a bow-tie.
        8 => vec![(-0.9, -1.0), (0.9, -1.0), (-0.9, 1.0), (0.9, 1.0)],
        9 => vec![(-1.0, -0.9), (-1.0, 0.9), (1.0, -0.9), (1.0, 0.9)],
        // Bars, upright and lying.
        10 => vec![(-THIN, -1.2), (THIN, -1.2), (THIN, 1.2), (-THIN, 1.2)],
        _ => vec![(-1.2, -THIN), (1.2, -THIN), (1.2, THIN), (-1.2, THIN)],
    }
}

/// Every four lines are dashed otherwise, so that colours and marks that come again do so in another.
fn dash(n: usize) -> &'static str {
    ["", " d1", " d2", " d3"][n / 4 % 4]
}

/// As much of a name as `room` letters hold: names differ at their ends as often as where they begin.
pub(super) fn shortened(name: &str, room: usize) -> String {
    let letters: Vec<char> = name.chars().collect();
    if letters.len() <= room {
        return name.to_string();
    }
    let behind = room.saturating_sub(1) / 2;
    let before = room.saturating_sub(1) - behind;
    let (begin, end) = (&letters[..before], &letters[letters.len() - behind..]);
    begin.iter().chain(&['…']).chain(end).collect()
}

/// From the power of ten below the least to the one above the most.
fn decades(values: &[f64]) -> Vec<f64> {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min).log10().floor() as i32;
    let most = values.iter().copied().fold(0.0, f64::max).log10().ceil() as i32;
    (least..=most.max(least + 1)).map(|power| 10f64.powi(power)).collect()
}

/// From zero, in at most six steps of 1, 2 or 5 times a power of ten.
pub(super) fn round_steps(values: &[f64]) -> Vec<f64> {
    let most = values.iter().copied().fold(0.0, f64::max);
    if most < 1e-12 {
        return vec![0.0, 1.0];
    }
    let rough = 10f64.powf((most / 6.0).log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * rough);
    let step = step.into_iter().find(|step| most / step <= 6.0).unwrap_or(most);
    let n = (most / step).ceil().max(1.0) as u32;
    (0..=n).map(|i| f64::from(i) * step).collect()
}

/// Text within markup.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            // No markup has them, and some readers stop there.
            c if c.is_control() && c != '\n' && c != '\t' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Names that differ where they end, or begin, still do.
    #[test]
    fn a_long_name_keeps_both_ends() {
        for (name, room, short) in [
            ("voice", 5, "voice"),
            ("voice of the first floor", 9, "voic…loor"),
            ("voice of the first floor", 8, "voic…oor"),
            ("äöüäöüä", 4, "äö…ä"),
        ] {
            assert_eq!(shortened(name, room), short);
        }
    }

    /// Twelve lines have twelve colours and marks; none of forty-eight looks like another.
    #[test]
    fn no_line_looks_like_another() {
        let shape = |n: usize| mark(n, 0.0, 0.0).replace(|c: char| c.is_ascii_digit(), "");
        for n in 0..48 {
            for other in 0..n {
                let differ = n % COLOURS != other % COLOURS;
                assert!(differ || dash(n) != dash(other), "{n} and {other}");
                assert!(!differ || mark(n, 0.0, 0.0) != mark(other, 0.0, 0.0), "{n} and {other}");
            }
            assert!(shape(n).ends_with('z'), "an area: hollow marks are to be seen");
        }
        let style = include_str!("style.css");
        for rule in ["stroke: var(--c11)", ".d3 {", "--c11: #e0408f", "--c11: #ff6fb5"] {
            assert!(style.contains(rule), "{rule}");
        }
    }

    proptest! {
        #[test]
        fn axes_hold_all_values(values in prop::collection::vec(1e-9f64..1e15, 1..20)) {
            for ticks in [decades(&values), round_steps(&values)] {
                prop_assert!(ticks.len() >= 2 && ticks.len() < 30, "{ticks:?}");
                let last = ticks[ticks.len() - 1] * 1.000_001;
                prop_assert!(values.iter().all(|value| *value <= last), "{ticks:?}");
                prop_assert!(ticks.is_sorted());
            }
            prop_assert!(round_steps(&values).len() <= 8);
        }

        #[test]
        fn whatever_is_drawn_is_markup(name in ".{0,20}", points in prop::collection::vec(prop::option::of(prop::num::f64::ANY), 0..5), logarithmic: bool) {
            let x = (0..points.len()).map(|i| i.to_string()).collect();
            let series = vec![Series::line(name.clone(), points)];
            let caption = name.clone();
            let chart = Chart { title: name, caption, y_name: "<", x_name: "&", x, logarithmic, series, show: |v| v.to_string(), ..Chart::default() };
            let svg = chart.svg();
            prop_assert_eq!(svg.matches('<').count(), svg.matches('>').count());
            prop_assert!(!svg.contains("NaN") && !svg.contains("inf"), "{}", svg);
        }
    }

    #[test]
    fn names_do_not_lie_on_each_other() {
        let series =
            |n: usize| Series { reference: n == 3, ..Series::line(n.to_string(), vec![Some(5.0)]) };
        let chart = Chart {
            title: "t".into(),
            y_name: "y",
            x_name: "x",
            x: vec!["64".into()],
            series: (0..6).map(series).collect(),
            ..Chart::default()
        };
        let svg = chart.svg();
        let ys = svg.lines().filter(|line| line.contains("class=\"name")).map(|line| {
            let y = line.rsplit("y=\"").next().unwrap();
            y[..y.find('"').unwrap()].parse::<f64>().unwrap()
        });
        let ys: Vec<f64> = ys.collect();
        assert!(ys.len() == 6 && ys.windows(2).all(|pair| pair[1] - pair[0] >= LINE), "{ys:?}");
        assert!(svg.contains("class=\"line reference\""));
        // Whoever does not see it is told, and marks differ in shape.
        assert!(svg.contains("<title>t</title><desc>Up: y. To the right: x. 0: 5 at 64."), "{svg}");
        let shapes: std::collections::BTreeSet<String> =
            (0..7).map(|n| mark(n, 0.0, 0.0)).collect();
        assert_eq!(shapes.len(), 7);
    }
}
