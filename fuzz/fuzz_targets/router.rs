//! libFuzzer's way into `fuzz::router`, for `cargo fuzz run router`.
#![cfg_attr(fuzzing, no_main)]

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::router::run(input));

#[cfg(not(fuzzing))]
fn main() {
    eprintln!("for `cargo fuzz run router`; without it: `cargo run --bin run -- router`");
    std::process::exit(2);
}
