//! libFuzzer's way into `fuzz::frame_parse`, for `cargo fuzz run frame_parse`.
#![cfg_attr(fuzzing, no_main)]

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::frame_parse::run(input));

#[cfg(not(fuzzing))]
fn main() {
    eprintln!("for `cargo fuzz run frame_parse`; without it: `cargo run --bin run -- frame_parse`");
    std::process::exit(2);
}
