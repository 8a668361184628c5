//! libFuzzer's way into `fuzz::script_parse`, for `cargo fuzz run script_parse`.
#![cfg_attr(fuzzing, no_main)]

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::script_parse::run(input));

#[cfg(not(fuzzing))]
fn main() {
    eprintln!(
        "for `cargo fuzz run script_parse`; without it: `cargo run --bin run -- script_parse`"
    );
    std::process::exit(2);
}
