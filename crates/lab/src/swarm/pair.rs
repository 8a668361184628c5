//! A box of the swarm: the router under test, and beside it one that takes the slow path only.
//!
//! ```text
//!                  ┌─► [ fast ] ─────► frames, all that the console shows ─┐
//! frames, lines ───┤                                                       ├─ equal
//!                  └─► [ reference ] ─► frames, all that the console shows ┘
//! ```

use super::case;
use config::{Interpreter, Language, Started, Status, Value};
use port::memory::{self, MemoryPort};
use port::{Batch, Capabilities, Pool, Port, Slab};
use router::{COMMANDS, Link, MENUS, PortInfo, Router};
use std::sync::{Arc, LazyLock};
use wire::{MacAddr, Moment};

/// A frame that left, and by which port (from 0).
pub(super) type Sent = (usize, Vec<u8>);

/// One router and its cables.
struct Twin {
    router: Router,
    console: Interpreter,
    ports: Vec<MemoryPort>,
    wires: Vec<MemoryPort>,
    slab: Slab,
    pool: Pool,
    /// When it last breathed.
    now: Moment,
}

/// The two routers of a box.
pub(super) struct Pair {
    number: u8,
    n_ports: u8,
    seed: u64,
    twins: [Twin; 2],
    links: Vec<Link>,
    /// Whether a restart has given items other numbers than those of the configuration it had once.
    pub(super) is_renumbered: bool,
}

static LANGUAGE: LazyLock<Arc<Language>> =
    LazyLock::new(|| Arc::new(Language::new(MENUS.to_vec(), COMMANDS)));

/// Frames for each router.
const FRAMES: usize = 2048;

impl Twin {
    fn new(number: u8, n_ports: u8, seed: u64, reference: bool) -> Twin {
        let slab = Slab::new(FRAMES).expect("frames for a box");
        let infos = (1..=n_ports).map(|port| PortInfo {
            name: format!("ether{port}"),
            mac: mac(number, port),
            capabilities: Capabilities::default(),
        });
        let mut router = Router::new(infos.collect(), &slab);
        router.set_seed(seed);
        router.set_reference(reference);
        let (ports, wires) = (0..n_ports).map(|_| memory::wire(256)).unzip();
        let mut console = Interpreter::of(LANGUAGE.clone());
        *console.tree_mut() = router.factory_tree();
        let pool = slab.pool();
        Twin { router, console, ports, wires, slab, pool, now: Moment::ZERO }
    }

    /// Gives back the frames it holds, so that its slab ends with it: with nothing configured it makes none of its
    /// own, and time passes until what waits has gone, out of its ports or of time.
    fn end(&mut self) {
        // One that refuses that is left with what it has.
        _ = self.router.configure(&self.router.factory_tree(), self.now);
        for tenths in 1..3000 {
            let later = self.now + std::time::Duration::from_millis(100 * tenths);
            if self.breathe(later).is_err() || self.router.held().total() == 0 {
                break;
            }
        }
    }

    fn run(&mut self, script: &str, now: Moment) -> Result<String, String> {
        let before = self.console.tree().clone();
        let output = self.console.run(script, &self.router.status(now));
        let output = output.map_err(|error| error.to_string())?;
        if let Err(error) = self.router.configure(self.console.tree(), now) {
            *self.console.tree_mut() = before;
            return Err(error.to_string());
        }
        for call in &output.calls {
            match self.router.start(call, self.console.tree(), now)? {
                Started::Done(_) => {}
                Started::Job(_) => return Err("the line takes time".to_string()),
            }
        }
        Ok(output.text)
    }

    fn receive(&mut self, port: usize, bytes: &[u8], now: Moment) {
        // Without a free frame the wire drops, as a full ring does.
        let Some(mut frame) = self.pool.alloc(bytes.len()) else { return };
        self.slab.bytes_mut(&mut frame).copy_from_slice(bytes);
        let mut batch = Batch::new();
        batch.push(frame);
        self.wires[port].send(now, &mut self.pool, &mut batch);
    }

