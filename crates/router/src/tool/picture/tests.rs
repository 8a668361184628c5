//! Tests of the picture: every box is drawn, in its place, and a way is lit in its order.

use super::*;

#[test]
fn every_box_stands_in_the_picture_and_no_two_overlap() {
    for &step in Step::ALL {
        assert!(GROUPS.iter().any(|group| group.boxes.contains(&step)), "{step} is not drawn");
    }
    for (at, a) in GROUPS.iter().enumerate() {
        let (right, bottom) = (a.x + a.width(), a.y + a.height());
        assert!(a.x >= 0 && right <= WIDTH && bottom <= HEIGHT, "{} is not on the paper", a.name);
        for b in &GROUPS[at + 1..] {
            let apart =
                right <= b.x || b.x + b.width() <= a.x || bottom <= b.y || b.y + b.height() <= a.y;
            assert!(apart, "{} and {} overlap", a.name, b.name);
        }
    }
}

/// Groups have the boxes in the order of the flow, as ARCHITECTURE.md lists them (a test of
/// `cargo xtask tidy` compares that list with `flow.rs`).
#[test]
fn the_boxes_of_a_group_are_in_the_order_of_the_flow() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../ARCHITECTURE.md");
    let text = std::fs::read_to_string(path).unwrap();
    let list = text.split_once("## The packet flow, box by box").unwrap().1;
    let list = list.split("```").nth(1).unwrap();
    let mut functions: Vec<Vec<&str>> = Vec::new();
    for line in list.lines().filter(|line| !line.trim().is_empty() && *line != "text") {
        let boxes = if line.starts_with(' ') {
            line.trim().trim_start_matches("─► ")
        } else {
            functions.push(Vec::new());
            line.split_once(' ').map_or("", |(_, boxes)| boxes)
        };
        let names = boxes.split("─►").map(|name| name.trim().trim_end_matches(" (missing)"));
        functions.last_mut().unwrap().extend(names.filter(|name| !name.is_empty()));
    }
    let follows = |a: &str, b: &str| {
        functions.iter().any(|boxes| boxes.windows(2).any(|pair| pair == [a, b]))
    };
    let ends = |a: &str| functions.iter().any(|boxes| boxes.last() == Some(&a));
    for group in GROUPS {
        for pair in group.boxes.windows(2) {
            let [a, b] = [pair[0].name(), pair[1].name()];
            assert!(follows(a, b) || ends(a), "{}: {a} is not followed by {b}", group.name);
        }
    }
}

#[test]
fn a_way_is_lit_in_its_order() {
    use Step::*;
    let boxes =
        vec![PhysicalIn, MplsDecision, HotspotIn, RoutingDecision, LocalOut, RoutingDecision];
    let lit = trace(&boxes);
    let names: Vec<&str> = lit.iter().map(|lit| GROUPS[lit.group].name).collect();
    assert_eq!(names, ["IN", "TO THE ROUTER", "PREROUTING", "PREROUTING", "OUTPUT", "OUTPUT"]);
    let svg = draw(&Way { boxes, dropped: true, title: "a < b".to_string(), ..Way::default() });
    assert_eq!(svg.matches(r#"class="number""#).count(), 6);
    // One more in the legend.
    assert_eq!(svg.matches("ends\"").count(), 2);
    assert!(svg.contains("a &lt; b"));
}
