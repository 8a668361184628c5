//! A processor one of the router's threads is to have: whether it has it to itself.

use super::{Report, Verdict, line};
use std::fs;

/// Those of the router's thread and the workers', each once.
pub(super) fn all(report: &mut Report, cores: &[usize]) {
    let thread = |at: usize| match at {
        0 => "the router's thread".to_string(),
        at => format!("worker {}", at - 1),
    };
    for (at, &core) in cores.iter().enumerate() {
        if cores[..at].contains(&core) {
            continue;
        }
        look(report, core);
        let on_it = cores.iter().enumerate().filter(|(_, other)| **other == core);
        let threads: Vec<_> = on_it.map(|(at, _)| thread(at)).collect();
        if threads.len() > 1 {
            let is = format!("{} share it", threads.join(" and "));
            let advice = "give each a processor of its own (--cores), or take fewer --workers: they \
                          take turns, and what waits meanwhile may be lost";
            report.add(&format!("core {core}"), "threads", is, Verdict::Warn, advice);
        }
    }
}

/// A processor one of the router's threads is to have.
fn look(report: &mut Report, core: usize) {
    let of = format!("core {core}");
    let cpus = "/sys/devices/system/cpu";
    let read = |path: &str| fs::read_to_string(path).map(|text| text.trim().to_string());
    let Ok(_) = fs::metadata(format!("{cpus}/cpu{core}")) else {
        let advice = "`nproc` says how many there are, counted from 0";
        return report.add(&of, "processor", "not there", Verdict::Stop, advice);
    };
    let allowed = port::affinity::allowed();
    if !allowed.contains(&core) {
        let is = format!("not one that this process may use: {allowed:?}");
        let advice = "take others for --cores, or widen its cpuset (`taskset`, AllowedCPUs=)";
        return report.add(&of, "processor", is, Verdict::Stop, advice);
    }
    let isolated = read(&format!("{cpus}/isolated")).unwrap_or_default();
    if listed(&isolated, core) {
        report.good(&of, "isolated", "yes");
    } else {
        let advice = format!("boot with `isolcpus={core} nohz_full={core}`: others run there, too");
        report.add(&of, "isolated", "no", Verdict::Better, &advice);
    }
    if let Ok(governor) = read(&format!("{cpus}/cpu{core}/cpufreq/scaling_governor")) {
        if governor == "performance" {
            report.good(&of, "governor", governor);
        } else {
            let advice = format!("type `cpupower -c {core} frequency-set -g performance`");
            report.add(&of, "governor", governor, Verdict::Better, &advice);
        }
    }
    let siblings = read(&format!("{cpus}/cpu{core}/topology/thread_siblings_list"));
    match siblings.as_deref() {
        Ok(alone) if alone == core.to_string() => report.good(&of, "hyper-threads", "none"),
        Ok(together) => {
            let advice = "leave the other one idle: they share what they run on";
            report.add(
                &of,
                "hyper-threads",
                format!("{together} are one core"),
                Verdict::Better,
                advice,
            );
        }
        Err(_) => {}
    }
    let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
    let times = line(&stat, &format!("cpu{core} ")).unwrap_or_default();
    let times: Vec<u64> = times.split_whitespace().filter_map(|n| n.parse().ok()).collect();
    // user, nice, system, idle, iowait, irq, softirq, steal.
    let (steal, busy) = (times.get(7).copied().unwrap_or(0), times.iter().take(8).sum::<u64>());
    let permille = steal * 1000 / busy.max(1);
    let is = format!("{}.{} % since the start", permille / 10, permille % 10);
    if permille >= 10 {
        let advice = "figures vary: the machine below gives this processor to others";
        report.add(&of, "steal", is, Verdict::Better, advice);
    } else {
        report.good(&of, "steal", is);
    }
}

/// Whether a list like `1,4-7` holds a number.
fn listed(list: &str, number: usize) -> bool {
    list.split(',').any(|part| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        match (first.parse::<usize>(), last.parse::<usize>()) {
            (Ok(first), Ok(last)) => (first..=last).contains(&number),
            _ => false,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_processors() {
        for (list, number, expected) in [
            ("", 0, false),
            ("1", 1, true),
            ("1,4-7", 5, true),
            ("1,4-7", 3, false),
            ("x-y", 0, false),
        ] {
            assert_eq!(listed(list, number), expected, "{number} in {list:?}");
        }
    }
}
