//! Faults: what goes wrong around a router's process, and how it ends.

use super::ChaosError;
use super::rig::{Host, Rig};
use crate::swarm::dice::Dice;
use std::fmt;
use std::time::Duration;

/// Something that goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// The process stands still for a while: SIGSTOP, SIGCONT.
    Stopped,
    /// The process is killed, and started anew as a supervisor would.
    Killed,
    /// An interface is deleted, and made anew.
    Deleted,
    /// A link goes down, and up again.
    Down,
    /// There is no more memory for a while, and lines are typed that need some.
    NoMemory,
    /// The disk of its files is full, and it is to write one.
    FullDisk,
    /// Somebody changes the configuration, and changes it back.
    Changed,
    /// Both processors are busy with something else.
    Busy,
}

/// All of them; what is there twice is drawn more often.
const ALL: &[Fault] = &[
    Fault::Stopped,
    Fault::Killed,
    Fault::Deleted,
    Fault::Down,
    Fault::NoMemory,
    Fault::FullDisk,
    Fault::Changed,
    Fault::Changed,
    Fault::Busy,
];

/// Lines, and those that undo them.
const CHANGES: &[[&str; 2]] = &[
    [
        "/ip firewall filter add chain=forward action=drop comment=chaos",
        "/ip firewall filter remove [find comment=chaos]",
    ],
    ["/ip address disable [find interface=ether2]", "/ip address enable [find interface=ether2]"],
    ["/interface ethernet disable ether1", "/interface ethernet enable ether1"],
    ["/ip settings set ip-forward=no", "/ip settings set ip-forward=yes"],
    ["/ip firewall nat disable [find]", "/ip firewall nat enable [find]"],
    [
        "/queue simple add name=chaos target=10.0.1.0/24 max-limit=64k/64k",
        "/queue simple remove chaos",
    ],
    ["/ip firewall connection remove [find]", ""],
    ["/ip arp remove [find]", ""],
];

/// A line that takes eight megabytes: comments of two kilobytes each.
const HUNGRY: &str = "{ :local c \"0123456789abcdef\"; :for i from=1 to=7 do={ :set c ($c . $c) }; \
                      :for i from=1 to=4000 do={ /ip firewall address-list add list=chaos \
                      address=(10.64.0.0 + $i) comment=$c } }";
const FED: &str = "/ip firewall address-list remove [find list=chaos]";

impl Fault {
    /// One of them.
    pub(super) fn draw(dice: &mut Dice) -> Fault {
        dice.of(ALL)
    }

    /// Lets it happen, from its begin to its end; what was seen meanwhile.
    ///
    /// # Errors
    /// [`ChaosError`]: the machine could not be made to.
    pub(super) fn inflict(self, rig: &mut Rig, dice: &mut Dice) -> Result<String, ChaosError> {
        let a_while = Duration::from_millis(dice.of(&[10, 100, 1000, 3000]));
        let waited = format!("{} ms", a_while.as_millis());
        let host = dice.of(&[Host::A, Host::B]);
        match self {
            Fault::Stopped => {
                rig.signal("STOP")?;
                std::thread::sleep(a_while);
                rig.signal("CONT")?;
                Ok(waited)
            }
            Fault::Killed => {
                rig.signal("KILL")?;
                rig.await_end();
                std::thread::sleep(a_while);
                rig.start()?;
                Ok(format!("started anew after {waited}"))
            }
            Fault::Deleted => {
                rig.disconnect(host)?;
                std::thread::sleep(a_while);
                rig.connect(host)?;
                Ok(format!("{host:?}'s, {waited}"))
            }
            Fault::Down => {
                rig.set_link(host, false)?;
                std::thread::sleep(a_while);
                rig.set_link(host, true)?;
                Ok(format!("{host:?}'s, {waited}"))
            }
            Fault::NoMemory => {
                // Enough for what it does anyway, not for what is typed.
                rig.limit_memory(Some(dice.of(&[64, 1024, 4096])))?;
                let said = rig.type_line(HUNGRY);
                std::thread::sleep(a_while);
                // Who could not answer any more takes a moment to end.
                if said.is_err() && !rig.has_ended() {
                    std::thread::sleep(Duration::from_secs(1));
                }
                if rig.has_ended() {
                    rig.start()?;
                    return Ok("ended for lack of memory, and was started anew".to_string());
                }
                rig.limit_memory(None)?;
                let _ = rig.type_line(FED);
                Ok(outcome(&said))
            }
            Fault::FullDisk => {
                rig.fill_disk()?;
                let said = rig.type_line("/export file=chaos");
                rig.free_disk()?;
                let after = rig.type_line("/export file=chaos");
                Ok(format!("{}; with room again: {}", outcome(&said), outcome(&after)))
            }
            Fault::Changed => {
                let [line, back] = dice.of(CHANGES);
                let said = rig.type_line(line);
                std::thread::sleep(a_while);
                if !back.is_empty()
                    && let Err(why) = rig.type_line(back)
                {
                    return Err(ChaosError::Command(format!("{back}: {why}")));
                }
                Ok(format!("{line}: {}", outcome(&said)))
            }
            Fault::Busy => {
                rig.burn(a_while.max(Duration::from_secs(1)));
                Ok(waited)
            }
        }
    }
}

fn outcome(said: &Result<String, String>) -> String {
    match said {
        Ok(_) => "done".to_string(),
        Err(why) => {
            // The file that the line was typed from is of no interest.
            let why = why.lines().next().unwrap_or("without a word");
            format!("refused ({})", why.split("line.rsc:").last().unwrap_or(why).trim())
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Fault::Stopped => "stopped (SIGSTOP)",
            Fault::Killed => "killed (SIGKILL)",
            Fault::Deleted => "an interface deleted",
            Fault::Down => "a link down",
            Fault::NoMemory => "no memory",
            Fault::FullDisk => "a full disk",
            Fault::Changed => "another configuration",
            Fault::Busy => "processors busy",
        })
    }
}
