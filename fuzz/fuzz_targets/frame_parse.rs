//! libFuzzer's way into `fuzz::frame_parse`, for `cargo fuzz run --features libfuzzer frame_parse`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::frame_parse::run(input));
