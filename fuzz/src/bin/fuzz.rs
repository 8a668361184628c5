//! Fuzzes without a fuzzer, on the stable compiler: `fuzz TARGET [--seconds N] [--seed N]`, or one
//! input again: `fuzz TARGET --input FILE`.
//!
//! A failure prints the seed and the input in hex, and writes the input to `fuzz/artifacts/`.

use fuzz::{TARGETS, Target, mutate::mutate};
use measure::Prng;
use std::error::Error;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};
use std::{env, fs};

const USAGE: &str = "usage: fuzz TARGET [--seconds N] [--seed N] | fuzz TARGET --input FILE";

/// One input may take so long; more is a failure too.
const SLOW: Duration = Duration::from_secs(5);

fn main() -> ExitCode {
    match fuzz(&env::args().skip(1).collect::<Vec<_>>()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
            eprintln!("{error}\n{USAGE}\ntargets: {}", names.join(", "));
            ExitCode::from(2)
        }
    }
}

/// Whether all inputs went well.
fn fuzz(arguments: &[String]) -> Result<bool, Box<dyn Error>> {
    let (name, options) = arguments.split_first().ok_or("which target?")?;
    let target = TARGETS.iter().find(|target| target.name == name).ok_or("no such target")?;
    let (mut seconds, mut seed) = (5, 1);
    for option in options.chunks(2) {
        match option {
            [name, value] if name == "--seconds" => seconds = value.parse()?,
            [name, value] if name == "--seed" => seed = value.parse()?,
            [name, file] if name == "--input" => {
                return Ok(went_well(target, seed, &fs::read(file)?));
            }
            other => return Err(format!("not understood: {}", other.join(" ")).into()),
        }
    }
    let seeds = seeds(target)?;
    if let Some(bad) = seeds.iter().find(|input| !went_well(target, seed, input)) {
        println!("a seed of {} bytes", bad.len());
        return Ok(false);
    }
    let (words, mut prng) = ((target.words)(), Prng::new(seed));
    let (began, mut inputs) = (now(), 0u64);
    while began.elapsed() < Duration::from_secs(seconds) {
        inputs += 1;
        if !went_well(target, seed, &mutate(&mut prng, &seeds, &words)) {
            return Ok(false);
        }
    }
    println!("{name}: {inputs} inputs from {} seeds, all well", seeds.len());
    Ok(true)
}

/// Runs one input, and keeps it if it fails.
fn went_well(target: &Target, seed: u64, input: &[u8]) -> bool {
    let began = now();
    let well = catch_unwind(|| (target.run)(input)).is_ok();
    let took = began.elapsed();
    if well && took < SLOW {
        return true;
    }
    let hex: String = input.iter().map(|byte| format!("{byte:02x}")).collect();
    let what = if well { "too slow" } else { "failed" };
    println!("{} {what} after {took:?}, seed {seed}, input {hex}", target.name);
    let file = folder("artifacts").join(format!("{}-{:016x}", target.name, fingerprint(input)));
    match fs::create_dir_all(folder("artifacts")).and_then(|()| fs::write(&file, input)) {
        Ok(()) => println!("again: run {} --input {}", target.name, file.display()),
        Err(error) => println!("{}: {error}", file.display()),
    }
    false
}

/// The target's seeds, sorted by name so that a run can be repeated.
fn seeds(target: &Target) -> Result<Vec<Vec<u8>>, Box<dyn Error>> {
    let folder = folder("seeds").join(target.name);
    let entries =
        fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut paths =
        entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>, Box<dyn Error>>>()?;
    paths.sort();
    paths.iter().map(|path| Ok(fs::read(path)?)).collect()
}

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

/// FNV-1a: the same name for the same input.
fn fingerprint(input: &[u8]) -> u64 {
    input.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[expect(clippy::disallowed_methods, reason = "how long to fuzz")]
fn now() -> Instant {
    Instant::now()
}
