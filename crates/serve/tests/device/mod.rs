//! A device small enough to be seen whole: a configuration in memory and two commands.

// Each test file uses another part.
#![allow(dead_code)]

use config::{
    Call, Command, Display, Group, Host, Item, Language, Menu, MenuKind, Progress, Property,
    Record, Reply, Status, Tree, Type, Unnamed, Value,
};
use serve::client::{Client, Failure};
use serve::server::Patience;
use serve::{Device, Sentence, Server};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use wire::Moment;

pub(crate) const ADDRESS: Menu = Menu {
    path: "/ip address",
    kind: MenuKind::List { key: None, auto_name: None, ordered: false, fixed: false },
    properties: &[
        Property::new("address", Type::Cidr, "The address.").required().column(),
        Property::new("interface", Type::Enum(&["ether1", "ether2"]), "Where.").required().column(),
    ],
    help: "Addresses.",
};

pub(crate) const QUEUE: Menu = Menu {
    path: "/queue simple",
    kind: MenuKind::List {
        key: Some("name"),
        auto_name: Some("queue"),
        ordered: true,
        fixed: false,
    },
    properties: &[
        Property::new("name", Type::Text, "The name.").column(),
        Property::new("max-limit", Type::Rate, "The limit.").default("0").column(),
    ],
    help: "Queues.",
};

pub(crate) const IDENTITY: Menu = Menu {
    path: "/system identity",
    kind: MenuKind::Settings,
    properties: &[Property::new("name", Type::Text, "The device's name.").default("test")],
    help: "Who it is.",
};

/// Says a number every few milliseconds until it is stopped.
pub(crate) const COUNT: Command = Command {
    menu: "/tool",
    name: "count",
    unnamed: Unnamed::Nothing,
    parameters: &[
        Property::new("every", Type::Time, "How often.").default("10ms"),
        Property::new("size", Type::Number(0, 60_000), "Bytes beside each.").default("0"),
    ],
    display: Display::Append(|group: &Group| {
        let number = |record: &Record| record.get("number").map(ToString::to_string);
        group.records.iter().filter_map(number).map(|number| number + "\n").collect()
    }),
    help: "Counts.",
};

pub(crate) const RESET: Command = Command {
    menu: "/tool",
    name: "reset-counters",
    unnamed: Unnamed::Nothing,
    parameters: &[],
    display: Display::Nothing,
    help: "Resets.",
};

/// Panics: what a mistake of ours would do.
pub(crate) const PANIC: Command = Command { name: "panic", ..RESET };

#[derive(Debug)]
pub(crate) struct Small {
    tree: Mutex<Tree>,
    editing: Mutex<bool>,
    pub(crate) log: Mutex<Vec<String>>,
    /// Commands under way.
    pub(crate) under_way: AtomicUsize,
    began: Instant,
    language: Arc<Language>,
}

#[expect(clippy::disallowed_methods, reason = "this device lives in real time")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

impl Small {
    pub(crate) fn new() -> Arc<Small> {
        let menus = [&ADDRESS, &QUEUE, &IDENTITY, &config::FILE]
            .into_iter()
            .chain(serve::MENUS.iter().copied());
        let language = Language::new(menus, [&COUNT, &RESET, &PANIC]);
        let language = Arc::new(language.with_factory(&serve::FACTORY));
        Arc::new(Small {
            tree: Mutex::default(),
            editing: Mutex::default(),
            log: Mutex::default(),
            under_way: AtomicUsize::new(0),
            began: now(),
            language,
        })
    }

    pub(crate) fn tree(&self) -> Tree {
        lock(&self.tree).clone()
    }
}

impl Device for Small {
    fn language(&self) -> Arc<Language> {
        Arc::clone(&self.language)
    }

    fn host(&self) -> Box<dyn Host + '_> {
        Box::new(SmallHost { device: self, edits: false, count: None })
    }
}

struct SmallHost<'a> {
    device: &'a Small,
    edits: bool,
    count: Option<(i64, Duration, usize)>,
}

