//! A node in real time, on a thread of its own.
//!
//! ```text
//!  thread: breathe, breathe …  ─ gate ─  LiveHost (a session), LiveHost (another) …
//!      │ nothing to do: spin ─► yield ─► sleep, until a port with a descriptor wakes it
//!  sockets ══ memory cables ══ other nodes' threads
//!          ══ interfaces
//! ```
//!
//! Sessions come and go between two breaths ([`gate`](crate::gate)); one at a time changes the
//! configuration. What interfaces find out by themselves is compiled on a thread that follows. A node that panics is gone, and says so to whoever asks; its lab goes on.
//!
//! Never simulates: a cable here is as fast as it is, its rate and delay are not kept.

use crate::alarm::Alarm;
use crate::clock::Clock;
use crate::gate::{Gate, Turn, Wake, Work};
use crate::journal::Journal;
use crate::node::{self, Errand, Node, Socket};
use crate::underway::{Files, Underway, WIND_UP};
use config::{Call, Host, How, Item, Language, Menu, Progress, Record, Session, Status, Tree};
use port::{MemoryPort, Port, affinity};
use router::Link;
use router::compiler::Compiler;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{self, JoinHandle, Thread};
use std::time::Duration;
use wire::Moment;

/// A node on a thread. Dropping it stops the thread.
pub struct Live {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
    follower: Option<JoinHandle<()>>,
}

/// What the thread and all sessions have.
struct Shared {
    gate: Gate<Node>,
    clock: Clock,
    stop: AtomicBool,
    /// Why the thread is gone, if it panicked.
    failed: Mutex<Option<String>>,
    /// Whether a session is changing the configuration.
    editing: Mutex<bool>,
    edited: Condvar,
    /// Used by the session that is changing it, on its own thread.
    compiler: Mutex<Compiler>,
    alarm: Option<Alarm>,
    /// Whether interfaces have come to know something that the follower is to compile.
    news: AtomicBool,
    follower: OnceLock<Thread>,
    /// What scripts that nobody types are written in.
    language: OnceLock<Arc<Language>>,
    /// The device's own, for its scripts and its log.
    files: OnceLock<Files>,
}

/// The thread's own: what nobody else sees.
struct Breather<'a, P> {
    shared: &'a Shared,
    sockets: Vec<Socket<P>>,
    /// What wakes it, if its ports do.
    alarm: Option<Alarm>,
    last: Moment,
    busy_at: Moment,
}

/// How long a node looks for frames without a pause after the last one.
const SPIN: Duration = Duration::from_micros(50);
/// And then lets others have the processor between two looks.
const YIELD: Duration = Duration::from_millis(2);
/// And then sleeps between them, soon for longer. A ring of 4096 lasts for a millisecond at four
/// million frames a second, and the router's chores are due as often.
const SLEEP: Duration = Duration::from_micros(200);
const DOZE: Duration = Duration::from_millis(20);
const LONG_SLEEP: Duration = Duration::from_millis(1);
/// Nothing comes where no cable is; sessions wake it.
const NO_CABLE_SLEEP: Duration = Duration::from_millis(10);
/// Where ports wake it there is no need to look for long, and the processor is what the hosts on
/// this machine want, too: one TCP connection through a router with two workers, all on two
/// processors, had 3.5 Gbit/s with 50 and 200 µs here, 4.1 with 20 and 80, 4.5 with 10 and 40. With
/// nothing at all a ping takes 33 µs in place of 11.
pub(crate) const WOKEN_SPIN: Duration = Duration::from_micros(10);
pub(crate) const WOKEN_YIELD: Duration = Duration::from_micros(40);

/// How many scripts that nobody typed run at a time.
const SCRIPTS: usize = 16;

/// How long a session waits for another one's change.
const EDIT: Duration = Duration::from_secs(10);

impl Live {
    /// Starts a node; on processor `cpu`, if one is given.
    ///
    /// # Errors
    /// No thread could be started.
    pub fn start(
        node: Node,
        sockets: Vec<Socket<MemoryPort>>,
        clock: Clock,
        cpu: Option<usize>,
    ) -> std::io::Result<Live> {
        Live::begin(node, sockets, clock, cpu, None)
    }

