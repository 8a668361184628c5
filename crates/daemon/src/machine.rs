//! The machine's description: what a reader needs to know to believe or repeat a result.

use crate::node::Environment;
use std::fmt;
use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

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

/// How long the host of this (virtual) machine kept these processors for itself so far, all of them
/// together, in ticks of 10 ms; nothing where the system does not say.
pub fn stolen(processors: &[usize]) -> Duration {
    let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
    let ticks: u64 = stat.lines().filter_map(|line| stolen_of(line, processors)).sum();
    Duration::from_millis(10 * ticks)
}

/// For how long programs had these processors so far, outside of the kernel, in ticks of 10 ms; `None`
/// where the system does not say. What the kernel does for them, frames of a veth for one, is not in it.
pub fn programs(processors: &[usize]) -> Option<Duration> {
    let stat = fs::read_to_string("/proc/stat").ok()?;
    let ticks = stat.lines().filter_map(|line| {
        let [user, nice, ..] = ticks_of(line, processors)?;
        Some(user + nice)
    });
    Some(Duration::from_millis(10 * ticks.sum::<u64>()))
}

/// The same of this process and the programs that it started, on whichever processors.
pub fn own_programs() -> Option<Duration> {
    let of = |process: &str| {
        let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
        user_ticks(&stat)
    };
    let own = of("self")?;
    // Whoever starts a program is a thread of this process.
    let threads = fs::read_dir("/proc/self/task").ok()?.filter_map(Result::ok);
    let children =
        threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    let children: Vec<String> = children.collect();
    let children = children.iter().flat_map(|text| text.split_whitespace());
    let ticks = own + children.filter_map(of).sum::<u64>();
    Some(Duration::from_millis(10 * ticks))
}

/// Of a `/proc/PID/stat`: the ticks outside of the kernel, of the process and of those it has waited for
/// (fields 14 and 16 of proc(5)). The name before them, in brackets, may be any.
fn user_ticks(stat: &str) -> Option<u64> {
    let (_, rest) = stat.rsplit_once(')')?;
    let mut words = rest.split_whitespace().skip(11);
    let user: u64 = words.next()?.parse().ok()?;
    let waited_for: u64 = words.nth(1)?.parse().ok()?;
    Some(user + waited_for)
}

/// How busy these processors are with whatever runs now, from 0 to 1, looked at for so long; `None` where
/// the system does not say.
pub fn busy(processors: &[usize], watched: Duration) -> Option<f64> {
    let read = || fs::read_to_string("/proc/stat").ok();
    let before = read()?;
    std::thread::sleep(watched);
    busy_between(&before, &read()?, processors)
}

fn busy_between(before: &str, after: &str, processors: &[usize]) -> Option<f64> {
    let sums = |text: &str| {
        let all = text.lines().filter_map(|line| ticks_of(line, processors));
        all.fold((0u64, 0u64), |(idle, sum), ticks| {
            (idle + ticks[3] + ticks[4], sum + ticks.iter().sum::<u64>())
        })
    };
    let ((idle, sum), (idle_after, sum_after)) = (sums(before), sums(after));
    let all = sum_after.checked_sub(sum).filter(|all| *all > 0)?;
    let idle = idle_after.saturating_sub(idle).min(all);
    Some(1.0 - idle as f64 / all as f64)
}

/// How long this thread has had a processor so far; `None` where the system does not say.
pub fn processor_time() -> Option<Duration> {
    thread_time("thread-self")
}

/// The same of the thread of this number (`thread-self`: this one). The first number of its
/// `schedstat`.
pub fn thread_time(thread: impl fmt::Display) -> Option<Duration> {
    let text = fs::read_to_string(format!("/proc/{thread}/schedstat")).ok()?;
    text.split_whitespace().next()?.parse().ok().map(Duration::from_nanos)
}

/// Puts a thread before others on a machine that does other things as well: this one, or the one of
/// this number. To no avail without the right to.
pub fn prefer(thread: Option<u32>, nice: i32) {
    let Some(thread) = thread else {
        // On Linux a process's priority is each thread's own: this is the calling one's.
        let _ = rustix::process::setpriority_process(None, nice);
        return;
    };
    let mut renice = Command::new("renice");
    quietly(renice.args(["-n", &nice.to_string(), "-p", &thread.to_string()]));
}

/// Puts this thread before all that is not of the kernel's own real-time threads: it has its
/// processor as soon as it wants it, so it must sleep when it has nothing to do. To no avail without
/// the right to.
pub fn put_first() {
    let Some(thread) = own_number() else { return };
    let mut chrt = Command::new("chrt");
    quietly(chrt.args(["--fifo", "--pid", "1", &thread.to_string()]));
}

/// Puts this thread, and those it starts from now on, behind all others: it has a processor when
/// nobody else wants it.
pub fn give_way() {
    let Some(thread) = own_number() else { return };
    let mut chrt = Command::new("chrt");
    quietly(chrt.args(["--idle", "--pid", "0", &thread.to_string()]));
}

fn own_number() -> Option<u32> {
    let link = fs::read_link("/proc/thread-self").ok()?;
    link.file_name()?.to_str()?.parse().ok()
}

fn quietly(command: &mut Command) {
    let _ = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
}

