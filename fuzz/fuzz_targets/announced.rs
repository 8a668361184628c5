//! libFuzzer's way into `fuzz::announced`, for `cargo xtask fuzz announced`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::announced::run(input));
