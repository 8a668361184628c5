//! A device's host as one command of one user sees it.
//!
//! ```text
//! Session ─► Guard ─┬─ edit, commit, start: may this user? ─► the device's Host
//!                   └─ wait: has the client cancelled? what was gathered goes out meanwhile
//! ```
//!
//! Users and services are part of the configuration, and what they mean is the server's business: a
//! commit that changes them takes effect here.

use crate::outbox::Answers;
use crate::server::Shared;
use crate::user::{self, Group};
use config::{Call, Display, File, Host, Item, Menu, Progress, Record, Status, Tree};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use wire::Moment;

/// RouterOS's words.
const REFUSED: &str = "not enough permissions (9)";

/// How soon a cancelled command finds out.
const SLICE: Duration = Duration::from_millis(20);

/// A host that obeys the user's rights and the client's `/cancel`.
pub(crate) struct Guard<'a> {
    pub(crate) host: Box<dyn Host + 'a>,
    pub(crate) shared: &'a Arc<Shared>,
    pub(crate) group: Group,
    pub(crate) stop: &'a AtomicBool,
    pub(crate) answers: &'a Answers<'a>,
    /// The configuration when the change under way began.
    pub(crate) before: Option<Tree>,
}

impl Guard<'_> {
    fn may(&self, what: bool) -> Result<(), String> {
        if what { Ok(()) } else { Err(REFUSED.to_string()) }
    }
}

impl Host for Guard<'_> {
    fn now(&self) -> Moment {
        self.host.now()
    }

    fn look(&mut self, look: &mut dyn FnMut(&dyn Status)) {
        self.host.look(look);
    }

    fn check(&mut self, menu: &Menu, item: &Item, tree: &Tree) -> Result<(), String> {
        self.host.check(menu, item, tree)
    }

    fn tree(&mut self) -> Tree {
        self.host.tree()
    }

    fn edit(&mut self) -> Result<Tree, String> {
        self.may(self.group != Group::Read)?;
        let tree = self.host.edit()?;
        self.before = Some(tree.clone());
        Ok(tree)
    }

    fn commit(&mut self, tree: &Tree) -> Result<(), String> {
        let menus = [user::MENU.path, user::GROUPS.path];
        let same = |before: &Tree| menus.iter().all(|menu| before.items(menu) == tree.items(menu));
        if !self.before.as_ref().is_some_and(same) {
            self.may(self.group == Group::Full)?;
            user::check(tree)?;
        }
        self.host.commit(tree)?;
        let before = self.before.replace(tree.clone());
        self.shared.apply_service(tree).inspect_err(|_| {
            // A port that is not free: as if nothing had been said.
            if let Some(before) = before {
                let _ = self.host.commit(&before).map(|()| self.shared.apply_service(&before));
                self.before = Some(before);
            }
        })
    }

    fn release(&mut self) {
        self.before = None;
        self.host.release();
    }

    fn go_back(&mut self, to: Tree, after: Duration) -> Result<(), String> {
        self.may(self.group != Group::Read)?;
        self.host.go_back(to, after)
    }

    fn start(&mut self, call: &Call) -> Result<Progress, String> {
        // What shows nothing is there for what it changes: reset-counters.
        let changes = matches!(call.command.display, Display::Nothing);
        self.may(self.group != Group::Read || !changes)?;
        self.host.start(call)
    }

    fn poll(&mut self, out: &mut Vec<Record>) -> Result<Progress, String> {
        self.host.poll(out)
    }

    fn wind_up(&mut self, out: &mut Vec<Record>) {
        self.host.wind_up(out);
    }

    fn stop(&mut self) {
        self.host.stop();
    }

    fn wait(&mut self, until: Moment) -> bool {
        self.answers.flush();
        loop {
            if self.stop.load(Ordering::Relaxed) {
                return false;
            }
            let left = until.since(self.host.now());
            let last = left <= SLICE;
            let next = if last { until } else { self.host.now() + SLICE };
            if !self.host.wait(next) {
                return false;
            }
            if last {
                return !self.stop.load(Ordering::Relaxed);
            }
        }
    }

    fn read_file(&mut self, name: &str) -> Result<Vec<u8>, String> {
        self.host.read_file(name)
    }

    fn write_file(&mut self, name: &str, content: &[u8]) -> Result<(), String> {
        self.may(self.group != Group::Read)?;
        self.host.write_file(name, content)
    }

    fn files(&mut self) -> Vec<File> {
        let mut files = self.host.files();
        if self.group == Group::Read {
            // An export has passwords in it.
            files.iter_mut().for_each(|file| file.contents = None);
        }
        files
    }

    fn remove_file(&mut self, name: &str) -> Result<(), String> {
        self.may(self.group != Group::Read)?;
        self.host.remove_file(name)
    }

    fn log(&mut self, topics: &str, message: &str) {
        self.host.log(topics, message);
    }
}
