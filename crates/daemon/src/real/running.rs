//! A router that runs on interfaces, from its first thread to its last.
//!
//! ```text
//!  assemble ─► import ─► (interfaces are put in) ─► … ─► stop: deaf ─► queues empty ─► threads end
//! ```

use super::check;
use super::hot_plug::{HotPlug, Jack};
use super::kernel::Mirror;
use super::namespace::WatchedNamespace;
use super::open::{self, Look};
use super::spec::Backend;
use super::supervisor::{Kept, Supervisor};
use super::worker::{self, Trunk, Work, Worker};
use super::{KernelRoutes, Plan, PortSpec, StartError, Tell, identity, limits};
use crate::alarm::Alarm;
use crate::clock::{self, Clock};
use crate::live::{Door, Interrupt, Live};
use crate::machine;
use crate::node::{Node, Socket};
use crate::underway::Files;
use config::{How, Language, Session};
use port::linux::Unavailable;
use port::slab::{SlabError, Slots};
use port::{Batch, Capabilities, Pool, Port, PortCounters, Slab};
use router::PortInfo;
use router::{InterfaceCounts, Trouble};
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use wire::Moment;

/// A router that runs on interfaces. Dropping it ends it, less gently than [`stop`](Running::stop).
pub struct Running {
    live: Option<Live>,
    door: Door,
    workers: Vec<Worker>,
    supervisor: Option<JoinHandle<()>>,
    mirror: Option<Mirror>,
    stop: Arc<AtomicBool>,
    keepers: Alarm,
    /// Of those who move frames: the router's thread and the workers.
    alarms: Vec<Alarm>,
    /// By port, and for each by worker.
    jacks: Vec<Vec<Arc<Jack>>>,
    clock: Clock,
    facts: Vec<(String, String)>,
}

/// What a router has done when it ends.
#[derive(Clone, Debug, Default)]
pub struct Final {
    /// By interface of the router: its name, what passed, what was lost.
    pub interfaces: Vec<(String, InterfaceCounts, Trouble)>,
    /// Packets dropped, by reason.
    pub discards: Vec<(String, u64)>,
}

/// The router's side of a port.
enum RealPort {
    /// The interface itself.
    Direct(HotPlug),
    /// Cables to the workers.
    Trunk(Trunk),
}

/// Frames that a router holds beside those on rings: queues, pools, packets that wait. Of super-frames
/// fewer: each has 64 KiB, which AF_XDP has the kernel pin.
const HELD: usize = 1 << 14;
const SUPER_HELD: usize = 1 << 12;
/// The most frames there are; memory is taken as they are used.
const MOST_FRAMES: usize = 1 << 19;
/// How long what is queued may take to go out at the end.
const WIND_DOWN: Duration = Duration::from_secs(1);
/// By then everything has been counted: a router asks its ports each millisecond.
const COUNTED: Duration = Duration::from_millis(5);

/// Starts a router. `tell` gets what happens to its interfaces, in lines. If `interrupt` is raised
/// meanwhile it goes no further.
///
/// # Errors
/// [`StartError`]; nothing is left running or attached then.
pub fn start(
    plan: &Plan,
    language: &Arc<Language>,
    tell: Tell,
    interrupt: &Interrupt,
) -> Result<Running, StartError> {
    let wrong = |spec: &PortSpec| {
        let name = spec.name.clone();
        move |unavailable| StartError::Port(name, unavailable)
    };
    let plan = &Plan { ports: with_kernel(plan), ..plan.clone() };
    let looks = plan.ports.iter().map(|spec| open::look(spec).map_err(wrong(spec)));
    let looks = looks.collect::<Result<Vec<_>, _>>().or_else(|why| {
        // The configuration is read first, here as well: of two errors its own is told.
        check::rehearse(plan, language)?;
        Err(why)
    })?;
    identity::distinct(&plan.ports).map_err(|(spec, why)| wrong(spec)(why))?;
    let slab = slab(plan, &looks).map_err(StartError::Slab)?;
    let memory = slab.capacity() * slab.slots().stride();
    limits::room(memory as u64).map_err(StartError::Limit)?;
    limits::descriptors(plan.ports.iter().zip(&looks), plan.workers).map_err(StartError::Limit)?;
    let namespace = routes_of(plan).map_err(StartError::Routes)?;
    let mut running = assemble(plan, &looks, &slab).map_err(StartError::System)?;
    running.door.give_files(plan.files.clone());
    import(&running.door, plan, plan.files.clone(), language, interrupt)?;
    let mut places: Vec<WatchedNamespace> = Vec::new();
    for spec in &plan.ports {
        if !places.iter().any(|place| place.is_of(spec)) {
            places.push(WatchedNamespace::watch(spec.namespace.as_deref()).map_err(wrong(spec))?);
        }
    }
    let opened = plan.ports.iter().map(|spec| {
        // A driver may take seconds for it.
        proceed(interrupt)?;
        open::open(spec, &slab).map_err(wrong(spec))
    });
    let opened = opened.collect::<Result<Vec<_>, _>>()?;
    let ports = plan.ports.iter().zip(&running.jacks);
    let ports = ports.map(|(spec, jacks)| Kept::new(spec.clone(), jacks.clone())).collect();
    let Running { door, clock, keepers, alarms, .. } = &running;
    let (door, clock, own, alarms) = (door.clone(), *clock, keepers.clone(), alarms.clone());
    let told = Arc::clone(&tell);
    let mut supervisor = Supervisor { ports, places, slab, door, clock, tell, alarms, own };
    let queues: usize = opened.iter().map(|opened| opened.lines.len()).sum();
    if plan.workers > queues {
        let (workers, idle) = (plan.workers, plan.workers - queues);
        let said = format!("{workers} workers, and {queues} queues: {idle} have nothing to do");
        (supervisor.tell)(&said);
    }
    for (at, opened) in opened.into_iter().enumerate() {
        proceed(interrupt)?;
        let facts = supervisor.put_in(at, opened);
        running.facts.push((plan.ports[at].name.clone(), facts));
    }
    let stop = Arc::clone(&running.stop);
    let thread = thread::Builder::new().name("interfaces".to_string());
    let thread = thread.spawn(move || supervisor.run(&stop)).map_err(StartError::System)?;
    running.supervisor = Some(thread);
    if let Some(namespace) = namespace {
        let mirror = Mirror::start(namespace, &plan.ports, running.door(), told);
        running.mirror = Some(mirror.map_err(StartError::Routes)?);
    }
    Ok(running)
}

