//! Any text as a script for the router's menus.
//!
//! A script is taken whole or not at all; what was taken can be exported, and its export makes the
//! same configuration again. A script that loops for ever is interrupted: the interpreter asks its
//! host only so often.

use crate::LANGUAGE;
use config::{Interpreter, Menu};
use port::Slab;
use router::{MENUS, PortInfo, Router};
use wire::{MacAddr, Moment};

/// Runs `input` as a script on a router with four ports.
pub fn run(input: &[u8]) {
    let script = String::from_utf8_lossy(input);
    let slab = Slab::new(64).expect("a slab of 64 frames");
    let mut router = Router::new(ports(4), &slab);
    let mut console = console(&router);
    let before = export(&mut console);
    match console.run(&script, &()) {
        Err(error) => {
            let lines = script.lines().count().max(1);
            assert!(!error.to_string().is_empty());
            assert_eq!(export(&mut console), before, "half-applied, {lines} lines, {error}");
        }
        Ok(_) => {
            let typed = export(&mut console);
            let mut other = self::console(&router);
            if let Err(error) = other.run(&typed, &()) {
                panic!("the export is refused: {error}\n{typed}");
            }
            assert_eq!(export(&mut other), typed, "exported again");
            if router.configure(console.tree(), Moment::ZERO).is_ok() {
                router.configure(other.tree(), Moment::ZERO).expect("the same configuration");
            }
        }
    }
}

/// A console on what a router comes with.
pub(crate) fn console(router: &Router) -> Interpreter {
    let mut console = Interpreter::of(LANGUAGE.clone());
    *console.tree_mut() = router.factory_tree();
    console
}

/// `ether1`, `ether2` and so on.
pub(crate) fn ports(n: u8) -> Vec<PortInfo> {
    let port = |i| PortInfo {
        name: format!("ether{i}"),
        mac: MacAddr([2, 0, 0, 0, 0, i]),
        capabilities: Default::default(),
    };
    (1..=n).map(port).collect()
}

fn export(console: &mut Interpreter) -> String {
    match console.run("/export", &()) {
        Ok(output) => output.text,
        Err(error) => panic!("/export: {error}"),
    }
}

/// Paths, properties and commands, for mutation.
pub fn words() -> Vec<Vec<u8>> {
    let names = |menu: &&'static Menu| {
        let properties = menu.properties.iter().map(|property| format!(" {}=", property.name));
        [format!("\n{}\n", menu.path)].into_iter().chain(properties)
    };
    let commands = "add set remove print find enable disable move export comment unset get [find ] \
                    ether1 bridge1 10.0.0.1/24 yes no 0 1 *1 \\\n \" ; { } $x , :local :global \
                    :set :if :foreach :for :while :do :put :pick :len :find :return :parse x do={ \
                    else={ on-error={ in= from=1 to=9 while=( ( ) [ ] -> . + - * / ~ && || = != 5s";
    let words = commands.split(' ').map(|word| format!(" {word} "));
    MENUS.iter().flat_map(names).chain(words).map(String::into_bytes).collect()
}
