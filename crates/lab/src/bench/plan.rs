//! The plan of a performance table: `plans/performance-table.toml`, which is built in.
//!
//! ```text
//!  plan ─► quick? by turns? ─► Asked: devices, place, rows, sizes, lengths ─► options say what is other
//! ```
//!
//! A key that nothing reads is refused. Missing: **rows of one's own**: which there are is
//! [`configuration`](mod@crate::configuration)'s.

use super::Kind;
use crate::configuration::{self, Configuration};
use crate::plans;
use measure::mlrsearch::Goal;
use measure::result::Documented;
use measure::template::FRAME_LENGTHS;
use measure::{Family, Mode};
use serde::Deserialize;
use std::time::Duration;
use wire::FrameLen;

/// The plan that is run where none is named.
pub const BUILT_IN: &str = include_str!("../../../../plans/performance-table.toml");

/// Where the built-in router is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Place {
    /// On two cores if there are two, else as `OwnTime`.
    Any,
    /// Tester and router on a core each, in real time.
    TwoCores,
    /// Fed from memory on one core: only its own time counts.
    OwnTime,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct File {
    #[serde(rename = "name")]
    _name: String,
    devices: Vec<String>,
    place: Place,
    #[serde(flatten)]
    whole: Part,
    /// 2: one behind the other, whose rows are those of tunnels.
    #[serde(default = "one")]
    routers: u32,
    /// By which criterion the highest load is searched on two cores.
    criterion: Option<String>,
    #[serde(default)]
    documents: Vec<Documented>,
    quick: Option<Part>,
    #[serde(default)]
    compare: Compare,
}

const fn one() -> u32 {
    1
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Compare {
    #[serde(flatten)]
    whole: Part,
    quick: Option<Part>,
}

/// What may be said again where it is other.
#[derive(Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Part {
    frame_sizes: Option<Vec<u32>>,
    modes: Option<Vec<Mode>>,
    families: Option<Vec<Family>>,
    configurations: Option<Vec<String>>,
    duration: Option<String>,
    turns: Option<u32>,
}

impl Part {
    /// The same, but for what another says.
    fn but(self, other: Option<&Part>) -> Part {
        let other = other.cloned().unwrap_or_default();
        Part {
            frame_sizes: other.frame_sizes.or(self.frame_sizes),
            modes: other.modes.or(self.modes),
            families: other.families.or(self.families),
            configurations: other.configurations.or(self.configurations),
            duration: other.duration.or(self.duration),
            turns: other.turns.or(self.turns),
        }
    }
}

/// What a plan asks for.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The devices.
    pub devices: Vec<Kind>,
    /// Where.
    pub place: Place,
    /// Lengths of frames.
    pub sizes: Vec<FrameLen>,
    /// Modes.
    pub modes: Vec<Mode>,
    /// Families of routing.
    pub families: Vec<Family>,
    /// Names of configurations.
    pub configurations: Vec<&'static str>,
    /// The rows that these are among.
    pub rows: &'static [Configuration],
    /// By which criterion the highest load is searched, where there are two cores.
    pub criterion: Option<Goal>,
    /// What documents have for the same rows.
    pub documents: Vec<Documented>,
    /// Of each trial at the highest load.
    pub duration: Duration,
    /// How many turns the devices take where they are compared.
    pub turns: u32,
}

/// Reads a plan, `quick` or whole, of devices by turns or not.
///
/// # Errors
/// What is wrong with it, in words; of what is no plan at all where.
pub fn read(text: &str, quick: bool, by_turns: bool) -> Result<Asked, String> {
    let file: File = toml::from_str(text).map_err(|error| error.to_string().trim().to_string())?;
    let File {
        devices, place, whole, routers, criterion, documents, quick: short, compare, ..
    } = file;
    let part = match by_turns {
        false => whole.but(short.as_ref().filter(|_| quick)),
        true => whole.but(Some(&compare.whole)).but(compare.quick.as_ref().filter(|_| quick)),
    };
    let (least, most) = FRAME_LENGTHS;
    let size = |bytes: u32| match (least.l2()..=most.l2()).contains(&bytes) {
        true => Ok(FrameLen::with_fcs(bytes)),
        false => Err(format!("frames of {bytes} bytes: {} to {}", least.l2(), most.l2())),
    };
    let name = |name: &String| {
        let names = configuration::names();
        let known = names.iter().copied().find(|known| known == name);
        known.ok_or_else(|| format!("{name:?}: the configurations are {}", names.join(", ")))
    };
    let rows = match routers {
        1 => configuration::ALL,
        2 if devices == ["wirespeed"] => configuration::TUNNELS,
        _ => return Err("routers = 2, of devices = [\"wirespeed\"] alone, or 1".to_string()),
    };
    if let Some(bad) = documents.iter().find_map(Documented::fault) {
        return Err(bad);
    }
    let criterion = criterion.as_deref().map(goal).transpose()?;
    let lacks = |what: &str| format!("it lacks {what}");
    let sizes =
        part.frame_sizes.filter(|all| !all.is_empty()).ok_or_else(|| lacks("frame-sizes"))?;
    let configurations = part.configurations.ok_or_else(|| lacks("configurations"))?;
    let asked = Asked {
        devices: devices.iter().map(|name| name.parse()).collect::<Result<_, _>>()?,
        place,
        sizes: sizes.into_iter().map(size).collect::<Result<_, _>>()?,
        modes: part.modes.ok_or_else(|| lacks("modes"))?,
        families: part.families.unwrap_or_else(|| vec![Family::default()]),
        configurations: configurations.iter().map(name).collect::<Result<_, _>>()?,
        rows,
        criterion,
        documents,
        duration: time(&part.duration.ok_or_else(|| lacks("a duration"))?)?,
        turns: part.turns.unwrap_or(1),
    };
    match asked.devices.is_empty() || !(1..=1000).contains(&asked.turns) {
        true => Err("at least one device, and 1 to 1000 turns".to_string()),
        false => Ok(asked),
    }
}