/// The namespace whose routes are to be followed, if any.
pub(super) fn routes_of(plan: &Plan) -> Result<Option<Option<&str>>, Unavailable> {
    let mut places = plan.ports.iter().map(|spec| spec.namespace.as_deref());
    match &plan.kernel_routes {
        None => Ok(None),
        Some(KernelRoutes::Of(name)) => Ok(Some(Some(name))),
        Some(KernelRoutes::OfPorts) => {
            let first = places.next().flatten();
            if places.all(|place| place == first) {
                return Ok(Some(first));
            }
            let why = "the ports are in several network namespaces";
            let unavailable =
                Unavailable::because("follow the kernel's routes", std::io::Error::other(why));
            Err(unavailable.remedy("say whose: --kernel-routes=NAMESPACE"))
        }
    }
}

/// The ports; whoever follows the kernel's routes also leaves its own addresses to it, unless it is
/// said otherwise.
pub(super) fn with_kernel(plan: &Plan) -> Vec<PortSpec> {
    let mut ports = plan.ports.clone();
    let beside = ports.iter_mut().filter(|spec| spec.backend != Backend::Tap);
    if plan.kernel_routes.is_some() {
        beside.for_each(|spec| {
            spec.options.kernel.get_or_insert(true);
        });
    }
    ports
}

/// The frames of a router with these interfaces.
pub(super) fn slab(plan: &Plan, looks: &[Look]) -> Result<Slab, SlabError> {
    let longest = looks.iter().map(|look| look.mtu as usize + open::HEADER).max().unwrap_or(0);
    let super_frames = plan.ports.iter().any(|spec| spec.options.offload == Some(true));
    let slots = match longest {
        _ if super_frames => Slots::holding(SUPER_FRAME),
        longest if longest <= Slots::STANDARD.max_frame() => Some(Slots::STANDARD),
        longest => Slots::holding(longest),
    };
    // An interface with a longer MTU says so itself when it is opened.
    let slots = slots.unwrap_or(Slots::STANDARD);
    let frames = frames(&plan.ports, plan.workers, slots, |at| looks[at].queues as usize);
    Slab::with(frames, slots)
}

/// How many frames a router with these ports and workers needs; `queues` says how many a port has.
fn frames(
    ports: &[PortSpec],
    workers: usize,
    slots: Slots,
    queues: impl Fn(usize) -> usize,
) -> usize {
    let ring = |spec: &PortSpec| spec.options.ring.unwrap_or(open::ring(slots)) as usize;
    let held = if slots.max_frame() < SUPER_FRAME { HELD } else { SUPER_HELD };
    // To be received into, received, on the way out and not yet reported as sent.
    let on_rings = |(at, spec): (usize, &PortSpec)| queues(at) * 4 * ring(spec);
    let on_rings: usize = ports.iter().enumerate().map(on_rings).sum();
    let on_cables = ports.len() * workers * 2 * worker::RING;
    (on_rings + on_cables + held).clamp(held, MOST_FRAMES)
}