/// Of a line of `/proc/stat`: `cpu1 user nice system idle iowait irq softirq steal …` (proc(5)).
fn stolen_of(line: &str, processors: &[usize]) -> Option<u64> {
    ticks_of(line, processors).map(|ticks| ticks[7])
}

/// The first eight of its numbers.
fn ticks_of(line: &str, processors: &[usize]) -> Option<[u64; 8]> {
    let mut words = line.split_whitespace();
    let processor = words.next()?.strip_prefix("cpu")?.parse().ok()?;
    if !processors.contains(&processor) {
        return None;
    }
    let mut ticks = [0; 8];
    for tick in &mut ticks {
        *tick = words.next()?.parse().ok()?;
    }
    Some(ticks)
}

/// What of the machine decides how fast and how evenly it runs, `name = value`, as far as the system
/// says it.
pub fn settings() -> Vec<String> {
    const FILES: &[(&str, &str)] = &[
        ("governor", "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        ("isolated processors", "/sys/devices/system/cpu/isolated"),
        ("processors without ticks", "/sys/devices/system/cpu/nohz_full"),
        ("hyper-threads", "/sys/devices/system/cpu/smt/control"),
        ("clock source", "/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        ("huge pages", "/sys/kernel/mm/transparent_hugepage/enabled"),
    ];
    /// Those that frames are moved, checked and hashed with.
    const FLAGS: &[&str] = &[
        "hypervisor",
        "constant_tsc",
        "nonstop_tsc",
        "popcnt",
        "bmi2",
        "aes",
        "pclmulqdq",
        "avx2",
        "avx512f",
        "vaes",
        "gfni",
        "erms",
        "fsrm",
    ];
    let file = |&(name, path): &(&str, &str)| {
        let value = fs::read_to_string(path).unwrap_or_default();
        let value = value.trim();
        let said = !value.is_empty() && value != "(null)";
        format!("{name} = {}", if said { value } else { "none" })
    };
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let flags = info.lines().find_map(|line| line.strip_prefix("flags")?.split_once(':'));
    let flags = flags.map_or("", |(_, flags)| flags);
    let has = |flag: &&&str| flags.split_ascii_whitespace().any(|one| one == **flag);
    let flags: Vec<&str> = FLAGS.iter().filter(has).copied().collect();
    let flags = (!flags.is_empty()).then(|| format!("flags = {}", flags.join(" ")));
    FILES.iter().map(file).chain(flags).collect()
}

/// The kernel's settings that matter to how fast it forwards, `name = value`, as far as it has them.
pub fn sysctls() -> Vec<String> {
    const NAMES: &[&str] = &[
        "net.core.netdev_budget",
        "net.core.netdev_max_backlog",
        "net.core.dev_weight",
        "net.core.rps_default_mask",
        "net.core.bpf_jit_enable",
        "net.netfilter.nf_conntrack_max",
        "net.netfilter.nf_conntrack_buckets",
        "kernel.sched_rt_runtime_us",
    ];
    let value = |name: &&str| {
        let path = format!("/proc/sys/{}", name.replace('.', "/"));
        Some(format!("{name} = {}", fs::read_to_string(path).ok()?.trim()))
    };
    NAMES.iter().filter_map(value).collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stolen_ticks_of_the_processors_asked_for() {
        let line = "cpu1 648834 769016 191431 811767 15212 0 2803 2298 7 9";
        assert_eq!(stolen_of(line, &[0, 1]), Some(2298));
        assert_eq!(stolen_of(line, &[0]), None);
        assert_eq!(stolen_of("cpu  1 2 3 4 5 6 7 8 9", &[0, 1]), None, "the sum of all");
        assert_eq!(stolen_of("intr 5", &[0]), None);
        assert_eq!(stolen_of("cpu1 1 2", &[1]), None);
    }

    #[test]
    fn how_busy_processors_were() {
        let before = "cpu  9 9 9 9 9 9 9 9\ncpu0 100 0 50 800 50 0 0 0\ncpu1 0 0 0 1000 0 0 0 0";
        let after = "cpu  9 9 9 9 9 9 9 9\ncpu0 120 0 60 860 60 0 0 0\ncpu1 90 0 0 1010 0 0 0 0";
        let busy = |processors: &[usize]| busy_between(before, after, processors);
        assert_eq!(busy(&[0]).map(|share| (share * 100.0).round()), Some(30.0));
        assert_eq!(busy(&[1]).map(|share| (share * 100.0).round()), Some(90.0));
        assert_eq!(busy(&[0, 1]).map(|share| (share * 100.0).round()), Some(60.0));
        assert_eq!(busy(&[7]), None, "there is no such processor");
        assert_eq!(busy_between(after, after, &[0]), None, "no time has passed");
    }

    /// Whatever a process is called.
    #[test]
    fn ticks_outside_of_the_kernel() {
        let stat = "42 (a ) b) S 1 42 42 0 -1 4194560 100 200 0 0 7 3 5 1 20 0 1 0 100";
        assert_eq!(user_ticks(stat), Some(12));
        assert_eq!(user_ticks("42 (a) S 1"), None);
    }

    /// Those of this process are among those of all.
    #[test]
    #[cfg(target_os = "linux")]
    fn own_programs_are_programs() {
        let processors: Vec<usize> = (0..1024).collect();
        let (own, all) = (own_programs().unwrap(), programs(&processors).unwrap());
        assert!(own <= all + Duration::from_secs(1), "{own:?} of {all:?}");
    }
}
