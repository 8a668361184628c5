//! Tests of the moment at which what is typed, imported or sent takes effect.

use super::bench::Bench;
use super::*;

/// A script and what was done to the device because of it.
#[test]
fn taken_over() {
    for (script, how, printed, log) in [
        // Changes one after the other are one change.
        (
            "/interface bridge\nadd name=a\nadd name=b\nset a comment=x",
            How::Typed,
            "",
            "edit commit release",
        ),
        (
            "/interface bridge\nadd name=a\nprint count-only\nadd name=b",
            How::Typed,
            "1\n",
            "edit commit release edit commit release",
        ),
        ("/interface bridge add name=a; /ping 1.1.1.1", How::Typed, "", "edit commit release ping"),
        // What is in the table alone is no reason.
        (
            "/interface bridge add name=a; :put [/interface bridge find name=a]",
            How::Typed,
            "*E\n",
            "edit commit release",
        ),
        (
            "/ip firewall filter add chain=a; :put [get 0 chain]; :put [get 0 packets]",
            How::Typed,
            "!bad command name get (line 1 column 40) (line 1 column 40)",
            "edit commit release",
        ),
        (
            "/ip firewall filter\nadd chain=a; :put [get 0 chain]; add chain=b",
            How::Typed,
            "a\n",
            "edit commit release",
        ),
        (
            "/ip firewall filter\nadd chain=a; :put [get 0 packets]; add chain=b",
            How::Typed,
            "7\n",
            "edit commit release edit commit release",
        ),
        // What came before an error stands, or does not.
        (
            "/interface bridge\nadd name=a\nadd name=a\nadd name=b",
            How::Typed,
            "!failure: already have interface with such name (line 3 column 1)",
            "edit commit release",
        ),
        (
            "/interface bridge\nadd name=a\nadd name=a",
            How::Import,
            "!failure: already have interface with such name (line 3 column 1)",
            "edit release",
        ),
        // An import calls the device when all is taken over.
        (
            "/ping 1.1.1.1\n/interface bridge add name=a\n:put [/interface bridge print count-only]",
            How::Import,
            "1\n",
            "edit commit release ping",
        ),
        (
            "/tool traffic-generator quick tx-template=x",
            How::Typed,
            "!input does not match any value of tx-template (line 1 column 43)",
            "",
        ),
    ] {
        let mut bench = Bench::new();
        assert_eq!(bench.runs(script, how), printed, "{script}");
        assert_eq!(bench.device.log.join(" "), log, "{script}");
    }
}

/// A command that fails half-way changes nothing.
#[test]
fn commands_are_whole() {
    let mut bench = Bench::new();
    let before = bench.device.tree.clone();
    let text = bench.types("/interface ethernet set ether1,ether2 name=wan");
    assert_eq!(text, "!failure: already have interface with such name (line 1 column 21)");
    assert_eq!(bench.device.tree, before);
}

#[test]
fn refused_by_the_device() {
    let mut bench = Bench::new();
    bench.device.full = true;
    let text = bench.types("/interface bridge\nadd name=a\nprint");
    assert_eq!(text, "!failure: too many routes (line 2 column 1)");
    assert_eq!(bench.device.tree.items(BRIDGE.path).len(), 0);
    assert_eq!(bench.device.log, ["edit", "release"]);
}

/// Commands that take time are shown as they say, and end when the user has enough.
#[test]
fn jobs() {
    let mut bench = Bench::new();
    assert_eq!(bench.types(":put [/tool count 2]"), "<2><1><end>counted\n");
    bench.device.patience = Some(2);
    let text = bench.types("/tool count 9; :put no");
    assert_eq!(text, "<9><8><end>!interrupted (line 1 column 7)");
    assert_eq!(bench.device.log.last().map(String::as_str), Some("stop"));
}

/// Items of the device's own come a page at a time.
#[test]
fn many_rows() {
    let mut bench = Bench::new();
    let item = |n: u32| {
        let values = [("address", Value::Cidr((0x0a00_0000 + n).into(), 32))];
        Item { dynamic: true, ..Item::new(ItemId(FIRST_DYNAMIC + n), values.into()) }
    };
    bench.device.dynamic = (0..5000).map(item).collect();
    let mut pieces = Vec::new();
    let mut out = |piece| pieces.push(piece);
    let script = "/ip address print";
    bench.session.run(script, How::Typed, &mut bench.device, &mut out).expect(script);
    assert!(pieces.len() > 50, "{}", pieces.len());
    let text = pieces.iter().map(|piece| match piece {
        Piece::Text(text) | Piece::Frame(text) => text.as_str(),
    });
    let text: String = text.collect();
    assert_eq!(text.lines().count(), 5002);
    assert_eq!(text.lines().last(), Some("4999 D 10.0.19.135/32"));
    assert_eq!(bench.types("/ip address print count-only"), "5000\n");
    assert_eq!(bench.types(":put [/ip address find address=10.0.19.135]"), "*80001387\n");
}