/// The longest there are: 64 KiB less what a slot keeps for itself.
pub(super) const SUPER_FRAME: usize = 65_152;

/// The router and its workers, the interfaces not put in yet.
fn assemble(plan: &Plan, looks: &[Look], slab: &Slab) -> std::io::Result<Running> {
    let clock = Clock::start();
    let alarm = Alarm::new()?;
    let workers = (0..plan.workers).map(|_| Alarm::new()).collect::<Result<Vec<_>, _>>()?;
    let (mut infos, mut sockets, mut jacks) = (Vec::new(), Vec::new(), Vec::new());
    let mut strands: Vec<Vec<_>> = workers.iter().map(|_| Vec::new()).collect();
    for (at, (spec, look)) in plan.ports.iter().zip(looks).enumerate() {
        let capabilities = open::capabilities(spec, slab.slots());
        infos.push(PortInfo { name: spec.name.clone(), mac: look.mac, capabilities });
        if workers.is_empty() {
            let (plug, jack) = HotPlug::new(capabilities);
            sockets.push(Socket::Cable(RealPort::Direct(plug)));
            jacks.push(vec![jack]);
            continue;
        }
        let (plugs, own) = workers.iter().map(|_| HotPlug::new(capabilities)).unzip();
        let (trunk, of_port) = worker::trunk(at, &workers, plugs, capabilities);
        strands.iter_mut().zip(of_port).for_each(|(strands, strand)| strands.push(strand));
        sockets.push(Socket::Cable(RealPort::Trunk(trunk)));
        jacks.push(own);
    }
    let environment = machine::environment(clock::unix());
    let node = Node::with_ports(&plan.name, infos, slab, environment, clock.now());
    let live = Live::start_woken(node, sockets, clock, plan.cores.first().copied(), alarm.clone())?;
    let mut alarms = vec![alarm.clone()];
    let mut running = Running {
        door: live.door(),
        live: Some(live),
        workers: Vec::new(),
        supervisor: None,
        mirror: None,
        stop: Arc::new(AtomicBool::new(false)),
        keepers: Alarm::new()?,
        alarms: Vec::new(),
        jacks,
        clock,
        facts: Vec::new(),
    };
    for (number, (strands, own)) in strands.into_iter().zip(&workers).enumerate() {
        let (slab, router, cpu) =
            (slab.clone(), alarm.clone(), plan.cores.get(number + 1).copied());
        let work = Work { strands, slab, clock, alarm: own.clone(), router, cpu };
        running.workers.push(Worker::start(number, work)?);
    }
    alarms.extend(workers);
    running.alarms = alarms;
    Ok(running)
}

/// Takes a configuration over, all or nothing.
pub(super) fn import(
    door: &Door,
    plan: &Plan,
    files: Files,
    language: &Arc<Language>,
    interrupt: &Interrupt,
) -> Result<(), StartError> {
    let mut host = door.host(files, interrupt.clone());
    let mut session = Session::new(Arc::clone(language));
    let done = session.run(&plan.startup, How::Import, &mut host, &mut |_| {});
    proceed(interrupt)?;
    done.map(drop).map_err(|error| StartError::Startup(Box::new(error)))
}

/// Whether nobody wants it to end.
fn proceed(interrupt: &Interrupt) -> Result<(), StartError> {
    if interrupt.is_raised() { Err(StartError::Interrupted) } else { Ok(()) }
}

impl Running {
    /// The way in for sessions.
    pub fn door(&self) -> Door {
        self.door.clone()
    }

    /// What each port's interface became: the port's name, and in words.
    pub fn facts(&self) -> &[(String, String)] {
        &self.facts
    }

    /// Why it does not do its work any more, if so: a thread has panicked, of those that forward, or
    /// that follow links and the kernel's routes.
    pub fn failure(&self) -> Option<String> {
        let router = self.live.as_ref().and_then(Live::failure);
        let worker = || {
            let gone = self.workers.iter().position(Worker::is_gone);
            gone.map(|number| format!("worker {number} has ended"))
        };
        let supervisor = || {
            let gone = self.supervisor.as_ref().is_some_and(JoinHandle::is_finished);
            gone.then(|| "who looks after the interfaces has ended".to_string())
        };
        let mirror = || {
            let gone = self.mirror.as_ref().is_some_and(Mirror::is_gone);
            gone.then(|| "who follows the kernel's routes has ended".to_string())
        };
        router.or_else(worker).or_else(supervisor).or_else(mirror)
    }

