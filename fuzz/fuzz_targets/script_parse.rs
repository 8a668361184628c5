//! libFuzzer's way into `fuzz::script_parse`, for `cargo xtask fuzz script_parse`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::script_parse::run(input));
