//! Fuzz targets: what must hold for any bytes, any script, any frames.
//!
//! ```text
//! fuzz_targets/*.rs (libFuzzer)   ─┐
//!                                  ├─► run(input): panics if something does not hold
//! src/bin/fuzz.rs (plain mutation) ┘
//! ```
//!
//! The bodies are here, so that both ways run the same. Inputs that crashed become described cases
//! in the tests of the crate they crashed.

use ::router::MENUS;
use config::Language;
use std::sync::{Arc, LazyLock};

/// Any bytes as what others say to the router's services.
pub mod announced;
/// Any bytes from a client of the API.
pub mod api_sentence;
/// Any bytes as a frame: layers and all views.
pub mod frame_parse;
/// Any pattern and any payload for layer 7.
pub mod layer7;
/// Any bytes as a capture file.
pub mod pcap;
/// Any configuration and any frames: the fast router against the slow one.
pub mod router;
/// What of that is IPv6's.
mod router6;
/// Any text as a script.
pub mod script_parse;
/// Any bytes as what neighbours, subscribers and servers say.
pub mod sessions;

/// How inputs are varied without a fuzzer.
pub mod mutate;

/// The router's language, made once for all inputs.
static LANGUAGE: LazyLock<Arc<Language>> =
    LazyLock::new(|| Arc::new(Language::new(MENUS.to_vec(), [])));

/// A target.
#[derive(Clone, Copy)]
pub struct Target {
    /// As it is called, and its folder under `fuzz/seeds/`.
    pub name: &'static str,
    /// Panics if something does not hold for this input.
    pub run: fn(&[u8]),
    /// Words worth putting into inputs.
    pub words: fn() -> Vec<Vec<u8>>,
}

/// All targets.
pub const TARGETS: &[Target] = &[
    Target { name: "frame_parse", run: frame_parse::run, words: Vec::new },
    Target { name: "script_parse", run: script_parse::run, words: script_parse::words },
    Target { name: "router", run: router::run, words: Vec::new },
    Target { name: "pcap", run: pcap::run, words: Vec::new },
    Target { name: "layer7", run: layer7::run, words: layer7::words },
    Target { name: "announced", run: announced::run, words: Vec::new },
    Target { name: "sessions", run: sessions::run, words: Vec::new },
    Target { name: "api_sentence", run: api_sentence::run, words: api_sentence::words },
];
