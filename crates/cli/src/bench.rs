//! `wirespeed bench`: the performance table.

use crate::arguments;
use crate::device::{Outside, two, usage};
use crate::failure::Failure;
use crate::keep;
use crate::progress::Shown;
use crate::so_far::SoFar;
use clap::Args;
use daemon::live::Interrupt;
use daemon::placement::{self, Pair};
use flate2::bufread::MultiGzDecoder;
use lab::bench::external::External;
use lab::bench::plan::{self, Place};
use lab::bench::{BenchError, Generator, Kept, Kind, Plan, Progress, veth};
use lab::configuration::{Configuration, Traffic};
use lab::net::Net;
use lab::routes::Table;
use lab::{clock, machine};
use measure::mlrsearch::Goal;
use measure::template::shortest;
use measure::{Environment, Family, Mode, Results, Row, Verdict};
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use wire::FrameLen;

#[derive(Args)]
#[command(after_help = "\
Examples:
  wirespeed bench
  wirespeed bench --quick --cores 1 --json results.json
  wirespeed bench --modes routing --configurations none,bgp-table --routes prefixes.txt.gz
  wirespeed bench --family ipv4,ipv6 --quick
  wirespeed bench --device linux,wirespeed --compare --quick
  wirespeed bench plans/performance-table.toml --quick
  wirespeed bench --device external --port a=xdp:eth1 --port b=packet:eth2

Exit codes: 0 done, 1 failed, interrupted, or with no valid row, 2 usage, 3 environment")]
pub(crate) struct Arguments {
    /// The plan (see plans/performance-table.toml, which is built in); options say what is other
    #[arg(value_name = "PLAN")]
    plan: Option<PathBuf>,

    /// What is measured: wirespeed (the built-in router in memory), linux (the kernel, between two
    /// veths), wirespeed-veth (the built-in router in the kernel's place), testpmd and testpmd-packet
    /// (DPDK's forwarder by AF_XDP and AF_PACKET in its place: plain rows), external (whatever is
    /// connected to two ports) [default: the plan's: wirespeed]
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', value_parser = Kind::from_str)]
    device: Vec<Kind>,

    /// Measure the devices by turns, on veths made alike, and compare each with the first
    #[arg(long)]
    compare: bool,

