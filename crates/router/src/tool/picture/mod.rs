//! The packet flow as a picture, with a packet's way lit: a self-contained SVG.
//!
//! ```text
//!  BRIDGING   ▢ ▢ ▢            ▣ lit: entered, numbered in its order     ▢ not entered
//!  PREROUTING ▣ ▣ ▣ ▣ ▣        ▣ red: it ended here
//!  FORWARD    ▣ ▣   INPUT ▢ ▢   ┈ dashed: not built, everything passes
//! ```
//!
//! The boxes are those of [`Step::ALL`], each drawn once for each group it stands in (`layout`);
//! a test sees to it that none is left out and that the groups' order is the flow's. Light and dark
//! by the reader's preference; on paper it reads in black and white, since the lit way is also
//! heavier and numbered.
//!
//! Never knows what a packet was: it draws the boxes it is given.

// Where the boxes stand.
mod layout;

use crate::step::Step;
use layout::{GROUPS, Group, HEIGHT, WIDTH};
use std::fmt::Write;

/// What a picture is drawn of: the boxes on a packet's way, in order, and what to say of it.
#[derive(Clone, Debug, Default)]
pub struct Way {
    /// The boxes it came to.
    pub boxes: Vec<Step>,
    /// It ended in the last one.
    pub dropped: bool,
    /// The heading: what the packet was.
    pub title: String,
    /// The lines below: what became of it, who carries the next ones.
    pub said: Vec<String>,
}

/// A box as drawn: its group, its place there, and the order in which the packet came to it.
struct Lit {
    group: usize,
    place: usize,
    order: usize,
}

