//! `/tool analyze`: what it says of rules, and of a change before it is made. (What it finds is compared
//! with all packets of a small world beside it, in `firewall/analyze/tests.rs`.)

use crate::rig::Rig;
use config::{Progress, Started};

/// What a command says, a line for each record.
fn says(rig: &mut Rig, script: &str) -> Result<String, String> {
    let output = rig.console.run(script, &rig.router.status(rig.now));
    let call = output.map_err(|error| error.text)?.calls.remove(0);
    let Started::Job(mut job) = rig.router.start(&call, rig.console.tree(), rig.now)? else {
        panic!("{script}: done at once")
    };
    let mut records = Vec::new();
    while let Progress::Again(_) = job.poll(&mut rig.router, rig.now, &mut records)? {}
    let line = |record: config::Record| {
        let values = record.0.iter().map(|(name, value)| format!("{name}={value}"));
        values.collect::<Vec<_>>().join(" | ") + "\n"
    };
    Ok(records.into_iter().map(line).collect())
}

const RULES: &str = "/ip address add address=10.0.1.254/24 interface=ether1
/ip firewall address-list add list=office address=10.0.0.0/8
/ip firewall filter
add chain=forward connection-state=established,related action=fasttrack-connection
add chain=forward protocol=tcp dst-port=1-1023 action=drop
add chain=forward protocol=tcp dst-port=22 action=accept
add chain=forward src-address=0.0.0.0/1 action=jump jump-target=own
add chain=forward src-address=128.0.0.0/1 action=accept
add chain=forward protocol=udp action=drop
add chain=own limit=5,5:packet action=accept
add chain=own src-address-list=office action=drop
add chain=own action=drop
/ip firewall mangle
add chain=prerouting action=mark-packet new-packet-mark=all
add chain=prerouting packet-mark=other action=mark-packet new-packet-mark=third";

#[test]
fn rules_that_do_nothing() {
    let mut rig = Rig::new(2, RULES);
    let said = says(&mut rig, "/tool analyze rules").unwrap();
    for line in [
        "table=filter | rule=2 | finding=shadowed | why=rule 1 takes all its packets",
        "table=filter | rule=5 | finding=unreachable | why=rules 4, 6, 7, 8 together take all its packets",
        "table=filter | rule=7 | finding=redundant | why=without it rule 8 would do the same",
        "table=filter | rule=1 | finding=never-hit",
        "table=mangle | rule=1 | finding=unreachable | why=no such packet gets there",
    ] {
        assert!(said.contains(line), "{line}\n{said}");
    }
    let said = says(&mut rig, "/tool analyze rules table=mangle").unwrap();
    assert!(!said.contains("table=filter") && said.contains("table=mangle"), "{said}");
}

#[test]
fn changes_are_told_before_they_are_made() {
    let mut rig = Rig::new(2, RULES);
    let filter = "/ip firewall filter";
    let before = rig.console.tree().clone();
    for (script, expected) in [
        (
            format!("{filter} set 1 dst-port=1-1022"),
            "tcp 10.0.0.1:40000->10.0.0.2:1023 in ether1 out ether1 new | before=drop (rule 1)",
        ),
        (format!("{filter} set 1 comment=x"), ""),
        (format!("{filter} remove 2"), ""),
        (format!("{filter} set 7 action=accept"), "may=not limit=5,5:packet"),
        ("/ip firewall address-list add list=office address=192.0.2.0/24".to_string(), ""),
        (
            "/ip firewall nat add chain=srcnat action=masquerade".to_string(),
            "after=masquerade (rule 0)",
        ),
        ("/ip firewall mangle remove 0".to_string(), "differs=what is done to it on the way"),
    ] {
        let said = says(&mut rig, &format!("/tool analyze change script=\"{script}\"")).unwrap();
        let right = if expected.is_empty() { said.is_empty() } else { said.contains(expected) };
        assert!(right, "{script}: {expected}\n{said}");
    }
    assert_eq!(*rig.console.tree(), before, "nothing is done");
    let why = says(&mut rig, "/tool analyze change script=\"/ip firewall filter add x=1\"");
    assert!(why.unwrap_err().contains("script:"));
}
