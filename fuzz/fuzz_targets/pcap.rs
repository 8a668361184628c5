//! libFuzzer's way into `fuzz::pcap`, for `cargo xtask fuzz pcap`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::pcap::run(input));
