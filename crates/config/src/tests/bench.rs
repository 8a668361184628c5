//! A device to run scripts on: a configuration, a clock that jumps, files and one job that counts.

use super::*;
use std::sync::Arc;
use wire::Moment;

/// A device of virtual time, and a session at it.
pub(super) struct Bench {
    pub(super) session: Session,
    pub(super) device: Device,
}

#[derive(Default)]
pub(super) struct Device {
    pub(super) tree: Tree,
    /// What was done to it, in order.
    pub(super) log: Vec<String>,
    pub(super) files: BTreeMap<String, Vec<u8>>,
    pub(super) now: Moment,
    /// Waits that succeed before the user has enough.
    pub(super) patience: Option<usize>,
    /// What it knows of itself.
    pub(super) dynamic: Vec<Item>,
    /// What it knows of itself after each wait.
    pub(super) later: Vec<Vec<Item>>,
    /// Refuses every configuration.
    pub(super) full: bool,
    job: Option<(Call, i64)>,
    pub(super) looks: usize,
}

impl Bench {
    pub(super) fn new() -> Bench {
        let tree = router().tree().clone();
        let menus = router().menus().to_vec();
        let language = Language::new(menus, [&QUICK, &RESET, &PING, &COUNT]);
        let session = Session::new(Arc::new(language));
        Bench { session, device: Device { tree, ..Device::default() } }
    }

    /// What a script that was typed prints, its error included; frames in `<>`.
    pub(super) fn types(&mut self, script: &str) -> String {
        self.runs(script, How::Typed)
    }

    pub(super) fn runs(&mut self, script: &str, how: How) -> String {
        let mut text = String::new();
        let mut out = |piece| match piece {
            Piece::Text(piece) => text += &piece,
            Piece::Frame(piece) => text += &format!("<{piece}>"),
        };
        let result = self.session.run(script, how, &mut self.device, &mut out);
        match result {
            Ok(_) => text,
            Err(error) => format!("{text}!{} {}", error.text, error.at),
        }
    }

    /// Records, then what was returned, one per line.
    pub(super) fn executes(&mut self, request: &Request) -> String {
        let mut text = String::new();
        let mut out = |fields: Vec<(String, String)>| {
            let fields = fields.iter().map(|(name, value)| format!("={name}={value}"));
            text += &(fields.collect::<String>() + "\n");
        };
        match self.session.execute(request, &mut self.device, &mut out) {
            Ok(Reply::Nothing) => text,
            Ok(reply) => format!("{text}ret {reply}\n"),
            Err(trap) => format!("{text}trap {:?} {}\n", trap.category, trap.message),
        }
    }
}

impl Status for Device {
    fn value(&self, menu: &Menu, item: Option<&Item>, property: &str) -> Option<Value> {
        match (menu.path, property) {
            ("/ip firewall filter", "packets") => Some(Value::Number(7)),
            ("/interface ethernet", "running") => Some(Value::Bool(item?.name("name") != "ether2")),
            _ => None,
        }
    }

    fn dynamic(&self, menu: &Menu) -> Vec<Item> {
        if menu.path == ADDRESS.path { self.dynamic.clone() } else { Vec::new() }
    }
}

impl Host for Device {
    fn now(&self) -> Moment {
        self.now
    }

    fn look(&mut self, look: &mut dyn FnMut(&dyn Status)) {
        self.looks += 1;
        look(self);
    }

    fn tree(&mut self) -> Tree {
        self.tree.clone()
    }

    fn edit(&mut self) -> Result<Tree, String> {
        self.log.push("edit".to_string());
        Ok(self.tree.clone())
    }

    fn commit(&mut self, tree: &Tree) -> Result<(), String> {
        if self.full {
            return Err("failure: too many routes".to_string());
        }
        self.log.push("commit".to_string());
        self.tree = tree.clone();
        Ok(())
    }

    fn release(&mut self) {
        self.log.push("release".to_string());
    }

    fn start(&mut self, call: &Call) -> Result<Progress, String> {
        self.log.push(call.command.name.to_string());
        match call.command.name {
            "count" => {
                let to = call.argument("to").map_or(3, |to| to.to_string().parse().unwrap_or(3));
                self.job = Some((call.clone(), to));
                Ok(Progress::Again(self.now))
            }
            "quick" => Err("failure: not running".to_string()),
            _ => Ok(Progress::Done(Reply::Nothing)),
        }
    }

    fn poll(&mut self, out: &mut Vec<Record>) -> Result<Progress, String> {
        let (_, left) = self.job.as_mut().ok_or("no job")?;
        if *left == 0 {
            self.job = None;
            return Ok(Progress::Done(Reply::Text("counted".to_string())));
        }
        let rate = Value::Rate(*left as u64 * 1000);
        out.push(Record::default().with("left", Value::Number(*left)).with("rate", rate));
        *left -= 1;
        Ok(Progress::Again(self.now + std::time::Duration::from_secs(1)))
    }

    fn stop(&mut self) {
        self.job = None;
        self.log.push("stop".to_string());
    }

    fn wait(&mut self, until: Moment) -> bool {
        self.now = self.now.max(until);
        if !self.later.is_empty() {
            self.dynamic = self.later.remove(0);
        }
        match &mut self.patience {
            Some(0) => false,
            Some(left) => {
                *left -= 1;
                true
            }
            None => true,
        }
    }

    fn read_file(&mut self, name: &str) -> Result<Vec<u8>, String> {
        self.files.get(name).cloned().ok_or_else(|| "no such item".to_string())
    }

    fn write_file(&mut self, name: &str, content: &[u8]) -> Result<(), String> {
        self.files.insert(name.to_string(), content.to_vec());
        Ok(())
    }

    fn files(&mut self) -> Vec<File> {
        let file = |(name, content): (&String, &Vec<u8>)| File {
            name: name.clone(),
            size: content.len() as u64,
            written: 1_764_000_000,
            contents: String::from_utf8(content.clone()).ok(),
        };
        self.files.iter().map(file).collect()
    }

    fn remove_file(&mut self, name: &str) -> Result<(), String> {
        self.files.remove(name).map(|_| ()).ok_or_else(|| "no such item".to_string())
    }

    fn log(&mut self, topics: &str, message: &str) {
        self.log.push(format!("{topics}: {message}"));
    }
}

pub(super) const COUNT: Command = Command {
    menu: "/tool",
    name: "count",
    unnamed: Unnamed::Parameter("to"),
    parameters: &[
        Property::new("to", Type::Number(0, 1000), "From where.").default("3"),
        Property::new("fast", Type::Bool, "Whether."),
    ],
    display: Display::Redraw(|group| {
        let left = group.records.iter().filter_map(|record| record.get("left"));
        let left: Vec<String> = left.map(Value::to_string).collect();
        format!("{}{}", left.join(" "), if group.last { "end" } else { "" })
    }),
    help: "Counts down.",
};