    /// The same with any ports that wake it when frames come, by their descriptors or by the alarm: it
    /// sleeps until then, when there is nothing to do.
    ///
    /// # Errors
    /// No thread could be started.
    pub fn start_woken<P: Port + Send + 'static>(
        node: Node,
        sockets: Vec<Socket<P>>,
        clock: Clock,
        cpu: Option<usize>,
        alarm: Alarm,
    ) -> std::io::Result<Live> {
        Live::begin(node, sockets, clock, cpu, Some(alarm))
    }

    fn begin<P: Port + Send + 'static>(
        mut node: Node,
        sockets: Vec<Socket<P>>,
        clock: Clock,
        cpu: Option<usize>,
        alarm: Option<Alarm>,
    ) -> std::io::Result<Live> {
        // A thread's time is real: `/tool profile` can say what it goes to.
        node.router_mut().set_profiler(port::cycles::NOW);
        // And so are those who might guess what its services ask with.
        node.router_mut().set_secret(std::hash::RandomState::new());
        let compiler = Mutex::new(node.take_compiler());
        let name = node::name(node.tree());
        let shared = Arc::new(Shared {
            gate: Gate::new(node),
            clock,
            stop: AtomicBool::new(false),
            failed: Mutex::new(None),
            editing: Mutex::new(false),
            edited: Condvar::new(),
            compiler,
            alarm: alarm.clone(),
            news: AtomicBool::new(false),
            follower: OnceLock::new(),
            language: OnceLock::new(),
            files: OnceLock::new(),
        });
        let thread = thread::Builder::new().name(name).spawn({
            let shared = shared.clone();
            move || shared.run(sockets, alarm, cpu)
        })?;
        let follower = thread::Builder::new().name("follower".to_string()).spawn({
            let shared = shared.clone();
            move || shared.follow()
        })?;
        // Nobody else sets it.
        let _ = shared.follower.set(follower.thread().clone());
        Ok(Live { shared, thread: Some(thread), follower: Some(follower) })
    }

    /// A session's way to the node. Many may be there at a time.
    pub fn host(&self, files: Files, interrupt: Interrupt) -> LiveHost {
        self.door().host(files, interrupt)
    }

    /// The way in for sessions to come. It may outlive the node, which is then gone.
    pub fn door(&self) -> Door {
        Door(self.shared.clone())
    }

    /// Why the node is gone, if it is.
    pub fn failure(&self) -> Option<String> {
        lock(&self.shared.failed).clone()
    }

    /// Stops the thread and waits for its end.
    ///
    /// # Errors
    /// It had panicked, with these words.
    pub fn stop(mut self) -> Result<(), String> {
        self.end();
        self.failure().map_or(Ok(()), Err)
    }

    fn end(&mut self) {
        self.shared.stop.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            match &self.shared.alarm {
                Some(alarm) => alarm.shout(),
                None => thread.thread().unpark(),
            }
            // Its panics are caught and kept.
            let _ = thread.join();
        }
        if let Some(follower) = self.follower.take() {
            follower.thread().unpark();
            let _ = follower.join();
        }
    }
}

/// The way in to a live node.
#[derive(Clone)]
pub struct Door(Arc<Shared>);

impl Door {
    /// Gives the device its files, once: for its own scripts and its log.
    pub(crate) fn give_files(&self, files: Files) {
        let _ = self.0.files.set(files);
    }

    /// A session's way to the node.
    pub fn host(&self, files: Files, interrupt: Interrupt) -> LiveHost {
        let (shared, underway) = (self.0.clone(), Underway::new(files));
        LiveHost { shared, underway, interrupt, edits: false, reads_only: false, deadline: None }
    }

    /// Lets whoever is no session have the node, between two breaths.
    ///
    /// # Errors
    /// It has panicked.
    pub fn with<R>(&self, with: impl FnOnce(&mut Node, Moment) -> R) -> Result<R, String> {
        self.0.with(with)
    }

    /// Tells the node what has become of a port's link.
    ///
    /// # Errors
    /// The node is gone, or there are more gateways then than it can have.
    ///
    /// # Panics
    /// If there is no such port.
    pub fn set_link(&self, port: usize, link: Link) -> Result<(), String> {
        let mut compiler = lock(&self.0.compiler);
        let Some(mut change) = compiler.set_link(port, link) else { return Ok(()) };
        self.0
            .with(|node, now| node.router_mut().apply(&mut change, now))?
            .map_err(|error| error.to_string())?;
        compiler.taken_over(change);
        self.0.heed(&mut compiler);
        Ok(())
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.end();
    }
}

