//! libFuzzer's way into `fuzz::router`, for `cargo xtask fuzz router`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::router::run(input));