    /// Ends it: from now on nothing is received, what is queued goes out (for a second at most),
    /// then the interfaces are let go.
    ///
    /// # Errors
    /// It had panicked, with these words.
    pub fn stop(mut self) -> Result<Final, String> {
        self.end_keeper();
        self.jacks.iter().flatten().for_each(|jack| jack.deafen());
        self.alarms.iter().for_each(Alarm::shout);
        let end = self.clock.now() + WIND_DOWN;
        let waits = |node: &mut Node, now: Moment| node.next_errand(now).is_some();
        while self.door.with(waits)? && self.clock.now() < end {
            thread::sleep(Duration::from_millis(1));
        }
        thread::sleep(COUNTED);
        self.workers.clear();
        thread::sleep(COUNTED);
        if let Some(live) = self.live.take() {
            live.stop()?;
        }
        self.door.with(|node, _| counts(node))
    }

    fn end_keeper(&mut self) {
        self.mirror = None;
        self.stop.store(true, Ordering::Release);
        self.keepers.shout();
        if let Some(supervisor) = self.supervisor.take() {
            let _ = supervisor.join();
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.end_keeper();
    }
}

fn counts(node: &Node) -> Final {
    let router = node.router();
    let interfaces = router.program().interfaces.iter().filter(|i| i.id.is_some());
    let count = |i: &router::program::Interface| {
        (i.name.to_string(), router.interface_counts(i.id), router.interface_trouble(i.id))
    };
    let discards = router.discards().iter().map(|(reason, n)| (reason.to_string(), n));
    Final { interfaces: interfaces.map(count).collect(), discards: discards.collect() }
}

impl Port for RealPort {
    #[inline]
    fn receive(&mut self, now: Moment, pool: &mut Pool, batch: &mut Batch) -> usize {
        match self {
            RealPort::Direct(plug) => plug.receive(now, pool, batch),
            RealPort::Trunk(trunk) => trunk.receive(now, pool, batch),
        }
    }

    #[inline]
    fn send(&mut self, now: Moment, pool: &mut Pool, batch: &mut Batch) {
        match self {
            RealPort::Direct(plug) => plug.send(now, pool, batch),
            RealPort::Trunk(trunk) => trunk.send(now, pool, batch),
        }
    }

    fn counters(&self) -> PortCounters {
        match self {
            RealPort::Direct(plug) => plug.counters(),
            RealPort::Trunk(trunk) => trunk.counters(),
        }
    }

    fn capabilities(&self) -> Capabilities {
        match self {
            RealPort::Direct(plug) => plug.capabilities(),
            RealPort::Trunk(trunk) => trunk.capabilities(),
        }
    }

    fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        match self {
            RealPort::Direct(plug) => plug.descriptors(),
            // The workers ring.
            RealPort::Trunk(_) => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::left_out::{lacks, left_out};
    use crate::node;
    use port::linux::Namespace;
    use std::process::Command;

    /// Who looks after the interfaces is missed when it is gone: links are not followed any more.
    #[test]
    fn a_keeper_that_ends_is_a_failure() {
        if lacks(&["ip"]) {
            return;
        }
        let namespace = match Namespace::new() {
            Ok(namespace) => namespace,
            Err(unavailable) => {
                return left_out(unavailable);
            }
        };
        let spec = format!("ether1=tap:lan@{}", namespace.path().display());
        let plan = Plan {
            name: "edge".to_string(),
            ports: vec![spec.parse().unwrap()],
            workers: 0,
            cores: Vec::new(),
            startup: String::new(),
            files: Files::none(),
            kernel_routes: None,
        };
        let language = Arc::new(node::language(&[]));
        // (A link that is not up yet when it is looked at first is said to be off, too.)
        let ends = Arc::new(AtomicBool::new(false));
        let may_end = ends.clone();
        let tell: Tell = Arc::new(move |line| {
            let is_off = line.contains("is switched off");
            assert!(!is_off || !may_end.load(Ordering::Relaxed), "{line}");
        });
        // What was told to end meanwhile does not begin.
        let interrupt = Interrupt::default();
        interrupt.raise();
        let ended = start(&plan, &language, Arc::clone(&tell), &interrupt).err();
        assert!(matches!(ended, Some(StartError::Interrupted)), "{ended:?}");
        let running = start(&plan, &language, tell, &Interrupt::default()).unwrap();
        assert_eq!(running.failure(), None);
        ends.store(true, Ordering::Relaxed);
        let mut ip = Command::new("ip");
        ip.args(["link", "set", "lan", "down"]);
        assert!(namespace.output(ip).unwrap().status.success());
        let end = running.clock.now() + Duration::from_secs(60);
        while running.failure().is_none() && running.clock.now() < end {
            thread::sleep(Duration::from_millis(10));
        }
        let failure = running.failure().unwrap_or_default();
        assert_eq!(failure, "who looks after the interfaces has ended");
        running.stop().unwrap();
    }
}