impl Shared {
    /// The thread.
    fn run<P: Port>(&self, sockets: Vec<Socket<P>>, alarm: Option<Alarm>, cpu: Option<usize>) {
        if let Some(cpu) = cpu {
            // On a machine that does not allow it the node still runs, only not as evenly.
            let _ = affinity::pin(cpu);
        }
        let (last, shared) = (self.clock.now(), self);
        let breather = Breather { shared, sockets, alarm, last, busy_at: last };
        let work = AssertUnwindSafe(|| self.gate.work_as(breather));
        if let Err(panic) = catch_unwind(work) {
            *lock(&self.failed) = Some(words(&*panic));
            self.gate.close();
        }
    }

    /// The follower's thread: what interfaces find out by themselves (a tunnel's other end is gone) is
    /// compiled and applied like a change of a link.
    fn follow(self: &Arc<Self>) {
        let (mut scripts, interrupt) = (Vec::new(), Interrupt::default());
        let mut journal = None;
        while !self.stop.load(Ordering::Acquire) {
            if !self.news.swap(false, Ordering::AcqRel) {
                thread::park();
                continue;
            }
            self.heed(&mut lock(&self.compiler));
            scripts.retain(|script: &JoinHandle<()>| !script.is_finished());
            while let Ok(Some(errand)) = self.with(|node, _| node.take_errand()) {
                let (running, files) = (scripts.len(), self.files.get().cloned());
                let journal =
                    journal.get_or_insert_with(|| Journal::new(files.unwrap_or(Files::none())));
                scripts.extend(self.errand(errand, &interrupt, (journal, running)));
            }
        }
        interrupt.raise();
        // What they have panicked of is theirs.
        scripts.into_iter().for_each(|script| drop(script.join()));
    }

    /// Runs a script that nobody typed, on a thread of its own.
    fn errand(
        self: &Arc<Self>,
        errand: Errand,
        interrupt: &Interrupt,
        (journal, running): (&mut Journal, usize),
    ) -> Option<JoinHandle<()>> {
        let door = Door(Arc::clone(self));
        let files = self.files.get().cloned().unwrap_or(Files::none());
        let mut host = door.host(files, interrupt.clone());
        let errand = match errand {
            Errand::Script(script) => script,
            Errand::Line(outlet, line) => {
                journal.put(&outlet, &line);
                return None;
            }
            Errand::Back(tree) => {
                let back = thread::Builder::new().name("back".to_string());
                return back.spawn(move || host.take_back(&tree)).ok();
            }
        };
        host.reads_only = !errand.writes;
        let name = &errand.name;
        if running >= SCRIPTS {
            host.log("script,error", &format!("{name}: {SCRIPTS} scripts are running already"));
            return None;
        }
        let language = self.language.get_or_init(|| Arc::new(node::language(&[])));
        let mut session = Session::new(Arc::clone(language));
        let script = thread::Builder::new().name("script".to_string()).spawn(move || {
            let ran = session.run(&errand.source, How::Typed, &mut host, &mut |_| ());
            if let Err(error) = ran {
                host.log("script,error", &format!("{}: {}", errand.name, error.text));
            }
        });
        script.ok()
    }

    /// Brings the node what its interfaces have found out, until there is nothing new: a change may
    /// bring up a tunnel, and that one another.
    fn heed(&self, compiler: &mut Compiler) {
        for _ in 0..8 {
            let Ok(Some(up)) = self.with(|node, _| node.router().news()) else { return };
            let Some(mut change) = compiler.set_up(up) else { return };
            // Too many gateways for it: the next change of the configuration says so, too.
            let applied = self.with(|node, now| node.router_mut().apply(&mut change, now));
            if !matches!(applied, Ok(Ok(()))) {
                return;
            }
            compiler.taken_over(change);
        }
    }

    fn with<R>(&self, with: impl FnOnce(&mut Node, Moment) -> R) -> Result<R, String> {
        if let Some(why) = &*lock(&self.failed) {
            return Err(format!("failure: the device has stopped: {why}"));
        }
        Ok(self.gate.enter(|node| {
            node.in_session(true);
            let result = with(node, self.clock.now());
            node.in_session(false);
            result
        }))
    }
}