/// Draws the packet flow, with this way lit.
pub fn draw(way: &Way) -> String {
    let lit = trace(&way.boxes);
    let mut svg = String::new();
    let _ = writeln!(
        svg,
        r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" role="img" font-family="ui-sans-serif, 'Helvetica Neue', Helvetica, Arial, sans-serif">"#
    );
    let _ = writeln!(svg, "<title>{}</title>\n<style>{STYLE}</style>", escape(&way.title));
    let _ = writeln!(svg, r#"<rect class="paper" width="{WIDTH}" height="{HEIGHT}"/>"#);
    heading(&mut svg, way);
    for group in GROUPS {
        let (x, y, width, height) = (group.x, group.y, group.width(), group.height());
        let _ = writeln!(
            svg,
            r#"<rect class="group" x="{x}" y="{y}" width="{width}" height="{height}" rx="10"/>"#
        );
    }
    legend(&mut svg, way.dropped);
    for line in layout::LINES {
        path(&mut svg, "line", &line.points());
    }
    for pair in lit.windows(2) {
        path(
            &mut svg,
            "way",
            &layout::between((pair[0].group, pair[0].place), (pair[1].group, pair[1].place)),
        );
    }
    for (at, group) in GROUPS.iter().enumerate() {
        let (x, y) = (group.x + 12, group.y + 18);
        // Twice, so that a line below leaves room for the name.
        for class in ["name halo", "name"] {
            let _ = writeln!(svg, r#"<text class="{class}" x="{x}" y="{y}">{}</text>"#, group.name);
        }
        for (place, &step) in group.boxes.iter().enumerate() {
            let mine: Vec<usize> = lit
                .iter()
                .filter(|lit| lit.group == at && lit.place == place)
                .map(|lit| lit.order)
                .collect();
            let ends = way.dropped && mine.contains(&lit.len());
            boxed(&mut svg, group, place, step, &mine, ends);
        }
    }
    svg.push_str("</svg>\n");
    svg
}

/// Which boxes of which groups the packet came to: the group it is in already, if it has the box
/// further on, else the first one that has it.
fn trace(boxes: &[Step]) -> Vec<Lit> {
    let mut lit: Vec<Lit> = Vec::new();
    for &step in boxes {
        let (now, from) = lit.last().map_or((0, 0), |last| (last.group, last.place + 1));
        let within = GROUPS[now].boxes.iter().skip(from).position(|&other| other == step);
        let place = |group: &Group| group.boxes.iter().position(|&other| other == step);
        let found = match within {
            Some(at) => Some((now, from + at)),
            None => (now..GROUPS.len())
                .chain(0..now)
                .find_map(|group| place(&GROUPS[group]).map(|place| (group, place))),
        };
        if let Some((group, place)) = found {
            lit.push(Lit { group, place, order: lit.len() + 1 });
        }
    }
    lit
}

fn heading(svg: &mut String, way: &Way) {
    let _ = writeln!(svg, r#"<text class="title" x="28" y="40">{}</text>"#, escape(&way.title));
    for (at, line) in way.said.iter().enumerate() {
        let class = if at == 0 && way.dropped { "said bad" } else { "said" };
        let y = 64 + at * 19;
        let _ = writeln!(svg, r#"<text class="{class}" x="28" y="{y}">{}</text>"#, escape(line));
    }
}

/// What lit, dashed and plain boxes are.
fn legend(svg: &mut String, dropped: bool) {
    let words = [
        ("box lit", "entered, in the order of the numbers"),
        ("box missing", "not built: everything passes"),
        ("box lit ends", "it ends here"),
    ];
    for (at, (class, text)) in words.iter().take(2 + usize::from(dropped)).enumerate() {
        let (x, y) = (WIDTH - 290, 28 + at as i32 * 24);
        let _ = writeln!(
            svg,
            r#"<g class="{class}"><rect x="{x}" y="{y}" width="28" height="16" rx="4"/></g><text class="key" x="{}" y="{}">{text}</text>"#,
            x + 38,
            y + 12
        );
    }
}

fn path(svg: &mut String, class: &str, points: &[(i32, i32)]) {
    let mut d = String::new();
    for (at, (x, y)) in points.iter().enumerate() {
        let _ = write!(d, "{}{x} {y}", if at == 0 { "M" } else { " L" });
    }
    let _ = writeln!(svg, r#"<path class="{class}" d="{d}"/>"#);
}

fn boxed(svg: &mut String, group: &Group, place: usize, step: Step, orders: &[usize], ends: bool) {
    let (x, y) = group.place(place);
    let mut class = String::from("box");
    for (yes, name) in
        [(!step.is_built(), " missing"), (!orders.is_empty(), " lit"), (ends, " ends")]
    {
        if yes {
            class.push_str(name);
        }
    }
    let (w, h) = (layout::BOX_WIDTH, layout::BOX_HEIGHT);
    let _ = writeln!(
        svg,
        r#"<g class="{class}"><rect x="{x}" y="{y}" width="{w}" height="{h}" rx="6"/>"#
    );
    let lines = layout::wrapped(step.name());
    let long = lines.iter().any(|line| line.len() > 17);
    let small = if long { r#" style="font-size:11px""# } else { "" };
    let first = y + h / 2 + 4 - (lines.len() as i32 - 1) * 7;
    for (at, line) in lines.iter().enumerate() {
        let _ = writeln!(
            svg,
            r#"<text{small} x="{}" y="{}">{line}</text>"#,
            x + w / 2,
            first + at as i32 * 14
        );
    }
    if !orders.is_empty() {
        let numbers: Vec<String> = orders.iter().map(ToString::to_string).collect();
        let number = numbers.join(" ");
        let width = 12 + 6 * number.len() as i32;
        let _ = writeln!(
            svg,
            r#"<rect class="tag" x="{}" y="{}" width="{width}" height="16" rx="8"/><text class="number" x="{}" y="{}">{number}</text>"#,
            x - 6,
            y - 8,
            x - 6 + width / 2,
            y + 4
        );
    }
    svg.push_str("</g>\n");
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Paper and ink, by light and dark; the way in one colour that also reads in grey.
const STYLE: &str = "
svg{--paper:#ffffff;--ink:#1f2933;--soft:#7b8794;--edge:#cbd2d9;--group:#f5f7fa;--fill:#ffffff;--way:#0b69a3;--wayfill:#dceefb;--bad:#ba2525;--badfill:#facdcd}
@media (prefers-color-scheme:dark){svg{--paper:#12181f;--ink:#e4e7eb;--soft:#9aa5b1;--edge:#3e4c59;--group:#1a222b;--fill:#12181f;--way:#4dabf5;--wayfill:#0f3554;--bad:#ff8b8b;--badfill:#5a1f1f}}
@media print{svg{--paper:#ffffff;--ink:#000000;--soft:#555555;--edge:#999999;--group:#ffffff;--fill:#ffffff;--way:#000000;--wayfill:#e4e4e4;--bad:#000000;--badfill:#bbbbbb}}
.paper{fill:var(--paper)}
.group{fill:var(--group);stroke:var(--edge)}
.name{fill:var(--soft);font-size:12px;font-weight:600;letter-spacing:.08em}
.name.halo{fill:none;stroke:var(--group);stroke-width:6px;stroke-linejoin:round}
.title{fill:var(--ink);font-size:22px;font-weight:600}
.said{fill:var(--soft);font-size:14px}.said.bad{fill:var(--bad);font-weight:600}
.key{fill:var(--soft);font-size:12px}
.line{fill:none;stroke:var(--edge);stroke-width:2;stroke-linejoin:round}
.way{fill:none;stroke:var(--way);stroke-width:4;stroke-linejoin:round;stroke-linecap:round}
.box rect{fill:var(--fill);stroke:var(--edge);stroke-width:1.2}
.box text{fill:var(--soft);font-size:12px;text-anchor:middle}
.box.missing rect{stroke-dasharray:4 3}
.box.lit rect{fill:var(--wayfill);stroke:var(--way);stroke-width:2.2}
.box.lit text{fill:var(--ink);font-weight:600}
.box.lit.missing text{font-weight:400}
.box.lit.ends rect{fill:var(--badfill);stroke:var(--bad);stroke-width:3}
.box rect.tag,.box.lit rect.tag,.box.lit.missing rect.tag{fill:var(--way);stroke:none;stroke-dasharray:none}
.box.lit.ends rect.tag{fill:var(--bad)}
.box.lit text.number{fill:var(--paper);font-size:10px;font-weight:700}
";

#[cfg(test)]
mod tests;
