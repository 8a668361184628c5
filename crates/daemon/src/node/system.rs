//! `/system`: what it is made of, how busy it is, what time it has.
//!
//! ```text
//! /system resource      uptime, version, memory, processor; cpu: the load of each
//! /system clock         boot time + what has passed
//! /system note          what consoles show first
//! ```
//!
//! What a box is made of is handed in ([`Environment`]), once by whoever has a real machine, as
//! fixed values in virtual time. Its load is measured: the share of time in which a breath had
//! something to do.
//!
//! Missing: **setting the clock, time zones** (their name is only kept), **disks** (`free-hdd-space` and the like),
//! **interrupts**: a node polls its ports, so IRQ and DISK are always 0.

use config::{FIRST_DYNAMIC, Item, ItemId, Menu, MenuKind, Property, Type, Value, number};
use std::collections::BTreeMap;
use std::time::Duration;
use wire::Moment;
use wire::date::{clock, date};

/// The machine a node is, as it shows itself.
#[derive(Clone, Debug)]
pub struct Environment {
    /// `cpu`.
    pub cpu: String,
    /// `cpu-frequency`, in MHz; 0 if unknown.
    pub cpu_mhz: u64,
    /// `architecture-name`.
    pub architecture: String,
    /// `board-name`.
    pub board: String,
    /// `total-memory`, bytes.
    pub total_memory: u64,
    /// `free-memory`, bytes, when the node was made.
    pub free_memory: u64,
    /// The time of day when the node was made: seconds since 1970, UTC.
    pub boot: u64,
}

impl Environment {
    /// That of virtual time: the same on every machine.
    pub fn simulated() -> Environment {
        Environment {
            cpu: "simulated".to_string(),
            cpu_mhz: 0,
            architecture: "virtual".to_string(),
            board: "virtual time".to_string(),
            total_memory: 0,
            free_memory: 0,
            boot: 0,
        }
    }
}

/// The menus of `/system`, and `/file`.
pub(super) static MENUS: [&Menu; 6] =
    [&RESOURCE, &CPU, &CLOCK, &NOTE, &config::inert::MENU, &config::FILE];

/// `/system note`.
static NOTE: Menu = Menu {
    path: "/system note",
    kind: MenuKind::Settings,
    properties: &[
        Property::new("note", Type::Text, "What to know of the device."),
        Property::new("show-at-login", Type::Bool, "Whether consoles show it when they begin.")
            .default("yes"),
        Property::only("show-at-cli-login", &Type::Bool, &["no"], "set show-at-login").default(""),
    ],
    help: "A note for whoever logs in.",
};

static RESOURCE: Menu = Menu {
    path: "/system resource",
    kind: MenuKind::Settings,
    properties: &[
        Property::new("uptime", Type::Time, "Since it was started.").read_only(),
        Property::new("version", Type::Text, "Of wirespeed.").read_only(),
        Property::new("free-memory", Type::Text, "When it was started.").read_only(),
        Property::new("total-memory", Type::Text, "Of the machine.").read_only(),
        Property::new("cpu", Type::Text, "The processor.").read_only(),
        Property::new("cpu-count", Type::Number(0, i64::MAX), "A node has one.").read_only(),
        Property::new("cpu-frequency", Type::Text, "Now and then it changes.").read_only(),
        Property::new("cpu-load", Type::Text, "Over the last second.").read_only(),
        Property::new("architecture-name", Type::Text, "What it was built for.").read_only(),
        Property::new("board-name", Type::Text, "What it runs on.").read_only(),
        Property::new("platform", Type::Text, "Whose it is.").read_only(),
    ],
    help: "What the router is made of, and how busy it is.",
};

static CPU: Menu = Menu {
    path: "/system resource cpu",
    kind: MenuKind::List { key: None, auto_name: None, ordered: false, fixed: true },
    properties: &[
        Property::new("cpu", Type::Text, "Its name.").read_only().column(),
        Property::new("load", Type::Text, "Share of time it was busy.").read_only().column(),
        Property::new("irq", Type::Text, "Always 0: ports are polled.").read_only().column(),
        Property::new("disk", Type::Text, "Always 0: there is no disk.").read_only().column(),
    ],
    help: "The load of each processor.",
};