    /// With --compare, how many turns the devices take [default: the plan's: 9; with --quick 6, the
    /// fewest that can say anything]
    #[arg(long, value_name = "N", requires = "compare",
          value_parser = clap::value_parser!(u32).range(1..=1000))]
    turns: Option<u32>,

    /// Who sends and counts between veths: kernel (BPF), user (AF_XDP) [default: kernel where it can
    /// be had]
    #[arg(long, value_name = "WHO", value_parser = arguments::generator)]
    generator: Option<Generator>,

    /// All rows in under 40 seconds: trials of 200ms. With --compare: 64 byte only, trials of 100ms,
    /// no full table
    #[arg(long)]
    quick: bool,

    /// 2: tester and router on a core each, in real time; 1: the router alone, fed from memory,
    /// its own time counted: for the router in memory only [default: the plan's: 2 if there are two]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=2))]
    cores: Option<u32>,

    /// Frame sizes in bytes, FCS included; jumbo frames up to 9860 [default: the plan's:
    /// 64,512,1518]
    #[arg(long, value_name = "BYTES,…", value_delimiter = ',',
          value_parser = arguments::frame_len)]
    sizes: Vec<FrameLen>,

    /// Modes: bridging, routing [default: both]
    #[arg(long, value_name = "MODE,…", value_delimiter = ',', value_parser = arguments::mode)]
    modes: Vec<Mode>,

    /// Families of the routing rows: ipv4, ipv6; both to compare them. IPv6 has 84 byte frames in place of
    /// the plan's 64, and so has IPv4 then, beside its own [default: the plan's: ipv4]
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', value_parser = Family::from_str)]
    family: Vec<Family>,

    /// Configurations: none, 25-filter-rules, … [default: all]
    #[arg(long, value_name = "NAME,…", value_delimiter = ',',
          value_parser = arguments::configuration)]
    configurations: Vec<&'static str>,

    /// How long each trial at the highest load takes: 500ms, 2s, 1m [default: the plan's: 1s]
    #[arg(long, value_name = "TIME", value_parser = plan::time)]
    duration: Option<Duration>,

    /// By which criterion the highest load is searched, beside the rate at the highest load: rfc2544,
    /// tst009, csit-ndr, csit-pdr, mikrotik (RFC 9971's goals, in their own lengths: minutes a row;
    /// with --duration or --quick in trials of that length) [default: no loss, in trials of a fifth of
    /// the duration]
    #[arg(long, value_name = "NAME", value_parser = plan::goal, conflicts_with = "compare")]
    criterion: Option<Goal>,

    /// Where random choices start from
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,

    /// The full table: a prefix a line, plain or .gz, of either family [default: 900,000 made-up routes
    /// of IPv4, 160,000 of IPv6]
    #[arg(long, value_name = "FILE")]
    routes: Option<PathBuf>,

    /// Write all results to a file; - is standard output (the table then goes to standard error)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    /// Draw it as one page
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,

    /// A progress bar without colours (the table has none)
    #[arg(long)]
    no_color: bool,

    #[command(flatten)]
    outside: Outside,
    /// No device: a cable from one port to the other, for what the tester can do by itself
    #[arg(long, help_heading = "An external device")]
    patch: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let missing = machine::missing_features();
    if !missing.is_empty() {
        let text = format!(
            "this program was built for processors with {}, which this one lacks: build it here \
             with RUSTFLAGS=-Ctarget-cpu=native",
            missing.join(", ")
        );
        return Err(Failure::Environment(text));
    }
    let routes = arguments.routes.iter().map(|file| ("the table of routes", file.clone()));
    let files = (arguments.json.as_deref(), arguments.html.as_deref());
    let written = [("--json", files.0), ("--html", files.1)];
    keep::apart(&routes.collect::<Vec<_>>(), &written)?;
    let plan = plan(arguments)?;
    keep::writable([files.0, files.1].into_iter().flatten())?;
    let so_far = Arc::new(Mutex::new(SoFar::beside(arguments.json.as_deref())));
    let (results, ended) = measure(arguments, plan, &so_far)?;
    // Of a run that ended before its first row there is nothing to keep: the reason is told.
    let kept = match results.rows.is_empty() && ended.is_err() {
        true => Ok(()),
        false => keep::finish(&report::File::Bench(results), files),
    };
    // Not before the results are where they should be; a run that goes on after ctrl-C has it, too.
    lock(&so_far).remove();
    ended.and(kept)
}

/// For so long the processors are looked at before anything runs on them.
const LOOK: Duration = Duration::from_millis(300);

/// From this share on, other programs have the processors too often to measure beside them.
const BUSY: f64 = 0.1;

/// What is to be said if other programs have the processors.
fn warning() -> Option<String> {
    let processors = port::affinity::allowed();
    let busy = machine::busy(&processors, LOOK).filter(|busy| *busy >= BUSY)?;
    Some(busy_warning(busy, processors.len()))
}

fn busy_warning(busy: f64, processors: usize) -> String {
    format!(
        "warning: other programs use {:.0} % of the {processors} processors: rows that they disturb are \
         measured again, and have no figure if that does not help; end those programs first",
        100.0 * busy
    )
}

