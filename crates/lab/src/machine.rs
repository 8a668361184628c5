//! Which machine this is: what a reader needs to know to believe or repeat a result.

use crate::node::Environment;
use std::fs;

/// The processor's name; `unknown` where the system does not say.
pub fn cpu() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let value = |key: &str| {
        let line = text.lines().find(|line| line.starts_with(key))?;
        Some(line.split_once(':')?.1.trim().to_string())
    };
    value("model name").or_else(|| value("Model")).unwrap_or_else(|| "unknown".to_string())
}

/// The operating system's kernel and its version.
pub fn kernel() -> String {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let name = match std::env::consts::OS {
        "linux" => "Linux",
        other => other,
    };
    format!("{name} {}", release.trim()).trim_end().to_string()
}

/// What a node on this machine shows of it; `boot` is the time of day.
pub fn environment(boot: u64) -> Environment {
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let mhz = info.lines().find(|line| line.starts_with("cpu MHz"));
    let mhz = mhz.and_then(|line| line.split_once(':')?.1.trim().parse::<f64>().ok());
    Environment {
        cpu: cpu(),
        cpu_mhz: mhz.unwrap_or(0.0) as u64,
        architecture: std::env::consts::ARCH.to_string(),
        board: kernel(),
        total_memory: memory("MemTotal"),
        free_memory: memory("MemAvailable"),
        boot,
    }
}

/// A line of `/proc/meminfo`, in bytes; 0 where the system does not say.
fn memory(key: &str) -> u64 {
    let info = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = info.lines().find(|line| line.split(':').next() == Some(key));
    let kib = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}

/// How many processors this process may use.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// What this program was built for beyond the architecture's first processors.
pub const BUILT_FOR: &[&str] = &[
    #[cfg(target_feature = "popcnt")]
    "popcnt",
    #[cfg(target_feature = "avx2")]
    "avx2",
    #[cfg(target_feature = "bmi2")]
    "bmi2",
];

/// What this program was built for and this processor lacks: the first use of it would end the
/// program without a word.
pub fn missing_features() -> Vec<&'static str> {
    #[cfg(target_arch = "x86_64")]
    {
        let has = |name: &&str| match *name {
            "popcnt" => std::is_x86_feature_detected!("popcnt"),
            "avx2" => std::is_x86_feature_detected!("avx2"),
            "bmi2" => std::is_x86_feature_detected!("bmi2"),
            _ => true,
        };
        BUILT_FOR.iter().copied().filter(|name| !has(name)).collect()
    }
    #[cfg(not(target_arch = "x86_64"))]
    Vec::new()
}
