//! libFuzzer's way into `fuzz::api_sentence`, for `cargo fuzz run api_sentence`.
#![cfg_attr(fuzzing, no_main)]

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::api_sentence::run(input));

#[cfg(not(fuzzing))]
fn main() {
    eprintln!(
        "for `cargo fuzz run api_sentence`; without it: `cargo run --bin run -- api_sentence`"
    );
    std::process::exit(2);
}