/// Measures until all is done, or ctrl-C: then what is running ends with the process, and what has
/// been measured is there.
fn measure(
    arguments: &Arguments,
    plan: Plan,
    so_far: &Arc<Mutex<SoFar>>,
) -> Result<(Results, Result<(), Failure>), Failure> {
    let interrupt = Interrupt::default();
    crate::signals::raise(&interrupt)?;
    let shown = Arc::new(Mutex::new(Some(Shown::new(plan.cells(), !arguments.no_color))));
    let kept = Arc::new(Kept::new(environment(arguments.seed, &plan)));
    let run = std::thread::spawn({
        let (shown, kept, so_far) = (shown.clone(), kept.clone(), so_far.clone());
        let rows = kept.clone();
        // Before anything of ours runs; said when all is there that the run takes.
        let mut warning = warning();
        let tell = move |progress: Progress<'_>| {
            if matches!(progress, Progress::Begin(..))
                && let Some(warning) = warning.take()
            {
                say!("{warning}");
            }
            if let Some(shown) = &mut *lock(&shown) {
                show(shown, &progress);
            }
            if matches!(progress, Progress::Done(_)) {
                lock(&so_far).write(|| report::File::Bench(rows.so_far()));
            }
        };
        move || lab::bench::run(&plan, &kept, tell)
    });
    while !run.is_finished() && !interrupt.wait(Duration::from_millis(20)) {}
    let ended = match run.is_finished() {
        false => Err(Failure::Failed("interrupted".to_string())),
        true => run
            .join()
            .map_err(|_| Failure::Failed("a thread of the run panicked".to_string()))
            .and_then(|ended| ended.map_err(|error| failure(&error))),
    };
    *lock(&shown) = None; // the bar goes before the tables come
    // Not before it is known how it ended: of a run that is over, all rows.
    let mut results = kept.so_far();
    results.incomplete_because = ended.as_ref().err().map(ToString::to_string);
    Ok((results, ended))
}

