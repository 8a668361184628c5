//! libFuzzer's way into `fuzz::announced`, for `cargo fuzz run --features libfuzzer announced`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::announced::run(input));
