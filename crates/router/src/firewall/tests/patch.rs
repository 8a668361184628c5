//! A table in which few rules have changed: compiled in part, it is what it is when compiled whole.

use super::classes::Dice;
use super::*;
use crate::firewall::rule::Step;

/// Everything of a table but the numbers of its chains; of the same order of chains, their classes too.
fn shown(filter: &Filter) -> (Vec<String>, String) {
    let rules = filter.rules();
    let name = |chain: u32| rules.chains[chain as usize].name.clone();
    let mut chains: Vec<String> = Vec::new();
    for chain in &rules.chains {
        let mut text = format!("{} {}\n", chain.name, chain.reach);
        for at in chain.rules.clone().map(|at| at as usize) {
            let (rule, note) = (&rules.rules[at], &rules.notes[at]);
            let step = match rule.step {
                Step::Jump(chain) => format!("jump {}", name(chain)),
                step => format!("{step:?}"),
            };
            let rest = (&rule.matchers, rule.counter, &rule.log, &rule.add);
            text += &format!("{step} {rest:?} {:?} {note:?}\n", rules.gates[at]);
        }
        chains.push(text);
    }
    let names: Vec<_> = rules.chains.iter().map(|chain| &chain.name).collect();
    let classes = format!("{names:?} {:?}", rules.classes);
    chains.sort();
    (chains, classes)
}

impl Dice {
    /// A change of one or two of so many rules.
    fn change(&mut self, n: u64) -> String {
        let at = self.below(n);
        match self.below(7) {
            0 => format!("remove {at}\n"),
            1 => format!("disable {at}\n"),
            2 => format!("enable {at}\n"),
            3 => format!("move {at} destination={}\n", self.below(n)),
            4 => {
                let chain = self.one(&["forward", "own", "deep"]);
                self.rule(chain)
            }
            5 => format!("set {at} in-interface={}\n", self.one(&["ether1", "!ether2"])),
            _ => format!("set {at} src-address={} action=drop\n", self.prefix()),
        }
    }
}

#[test]
fn is_what_the_whole_is() {
    let (mut patches, mut same) = (0, 0);
    for seed in 0..24 {
        let mut dice = Dice(seed);
        let long = 3 + dice.below(200);
        let mut script = "/ip firewall filter\n".to_string();
        for (chain, n) in [("forward", long), ("own", 9), ("deep", 4)] {
            (0..n).for_each(|_| script += &dice.rule(chain));
        }
        script += "add chain=forward action=jump jump-target=own\n";
        script += "add chain=own action=jump jump-target=deep\n";
        let mut fixture = Fixture::new(&script);
        for _ in 0..30 {
            let before = fixture.session.tree().clone();
            let n = before.items("/ip firewall filter").len() as u64;
            let change = format!("/ip firewall filter\n{}", dice.change(n));
            if fixture.session.run(&change, &Checked).is_err() {
                continue;
            }
            let old = fixture.filter.clone();
            let patched = fixture.setting(|setting| old.patched(setting, &before));
            fixture.compile();
            if let Some(patched) = patched {
                let (got, whole) = (shown(&patched), shown(&fixture.filter));
                assert_eq!(got.0, whole.0, "{seed}: {change}");
                same += u32::from(got.1 == whole.1);
                patches += 1;
            }
        }
    }
    assert!(patches > 60 && same * 2 > patches, "{patches}, {same} with the same classes");
}
