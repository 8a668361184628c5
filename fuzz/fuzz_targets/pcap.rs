//! libFuzzer's way into `fuzz::pcap`, for `cargo fuzz run --features libfuzzer pcap`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::pcap::run(input));
