//! libFuzzer's way into `fuzz::sessions`, for `cargo xtask fuzz sessions`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::sessions::run(input));
