//! `/system script`, `/system scheduler`, `/tool netwatch`: scripts that nobody types.
//!
//! ```text
//! scheduler   the router's clock says so ─┐
//! netwatch    a host answers, or does not ├─► an Errand ─► whoever drives the node runs it as a session
//! dhcp-client an address given, or lost  ─┤
//! script run  a command                  ─┘                (a thread beside it; in virtual time at once)
//! import confirm=5m, and nobody says /confirm ─► the configuration before it comes back
//! ```
//!
//! Pure: says which script is wanted and when. A script changes the configuration only with the
//! policy `write`, as of whoever made it: RouterOS's other rights mean nothing to a script here.
//!
//! Never runs anything itself.
//! **Missing**: what a script prints, and `/user`; in virtual time its files (`import`, `export file=`) and
//! whatever waits (`:delay`, `/ping`); of netwatch TCP, HTTP and DNS.

use super::Node;
use config::{
    Call, Command, Display, Item, ItemId, Job, Menu, MenuKind, Progress, Property, Reply, Started,
    Tree, Type, Unnamed, Value,
};
use router::system::logging::Outlet;
use router::{Router, WantedScript};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;
use wire::Moment;

/// The menus.
pub(super) static MENUS: [&Menu; 3] = [&SCRIPT, &SCHEDULER, &NETWATCH];

/// `/system script run`.
pub(super) static RUN: Command = Command {
    menu: SCRIPT.path,
    name: "run",
    unnamed: Unnamed::Items,
    parameters: &[],
    display: Display::Nothing,
    help: "Runs these scripts beside the session; what fails is said in the log.",
};

const POLICY: Property =
    Property::new("policy", Type::Custom(policy), "Rights; without write nothing is changed.")
        .default(ALL_RIGHTS);
const ALL_RIGHTS: &str = "ftp,reboot,read,write,policy,test,password,sniff,sensitive,romon";

static SCRIPT: Menu = Menu {
    path: "/system script",
    kind: MenuKind::List {
        key: Some("name"),
        auto_name: Some("script"),
        ordered: false,
        fixed: false,
    },
    properties: &[
        Property::new("name", Type::Text, "Its name.").column(),
        Property::new("owner", Type::Text, "Who made it; kept.").column(),
        POLICY,
        Property::new("dont-require-permissions", Type::Bool, "Kept; rights are the script's own.")
            .default("no"),
        Property::new("source", Type::Text, "The script."),
        Property::new("run-count", Type::Number(0, i64::MAX), "How often it was run.").read_only(),
    ],
    help: "Scripts with names.",
};

static SCHEDULER: Menu = Menu {
    path: "/system scheduler",
    kind: MenuKind::List {
        key: Some("name"),
        auto_name: Some("schedule"),
        ordered: false,
        fixed: false,
    },
    properties: &[
        Property::new("name", Type::Text, "Its name.").column(),
        Property::new("start-date", Type::Custom(date), "The first day; today, if none is said.")
            .column(),
        Property::new(
            "start-time",
            Type::Or(&["startup"], &Type::Time),
            "When on that day; startup is 3 s after the device's.",
        )
        .default("startup")
        .column(),
        Property::new("interval", Type::Time, "How long until it runs again; 0s is once.")
            .default("0s")
            .column(),
        Property::new("on-event", Type::Text, "A script's name, or a script.").column(),
        Property::new("owner", Type::Text, "Who made it; kept."),
        POLICY,
        Property::new("run-count", Type::Number(0, i64::MAX), "How often it ran.").read_only(),
        Property::new("next-run", Type::Time, "How long until it runs.").read_only(),
    ],
    help: "Scripts that run by the clock.",
};

static NETWATCH: Menu = Menu {
    path: "/tool netwatch",
    kind: MenuKind::List { key: None, auto_name: None, ordered: false, fixed: false },
    properties: &[
        Property::new("name", Type::Text, "Its name; kept."),
        Property::new("host", Type::Address, "Whom to ask.").required().column(),
        Property::only("type", &KINDS, &["simple", "icmp"], "hosts are asked by ping only"),
        Property::new("interval", Type::Time, "How often.").default("1m").column(),
        Property::new("timeout", Type::Time, "How long to wait for the answer, 10ms to 5s.")
            .default("1s")
            .column(),
        Property::new("src-address", Type::Address, "Which of the router's addresses to use."),
        Property::new("up-script", Type::Text, "Runs when it answers again."),
        Property::new("down-script", Type::Text, "Runs when it does not answer any more."),
        Property::new("test-script", Type::Text, "Runs after every question."),
        Property::new("status", Type::Text, "up, down or unknown.").read_only().column(),
        Property::new("since", Type::Time, "How long it has been so.").read_only().column(),
    ],
    help: "Hosts that are asked whether they live.",
};

