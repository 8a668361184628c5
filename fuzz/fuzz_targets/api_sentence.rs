//! libFuzzer's way into `fuzz::api_sentence`, for `cargo xtask fuzz api_sentence`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::api_sentence::run(input));
