//! Files, and what goes on printing.

use super::bench::Bench;
use super::*;

#[test]
fn export_and_import() {
    let mut bench = Bench::new();
    bench.types("/interface bridge add name=lan; /ip address add address=1.1.1.1/24 interface=lan");
    let exported = bench.types("/export");
    assert_eq!(bench.types("/export file=all; /interface export terse file=part.rsc"), "");
    assert_eq!(bench.device.files["all.rsc"], exported.as_bytes());
    assert_eq!(bench.device.files["part.rsc"], b"/interface bridge add name=lan\n");
    bench.types("/interface bridge print file=bridges");
    assert!(bench.device.files["bridges.txt"].starts_with(b"Flags: X - disabled"));

    let mut other = Bench::new();
    other.device.files = std::mem::take(&mut bench.device.files);
    let text = other.types(
        "/ip address
import file-name=all.rsc",
    );
    // There is no import below /ip address.
    assert!(text.starts_with("!bad command name import"), "{text}");
    let done = "\nScript file loaded and executed successfully\n";
    assert_eq!(other.types("/import all.rsc; /export"), format!("{done}{exported}"));
    assert_eq!(other.device.log, ["edit", "commit", "release"]);
    assert_eq!(other.session.place(), "/ip address");
}

#[test]
fn a_failed_import_leaves_nothing() {
    let mut bench = Bench::new();
    let bad = "/interface bridge\nadd name=a\nadd nme=b";
    bench.device.files.insert("bad.rsc".to_string(), bad.as_bytes().to_vec());
    let twice = "/import bad.rsc";
    bench.device.files.insert("twice.rsc".to_string(), twice.as_bytes().to_vec());
    let itself = "/import itself.rsc";
    bench.device.files.insert("itself.rsc".to_string(), itself.as_bytes().to_vec());
    let before = bench.device.tree.clone();
    let expected = "!expected end of command (line 3 column 5) (line 3 column 5)";
    for script in ["/import bad.rsc", "/import file-name=twice.rsc"] {
        assert_eq!(bench.types(script), expected, "{script}");
        assert_eq!(bench.device.tree, before, "{script}");
    }
    let error = bench.session.run("/import bad.rsc", How::Typed, &mut bench.device, &mut |_| {});
    let error = error.map(|_| ()).unwrap_err();
    assert_eq!(error.source, "add nme=b");
    assert!(error.help.starts_with("in file bad.rsc\nparameters are"), "{}", error.help);
    assert_eq!(
        bench.types(
            ":do { /import bad.rsc } on-error={ :put caught }\n/interface bridge add name=x"
        ),
        "caught\n"
    );
    assert_eq!(bench.device.tree.items(BRIDGE.path).len(), 1);
    assert!(bench.types("/import itself.rsc").starts_with("!maximum nesting depth"));
    assert_eq!(bench.types("/import no.rsc"), "!no such item (line 1 column 9)");
}

#[test]
fn again_and_again() {
    let mut bench = Bench::new();
    bench.device.patience = Some(2);
    let text = bench.types("/interface bridge print count-only interval=1");
    assert_eq!(text, "<0\n><0\n><0\n>!interrupted (line 1 column 19)");
    assert_eq!(bench.device.now, wire::Moment::from_nanos(3_000_000_000));
    let mut bench = Bench::new();
    bench.device.patience = Some(1);
    let request = Request::new("/interface/bridge/print").with("interval", "1s");
    assert_eq!(bench.executes(&request), "trap Some(2) interrupted\n");
}

/// What appears, changes and goes is told, once.
#[test]
fn following() {
    let item = |n: u32, last: u8| {
        let values = [("address", Value::Cidr([10, 0, 0, last].into(), 32))];
        Item { dynamic: true, ..Item::new(ItemId(FIRST_DYNAMIC + n), values.into()) }
    };
    let mut bench = Bench::new();
    bench.device.patience = Some(3);
    bench.device.later =
        vec![vec![item(0, 1), item(1, 2)], vec![item(0, 1), item(1, 3)], vec![item(1, 3)]];
    bench.device.dynamic = vec![item(0, 1)];
    let request = Request::new("/ip/address/listen").with(".proplist", ".id,address");
    assert_eq!(
        bench.executes(&request),
        "=.id=*80000001=address=10.0.0.2/32\n=.id=*80000001=address=10.0.0.3/32\n\
         =.id=*80000000=.dead=true\ntrap Some(2) interrupted\n"
    );
    let mut bench = Bench::new();
    bench.device.patience = Some(1);
    bench.device.later = vec![vec![item(0, 1), item(1, 2)]];
    bench.device.dynamic = vec![item(0, 1)];
    let text = bench.types("/ip address print follow terse");
    assert_eq!(
        text,
        " 0 D address=10.0.0.1/32\n 1 D address=10.0.0.2/32\n!interrupted (line 1 column 13)"
    );
}

/// A tolerant import keeps what has no meaning, says how much, and an export has it again.
#[test]
fn an_import_may_be_tolerant() {
    assert_eq!(menu::faults(&[&inert::MENU]), [""; 0]);
    let mut interpreter = Interpreter::new([&inert::MENU]);
    let script = "/lcd\nset a=b \\\n    c=\"d e\"\n/port set 0 name=x\n";
    let (tolerated, kept) = inert::tolerant(script).unwrap();
    assert_eq!(kept, 2);
    interpreter.run(&tolerated, &()).unwrap();
    let export = interpreter.run("/export", &()).unwrap().text;
    let expected = "# inert: there is no display\n/lcd\nset a=b c=\"d e\"\n\
        # inert: serial ports are the host's\n/port\nset 0 name=x\n";
    assert_eq!(export, expected);
    let terse = interpreter.run("/export terse", &()).unwrap().text;
    assert!(terse.contains("\n/lcd set a=b c=\"d e\"\n"), "{terse}");
    let print = interpreter.run("/system inert print", &()).unwrap().text;
    assert!(print.contains(";;; there is no display"), "{print}");
}

#[test]
fn files_are_shown_written_and_taken_away() {
    let mut bench = Bench::new();
    bench.types("/interface bridge add name=lan; /export file=all");
    let mut check = |script: &str, expected: &str| {
        assert_eq!(bench.types(script), expected, "{script}");
    };
    check("/file print count-only", "1\n");
    check(":put [/file get all.rsc type]", "script\n");
    check(":put [/file get [find name~\"rsc\"] creation-time]", "nov/24/2025 16:00:00\n");
    check("/file add name=note.txt contents=\"one\"; :put [/file get note.txt contents]", "one\n");
    check(
        "/file add name=note.txt",
        "!failure: there is a file note.txt already (line 1 column 7)",
    );
    check("/file set note.txt contents=\"two words\"; :put [/file get note.txt size]", "9\n");
    check("/file set note.txt name=other.txt", "!failure: a file keeps its name (line 1 column 7)");
    check("/file remove all.rsc; :put [/file find name=all.rsc]", "\n");
    check("/file remove [find]; /file print count-only", "0\n");
    check("/file move 0", "!bad command name move (line 1 column 7) (line 1 column 7)");
    check("/export", "/interface bridge\nadd name=lan\n");
}
