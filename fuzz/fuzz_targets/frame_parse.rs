//! libFuzzer's way into `fuzz::frame_parse`, for `cargo xtask fuzz frame_parse`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::frame_parse::run(input));
