//! libFuzzer's way into `fuzz::layer7`, for `cargo xtask fuzz layer7`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::layer7::run(input));
