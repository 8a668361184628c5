//! The program, `wirespeed`: a router, and the bench that measures it.
//!
//! ```text
//! arguments ─┬─► bench ─► lab::bench (a plan) ─► report (table, JSON) ─► stdout, file
//!            ├─► test ──► lab::suite (a plan) ─► report (tables, page, JSON) ─► stdout, files
//!            │              └ --pcap: its frames ─► a capture file
//!            ├─► iperf3 ─► lab::iperf3 (a plan) ─► report (tables, JSON) ─► stdout, file
//!            ├─► lab ───► lab (nodes, links, steps) ─► transcript ─► stdout
//!            ├─► router, console, import ─► product, which links nothing of the bench
//!            ├─► calc  ─► wire::units ─► stdout
//!            └─► report ─► report::check ─► stdout
//! ```
//!
//! Exit codes: 0 done, 1 failed, 2 usage, 3 environment (a file that cannot be read, too few
//! cores, a processor too old). Results go to stdout, progress and errors to stderr.
//! Never holds logic worth testing by itself.
//! Missing: **btest, speed-test**.

// The product's commands, and what is printed: the others use its macros.
#[macro_use]
extern crate product;

// Arguments that are no plain words or numbers.
mod arguments;
// `wirespeed bench`.
mod bench;
// `wirespeed calc`.
mod calc;
// Arguments about devices under test.
mod device;
// `wirespeed test --pcap`.
mod frames;
// `wirespeed iperf3`.
#[cfg(target_os = "linux")]
mod iperf3;
// Result files.
mod keep;
// What there is of them while a run goes on.
mod so_far;
// `wirespeed lab`.
mod labs;
// What is shown while something takes long.
mod progress;
// `wirespeed report`.
mod report;
// `wirespeed test`.
mod test;

use clap::{Parser, Subcommand};
use lab::plans::Kind;
#[cfg(target_os = "linux")]
use product::router;
use product::{console, failure, import, out, served, signals};
use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

/// A router that speaks RouterOS, in user space, and the bench that says how fast a router really is.
#[derive(Parser)]
#[command(name = "wirespeed", version = env!("WIRESPEED_VERSION"), max_term_width = 100)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// The performance table: forwarding rates by mode, configuration and frame size
    Bench(bench::Arguments),
    /// A plan: RFC 2544, 8219, 2889, 9693 and their criteria, a table, or iperf3
    Test(test::Arguments),
    /// The iperf3 method: real iperf3 processes in pairs, node to node and through a router
    #[cfg(target_os = "linux")]
    Iperf3(iperf3::Arguments),
    /// Topologies of nodes and links: bring one up, type, see whether all is as expected
    Lab(labs::Arguments),
    /// The router on real interfaces
    #[cfg(target_os = "linux")]
    Router(router::Arguments),
    /// RouterOS's console: on a device that runs, or on one made in memory
    Console(console::Arguments),
    /// What of another box's configuration would work here
    Import(import::Arguments),
    /// Wire speed, layers, tunnels, capacity, TCP, token buckets, wireless rates
    Calc(calc::Arguments),
    /// Results and captures: checked, drawn, compared
    Report(report::Arguments),
}

/// `test` runs every plan: what it is of decides what else can be said.
fn by_plan(mut words: Vec<OsString>) -> Vec<OsString> {
    let is_plan = |word: &&OsString| Path::new(word).extension().is_some_and(|end| end == "toml");
    if words.get(1).is_some_and(|word| word == "test")
        && let Some(plan) = words.iter().find(is_plan)
        && let Ok(text) = std::fs::read_to_string(plan)
    {
        words[1] = match lab::plans::kind(&text) {
            Kind::Suite => "test",
            Kind::Table => "bench",
            Kind::Programs => "iperf3",
        }
        .into();
    }
    words
}

/// Its tables are large, and packets look into them here and there.
#[global_allocator]
static ALLOCATOR: port::huge::Allocator = port::huge::Allocator;

fn main() -> ExitCode {
    let arguments = Arguments::parse_from(by_plan(std::env::args_os().collect()));
    let done = match arguments.command {
        Command::Bench(arguments) => bench::run(&arguments),
        Command::Test(arguments) => test::run(&arguments),
        #[cfg(target_os = "linux")]
        Command::Iperf3(arguments) => iperf3::run(&arguments),
        Command::Lab(arguments) => labs::run(&arguments),
        #[cfg(target_os = "linux")]
        Command::Router(arguments) => router::run(arguments),
        Command::Console(arguments) => console::run(arguments),
        Command::Import(arguments) => import::run(&arguments),
        Command::Report(arguments) => report::run(&arguments),
        Command::Calc(arguments) => calc::run(&arguments),
    };
    match (done, out::trouble()) {
        (Ok(()), None) => ExitCode::SUCCESS,
        (done, Some(trouble)) => {
            done.err().into_iter().for_each(|failure| say!("wirespeed: {failure}"));
            say!("wirespeed: {trouble}");
            failure::Failure::Environment(trouble.to_string()).exit_code()
        }
        (Err(failure), None) => {
            say!("wirespeed: {failure}");
            failure.exit_code()
        }
    }
}