fn show(shown: &mut Shown, progress: &Progress<'_>) {
    match progress {
        Progress::Begin(device, what, frame) => {
            let (mode, name, size) = (what.mode.of(what.family), what.name, frame.l2());
            shown.begin(|| format!("{device}: {mode}, {name}, {size} byte"));
        }
        Progress::Done(row) => shown.done(|| {
            let Row { device, configuration, frame_size, .. } = row;
            let mode = row.mode_name();
            let figure = match row.verdict {
                Verdict::Invalid => {
                    format!("invalid: {}", row.remark.as_deref().unwrap_or("it does not say why"))
                }
                Verdict::Pass | Verdict::Fail => format!("{:.1} kpps", row.kpps),
            };
            format!("{device}: {mode}, {configuration}, {frame_size} byte: {figure}")
        }),
        Progress::Omitted(setup) => {
            let (device, row) = (&setup.device, &setup.configuration);
            let mode = setup.mode.of(setup.family);
            let reason = setup.omitted.as_deref().unwrap_or_default();
            shown.remark(format!("{device}: no row {mode}, {row}: {reason}"));
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn failure(error: &BenchError) -> Failure {
    match error {
        BenchError::Unavailable(_) => Failure::Environment(error.to_string()),
        _ => Failure::Failed(error.to_string()),
    }
}

fn plan(arguments: &Arguments) -> Result<Plan, Failure> {
    let (quick, compare) = (arguments.quick, arguments.compare);
    let mut asked = match &arguments.plan {
        None => plan::read(plan::BUILT_IN, quick, compare).map_err(Failure::Failed)?,
        Some(path) => {
            let text = keep::read(path, "the plan")?;
            let bad = |why| Failure::Usage(format!("{}: {why}", path.display()));
            plan::read(&text, quick, compare).map_err(bad)?
        }
    };
    fn other<T: Clone>(planned: &mut Vec<T>, said: &[T]) {
        if !said.is_empty() {
            *planned = said.to_vec();
        }
    }
    other(&mut asked.devices, &arguments.device);
    other(&mut asked.sizes, &arguments.sizes);
    other(&mut asked.modes, &arguments.modes);
    other(&mut asked.families, &arguments.family);
    other(&mut asked.configurations, &arguments.configurations);
    let duration = arguments.duration.unwrap_or(asked.duration);
    let is_asked = |c: &&Configuration| {
        asked.modes.contains(&c.mode)
            && (c.mode == Mode::Bridging || asked.families.contains(&c.family))
            && asked.configurations.contains(&c.name)
    };
    let mut configurations: Vec<_> = asked.rows.iter().filter(is_asked).collect();
    let external = external(arguments, &asked.devices, &asked.families)?;
    if external.is_some() {
        narrow(&mut configurations, arguments)?;
    }
    if configurations.is_empty() {
        let there: Vec<_> =
            asked.rows.iter().filter(|c| asked.modes.contains(&c.mode)).map(|c| c.name).collect();
        let text = format!("no such row: the configurations of this mode are {}", there.join(", "));
        return Err(Failure::Usage(text));
    }
    fits(&configurations, &arguments.sizes)?;
    let devices = devices(&asked.devices, compare)?;
    if arguments.generator.is_some() && !devices.iter().any(is_between_veths) {
        let text = "--generator is for devices between veths: linux, wirespeed-veth".to_string();
        return Err(Failure::Usage(text));
    }
    asked.sizes.sort_unstable();
    asked.sizes.dedup();
    let cores = arguments.cores.or(match asked.place {
        Place::Any => None,
        Place::TwoCores => Some(2),
        Place::OwnTime => Some(1),
    });
    if cores == Some(1) && devices.iter().any(|kind| *kind != Kind::Memory) {
        let text = "--cores 1 feeds the router from memory; a device behind wires has its tester \
                    beside it, and both would be on whichever processors: leave --cores out";
        return Err(Failure::Usage(text.to_string()));
    }
    let pair = pair(cores)?;
    if arguments.criterion.is_some() && pair.is_none() && devices.contains(&Kind::Memory) {
        let text = "--criterion searches for a load, and a router that is fed from memory on one core \
                    has none: --cores 2, or another device";
        return Err(Failure::Usage(text.to_string()));
    }
    let goal = arguments.criterion.clone().or(asked.criterion.filter(|_| pair.is_some()));
    let shortened = quick || arguments.duration.is_some();
    let families: Vec<Family> = configurations
        .iter()
        .filter(|row| row.traffic == Traffic::Table)
        .map(|row| row.family)
        .collect();
    let read = |path| read_routes(path, &families);
    let table = arguments.routes.as_deref().map(read).transpose()?;
    Ok(Plan {
        devices,
        pair,
        sizes: asked.sizes,
        configurations,
        duration,
        seed: arguments.seed,
        table,
        turns: compare.then_some(arguments.turns.unwrap_or(asked.turns)),
        external,
        criterion: goal.map(|goal| match shortened {
            true => goal.lasting(duration),
            false => goal,
        }),
        generator: arguments.generator,
        documents: asked.documents,
    })
}

/// What is outside, if it is asked for.
fn external(
    arguments: &Arguments,
    devices: &[Kind],
    families: &[Family],
) -> Result<Option<External>, Failure> {
    let Arguments { outside, patch, .. } = arguments;
    let is_external = devices.contains(&Kind::External);
    outside.is_of(is_external, *patch)?;
    if !is_external {
        return Ok(None);
    }
    if devices.len() > 1 || arguments.compare {
        return Err(usage("an external device is measured by itself, in a run of its own"));
    }
    let &[family] = families else { return Err(usage(ONE_ROW)) };
    let (addresses, gateways, plain) = (outside.ours()?, outside.the_devices()?, Net::of(family));
    let bits = if family == Family::Ipv4 { 24 } else { 64 };
    let net = Net::new(
        [0, 1].map(|at| addresses[at].unwrap_or((plain.hosts[at], bits))),
        [0, 1].map(|at| gateways[at].unwrap_or(plain.gateways[at])),
    );
    let net = net.map_err(usage)?;
    if net.family() != family {
        return Err(usage(format!("these are no addresses of {family}: --family says which")));
    }
    outside.check(net.is_for_tests())?;
    Ok(Some(External { ports: two(outside.ports()?)?, net, patch: *patch }))
}

/// What is said where more are asked for.
const ONE_ROW: &str = "an external device is set up by its owner, for one row at a time: name it by \
                       --modes, --family and --configurations";

/// The one row that an external device's owner has set it up for: routing, none, where nothing is said.
fn narrow(rows: &mut Vec<&'static Configuration>, arguments: &Arguments) -> Result<(), Failure> {
    if arguments.modes.is_empty() {
        rows.retain(|row| row.mode == Mode::Routing);
    }
    if arguments.configurations.is_empty() {
        rows.retain(|row| row.name == "none");
    }
    let [row] = rows.as_slice() else {
        return Err(usage(ONE_ROW));
    };
    match row.traffic {
        Traffic::Table => {
            Err(usage("an external device cannot be sent a full table's traffic yet"))
        }
        _ => Ok(()),
    }
}

/// Whether the lengths that were asked for are such that frames of these rows can have.
fn fits(configurations: &[&Configuration], sizes: &[FrameLen]) -> Result<(), Failure> {
    let least = shortest(Family::Ipv6);
    let is_ipv6 = configurations.iter().any(|row| row.family == Family::Ipv6);
    match sizes.iter().find(|size| is_ipv6 && **size < least) {
        None => Ok(()),
        Some(size) => Err(Failure::Usage(format!(
            "--sizes {}: an IPv6 test frame has at least {} bytes",
            size.l2(),
            least.l2()
        ))),
    }
}

fn is_between_veths(kind: &Kind) -> bool {
    !matches!(kind, Kind::Memory | Kind::External)
}

/// The devices, each once. Those that are compared are all on veths.
fn devices(asked: &[Kind], compare: bool) -> Result<Vec<Kind>, Failure> {
    let mut devices: Vec<Kind> = Vec::new();
    for kind in asked {
        let kind = match kind {
            Kind::Memory if compare => Kind::Wirespeed,
            kind => kind.clone(),
        };
        if !devices.contains(&kind) {
            devices.push(kind);
        }
    }
    if compare && devices.len() < 2 {
        let text = "--compare takes two devices that differ, on veths: --device linux,wirespeed"
            .to_string();
        return Err(Failure::Usage(text));
    }
    Ok(devices)
}

/// The processors of a run on two cores; none for one on one core.
fn pair(cores: Option<u32>) -> Result<Option<Pair>, Failure> {
    match (cores, placement::pair()) {
        (Some(1), _) => Ok(None),
        (None, pair) => Ok(pair),
        (Some(_), Some(pair)) => Ok(Some(pair)),
        (Some(_), None) => Err(Failure::Environment(
            "--cores 2 needs two processors, and this process may use only one: try --cores 1, or \
             allow it more (taskset, cgroup)"
                .to_string(),
        )),
    }
}

/// The table, which is to have networks of these families.
fn read_routes(path: &Path, families: &[Family]) -> Result<Table, Failure> {
    let file =
        File::open(path).map_err(|error| Failure::cannot("read the routes in", path, &error))?;
    let reader = BufReader::new(file);
    let name = path.display().to_string();
    let table = if path.extension().is_some_and(|end| end == "gz") {
        Table::read(&name, BufReader::new(MultiGzDecoder::new(reader)))
    } else {
        Table::read(&name, reader)
    };
    let table = table.map_err(|error| {
        Failure::Environment(format!("cannot read the routes in {name}: {error}"))
    })?;
    match families.iter().find(|family| table.len(**family) == 0) {
        None => Ok(table),
        Some(family) => Err(Failure::Environment(format!(
            "cannot read the routes in {name}: there is no {family} prefix in it"
        ))),
    }
}

fn environment(seed: u64, plan: &Plan) -> Environment {
    // An external device's settings are not known here.
    let wired = plan.devices.iter().any(is_between_veths);
    Environment {
        sysctls: if wired { machine::sysctls() } else { Vec::new() },
        offloads: if wired { vec![veth::OFFLOADS.to_string()] } else { Vec::new() },
        ..in_memory(seed)
    }
}

/// Where and how something is measured that never leaves memory.
pub(crate) fn in_memory(seed: u64) -> Environment {
    Environment {
        cpu: machine::cpu(),
        cores: machine::cores() as u32,
        kernel: machine::kernel(),
        commit: env!("WIRESPEED_COMMIT").to_string(),
        build: env!("WIRESPEED_BUILD").to_string(),
        features: machine::BUILT_FOR.iter().map(|name| (*name).to_string()).collect(),
        timestamp: clock::timestamp(),
        command: std::env::args().collect::<Vec<_>>().join(" "),
        seed,
        machine: machine::settings(),
        ..Environment::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What these words ask for of an external device: its hosts, and the rows.
    type Read = (External, Vec<(Mode, &'static str)>);

    fn read(words: &str) -> Result<Read, String> {
        #[derive(clap::Parser)]
        struct Line {
            #[command(flatten)]
            arguments: Arguments,
        }
        let words = ["bench", "--device", "external"].into_iter().chain(words.split_whitespace());
        let line =
            <Line as clap::Parser>::try_parse_from(words).map_err(|error| error.to_string())?;
        let plan = plan(&line.arguments).map_err(|failure| failure.to_string())?;
        let rows = plan.configurations.iter().map(|row| (row.mode, row.name)).collect();
        Ok((plan.external.unwrap(), rows))
    }

    #[test]
    fn an_external_device() {
        let ports = "--port b=packet:eth2 --port a=xdp:eth1";
        let (plain, rows) = read(ports).unwrap();
        assert_eq!((plain.net, plain.patch), (Net::default(), false));
        assert_eq!(rows, [(Mode::Routing, "none")]);
        let other = "--address a=198.18.5.2/24 --gateway a=198.18.5.1 --patch --modes bridging";
        let (other, rows) = read(&format!("{ports} {other}")).unwrap();
        let [host, gateway]: [std::net::IpAddr; 2] =
            ["198.18.5.2", "198.18.5.1"].map(|a| a.parse().unwrap());
        assert_eq!(other.net.hosts, [host, Net::default().hosts[1]]);
        assert_eq!((other.net.gateways[0], other.patch), (gateway, true));
        assert_eq!(rows, [(Mode::Bridging, "none")]);
        let far = "--address a=10.0.0.2/24 --gateway a=10.0.0.1";
        for (words, expected) in [
            (far, "RFC 6815"),
            ("--address a=198.18.0.2/28", "no room for 25 hosts"),
            ("--configurations none,conntrack", "one row at a time"),
            ("--configurations bgp-table", "full table's traffic"),
            ("--family ipv4,ipv6", "one row at a time"),
            ("--family ipv6 --address a=198.18.0.2/24", "of two families"),
            ("--address a=2001:2:0:1::2/64", "of two families"),
            ("--family ipv6 --address a=2001:db8::2/64 --gateway a=2001:db8::1", "RFC 6815"),
        ] {
            let error = read(&format!("{ports} {words}")).map(|_| ()).unwrap_err();
            assert!(error.contains(expected), "{words}: {error}");
        }
        assert!(read(&format!("{ports} {far} --any-address --configurations conntrack")).is_ok());
        let (six, rows) = read(&format!("{ports} --family ipv6")).unwrap();
        assert_eq!((six.net, rows), (Net::of(Family::Ipv6), vec![(Mode::Routing, "none")]));
        let six = "--family ipv6 --address a=2001:2:0:7::2/64 --gateway a=2001:2:0:7::1";
        let (six, _) = read(&format!("{ports} {six}")).unwrap();
        assert_eq!(six.net.hosts[0].to_string(), "2001:2:0:7::2");
    }

    #[test]
    fn a_busy_machine_is_told_of() {
        let said = busy_warning(0.456, 2);
        assert!(said.starts_with("warning: other programs use 46 % of the 2 processors"), "{said}");
    }
}