const KINDS: Type = Type::Enum(&["simple", "icmp", "tcp-conn", "http-get", "https-get", "dns"]);

/// What RouterOS calls rights.
const RIGHTS: &[&str] = &[
    "local",
    "telnet",
    "ssh",
    "ftp",
    "reboot",
    "read",
    "write",
    "policy",
    "test",
    "winbox",
    "password",
    "web",
    "sniff",
    "sensitive",
    "api",
    "romon",
    "dude",
    "tikapp",
    "rest-api",
];

fn policy(text: &str) -> Result<Value, String> {
    let known = |right: &str| RIGHTS.contains(&right.trim_start_matches('!'));
    match text.split(',').all(|right| right.is_empty() || known(right)) {
        true => Ok(Value::Text(text.to_string())),
        false => Err(format!("rights are {}", RIGHTS.join(", "))),
    }
}

/// `jan/02/2024` or `2024-01-02`.
fn date(text: &str) -> Result<Value, String> {
    match wire::date::day_of(text) {
        Some(_) => Ok(Value::Text(text.to_string())),
        None => Err("a date, as jan/02/2024 or 2024-01-02".to_string()),
    }
}

/// What whoever drives a node is to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Errand {
    /// A script is to run.
    Script(Script),
    /// This configuration is to come back: another one was not confirmed.
    Back(Tree),
    /// A line of the log is to be put there.
    Line(Outlet, String),
}

/// A script that is to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Script {
    /// Who wants it: `schedule1`, `netwatch 10.0.0.1`.
    pub name: String,
    /// The script.
    pub source: String,
    /// Whether it may change the configuration.
    pub writes: bool,
}

/// What is to run, and when.
#[derive(Default)]
pub(super) struct Errands {
    scripts: BTreeMap<ItemId, i64>,
    plans: BTreeMap<ItemId, Plan>,
    watches: BTreeMap<ItemId, Watch>,
    wanted: VecDeque<Errand>,
    /// What comes back then, unless somebody confirms what is.
    back: Option<(Tree, Moment)>,
    due: Option<Moment>,
}

/// A scheduler's item.
struct Plan {
    item: Arc<Item>,
    next: Option<Moment>,
    runs: i64,
}

/// A host that is watched.
struct Watch {
    item: Arc<Item>,
    is_up: Option<bool>,
    since: Moment,
    next: Moment,
    question: Option<Box<dyn Job<Router>>>,
}

/// What the clock says of a moment.
#[derive(Clone, Copy)]
pub(super) struct Calendar {
    /// When the device was started.
    pub(super) started: Moment,
    /// That moment, seconds since 1970.
    pub(super) boot: u64,
}

/// RouterOS waits so long after a start.
const STARTUP: Duration = Duration::from_secs(3);
/// Scripts that wait to be run; further ones are left out.
const WAITING: usize = 64;

impl Errands {
    /// When something is due.
    pub(super) fn due(&self) -> Option<Moment> {
        self.due
    }

    /// The next script to run.
    pub(super) fn take(&mut self) -> Option<Errand> {
        self.wanted.pop_front()
    }

    pub(super) fn is_waiting(&self) -> bool {
        !self.wanted.is_empty()
    }

    /// Whether a configuration speaks of other errands.
    pub(super) fn concerns(old: &Tree, new: &Tree) -> bool {
        MENUS.iter().any(|menu| !new.shares(old, menu.path))
    }

    /// Takes over what is typed; what is as it was goes on.
    pub(super) fn configure(
        &mut self,
        tree: &Tree,
        router: &mut Router,
        calendar: Calendar,
        now: Moment,
    ) {
        let mut plans = std::mem::take(&mut self.plans);
        for item in tree.items(SCHEDULER.path).iter().filter(|item| !item.disabled) {
            let before = plans.remove(&item.id).filter(|plan| plan.item == *item);
            let plan = before.unwrap_or_else(|| Plan {
                item: Arc::clone(item),
                next: calendar.first(item, now),
                runs: 0,
            });
            self.plans.insert(item.id, plan);
        }
        let mut watches = std::mem::take(&mut self.watches);
        for item in tree.items(NETWATCH.path).iter().filter(|item| !item.disabled) {
            let before = watches.remove(&item.id).filter(|watch| watch.item == *item);
            let watch = before.unwrap_or_else(|| Watch {
                item: Arc::clone(item),
                is_up: None,
                since: now,
                next: now,
                question: None,
            });
            self.watches.insert(item.id, watch);
        }
        for mut question in watches.into_values().filter_map(|watch| watch.question) {
            question.stop(router, now);
        }
        self.look_ahead();
    }

