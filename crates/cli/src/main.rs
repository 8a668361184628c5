//! The one binary, `wirespeed`.
//!
//! ```text
//! arguments ─┬─► bench ─► lab (runs) ─► report (table, JSON) ─► stdout, file
//!            ├─► lab ───► lab (nodes, links, steps) ─► transcript ─► stdout
//!            ├─► console ─► serve (a terminal) ══ API ══ a device
//!            ├─► calc  ─► wire::units ─► stdout
//!            └─► report ─► report::check ─► stdout
//! ```
//!
//! Exit codes: 0 done, 1 failed, 2 usage, 3 environment (a file that cannot be read, too few
//! cores, a processor too old). Results go to stdout, progress and errors to stderr.
//! Never holds logic worth testing by itself.
//! Missing: **test, router, btest, speed-test**.

// Arguments that are no plain words or numbers.
mod arguments;
// `wirespeed bench`.
mod bench;
// `wirespeed calc`.
mod calc;
// `wirespeed console`.
mod console;
// Why a command ended, and the exit code of it.
mod failure;
// `wirespeed lab`.
mod labs;
// What is shown while something takes long.
mod progress;
// `wirespeed report`.
mod report;
// A node in this process, as a server sees it.
mod served;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// A router, and the bench that measures it.
#[derive(Parser)]
#[command(name = "wirespeed", version, about, max_term_width = 100)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// The performance table: forwarding rates by mode, configuration and frame size
    Bench(bench::Arguments),
    /// Topologies of nodes and links: bring one up, type, see whether all is as expected
    Lab(labs::Arguments),
    /// RouterOS's console: on a device that runs, or on one made in memory
    Console(console::Arguments),
    /// Wire speed, layers, tunnels, capacity, TCP, token buckets, wireless rates
    Calc(calc::Arguments),
    /// Check results: ours, iperf3's, a vendor's table
    Report(report::Arguments),
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let done = match arguments.command {
        Command::Bench(arguments) => bench::run(&arguments),
        Command::Lab(arguments) => labs::run(&arguments),
        Command::Console(arguments) => console::run(arguments),
        Command::Report(arguments) => report::run(&arguments),
        Command::Calc(arguments) => calc::run(&arguments),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("wirespeed: {failure}");
            failure.exit_code()
        }
    }
}
