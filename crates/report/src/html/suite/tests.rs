//! Pages of the stored suites, with a thing changed: what must be on them, and what must not.

use measure::SuiteResults;
use measure::result::Limit;

const STORED: &str = include_str!("../../../data/test-1.json");

/// The stored results, after a change.
fn changed(change: impl FnOnce(&mut SuiteResults)) -> String {
    let mut results = crate::suite::read(STORED).unwrap();
    change(&mut results);
    crate::suite::document(&results).page()
}

/// The figures whose headings begin so.
fn figures<'a>(page: &'a str, heading: &str) -> Vec<&'a str> {
    let begin = format!("<figure>\n<h3>{heading}");
    page.match_indices(&begin)
        .map(|(at, _)| page[at..].split("</figure>").next().unwrap())
        .collect()
}

/// RFC 2544 §26.3: both axes from 0 to 100 per cent, however little is lost.
#[test]
fn the_loss_graph_ends_at_a_hundred_per_cent() {
    let with_loss = |percent: f64| {
        changed(|results| {
            let points = results.cells.iter_mut().flat_map(|cell| &mut cell.points);
            points.for_each(|point| point.loss_percent = percent);
        })
    };
    for (percent, drawn_large) in [(0.0, 0), (0.3, 1), (9.0, 1), (40.0, 0), (100.0, 0)] {
        let page = with_loss(percent);
        let graphs = figures(&page, "Frame loss rate by load: ");
        assert!(!graphs.is_empty(), "{percent}");
        for graph in &graphs {
            for end in [">0 %</text>", ">100 %</text>", ">0</text>", ">100</text>"] {
                assert_eq!(graph.matches(end).count(), 1, "{percent}: {end} in {graph}");
            }
        }
        let large = figures(&page, "Frame loss rate by load, drawn large: ").len();
        assert_eq!(large, drawn_large * graphs.len(), "{percent}");
    }
}

/// Loads that are less than a per cent apart have places of their own.
#[test]
fn the_loss_graph_has_all_loads() {
    let mut all = 0;
    let page = changed(|results| {
        for cell in results.cells.iter_mut().filter(|cell| cell.procedure == "frame-loss") {
            let points = cell.points.iter_mut().enumerate();
            points.for_each(|(i, point)| point.load_percent = 100.0 - 0.3 * i as f64);
            all += cell.points.len();
        }
    });
    let graphs = figures(&page, "Frame loss rate by load: ").join("");
    assert!(all > 2, "{all}");
    assert_eq!(
        graphs.matches("<title>").count() - graphs.matches("<desc>").count(),
        all,
        "{graphs}"
    );
}

/// Of several criteria each has its own mark, in the graph and in the table.
#[test]
fn each_criterion_has_its_own_limit() {
    let page = changed(|results| {
        for cell in results.cells.iter_mut().filter(|cell| cell.procedure == "throughput") {
            let mut second = cell.figures[0].clone();
            cell.figures[0].name = "throughput[rfc2544 0.1s 0 loss]".to_string();
            (cell.limited_by, cell.figures[0].limited_by) = (None, None);
            second.name = "throughput[mikrotik 0.1s 0.01%]".to_string();
            second.limited_by = Some(Limit::Tester);
            cell.figures.push(second);
        }
    });
    let graphs = figures(&page, "Frame rate by frame size");
    assert!(!graphs.is_empty());
    for graph in graphs {
        let marks = |name: &str, class: &str| {
            let of = graph.lines().flat_map(|line| line.split("<path "));
            of.filter(|path| path.contains(class) && path.contains(name)).count()
        };
        assert!(marks("<title>mikrotik", "hollow") > 0, "{graph}");
        assert_eq!(marks("<title>rfc2544", "hollow"), 0, "{graph}");
        assert!(graph.contains("(Here: mikrotik.)"), "{graph}");
    }
    assert!(page.contains("fps<sup>t</sup>") && page.contains("t: the tester was the bottleneck"));
}

/// What stands behind a figure is said.
#[test]
fn deviations_are_explained() {
    let page = changed(|_| {});
    assert!(page.contains("<small> ±") && page.contains("±: the standard deviation"), "{page}");
    let once = changed(|results| {
        let figures = results.cells.iter_mut().flat_map(|cell| &mut cell.figures);
        figures.for_each(|figure| figure.spread = None);
    });
    assert!(!once.contains('±'));
}