    /// Does what is due.
    pub(super) fn attend(&mut self, tree: &Tree, router: &mut Router, now: Moment) {
        for plan in self.plans.values_mut() {
            let Some(at) = plan.next.filter(|&at| at <= now) else { continue };
            let interval = SCHEDULER.read(&plan.item).time("interval");
            plan.runs += 1;
            plan.next = (interval > Duration::ZERO).then(|| {
                // Whoever comes late runs once, not as often as was missed.
                let missed = now.since(at).as_nanos() / interval.as_nanos();
                at + interval * u32::try_from(missed + 1).unwrap_or(u32::MAX)
            });
            let event = SCHEDULER.read(&plan.item).text("on-event");
            if let Some(script) = named(tree, &event) {
                *self.scripts.entry(script.id).or_default() += 1;
            }
            let (source, may_write) = source_of(tree, event);
            let writes = writes(&SCHEDULER, &plan.item) && may_write;
            want(&mut self.wanted, plan.item.name("name").to_string(), source, writes);
        }
        if let Some((tree, _)) = self.back.take_if(|(_, at)| *at <= now) {
            router.log_message(now, "system,warning", "not confirmed: what was before comes back");
            self.wanted.push_back(Errand::Back(tree));
        }
        for watch in self.watches.values_mut() {
            watch.attend(tree, router, now, &mut self.wanted);
        }
        self.look_ahead();
    }

    fn look_ahead(&mut self) {
        let plans = self.plans.values().filter_map(|plan| plan.next);
        let watches = self.watches.values().map(|watch| watch.next);
        self.due = plans.chain(watches).chain(self.back.as_ref().map(|(_, at)| *at)).min();
    }

    /// `/confirm`.
    pub(super) fn confirm(&mut self) -> Result<Started<Node>, String> {
        let back = self.back.take().ok_or("failure: there is nothing to confirm");
        self.look_ahead();
        back.map(|_| Started::Done(Reply::Nothing)).map_err(String::from)
    }

    /// `/system script run`.
    pub(super) fn run(&mut self, tree: &Tree, call: &Call) -> Result<Started<Node>, String> {
        let Some(items) = &call.items else {
            return Err("missing value(s) of argument(s) numbers".to_string());
        };
        for id in items {
            let Some(item) = tree.item(SCRIPT.path, *id) else { continue };
            *self.scripts.entry(*id).or_default() += 1;
            let (name, source) = (item.name("name").to_string(), SCRIPT.read(item).text("source"));
            want(&mut self.wanted, name, source, writes(&SCRIPT, item));
        }
        Ok(Started::Done(Reply::Nothing))
    }

    /// What [`config::Status::value`] says of these menus.
    pub(super) fn value(&self, menu: &Menu, item: &Item, name: &str, now: Moment) -> Option<Value> {
        match (menu.path, name) {
            ("/system script", "run-count") => {
                Some(Value::Number(self.scripts.get(&item.id).copied().unwrap_or(0)))
            }
            ("/system scheduler", "run-count") => {
                Some(Value::Number(self.plans.get(&item.id).map_or(0, |plan| plan.runs)))
            }
            ("/system scheduler", "next-run") => {
                let next = self.plans.get(&item.id)?.next?;
                Some(Value::Time(Duration::from_secs(next.since(now).as_secs())))
            }
            ("/tool netwatch", "status") => {
                let is_up = self.watches.get(&item.id).and_then(|watch| watch.is_up);
                let status = is_up.map_or("unknown", |up| if up { "up" } else { "down" });
                Some(Value::Text(status.to_string()))
            }
            ("/tool netwatch", "since") => {
                let since = self.watches.get(&item.id)?.since;
                Some(Value::Time(Duration::from_secs(now.since(since).as_secs())))
            }
            _ => None,
        }
    }
}

/// `/confirm`.
pub(super) static CONFIRM: Command = Command {
    menu: "/",
    name: "confirm",
    help: "Keeps what an import with confirm= has brought.",
    unnamed: Unnamed::Nothing,
    ..RUN
};

/// Whether a menu is one of these.
pub(super) fn is_errands(path: &str) -> bool {
    MENUS.iter().any(|menu| menu.path == path)
}

fn writes(menu: &'static Menu, item: &Item) -> bool {
    menu.read(item).text("policy").split(',').any(|right| right == "write")
}

/// The script of this name.
fn named<'a>(tree: &'a Tree, name: &str) -> Option<&'a Item> {
    tree.items(SCRIPT.path).iter().map(|item| &**item).find(|item| item.name("name") == name)
}

/// The source that is meant by a script's name, or by itself; and whether it may write.
fn source_of(tree: &Tree, script: String) -> (String, bool) {
    match named(tree, &script) {
        Some(item) => (SCRIPT.read(item).text("source"), writes(&SCRIPT, item)),
        None => (script, true),
    }
}

