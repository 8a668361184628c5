//! libFuzzer's way into `fuzz::pcap`, for `cargo fuzz run pcap`.
#![cfg_attr(fuzzing, no_main)]

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::pcap::run(input));

#[cfg(not(fuzzing))]
fn main() {
    eprintln!("for `cargo fuzz run pcap`; without it: `cargo run --bin run -- pcap`");
    std::process::exit(2);
}