    fn breathe(&mut self, now: Moment) -> Result<Vec<Sent>, String> {
        self.now = now;
        for breaths in 0.. {
            if self.router.breathe(now, &mut self.ports) == 0 {
                break;
            }
            if breaths > 1000 {
                return Err("the router does not come to rest".to_string());
            }
        }
        let mut sent = Vec::new();
        let mut batch = Batch::new();
        for (port, wire) in self.wires.iter_mut().enumerate() {
            while wire.receive(now, &mut self.pool, &mut batch) > 0 {
                let frames = batch.as_slice().iter();
                sent.extend(frames.map(|frame| (port, self.slab.bytes(frame).to_vec())));
                batch.free_all(&mut self.pool);
            }
        }
        let frames = self.router.frames();
        if !frames.balance() {
            let discards: Vec<_> = self.router.discards().iter().collect();
            return Err(format!("frames are not accounted for: {frames:?}, {discards:?}"));
        }
        let ours = self.pool.stock() + self.router.frames_in_pool();
        let (in_use, held) = (self.slab.frames_out() - ours, self.router.held());
        if in_use as u64 != held.total() {
            return Err(format!("{in_use} frames are in use, but {held:?}"));
        }
        if self.router.connections().len() > self.router.connections().max_entries() {
            return Err("there are more connections than there may be".to_string());
        }
        Ok(sent)
    }

    /// All that the console can show, one line for each item, in an order that does not depend on
    /// chance.
    fn state(&mut self, now: Moment) -> Vec<String> {
        let tree = self.console.tree();
        let status = self.router.status(now);
        let mut lines = Vec::new();
        for menu in MENUS {
            let show = |item: Option<&config::Item>| {
                let told = menu.properties.iter().filter_map(|property| {
                    let own = item.and_then(|item| item.get(property.name).cloned());
                    let value = own.or_else(|| status.value(menu, item, property.name))?;
                    let quiet = value == Value::Bool(false);
                    (!quiet).then(|| format!(" {}={value}", property.name))
                });
                format!("{}{}", menu.path, told.collect::<String>())
            };
            if !menu.is_list() {
                lines.push(show(None));
                continue;
            }
            lines.extend(tree.items(menu.path).iter().map(|item| show(Some(item))));
            let mut rows: Vec<_> =
                status.dynamic(menu).iter().map(|item| show(Some(item))).collect();
            rows.sort();
            lines.append(&mut rows);
        }
        lines
    }
}

impl Drop for Twin {
    fn drop(&mut self) {
        // One that has panicked is left as it is.
        if !std::thread::panicking() {
            self.end();
        }
    }
}

impl Pair {
    /// A box with this configuration.
    ///
    /// # Errors
    /// The line that was refused.
    pub(super) fn new(number: u8, spec: &case::Box, seed: u64) -> Result<Pair, String> {
        let twins = [false, true].map(|reference| Twin::new(number, spec.ports, seed, reference));
        let links = vec![Link::default(); spec.ports.into()];
        let mut pair =
            Pair { number, n_ports: spec.ports, seed, twins, links, is_renumbered: false };
        for line in &spec.lines {
            pair.run(line, Moment::ZERO).map_err(|error| format!("{line}: {error}"))?;
        }
        Ok(pair)
    }

    /// The router under test.
    pub(super) fn router(&self) -> &Router {
        &self.twins[0].router
    }

    /// Types a line at both.
    ///
    /// # Errors
    /// What both said, or that they said different things.
    pub(super) fn run(&mut self, line: &str, now: Moment) -> Result<String, String> {
        let [fast, reference] = self.twins.each_mut().map(|twin| twin.run(line, now));
        if fast != reference {
            return Err(format!("DIFFERENT: fast {fast:?}, reference {reference:?}"));
        }
        fast
    }

    /// The configuration, as a script.
    pub(super) fn export(&mut self, now: Moment) -> Result<String, String> {
        self.run("/export", now)
    }

    /// Both as they are after a start from their export.
    ///
    /// # Errors
    /// The export is refused, or does not lead to the same export.
    pub(super) fn restart(&mut self, now: Moment) -> Result<(), String> {
        let export = self.export(now)?;
        self.start_anew();
        self.run(&export, now)
            .map_err(|error| format!("the export is refused: {error}\n{export}"))?;
        let again = self.export(now)?;
        // What stands above items tells of the router as it runs, not of the configuration.
        let said = |export: &str| -> Vec<String> {
            export.lines().filter(|line| !line.starts_with('#')).map(String::from).collect()
        };
        if said(&again) != said(&export) {
            return Err(format!("the export of an export is another one:\n{export}\n---\n{again}"));
        }
        for port in 0..self.links.len() {
            let link = self.links[port];
            self.set_link(port, link, now)?;
        }
        Ok(())
    }