fn want(wanted: &mut VecDeque<Errand>, name: String, source: String, writes: bool) {
    if !source.is_empty() && wanted.len() < WAITING {
        wanted.push_back(Errand::Script(Script { name, source, writes }));
    }
}

impl Watch {
    fn attend(
        &mut self,
        tree: &Tree,
        router: &mut Router,
        now: Moment,
        wanted: &mut VecDeque<Errand>,
    ) {
        if self.next > now {
            return;
        }
        let read = NETWATCH.read(&self.item);
        let mut question = match self.question.take() {
            Some(question) => question,
            None => match router.start(&self.ping(), tree, now) {
                Ok(Started::Job(question)) => question,
                // It has nobody to ask from now: an address that is not its own, for one.
                _ => return self.learn(false, now, tree, wanted),
            },
        };
        match question.poll(router, now, &mut Vec::new()) {
            Ok(Progress::Again(at)) => {
                self.next = at;
                self.question = Some(question);
            }
            answered => {
                question.stop(router, now);
                let is_up = answered == Ok(Progress::Done(Reply::Text("1".to_string())));
                self.next = now + read.time("interval").max(Duration::from_millis(100));
                self.learn(is_up, now, tree, wanted);
            }
        }
    }

    fn ping(&self) -> Call {
        let ping =
            router::COMMANDS.iter().find(|command| (command.menu, command.name) == ("/", "ping"));
        let mut call = Call::of(ping.expect("a router has ping"));
        let read = NETWATCH.read(&self.item);
        let (least, most) = (Duration::from_millis(10), Duration::from_secs(5));
        call.arguments = BTreeMap::from([
            ("address", read.value("host").into_owned()),
            ("count", Value::Number(1)),
            ("interval", Value::Time(read.time("timeout").clamp(least, most))),
        ]);
        if let Some(src) = read.opt("src-address") {
            call.arguments.insert("src-address", src.into_owned());
        }
        call
    }

    fn learn(&mut self, is_up: bool, now: Moment, tree: &Tree, wanted: &mut VecDeque<Errand>) {
        let read = NETWATCH.read(&self.item);
        if self.next <= now {
            self.next = now + read.time("interval").max(Duration::from_secs(1));
        }
        let name = || format!("netwatch {}", *read.value("host"));
        let mut run = |property| {
            let (source, writes) = source_of(tree, read.text(property));
            want(wanted, name(), source, writes);
        };
        run("test-script");
        if self.is_up == Some(is_up) {
            return;
        }
        (self.is_up, self.since) = (Some(is_up), now);
        run(if is_up { "up-script" } else { "down-script" });
    }
}

impl Calendar {
    /// When a scheduler's item runs first.
    fn first(self, item: &Item, now: Moment) -> Option<Moment> {
        let read = SCHEDULER.read(item);
        let interval = read.time("interval");
        let start = match &*read.value("start-time") {
            Value::Time(time) => {
                let today = (self.boot + now.since(self.started).as_secs()) / 86_400;
                let day = wire::date::day_of(&read.text("start-date")).unwrap_or(today);
                i128::from(day * 86_400 + time.as_secs()) - i128::from(self.boot)
            }
            _ => i128::from(STARTUP.as_secs()),
        };
        // Seconds from the start of the device; before it, for what began long ago.
        let passed = now.since(self.started).as_nanos();
        let start = start * 1_000_000_000;
        let passed = i128::try_from(passed).unwrap_or(i128::MAX);
        if start >= passed {
            return Some(self.started + Duration::from_nanos(u64::try_from(start).ok()?));
        }
        let every = i128::try_from(interval.as_nanos()).ok().filter(|&every| every > 0)?;
        let next = start + every * ((passed - start + every - 1) / every);
        Some(self.started + Duration::from_nanos(u64::try_from(next).ok()?))
    }
}

impl Node {
    /// Goes back to a configuration at this moment, unless somebody says `/confirm` before. What
    /// would have come back already still does, if nobody has confirmed that either.
    pub fn go_back(&mut self, to: Tree, at: Moment) {
        let first = self.errands.back.take().map_or(to, |(first, _)| first);
        self.errands.back = Some((first, at));
        self.errands.look_ahead();
    }

    /// What is to be done now, by whoever drives the node.
    pub fn take_errand(&mut self) -> Option<Errand> {
        if let Some(WantedScript { who, known, script }) = self.router.take_script() {
            let (source, writes) = source_of(&self.tree, script);
            let source = format!("{known}\n{source}");
            return Some(Errand::Script(Script { name: who, source, writes }));
        }
        let line = || self.router.take_outside().map(|(to, line)| Errand::Line(to, line));
        self.errands.take().or_else(line)
    }

    /// Whether there is one.
    #[inline]
    pub fn has_errands(&self) -> bool {
        self.errands.is_waiting() || self.router.has_scripts() || self.router.has_outside()
    }
}