impl Host for SmallHost<'_> {
    fn now(&self) -> Moment {
        Moment::ZERO + now().duration_since(self.device.began)
    }

    fn look(&mut self, look: &mut dyn FnMut(&dyn Status)) {
        look(&());
    }

    fn check(&mut self, _: &Menu, _: &Item, _: &Tree) -> Result<(), String> {
        Ok(())
    }

    fn tree(&mut self) -> Tree {
        self.device.tree()
    }

    fn edit(&mut self) -> Result<Tree, String> {
        for _ in 0..1000 {
            let mut editing = lock(&self.device.editing);
            if !*editing {
                (*editing, self.edits) = (true, true);
                return Ok(self.device.tree());
            }
            drop(editing);
            std::thread::sleep(Duration::from_millis(1));
        }
        Err("failure: another session is changing the configuration".to_string())
    }

    fn commit(&mut self, tree: &Tree) -> Result<(), String> {
        assert!(self.edits, "a commit outside an edit");
        *lock(&self.device.tree) = tree.clone();
        Ok(())
    }

    fn release(&mut self) {
        if std::mem::take(&mut self.edits) {
            *lock(&self.device.editing) = false;
        }
    }

    fn start(&mut self, call: &Call) -> Result<Progress, String> {
        match call.command.name {
            "count" => {
                let (every, size) = match (call.argument("every"), call.argument("size")) {
                    (Some(Value::Time(every)), Some(Value::Number(size))) => (every, size),
                    other => panic!("{other:?}"),
                };
                self.count = Some((0, every, usize::try_from(size).unwrap()));
                self.device.under_way.fetch_add(1, Ordering::SeqCst);
                Ok(Progress::Again(self.now()))
            }
            "panic" => panic!("as it was told"),
            _ => Ok(Progress::Done(Reply::Nothing)),
        }
    }

    fn poll(&mut self, out: &mut Vec<Record>) -> Result<Progress, String> {
        let now = self.now();
        let Some((number, every, size)) = &mut self.count else { return Err("none".to_string()) };
        let beside = Value::Text("x".repeat(*size));
        out.push(Record::default().with("number", Value::Number(*number)).with("beside", beside));
        *number += 1;
        Ok(Progress::Again(now + *every))
    }

    fn stop(&mut self) {
        if self.count.take().is_some() {
            self.device.under_way.fetch_sub(1, Ordering::SeqCst);
        }
    }

    fn wait(&mut self, until: Moment) -> bool {
        std::thread::sleep(until.since(self.now()));
        true
    }

    fn files(&mut self) -> Vec<config::File> {
        let (name, contents) = ("all.rsc".to_string(), Some("password=secret".to_string()));
        vec![config::File { name, size: 15, written: 0, contents }]
    }

    fn log(&mut self, topics: &str, message: &str) {
        lock(&self.device.log).push(format!("{topics} {message}"));
    }
}

impl Drop for SmallHost<'_> {
    fn drop(&mut self) {
        self.stop();
        self.release();
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A device served on a free port of this machine.
pub(crate) struct Served {
    pub(crate) device: Arc<Small>,
    pub(crate) server: Server,
    pub(crate) address: SocketAddr,
}

pub(crate) fn serve() -> Served {
    serve_with(Patience::default())
}

pub(crate) fn serve_with(patience: Patience) -> Served {
    let device = Small::new();
    let server = Server::patient(Arc::clone(&device) as Arc<dyn Device>, patience);
    let mut server = server.unwrap();
    let address = server.tcp("127.0.0.1:0".parse().unwrap()).unwrap();
    Served { device, server, address }
}

impl Served {
    /// A client that has not logged in.
    pub(crate) fn stranger(&self) -> Client {
        let client = Client::tcp(self.address, Duration::from_secs(5)).unwrap();
        client.set_timeout(Some(Duration::from_secs(20))).unwrap();
        client
    }

    /// A client that has logged in as `admin`.
    pub(crate) fn client(&self) -> Client {
        let mut client = self.stranger();
        client.login("admin", Some("")).unwrap();
        client
    }

    /// Waits until this is so.
    pub(crate) fn until(&self, what: &str, is_so: impl Fn(&Small) -> bool) {
        let began = now();
        while !is_so(&self.device) {
            assert!(began.elapsed() < Duration::from_secs(20), "waited for: {what}");
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

/// `/path =name=value ?query .tag=x` as a sentence; words are separated by blanks.
pub(crate) fn say(words: &str) -> Sentence {
    Sentence { words: words.split(' ').map(|word| word.as_bytes().to_vec()).collect() }
}

/// What a command answers, a sentence a line.
pub(crate) fn answer(client: &mut Client, words: &str) -> String {
    let shown = |sentence: &Sentence| {
        let words = sentence.words.iter().map(|word| String::from_utf8_lossy(word));
        let words: Vec<_> = words.filter(|word| !word.starts_with(".tag=")).collect();
        words.join(" ") + "\n"
    };
    let mut text = String::new();
    match client.stream(say(words), |record| text += &shown(&record)) {
        Ok(done) => text += &shown(&done),
        Err(Failure::Trap(trap)) => text += &shown(&trap),
        Err(Failure::Fatal(why)) => text += &format!("!fatal {why}\n"),
        Err(other) => text += &format!("{other:?}\n"),
    }
    text
}