impl<P: Port> Work<Node> for Breather<'_, P> {
    #[inline]
    fn turn(&mut self, node: &mut Node) -> Turn {
        let clock = &self.shared.clock;
        let now = clock.now();
        let received = node.breathe(now, &mut self.sockets);
        let end = clock.now();
        node.breathed(self.last, end, received > 0);
        self.last = end;
        if (node.router().has_news() || node.has_errands())
            && !self.shared.news.swap(true, Ordering::AcqRel)
        {
            self.shared.follower.get().inspect(|follower| follower.unpark());
        }
        if received > 0 {
            self.busy_at = end;
        }
        let spin = if self.alarm.is_some() { WOKEN_SPIN } else { SPIN };
        match end.since(self.busy_at) {
            _ if self.shared.stop.load(Ordering::Acquire) => Turn::End,
            idle if idle < spin => Turn::Again,
            idle => self.rest(node, end, idle),
        }
    }

    fn sleep(&mut self, at_most: Duration) {
        match &self.alarm {
            Some(alarm) => {
                let descriptors: Vec<_> = self.sockets.iter().flat_map(Port::descriptors).collect();
                alarm.sleep(&descriptors, at_most);
            }
            None => thread::park_timeout(at_most),
        }
    }

    fn wake(&self) -> Wake {
        match self.alarm.clone() {
            Some(alarm) => Box::new(move || alarm.shout()),
            None => {
                let thread = thread::current();
                Box::new(move || thread.unpark())
            }
        }
    }
}

impl<P: Port> Breather<'_, P> {
    /// What a node does that has nothing to do since a while.
    fn rest(&self, node: &mut Node, now: Moment, idle: Duration) -> Turn {
        let until = |most: Duration, due: Option<Moment>| {
            Turn::Sleep(due.map_or(most, |due| most.min(due.since(now))))
        };
        match &self.alarm {
            Some(_) if idle < WOKEN_YIELD => Turn::Sleep(Duration::ZERO),
            Some(alarm) if !alarm.is_set() => {
                // Another look, then to sleep.
                alarm.set();
                Turn::Again
            }
            // Frames wake it, so its chores may wait.
            Some(_) => until(NO_CABLE_SLEEP, node.next_errand(now)),
            None if idle < YIELD => Turn::Sleep(Duration::ZERO),
            None if idle < DOZE => until(SLEEP, Some(node.next_due(now))),
            None if self.sockets.iter().any(|socket| socket.cable().is_some()) => {
                until(LONG_SLEEP, Some(node.next_due(now)))
            }
            None => until(NO_CABLE_SLEEP, node.next_errand(now)),
        }
    }
}

