//! A document of results: put together once, shown as text, as Markdown and as a page.
//!
//! ```text
//!  results ─► Document { title, parts } ─┬─► text      for a terminal
//!               heading, facts, notice,  ├─► markdown  for whoever writes about it
//!               note, table, drawing     └─► page      one HTML file: no network, no script
//! ```
//!
//! What only a page has room for (drawings, explanations, what is folded) is left out of the others.
//! A number is rounded when its cell is made, and nowhere else.

mod table;

pub use table::{Cell, Table};
pub(crate) use table::{Column, optional};

use crate::html::escape;
use std::fmt::Write;

/// What is told, in its order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Document {
    /// Of all of it; may be empty.
    pub title: String,
    parts: Vec<Part>,
}

/// Without a repetition, in their order.
pub(crate) fn once<T: PartialEq>(all: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut told = vec![];
    for one in all {
        if !told.contains(&one) {
            told.push(one);
        }
    }
    told
}

#[derive(Clone, Debug, PartialEq)]
enum Part {
    Heading(String),
    Facts(Vec<(&'static str, String)>),
    Notice(&'static str, String),
    Note(String),
    Table(Table),
    Page(String),
    Terminal(String),
}

impl Document {
    /// One without anything in it.
    pub fn new(title: impl Into<String>) -> Document {
        Document { title: title.into(), parts: vec![] }
    }

    /// Begins a section.
    pub fn heading(&mut self, text: impl Into<String>) {
        self.parts.push(Part::Heading(text.into()));
    }

    /// Names and values, which a terminal has no room for; those without a value are left out.
    pub fn facts(&mut self, facts: impl IntoIterator<Item = (&'static str, String)>) {
        let said = facts.into_iter().filter(|(_, value)| !value.is_empty());
        self.parts.push(Part::Facts(said.collect()));
    }

    /// What must not be overlooked: a word, and a sentence without its full stop.
    pub fn notice(&mut self, name: &'static str, text: impl Into<String>) {
        self.parts.push(Part::Notice(name, text.into()));
    }

    /// A remark.
    pub fn note(&mut self, text: impl Into<String>) {
        self.parts.push(Part::Note(text.into()));
    }

    /// A table, if it has rows.
    pub fn table(&mut self, table: Table) {
        if !table.rows.is_empty() {
            self.parts.push(Part::Table(table));
        }
    }

    /// Markup that only a page has: a drawing, most of the time.
    pub fn page_only(&mut self, markup: impl Into<String>) {
        self.parts.push(Part::Page(markup.into()));
    }

    /// A line that only a terminal needs: a page has it elsewhere.
    pub fn terminal_only(&mut self, line: impl Into<String>) {
        self.parts.push(Part::Terminal(line.into()));
    }

    /// An explanation that only a page has room for.
    pub fn explain(&mut self, text: &str) {
        if !text.is_empty() {
            self.page_only(format!("<p>{}</p>\n", escape(text)));
        }
    }

    /// What a page shows when it is asked for: a file, a script.
    pub fn folded(&mut self, title: &str, text: &str) {
        let [title, text] = [title, text.trim()].map(escape);
        self.page_only(format!("<details><summary>{title}</summary><pre>{text}</pre></details>\n"));
    }

    /// For a terminal. Ends with a newline, if there is anything.
    pub fn text(&self) -> String {
        let mut out = String::new();
        if !self.title.is_empty() {
            let _ = writeln!(out, "{}", self.title);
        }
        let mut after_table = false;
        for part in &self.parts {
            let _ = match part {
                Part::Heading(text) => {
                    writeln!(out, "{}{text}", if out.is_empty() { "" } else { "\n" })
                }
                Part::Notice(name, text) => writeln!(out, "{}: {text}", name.to_uppercase()),
                Part::Note(text) | Part::Terminal(text) => writeln!(out, "{text}"),
                Part::Table(table) => {
                    write!(out, "{}{}", if after_table { "\n" } else { "" }, table.text())
                }
                Part::Page(_) | Part::Facts(_) => continue,
            };
            after_table = matches!(part, Part::Table(_));
        }
        out
    }

    /// For whoever writes about it.
    pub fn markdown(&self) -> String {
        let mut out = String::new();
        if !self.title.is_empty() {
            let _ = writeln!(out, "# {}", table::escaped(&self.title));
        }
        for part in &self.parts {
            let _ = match part {
                Part::Heading(text) => writeln!(out, "\n## {}", table::escaped(text)),
                Part::Facts(facts) => {
                    out.push('\n');
                    facts.iter().try_for_each(|(name, value)| {
                        writeln!(out, "- {name}: {}", table::escaped(value))
                    })
                }
                Part::Notice(name, text) => {
                    writeln!(out, "\n**{name}:** {}.", table::escaped(text))
                }
                Part::Note(text) => writeln!(out, "\n*{}*", table::escaped(text)),
                Part::Table(table) => write!(out, "\n{}", table.markdown()),
                Part::Page(_) | Part::Terminal(_) => Ok(()),
            };
        }
        out
    }

    /// A whole HTML document; by day, by night and on paper.
    pub fn page(&self) -> String {
        const STYLE: &str = include_str!("html/style.css");
        let title = escape(&self.title);
        let mut out = format!(
            "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width\">\n<title>{title}</title>\n\
             <style>\n{STYLE}</style>\n<main>\n<h1>{title}</h1>\n"
        );
        for part in &self.parts {
            let _ = match part {
                Part::Heading(text) => writeln!(out, "<h2>{}</h2>", escape(text)),
                Part::Facts(facts) => {
                    let each = facts.iter().map(|(name, value)| {
                        format!("<dt>{name}</dt><dd>{}</dd>\n", escape(value))
                    });
                    writeln!(out, "<dl>\n{}</dl>", each.collect::<String>())
                }
                Part::Notice(name, text) => {
                    writeln!(out, "<p class=\"notice\"><b>{name}.</b> {}.</p>", escape(text))
                }
                Part::Note(text) => writeln!(out, "<p class=\"note\">{}</p>", escape(text)),
                Part::Table(table) => write!(out, "{}", table.html()),
                Part::Page(markup) => write!(out, "{markup}"),
                Part::Terminal(_) => Ok(()),
            };
        }
        out + "</main>\n</html>\n"
    }
}