static CLOCK: Menu = Menu {
    path: "/system clock",
    kind: MenuKind::Settings,
    properties: &[
        Property::only("time", &Type::Text, &[""], MACHINES),
        Property::only("date", &Type::Text, &[""], MACHINES),
        Property::new("time-zone-autodetect", Type::Bool, "Kept; the time shown is UTC.")
            .default("yes"),
        Property::new(
            "time-zone-name",
            Type::Custom(|text| match text {
                "" => Err("a zone's name, as Europe/Riga".to_string()),
                name => Ok(Value::Text(name.to_string())),
            }),
            "Where the device is; kept, the time shown is UTC.",
        )
        .default("manual"),
        Property::new("gmt-offset", Type::Text, "Always +00:00: the time shown is UTC.")
            .read_only(),
    ],
    help: "The time of day.",
};

const MACHINES: &str = "the time is the machine's; set it there";

/// The state behind the menus.
pub(super) struct System {
    pub(super) environment: Environment,
    pub(super) started: Moment,
    load: Load,
}

impl System {
    pub(super) fn new(environment: Environment, now: Moment) -> System {
        System { environment, started: now, load: Load::new(now) }
    }

    /// A breath went on from `from` to `to`, with something to do or not.
    #[inline]
    pub(super) fn breathed(&mut self, from: Moment, to: Moment, busy: bool) {
        self.load.add(from, to, busy);
    }

    /// What [`config::Status::value`] says of these menus.
    pub(super) fn value(
        &self,
        menu: &Menu,
        property: &str,
        (now, unix): (Moment, u64),
    ) -> Option<Value> {
        let text = |text: &str| Some(Value::Text(text.to_string()));
        let Environment { cpu, cpu_mhz, architecture, board, total_memory, free_memory, .. } =
            &self.environment;
        match (menu.path, property) {
            ("/system resource", "uptime") => {
                Some(Value::Time(Duration::from_secs(now.since(self.started).as_secs())))
            }
            ("/system resource", "version") => {
                text(concat!(env!("CARGO_PKG_VERSION"), " (wirespeed)"))
            }
            ("/system resource", "free-memory") => text(&number::size(*free_memory)),
            ("/system resource", "total-memory") => text(&number::size(*total_memory)),
            ("/system resource", "cpu") => text(cpu),
            ("/system resource", "cpu-count") => Some(Value::Number(1)),
            ("/system resource", "cpu-frequency") => text(&format!("{cpu_mhz}MHz")),
            ("/system resource", "cpu-load") => text(&format!("{}%", self.load.percent)),
            ("/system resource", "architecture-name") => text(architecture),
            ("/system resource", "board-name") => text(board),
            ("/system resource", "platform") => text("wirespeed"),
            ("/system clock", "time") => text(&clock(unix)),
            ("/system clock", "date") => text(&date(unix)),
            ("/system clock", "gmt-offset") => text("+00:00"),
            _ => None,
        }
    }

    /// What [`config::Status::dynamic`] says of these menus.
    pub(super) fn dynamic(&self, menu: &Menu) -> Vec<Item> {
        if menu.path != CPU.path {
            return Vec::new();
        }
        let text = |text: String| Value::Text(text);
        let values = BTreeMap::from([
            ("dynamic", Value::Bool(true)),
            ("cpu", text("cpu0".to_string())),
            ("load", text(format!("{}%", self.load.percent))),
            ("irq", text("0%".to_string())),
            ("disk", text("0%".to_string())),
        ]);
        vec![Item { dynamic: true, ..Item::new(ItemId(FIRST_DYNAMIC), values) }]
    }
}

/// How busy a thread is: busy time over time, second by second.
struct Load {
    since: Moment,
    busy: Duration,
    /// Of the second before this one.
    percent: u64,
}

impl Load {
    fn new(now: Moment) -> Load {
        Load { since: now, busy: Duration::ZERO, percent: 0 }
    }

    #[inline]
    fn add(&mut self, from: Moment, to: Moment, busy: bool) {
        if busy {
            self.busy += to.since(from);
        }
        let took = to.since(self.since);
        if took >= Duration::from_secs(1) {
            let percent = self.busy.as_nanos() * 100 / took.as_nanos();
            *self = Load { percent: percent.min(100) as u64, ..Load::new(to) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn load_is_the_share_of_busy_time() {
        let at = |ms: u64| Moment::from_nanos(ms * 1_000_000);
        let mut load = Load::new(at(0));
        for tenth in 0..10 {
            assert_eq!(load.percent, 0, "nothing is known of the first second");
            load.add(at(tenth * 100), at(tenth * 100 + 25), true);
            load.add(at(tenth * 100 + 25), at(tenth * 100 + 100), false);
        }
        assert_eq!(load.percent, 25);
        load.add(at(1000), at(2000), true);
        assert_eq!(load.percent, 100);
        load.add(at(2000), at(9000), false);
        assert_eq!(load.percent, 0);
    }
}