/// What a panic said.
fn words(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(ToString::to_string);
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or("a panic".to_string())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The user's wish that what is under way ends: Q, ctrl-C, `/cancel`, the connection gone. Copies
/// are of the same wish.
#[derive(Clone, Debug, Default)]
pub struct Interrupt(Arc<(Mutex<bool>, Condvar)>);

impl Interrupt {
    /// Says so.
    pub fn raise(&self) {
        *lock(&self.0.0) = true;
        self.0.1.notify_all();
    }

    /// Forgets it: something new begins.
    pub fn clear(&self) {
        *lock(&self.0.0) = false;
    }

    /// Whether it was said.
    pub fn is_raised(&self) -> bool {
        *lock(&self.0.0)
    }

    /// Waits for at most this long; whether it was said.
    pub fn wait(&self, at_most: Duration) -> bool {
        let raised = lock(&self.0.0);
        let (raised, _) = self
            .0
            .1
            .wait_timeout_while(raised, at_most, |raised| !*raised)
            .unwrap_or_else(PoisonError::into_inner);
        *raised
    }
}

/// A session on a live node.
pub struct LiveHost {
    shared: Arc<Shared>,
    underway: Underway,
    interrupt: Interrupt,
    /// Whether it is the one that changes the configuration.
    edits: bool,
    /// Whether it may change nothing: a script without that right.
    reads_only: bool,
    deadline: Option<Moment>,
}

impl LiveHost {
    /// From this moment on nothing waits any more: what is under way then ends, interrupted.
    pub fn until(mut self, deadline: Moment) -> LiveHost {
        self.deadline = Some(deadline);
        self
    }
}

impl LiveHost {
    /// Brings a configuration back that was not confirmed, as soon as no session is changing it.
    fn take_back(&mut self, tree: &Tree) {
        while self.edit().is_err() {
            if self.interrupt.is_raised() || lock(&self.shared.failed).is_some() {
                return;
            }
        }
        // It was in force before, so it is accepted again.
        let _ = self.commit(tree);
        self.release();
    }
}

impl Host for LiveHost {
    fn now(&self) -> Moment {
        self.shared.clock.now()
    }

    fn look(&mut self, look: &mut dyn FnMut(&dyn Status)) {
        if self.shared.with(|node, now| look(&node.status(now))).is_err() {
            look(&());
        }
    }

    fn check(&mut self, menu: &Menu, item: &Item, tree: &Tree) -> Result<(), String> {
        // Whoever reads a script of thousands of lines need not hold up packets.
        node::check(menu, item, tree).unwrap_or_else(|| {
            let check = |node: &mut Node, now| node.status(now).check(menu, item, tree);
            self.shared.with(check)?
        })
    }

    fn tree(&mut self) -> Tree {
        self.shared.with(|node, _| node.tree().clone()).unwrap_or_default()
    }

    fn edit(&mut self) -> Result<Tree, String> {
        if self.reads_only {
            return Err("not enough permissions (9)".to_string());
        }
        if !self.edits {
            let editing = lock(&self.shared.editing);
            let (mut editing, _) = self
                .shared
                .edited
                .wait_timeout_while(editing, EDIT, |editing| *editing)
                .unwrap_or_else(PoisonError::into_inner);
            if *editing {
                return Err("failure: another session is changing the configuration".to_string());
            }
            *editing = true;
            self.edits = true;
        }
        self.shared.with(|node, _| node.tree().clone()).inspect_err(|_| self.release())
    }

    fn commit(&mut self, tree: &Tree) -> Result<(), String> {
        assert!(self.edits, "commit without edit");
        let mut compiler = lock(&self.shared.compiler);
        let (mut change, mut tree) = (compiler.compile(tree), tree.clone());
        // The only part for which packets wait; what was there before is dropped here, behind it.
        self.shared.with(|node, now| node.apply(&mut change, &mut tree, now))??;
        compiler.taken_over(change);
        self.shared.heed(&mut compiler);
        Ok(())
    }

    fn log(&mut self, topics: &str, message: &str) {
        // A device that is gone has no log either.
        let _ = self.shared.with(|node, now| node.log(now, topics, message));
    }

    fn release(&mut self) {
        if std::mem::take(&mut self.edits) {
            *lock(&self.shared.editing) = false;
            self.shared.edited.notify_one();
        }
    }

    fn go_back(&mut self, to: Tree, after: Duration) -> Result<(), String> {
        self.shared.with(|node, now| node.go_back(to, now + after))
    }

    fn start(&mut self, call: &Call) -> Result<Progress, String> {
        let LiveHost { shared, underway, .. } = self;
        underway
            .start(call, shared.clock.now(), || shared.with(|node, now| node.start(call, now))?)
    }

    fn poll(&mut self, out: &mut Vec<Record>) -> Result<Progress, String> {
        let LiveHost { shared, underway, .. } = self;
        underway.poll(out, |poll| {
            // Without a node the poll is left out, and says so itself.
            let _ = shared.with(|node, now| poll(node, now));
        })
    }

    fn wind_up(&mut self, out: &mut Vec<Record>) {
        let LiveHost { shared, underway, .. } = self;
        let mut goes_on = underway.wind_up(|with| {
            let _ = shared.with(|node, now| with(node, now));
        });
        let end = self.now() + WIND_UP;
        while goes_on && self.now() < end {
            match self.poll(out) {
                Ok(Progress::Again(at)) => thread::sleep(at.min(end).since(self.now())),
                _ => goes_on = false,
            }
        }
    }

    fn stop(&mut self) {
        let LiveHost { shared, underway, .. } = self;
        underway.stop(|stop| {
            let _ = shared.with(|node, now| stop(node, now));
        });
    }

    fn wait(&mut self, until: Moment) -> bool {
        let deadline = self.deadline.unwrap_or(until);
        let interrupted = self.interrupt.wait(until.min(deadline).since(self.shared.clock.now()));
        !interrupted && until <= deadline
    }

    fn read_file(&mut self, name: &str) -> Result<Vec<u8>, String> {
        self.underway.files().read(name)
    }

    fn write_file(&mut self, name: &str, content: &[u8]) -> Result<(), String> {
        self.underway.files().write(name, content)
    }

    fn files(&mut self) -> Vec<config::File> {
        self.underway.files().list()
    }

    fn remove_file(&mut self, name: &str) -> Result<(), String> {
        self.underway.files().remove(name)
    }
}

impl Drop for LiveHost {
    fn drop(&mut self) {
        self.stop();
        self.release();
    }
}
