//! `wirespeed import`: what of another box's configuration would work here, and what becomes of it.

use crate::failure::Failure;
use clap::{Args, ValueEnum};
use daemon::import::{self, Count, Surveyed};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;

#[derive(Args)]
#[command(after_help = "\
Each command is tried by itself, after those that were accepted before it, on a device with the ports that
the file names. It works; it has no meaning here (hardware that is not there) and would change nothing about
packets; it is missing; or it is refused for another reason.

Examples:
  wirespeed import --report export.rsc
  wirespeed import --tolerant export.rsc > here.rsc
  wirespeed import --tolerant --version 7 old.rsc > new.rsc
  wirespeed import --report --format markdown *.rsc > report.md
  wirespeed import --report --at-least 90 export.rsc")]
#[allow(missing_docs)] // a line here would be the command's help
pub struct Arguments {
    /// Say what would work, and change nothing
    #[arg(long, required_unless_present = "tolerant")]
    report: bool,
    /// Print the configuration that this device makes of the file, with lines kept that have no meaning
    #[arg(long, conflicts_with_all = ["report", "format", "at_least"])]
    tolerant: bool,
    /// Print it in the words of this version of RouterOS, 6 or 7, instead of those of the file
    #[arg(long, value_name = "VERSION", requires = "tolerant", value_parser = clap::value_parser!(u8).range(6..=7))]
    version: Option<u8>,
    /// Exports of RouterOS, of any age
    #[arg(value_name = "FILE.rsc", required = true)]
    files: Vec<PathBuf>,
    /// How it is written
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Ends with exit code 1 if fewer commands of a hundred work or have no meaning here
    #[arg(long, value_name = "PERCENT", default_value_t = 0, value_parser = clap::value_parser!(u8).range(0..=100))]
    at_least: u8,
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    Text,
    Markdown,
    Json,
}

/// Tries each file, and prints what of it would work.
///
/// # Errors
/// [`Failure`]: a file cannot be read.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let mut all = Vec::new();
    for file in &arguments.files {
        let shown = file.display().to_string();
        let bytes = std::fs::read(file)
            .map_err(|error| Failure::Environment(format!("reading {shown}: {error}")))?;
        let others = (serve::MENUS, Some(&serve::FACTORY));
        let version = arguments.version.map(|version| version.to_string());
        let text = import::text(&bytes);
        let surveyed = import::tolerant(&shown, &text, others, version.as_deref());
        let (surveyed, export) =
            surveyed.map_err(|error| Failure::Failed(format!("{shown}: {error}")))?;
        if arguments.tolerant {
            made(&surveyed, &export)?;
        }
        all.push(surveyed);
    }
    if arguments.tolerant {
        return Ok(());
    }
    let mut total = Count::default();
    all.iter().for_each(|surveyed| total.add(surveyed.total));
    match arguments.format {
        Format::Json => outln!("{}", serde_json::to_string_pretty(&all).expect("plain data")),
        Format::Text => outln!("{}", text(&all, total)),
        Format::Markdown => outln!("{}", markdown(&all, total)),
    }
    let percent = total.percent();
    if percent < usize::from(arguments.at_least) {
        let wanted = arguments.at_least;
        return Err(Failure::Failed(format!("{percent} % of the commands, not {wanted} %")));
    }
    Ok(())
}

/// Prints what became of a file; nothing, if a line of it is refused.
fn made(surveyed: &Surveyed, export: &str) -> Result<(), Failure> {
    let fails = |line: &&import::Line| ["missing", "refused"].contains(&line.verdict);
    let failing: Vec<_> = surveyed.lines.iter().filter(fails).collect();
    for line in &failing {
        say!("{}:{}: {} {}: {}", surveyed.file, line.line, line.menu, line.text, line.why);
    }
    say!("{}: {}", surveyed.file, sentence(surveyed.total));
    if failing.is_empty() {
        out!("{export}");
        return Ok(());
    }
    Err(Failure::Failed(format!("{} lines of {} are refused", failing.len(), surveyed.file)))
}

fn sentence(count: Count) -> String {
    let Count { commands, works, inert, missing, refused } = count;
    let percent = count.percent();
    format!(
        "{commands} commands: {works} work, {inert} have no meaning here, {missing} missing, \
         {refused} refused ({percent} %)"
    )
}

/// The menus of what is missing or refused, those with most of it first.
fn wanting(all: &[Surveyed]) -> Vec<(String, Count)> {
    let mut menus: BTreeMap<&str, Count> = BTreeMap::new();
    for (menu, count) in all.iter().flat_map(|surveyed| &surveyed.menus) {
        menus.entry(menu).or_default().add(*count);
    }
    let wanting = menus.into_iter().filter(|(_, count)| count.missing + count.refused > 0);
    let mut wanting: Vec<_> = wanting.map(|(menu, count)| (menu.to_string(), count)).collect();
    wanting.sort_by_key(|(_, count)| std::cmp::Reverse(count.missing + count.refused));
    wanting
}

fn text(all: &[Surveyed], total: Count) -> String {
    let mut text = String::new();
    for surveyed in all {
        let _ = writeln!(text, "{}: {}", surveyed.file, sentence(surveyed.total));
        for line in &surveyed.lines {
            let _ = writeln!(
                text,
                "  line {:<5} {:<8} {} {}",
                line.line, line.verdict, line.menu, line.text
            );
            let _ = writeln!(text, "             {}", line.why);
        }
    }
    if all.len() > 1 {
        let whole = all.iter().filter(|s| s.total.percent() == 100).count();
        let _ = writeln!(text, "\n{} files, {whole} whole: {}", all.len(), sentence(total));
    }
    for (menu, count) in wanting(all) {
        let Count { commands, missing, refused, .. } = count;
        let _ = writeln!(text, "  {:>5} of {commands:<5} {menu}", missing + refused);
    }
    text.trim_end().to_string()
}

fn markdown(all: &[Surveyed], total: Count) -> String {
    let mut text = String::from(
        "| file | commands | work | no meaning here | missing | refused | % |\n\
         | --- | ---: | ---: | ---: | ---: | ---: | ---: |\n",
    );
    let mut row = |name: &str, count: Count| {
        let Count { commands, works, inert, missing, refused } = count;
        let percent = count.percent();
        let cells = format!("{commands} | {works} | {inert} | {missing} | {refused} | {percent}");
        let _ = writeln!(text, "| {name} | {cells} |");
    };
    all.iter().for_each(|surveyed| row(&surveyed.file, surveyed.total));
    row("all", total);
    text += "\n| menu | commands | missing | refused |\n| --- | ---: | ---: | ---: |\n";
    for (menu, count) in wanting(all) {
        let Count { commands, missing, refused, .. } = count;
        let _ = writeln!(text, "| `{menu}` | {commands} | {missing} | {refused} |");
    }
    for surveyed in all.iter().filter(|surveyed| !surveyed.lines.is_empty()) {
        let _ = writeln!(
            text,
            "\n## {}\n\n| line | | command | why |\n| ---: | --- | --- | --- |",
            surveyed.file
        );
        for line in &surveyed.lines {
            let clean = |text: &str| text.replace('|', "\\|").replace('`', "'");
            let command = clean(&format!("{} {}", line.menu, line.text));
            let _ = writeln!(
                text,
                "| {} | {} | `{command}` | {} |",
                line.line,
                line.verdict,
                clean(&line.why)
            );
        }
    }
    text.trim_end().to_string()
}