    /// Both with nothing configured.
    fn start_anew(&mut self) {
        let (number, n_ports, seed) = (self.number, self.n_ports, self.seed);
        self.twins = [false, true].map(|reference| Twin::new(number, n_ports, seed, reference));
    }

    /// Takes over the configuration that it had once; by starting with it, if its items have other numbers
    /// now: what a router holds of interfaces goes by them.
    pub(super) fn restore(&mut self, trees: &[config::Tree; 2], now: Moment) -> Result<(), String> {
        if std::mem::take(&mut self.is_renumbered) {
            self.start_anew();
        }
        for (twin, tree) in self.twins.iter_mut().zip(trees) {
            *twin.console.tree_mut() = tree.clone();
            twin.router.configure(tree, now).map_err(|error| error.to_string())?;
        }
        Ok(())
    }

    /// The configurations.
    pub(super) fn trees(&self) -> [config::Tree; 2] {
        self.twins.each_ref().map(|twin| twin.console.tree().clone())
    }

    /// Says what has become of a port's link.
    pub(super) fn set_link(&mut self, port: usize, link: Link, now: Moment) -> Result<(), String> {
        self.links[port] = link;
        for twin in &mut self.twins {
            twin.router.set_link(port, link, now).map_err(|error| error.to_string())?;
        }
        Ok(())
    }

    /// A frame has come by a port.
    pub(super) fn receive(&mut self, port: usize, bytes: &[u8], now: Moment) {
        for twin in &mut self.twins {
            twin.receive(port, bytes, now);
        }
    }

    /// Both do what there is to do; what they have sent, which must be the same.
    ///
    /// # Errors
    /// How they differ, or what is wrong with one.
    pub(super) fn breathe(&mut self, now: Moment) -> Result<Vec<Sent>, String> {
        let [fast, reference] = self.twins.each_mut().map(|twin| twin.breathe(now));
        let (fast, reference) = (fast?, reference.map_err(|error| format!("reference: {error}"))?);
        if fast == reference {
            return Ok(fast);
        }
        let at = fast.iter().zip(&reference).position(|(a, b)| a != b);
        let at = at.unwrap_or(fast.len().min(reference.len()));
        let show = |frames: &[Sent]| match frames.get(at) {
            Some((port, bytes)) => {
                let hex: String = bytes.iter().take(64).map(|byte| format!("{byte:02x}")).collect();
                format!("ether{} {hex}, {} bytes", port + 1, bytes.len())
            }
            None => "nothing".to_string(),
        };
        let (a, b) = (show(&fast), show(&reference));
        Err(format!("they send different frames; number {at}:\n fast {a}\n reference {b}"))
    }

    /// Compares all that their consoles show.
    ///
    /// # Errors
    /// The lines that differ.
    pub(super) fn compare(&mut self, now: Moment) -> Result<(), String> {
        let [fast, reference] = self.twins.each_mut().map(|twin| twin.state(now));
        if fast == reference {
            return Ok(());
        }
        let only = |name: &str, these: &[String], those: &[String]| {
            let lines = these.iter().filter(|line| !those.contains(line)).take(8);
            lines.map(|line| format!("\n {name}: {line}")).collect::<String>()
        };
        let (a, b) = (only("fast", &fast, &reference), only("reference", &reference, &fast));
        Err(format!("they show different things:{a}{b}"))
    }

    /// When it has something to do that no frame brings, if it has.
    pub(super) fn next_errand(&self, now: Moment) -> Option<Moment> {
        let errands = self.twins.iter().filter_map(|twin| twin.router.next_errand(now));
        errands.min()
    }
}

/// The MAC address of a port (from 1).
fn mac(number: u8, port: u8) -> MacAddr {
    MacAddr([0x02, 0, 0, 0x5a, number, port])
}
