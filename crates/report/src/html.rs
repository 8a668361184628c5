//! Drawings of a page, as SVG in HTML. What else is on it is a [`Document`](crate::document::Document)'s.

// Frame, grid and labels of all of them.
mod svg;
// Line charts.
mod chart;
// Distributions.
mod distribution;
// Time series.
mod course;
// Of a performance table.
pub(crate) mod bench;
// Of the iperf3 method.
pub(crate) mod iperf3;
// Of a suite.
pub(crate) mod suite;
// Of streams of a plan.
pub(crate) mod streams;

pub(crate) use chart::escape;

use measure::Environment;

/// Where and how: names and values. Of what has no random choices there is no seed; older results do
/// not say all of it.
pub(crate) fn environment(environment: &Environment) -> [(&'static str, String); 9] {
    let cores = format!("{}, {} cores", environment.cpu, environment.cores);
    let build = format!(
        "{} build of {} for {}",
        environment.build,
        environment.commit,
        environment.features.join(", ")
    );
    let seed = match environment.seed {
        0 => String::new(),
        seed => seed.to_string(),
    };
    let [machine, sysctls, offloads] =
        [&environment.machine, &environment.sysctls, &environment.offloads]
            .map(|all| all.join("; "));
    [
        ("When", environment.timestamp.clone()),
        ("Processor", cores),
        ("Machine", machine),
        ("System", environment.kernel.clone()),
        ("Its settings", sysctls),
        ("Offloads", offloads),
        ("Program", build),
        ("Command", environment.command.clone()),
        ("Seed", seed),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::iperf3 as of_iperf3;

    fn page_of(results: &measure::iperf3::Results) -> String {
        of_iperf3::document(results).page()
    }

    use crate::number::thousands;

    /// The committed runs make pages that say what their files say.
    #[test]
    fn pages_of_committed_runs() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../results/");
        for file in ["2026-11-20-epyc-1-core.json", "2026-11-23-veth-compare-quick-trials.json"] {
            let text = std::fs::read_to_string(folder.to_string() + file).unwrap();
            let results = crate::json::read::<measure::Results>(&text).unwrap();
            let page = crate::bench::document(&results).page();
            for row in &results.rows {
                assert!(page.contains(&thousands(row.kpps)), "{file}: {} is missing", row.kpps);
            }
            assert_eq!(page.matches("<svg").count(), page.matches("</svg>").count());
            assert!(page.contains(&escape(&results.environment.command)), "{file}");
            for forbidden in ["http://", "https://", "<script", "NaN", "inf"] {
                assert!(!page.contains(forbidden), "{file}: {forbidden}");
            }
        }
    }

    #[test]
    fn the_page_of_the_iperf3_method() {
        let mut results =
            crate::json::read::<measure::iperf3::Results>(include_str!("../data/iperf3-1.json"))
                .unwrap();
        let page = page_of(&results);
        for row in &results.rows {
            assert!(page.contains(&thousands(row.l3_mbps)), "{} is missing", row.l3_mbps);
        }
        assert!(page.contains("<svg") && page.contains("the wire (theoretical)"));
        for forbidden in ["http://", "https://", "<script", "NaN", "Impossible"] {
            assert!(!page.contains(forbidden), "{forbidden}");
        }
        results.rows[0].setting.link_mbps = Some(1.0);
        results.incomplete_because = Some("<interrupted>".to_string());
        let page = page_of(&results);
        assert!(page.contains("Impossible.") && page.contains("&lt;interrupted&gt;"));
    }

    /// The committed runs: every latency and every transfer is in a table, and drawn.
    #[test]
    fn latencies_and_paths_on_a_page() {
        let latencies = include_str!("../data/iperf3-1-latency.json");
        let mut latencies = crate::json::read::<measure::iperf3::Results>(latencies).unwrap();
        let page = page_of(&latencies);
        for of in &latencies.latencies {
            let row = format!("<td>{}</td>", thousands(of.median_ns as f64 / 1e3));
            assert!(page.contains(&row), "{row}");
        }
        assert!(page.contains("wirespeed router beside linux kernel") && page.contains("5 turns"));
        assert_eq!(page.matches("<svg").count(), 2, "ping's and irtt's");
        assert!(page.contains("share of packets"));
        for of in &mut latencies.latencies {
            of.histogram = vec![(of.min_ns, 1), (of.median_ns, of.received - 1)];
        }
        let strips = page_of(&latencies);
        assert!(strips.contains("99.9 % within") && !strips.contains("share of packets"));
        let paths = include_str!("../data/iperf3-1-path.json");
        let paths = crate::json::read::<measure::iperf3::Results>(paths).unwrap();
        let of_paths = page_of(&paths);
        for transfer in paths.paths.iter().flat_map(|path| &path.transfers) {
            assert!(of_paths.contains(&format!("<td>{:.3}</td>", transfer.ratio)), "{transfer:?}");
        }
        assert_eq!(of_paths.matches("<svg").count(), 2, "rates and round trips");
        for part in ["64 KiB", "1 MiB", "TCP at best (theoretical)", "linux kernel, empty"] {
            assert!(of_paths.contains(part), "{part}");
        }
        for page in [page, strips, of_paths] {
            for forbidden in ["http://", "https://", "<script", "NaN", "inf<"] {
                assert!(!page.contains(forbidden), "{forbidden}");
            }
        }
    }

    #[test]
    fn nothing_measured_is_a_page_too() {
        let results = measure::Results::of(Environment::default(), vec![]);
        assert!(crate::bench::document(&results).page().contains("<h1>no results</h1>"));
    }
}
