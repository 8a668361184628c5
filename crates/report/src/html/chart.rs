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
//! night and on paper.

use std::fmt::Write;

/// A chart with named places on its x axis.
pub(super) struct Chart<'a> {
    pub(super) title: String,
    /// What is up and what is right, with units.
    pub(super) y_name: &'a str,
    pub(super) x_name: &'a str,
    pub(super) x: Vec<String>,
    /// Whether each step upwards is ten times the last.
    pub(super) logarithmic: bool,
    pub(super) series: Vec<Series>,
    /// A number on the y axis.
    pub(super) show: fn(f64) -> String,
}

/// A line.
pub(super) struct Series {
    pub(super) name: String,
    /// One for each place on the x axis; `None` where nothing was measured.
    pub(super) points: Vec<Option<f64>>,
    /// Whether it is a limit, not a measurement: drawn dashed.
    pub(super) reference: bool,
}

const WIDTH: f64 = 860.0;
const LEFT: f64 = 90.0;
/// Of the drawing; behind it stand the lines' names.
const RIGHT: f64 = 610.0;
const TOP: f64 = 46.0;
const BOTTOM: f64 = 330.0;
const HEIGHT: f64 = 386.0;
/// Between two names.
const LINE: f64 = 17.0;
/// How many colours there are.
const COLOURS: usize = 7;

impl Chart<'_> {
    /// The drawing; empty if there is nothing to draw.
    pub(super) fn svg(&self) -> String {
        let values = self.series.iter().flat_map(|series| series.points.iter().flatten().copied());
        let values: Vec<f64> = values.filter(|value| self.is_drawable(*value)).collect();
        if values.is_empty() {
            return String::new();
        }
        let ticks = if self.logarithmic { decades(&values) } else { round_steps(&values) };
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
        let x = |i: usize| LEFT + (i as f64 + 0.5) * step;
        let mut svg = format!(
            "<svg class=\"chart\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" \
             aria-label=\"{title}\">\n<text class=\"title\" x=\"0\" y=\"16\">{title}</text>\n\
             <text class=\"axis\" x=\"0\" y=\"34\">{}</text>\n",
            escape(self.y_name),
            title = escape(&self.title),
        );
        for &tick in &ticks {
            let (y, text) = (y(tick), escape(&(self.show)(tick)));
            let _ = writeln!(
                svg,
                "<path class=\"grid\" d=\"M{LEFT} {y:.1}H{RIGHT}\"/>\
                 <text class=\"tick\" x=\"{:.0}\" y=\"{:.1}\" text-anchor=\"end\">{text}</text>",
                LEFT - 8.0,
                y + 4.0
            );
        }
        for (i, name) in self.x.iter().enumerate() {
            let (x, name) = (x(i), escape(name));
            let _ = writeln!(
                svg,
                "<text class=\"tick\" x=\"{x:.1}\" y=\"{:.0}\" text-anchor=\"middle\">{name}</text>",
                BOTTOM + 20.0
            );
        }
        let _ = writeln!(
            svg,
            "<text class=\"axis\" x=\"{:.0}\" y=\"{:.0}\" text-anchor=\"middle\">{}</text>",
            (LEFT + RIGHT) / 2.0,
            BOTTOM + 42.0,
            escape(self.x_name)
        );
        self.lines(&mut svg, x, y);
        svg + "</svg>\n"
    }

    fn lines(&self, svg: &mut String, x: impl Fn(usize) -> f64, y: impl Fn(f64) -> f64) {
        let mut names: Vec<(f64, (f64, f64), usize)> = vec![]; // place, the line's end, which
        for (n, series) in self.series.iter().enumerate() {
            let class = self.class(n);
            let mut path = String::new();
            let mut pen_down = false;
            let mut last = None;
            for (i, point) in series.points.iter().enumerate() {
                let Some(value) = point.filter(|value| self.is_drawable(*value)) else {
                    pen_down = false;
                    continue;
                };
                let (x, y) = (x(i), y(value));
                let _ = write!(path, "{}{x:.1} {y:.1}", if pen_down { "L" } else { "M" });
                (pen_down, last) = (true, Some((x, y)));
                if !series.reference {
                    let text = escape(&format!("{}: {}", series.name, (self.show)(value)));
                    let _ = write!(
                        svg,
                        "<circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\">\
                         <title>{text}</title></circle>"
                    );
                }
            }
            let _ = writeln!(svg, "<path class=\"line {class}\" d=\"{path}\"/>");
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
            let (class, name) = (self.class(n), escape(&self.series[n].name));
            let _ = writeln!(
                svg,
                "<path class=\"lead {class}\" d=\"M{:.0} {end:.1}L{:.0} {at:.1}\"/>\
                 <text class=\"name {class}\" x=\"{:.0}\" y=\"{:.1}\">{name}</text>",
                x + 7.0,
                RIGHT - 2.0,
                RIGHT + 4.0,
                at + 4.0
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
        let before = self.series[..n].iter().filter(|series| !series.reference).count();
        format!("c{}", before % COLOURS)
    }
}

/// From the power of ten below the least to the one above the most.
fn decades(values: &[f64]) -> Vec<f64> {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min).log10().floor() as i32;
    let most = values.iter().copied().fold(0.0, f64::max).log10().ceil() as i32;
    (least..=most.max(least + 1)).map(|power| 10f64.powi(power)).collect()
}

/// From zero, in at most six steps of 1, 2 or 5 times a power of ten.
fn round_steps(values: &[f64]) -> Vec<f64> {
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
pub(super) fn escape(text: &str) -> String {
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
            let series = vec![Series { name: name.clone(), points, reference: false }];
            let chart = Chart { title: name, y_name: "<", x_name: "&", x, logarithmic, series, show: |v| v.to_string() };
            let svg = chart.svg();
            prop_assert_eq!(svg.matches('<').count(), svg.matches('>').count());
            prop_assert!(!svg.contains("NaN") && !svg.contains("inf"), "{}", svg);
        }
    }

    #[test]
    fn names_do_not_lie_on_each_other() {
        let series =
            |n: usize| Series { name: n.to_string(), points: vec![Some(5.0)], reference: n == 3 };
        let chart = Chart {
            title: "t".into(),
            y_name: "y",
            x_name: "x",
            x: vec!["64".into()],
            logarithmic: false,
            series: (0..6).map(series).collect(),
            show: |value| value.to_string(),
        };
        let svg = chart.svg();
        let ys = svg.lines().filter(|line| line.contains("class=\"name")).map(|line| {
            let y = line.rsplit("y=\"").next().unwrap();
            y[..y.find('"').unwrap()].parse::<f64>().unwrap()
        });
        let ys: Vec<f64> = ys.collect();
        assert!(ys.len() == 6 && ys.windows(2).all(|pair| pair[1] - pair[0] >= LINE), "{ys:?}");
        assert!(svg.contains("class=\"line reference\""));
    }
}