/// A goal by its preset's name.
///
/// # Errors
/// There is none of this name; which there are.
pub fn goal(name: &str) -> Result<Goal, String> {
    let all = Goal::presets().map(|goal| goal.preset).join(", ");
    Goal::preset(name).ok_or_else(|| format!("no such criterion: {all}"))
}

/// A time: `500ms`, `2s`, `1m`.
///
/// # Errors
/// It is none, or none that a trial can last.
pub fn time(text: &str) -> Result<Duration, String> {
    let seconds = plans::seconds(text).ok_or("a time has a unit: 500ms, 2s, 1m")?;
    // Shorter ones measure the clock; longer ones are a mistyped unit.
    match (0.001..=3600.0).contains(&seconds) {
        true => Ok(Duration::from_secs_f64(seconds)),
        false => Err("a trial lasts 1ms to 60m".to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_plan() {
        for (quick, by_turns, n, ms, turns) in [
            (false, false, 3, 1000, 1),
            (true, false, 3, 200, 1),
            (false, true, 3, 1000, 9),
            (true, true, 1, 100, 6),
        ] {
            let asked = read(BUILT_IN, quick, by_turns).unwrap();
            let is = (asked.sizes.len(), asked.duration.as_millis(), asked.turns);
            assert_eq!(is, (n, ms, turns), "{quick} {by_turns}");
            assert_eq!(asked.configurations.contains(&"bgp-table"), !(quick && by_turns));
            assert_eq!((asked.devices, asked.place), (vec![Kind::Memory], Place::Any));
            assert_eq!(asked.families, [Family::Ipv4]);
        }
        let asked = read(BUILT_IN, false, false).unwrap();
        assert_eq!(asked.configurations, configuration::names()[..asked.configurations.len()]);
        assert!(asked.rows.iter().all(|row| asked.configurations.contains(&row.name)));
    }

    /// Each table's rows are all there, and for each row of a document's there is one of ours.
    #[test]
    fn the_plans_of_tunnels() {
        for plan in [
            include_str!("../../../../plans/tunnels-003.toml"),
            include_str!("../../../../plans/tunnels-004.toml"),
        ] {
            let asked = read(plan, false, false).unwrap();
            assert_eq!(asked.rows[1].name, "pppoe");
            for documented in &asked.documents {
                let unknown = |name: &&String| !asked.configurations.contains(&name.as_str());
                assert_eq!(documented.kpps.keys().find(unknown), None);
                assert!(documented.kpps.contains_key("none"), "what it is a share of");
                assert_eq!(documented.frame_sizes.len(), asked.sizes.len());
            }
        }
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (from, to, expected) in [
            ("\"wirespeed\"]", "\"bsd\"]", "the devices are: wirespeed, linux"),
            ("[64, 512", "[20, 512", "frames of 20 bytes: 64 to"),
            ("\"1s\"", "\"1h\"", "a time has a unit"),
            ("\"ipv4\"", "\"ipx\"", "unknown variant `ipx`, expected `ipv4` or `ipv6`"),
            ("\"fasttrack\"", "\"nat\"", "\"nat\": the configurations are none"),
            ("place =", "plaice =", "place"),
            ("turns = 9", "turn = 9", "turn"),
            ("turns = 9", "turns = 0", "1 to 1000 turns"),
            ("place = \"any\"", "place = \"any\"\nrouters = 3", "routers = 2, of devices"),
            ("place = \"any\"", "place = \"any\"\ncriterion = \"x\"", "no such criterion: rfc2544"),
        ] {
            let text = BUILT_IN.replacen(from, to, 1);
            let error = read(&text, false, from.starts_with("turns")).unwrap_err();
            assert!(error.contains(expected), "{to}: {error}");
        }
    }
}
