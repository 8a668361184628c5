//! Drawings of a suite: what the RFCs want drawn, and trials over time.

// What the RFCs want drawn.
mod graphs;

use super::course;
use crate::document::once;
use crate::suite::{figure, words};
use measure::SuiteResults;
use measure::suite_result::{Cell, Size};

pub(crate) use graphs::of as graphs;

pub(crate) fn sizes<'a>(cells: &[&'a Cell]) -> Vec<Size<'a>> {
    let mut sizes: Vec<Size<'_>> = cells.iter().map(|cell| cell.size()).collect();
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

/// Places on an axis: a mix is no length, so that no line leads to it, and a place is free between.
fn places<'a>(sizes: &[Size<'a>]) -> Vec<Option<Size<'a>>> {
    let mut places: Vec<Option<Size<'a>>> = vec![];
    for &size in sizes {
        if size.mix.is_some() && !places.is_empty() {
            places.push(None);
        }
        places.push(Some(size));
    }
    places
}

pub(crate) fn configurations<'a>(cells: &[&'a Cell]) -> Vec<&'a str> {
    once(cells.iter().map(|cell| cell.configuration.as_str()))
}

/// What is drawn of the cells of each configuration by themselves.
fn by_configuration<'a>(cells: &[&'a Cell], draw: impl Fn(&str, &[&'a Cell]) -> String) -> String {
    let of = |configuration: &str| {
        let of = cells.iter().copied().filter(|cell| cell.configuration == configuration);
        draw(configuration, &of.collect::<Vec<_>>())
    };
    configurations(cells).into_iter().map(of).collect()
}

fn find<'a>(cells: &[&'a Cell], configuration: &str, size: Size<'_>) -> Option<&'a Cell> {
    let of = |cell: &&&Cell| cell.configuration == configuration && cell.size() == size;
    cells.iter().find(of).copied()
}

/// When frames went and came: the first cell's trial in full, the others as strips.
pub(crate) fn courses(results: &SuiteResults, procedure: &str, cells: &[&Cell]) -> String {
    let with: Vec<&Cell> = cells.iter().copied().filter(|cell| cell.course().is_some()).collect();
    let Some((first, trial)) = with.first().and_then(|cell| Some((cell, cell.course()?))) else {
        return String::new();
    };
    let place = |cell: &Cell| match procedure {
        "streams" => cell.configuration.clone(),
        _ => format!("{}, {}", cell.configuration, cell.size().words()),
    };
    let framed = trial.0.tcp.is_none() && procedure != "streams";
    let wire = framed.then(|| results.wire_rate(first.size()).0 * f64::from(results.senders));
    let title = format!("Over time: {}, {}", words::trial(procedure), place(first));
    let mut out = course::detail(&title, trial, wire);
    out += &by_strips(procedure, &with);
    // Where nothing is to change it is looked at when asked for.
    if matches!(procedure, "recovery" | "reset" | "streams" | "tcp-transactions" | "tcp-throughput")
    {
        return out;
    }
    format!("<details><summary>Over time: {}</summary>\n{out}</details>\n", words::trial(procedure))
}

/// The same of all cells, a strip each: by size, by window, or by configuration.
fn by_strips(procedure: &str, with: &[&Cell]) -> String {
    if with.len() < 2 {
        return String::new();
    }
    let strips = |title: &str, name: &dyn Fn(&Cell) -> String, of: &[&Cell]| {
        let strips: Vec<(String, &Cell)> = of.iter().map(|cell| (name(cell), *cell)).collect();
        course::strips(title, &strips)
    };
    if procedure == "tcp-throughput" {
        let window = |cell: &Cell| {
            let of = |at: usize| cell.figures.get(at).map_or(String::new(), figure);
            format!("{} with {}", of(0), of(1))
        };
        return strips("Over time, by connections and windows of all, of the BDP", &window, with);
    }
    if sizes(with).len() == 1 {
        let name = |cell: &Cell| cell.configuration.clone();
        return strips("Over time, by configuration", &name, with);
    }
    by_configuration(with, |configuration, of| {
        let title = format!("Over time, by frame size: {configuration}");
        strips(&title, &|cell| cell.size().words(), of)
    })
}

#[cfg(test)]
mod tests;
