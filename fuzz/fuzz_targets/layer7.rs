//! libFuzzer's way into `fuzz::layer7`, for `cargo fuzz run layer7`.
#![cfg_attr(fuzzing, no_main)]

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::layer7::run(input));

#[cfg(not(fuzzing))]
fn main() {
    eprintln!("for `cargo fuzz run layer7`; without it: `cargo run --bin run -- layer7`");
    std::process::exit(2);
}
