//! Completion, help and colours of lines under way.

use super::bench::Bench;
use crate::How;
use crate::inspect::{Child, Class, Completion, Explanation};
use proptest::prelude::*;

fn bench() -> Bench {
    let mut bench = Bench::new();
    let script = "/interface bridge\nadd name=lan; add name=\"guest net\"\n\
                  /ip firewall filter\nadd chain=input; add chain=forward\n\
                  /ip address add address=1.1.1.1/24 interface=ether1";
    assert_eq!(bench.runs(script, How::Typed), "");
    bench.runs("/", How::Typed);
    bench
}

/// What Tab offers at the end of a line: the words, each with what belongs behind it.
fn offered(bench: &mut Bench, line: &str) -> String {
    let words = bench.session.complete(line, &mut bench.device);
    let words = words.iter().map(|c| format!("{}{}", c.word, c.append.replace(' ', "_")));
    words.collect::<Vec<_>>().join(" ")
}

#[test]
fn completions() {
    let mut bench = bench();
    for (line, expected) in [
        // Menus and commands.
        ("", "export_ file_ import_ interface_ ip_ ping_ tool_"),
        ("/", "export_ file_ import_ interface_ ip_ ping_ tool_"),
        ("/i", "import_ interface_ ip_"),
        ("ip a", "address_"),
        ("/ip/a", "address_"),
        (
            "/ip address ",
            "add_ comment_ disable_ enable_ export_ find_ get_ print_ remove_ set_ unset_",
        ),
        ("/ip address p", "print_"),
        ("/interface ethernet a", ""),
        ("/ip firewall filter m", "move_"),
        ("/ip address print; /ip firewall f", "filter_"),
        ("/ip firewall filter\na", "add_"),
        ("/ip firewall filter\n..", ".._"),
        ("/ip nowhere a", ""),
        ("# /ip a", ""),
        // Parameters.
        ("/ip address add ", "address= comment= copy-from= disabled= interface= network="),
        ("/ip address add address=1.1.1.1/24 i", "interface="),
        ("/ip address add comment=\"a b\" disabled=no a", "address="),
        ("/interface bridge add pro", ""),
        ("/ip firewall filter add !d", "!dst-address_ !dst-port_"),
        ("/ip firewall filter add p", "place-before= protocol="),
        ("/ip firewall connection tracking set e", "enabled="),
        ("/tool traffic-generator quick ", "mbps= packet-size= tx-template="),
        ("/ping ", "address="),
        (
            "/ip address print ",
            "as-value_ brief_ count-only_ detail_ file= follow-only_ follow_ from= interval= stats-detail_ stats_ terse_ value-list_ where_ without-paging_",
        ),
        ("/ip address print de", "detail_"),
        ("/ip address export verb", "verbose_"),
        ("/ip address export version=", "6_ 7_"),
        // Values.
        (
            "/ip firewall filter add action=",
            "accept_ add-src-to-address-list_ drop_ jump_ log_ return_",
        ),
        ("/ip firewall filter add action=a", "accept_ add-src-to-address-list_"),
        ("/ip firewall filter add log=", "no_ yes_"),
        ("/ip firewall filter add connection-state=new,e", "established_"),
        ("/ip firewall filter add connection-state=!r", "related_"),
        ("/ip firewall filter add protocol=!ud", "udp_ udp-lite_"),
        ("/ip address add interface=l", "lan_"),
        ("/ip address add interface=g", ""),
        ("/ip address add interface=\"g", "\"guest net\"_"),
        ("/ip address add interface=ether1", "ether1_ ether10_ ether11_ ether12_ ether13_"),
        ("/ip firewall filter add in-interface=all", "all-ethernet_ all-vlan_"),
        ("/ip address add address=", ""),
        ("/ip address set disabled=y", "yes_"),
        // Items.
        ("/ip firewall filter remove ", "0_ 1_ numbers="),
        ("/ip firewall filter remove 0,", "0_ 1_"),
        ("/ip firewall filter set 0 ch", "chain="),
        ("/ip firewall filter add place-before=", "0_ 1_"),
        (
            "/interface bridge set ",
            "\"guest net\"_ comment= ageing-time= admin-mac= disabled= lan_ name= numbers=",
        ),
        ("/interface bridge get lan a", "admin-mac_ ageing-time_"),
        ("/interface bridge unset lan co", "comment_"),
        // Conditions.
        ("/ip firewall filter print where ch", "chain"),
        ("/ip firewall filter find ac", "action"),
        ("/ip firewall filter find action=d", "drop_"),
        ("/ip firewall filter find action!=d", "drop_"),
        ("/ip firewall filter find !dis", "disabled"),
        // Inside brackets.
        (":put [/ip a", "address_"),
        ("/ip address remove [f", "find_"),
        ("/ip address set [find interface=et] disabled=", "no_ yes_"),
        (":pu", "put_"),
        (":to", "toarray_ tobool_ toid_ toip_ tonum_ tostr_ totime_"),
        (":log ", "debug_ error_ info_ message= topics= warning_"),
        (":if (1=1) ", "do= else="),
        (":foreach i in=[/ip address find] do={ /ip address re", "remove_"),
        (":local abc 1; :put $", "abc"),
        (":local abc 1; :set a", "abc"),
        ("put [/ip a", "address_"),
        ("/ip address print where (interface=lan or network = 1.1.1.0) and dis", "disabled"),
        ("/ip address find interface = et", ETHERS),
        ("/ip address { ad", "add_"),
    ] {
        let mut expected: Vec<&str> = expected.split(' ').collect();
        let offered = offered(&mut bench, line);
        let mut found: Vec<&str> = offered.split(' ').collect();
        expected.sort_unstable();
        found.sort_unstable();
        assert_eq!(found, expected, "{line}");
    }
}

const ETHERS: &str = "ether1_ ether10_ ether11_ ether12_ ether13_ ether2_ ether3_ ether4_ ether5_ \
    ether6_ ether7_ ether8_ ether9_";

/// One letter for each class.
fn letters(classes: &[Class]) -> String {
    let letter = |class: &Class| match class {
        Class::Plain => '.',
        Class::Path => 'p',
        Class::Command => 'c',
        Class::Parameter => 'a',
        Class::Syntax => 's',
        Class::Text => 't',
        Class::Escaped => 'e',
        Class::Variable => 'v',
        Class::VariableName => 'n',
        Class::Undefined => 'u',
        Class::Comment => '#',
        Class::Ambiguous => '?',
        Class::Error => '!',
    };
    classes.iter().map(letter).collect()
}

#[test]
fn colours() {
    let bench = &mut bench();
    for (line, expected) in [
        ("", ""),
        ("/ip address add address=1.1.1.1/24 interface=lan", "ppp.ppppppp.ccc.aaaaaaas..........."),
        ("/ip/addr/pr detail", "pppppppppcc.aaaaaa"),
        ("/ip nowhere add a=1", "ppp.!!!!!!!.!!!.!!!"),
        ("/i print", "p?.!!!!!"),
        ("# all\nprint", "#####.!!!!!"),
        ("/ip address add interface=eth99 ", "ppp.ppppppp.ccc.aaaaaaaaas!!!!!."),
        ("/ip address add interface=ether ", "ppp.ppppppp.ccc.aaaaaaaaas?????."),
        ("/ip address add interface=eth99", "ppp.ppppppp.ccc.aaaaaaaaas....."),
        ("/ip address add nothing=1 ", "ppp.ppppppp.ccc.!!!!!!!s.."),
        ("/ip address set [find] disabled", "ppp.ppppppp.ccc.sccccs.aaaaaaaa"),
        (":put \"a\\n$b\";", "cccc.tteeuuts"),
        ("/ip address print where interface~\"^e\"", "ppp.ppppppp.ccccc.aaaaa.aaaaaaaaastttt"),
        (":put ]", "cccc.!"),
        (":local a 1; :put ($a + $b)", "cccccc.n..s.cccc.svv.s.uus"),
        (":if ($x) do={ print }", "ccc.suus.aass.!!!!!.s"),
        (":foreach k,v in={1;2} do={ :put $v }", "cccccccc.nnn.aass.s.s.aass.cccc.vv.s"),
        ("put 1", "ccc.."),
        ("$f x=1", "uu.as."),
    ] {
        let found = letters(&bench.session.highlight(line, &mut bench.device));
        let n = expected.len();
        assert_eq!(found.get(..n).unwrap_or(&found), expected, "\n{line}\n{found}");
        assert_eq!(found.len(), line.chars().count());
    }
}

#[test]
fn explanations() {
    let bench = &mut bench();
    for (line, expected) in [
        ("/ip address ", "/ip address: Addresses. []"),
        ("/ip address add ", "add: Creates a new item with the given values []"),
        (
            "/ip address add address=",
            "address: The address and its network. [an address and prefix length, as 1.2.3.4/24; required]",
        ),
        (
            "/ip firewall filter add timeout=1",
            "timeout: How long. [a time, as 1d2h3m4s or 00:05:00; 10m if left out]",
        ),
        ("/ping 1.2", "address: Whom. [an address, as 1.2.3.4; required]"),
        ("/ping ", "ping: Echo requests. []"),
        ("/nowhere ", ""),
    ] {
        let found = bench.session.explain(line, &mut bench.device);
        let text = |e: &Explanation| format!("{}: {} [{}]", e.symbol, e.text, e.definition);
        assert_eq!(found.iter().map(text).collect::<String>(), expected, "{line}");
    }
}

#[test]
fn tree_of_words() {
    let bench = bench();
    let names = |words: &[&str]| {
        let children = bench.session.children(words)?;
        let child = |child: &Child| format!("{}:{}", child.class.name(), child.name);
        Some(children.iter().map(child).collect::<Vec<_>>().join(" "))
    };
    assert_eq!(
        names(&[]).as_deref(),
        Some("cmd:export dir:file cmd:import dir:interface dir:ip cmd:ping dir:tool")
    );
    assert_eq!(names(&["ping"]).as_deref(), Some("arg:address"));
    assert_eq!(names(&["ping", "address"]).as_deref(), Some(""));
    assert_eq!(names(&["ping", "nothing"]), None);
    assert_eq!(names(&["nowhere"]), None);
    assert_eq!(bench.session.standing_at(&["ip", "address"]).unwrap().place(), "/ip address");
    assert!(bench.session.standing_at(&["ip", "address", "add"]).is_none());
}

/// Words and signs that lines are made of.
fn pieces() -> impl Strategy<Value = String> {
    let words = [
        "/ip address ",
        "/ip firewall filter ",
        "/interface bridge ",
        "/interface ethernet ",
        "/tool ",
        "/ip",
        "add ",
        "set ",
        "print ",
        "remove ",
        "find ",
        "get ",
        "unset ",
        "move ",
        "comment ",
        "where ",
        "chain=",
        "action=",
        "address=",
        "interface=",
        "name=",
        "disabled=",
        "in-interface=",
        "connection-state=",
        "protocol=",
        "numbers=",
        "copy-from=",
        "[",
        "]",
        "(",
        ")",
        "{",
        "}",
        "\"",
        "$",
        "$x",
        "\\",
        "\\\n",
        "\n",
        ";",
        ",",
        "!",
        "=",
        "~",
        " ",
        "#",
        ":put ",
        ":",
        "0",
        "0,1",
        "ether",
        "ether1",
        "lan",
        "new",
        "a",
        "e",
        "i",
        "export ",
        "..",
        "/",
        "1.1.1.1/24",
        "é",
    ];
    let piece = prop::sample::select(words.to_vec()).prop_map(str::to_string);
    prop::collection::vec(prop_oneof![9 => piece, 1 => ".{0,3}"], 0..9).prop_map(|p| p.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]

    /// Whatever is typed is coloured and answered; and no word is offered that the parser then
    /// refuses in its place.
    #[test]
    fn what_is_offered_is_legal(line in pieces()) {
        let mut bench = bench();
        let classes = bench.session.highlight(&line, &mut bench.device);
        prop_assert_eq!(classes.len(), line.chars().count());
        bench.session.explain(&line, &mut bench.device);
        for completion in bench.session.complete(&line, &mut bench.device).into_iter().take(12) {
            let Completion { word, at, append, .. } = completion;
            let before: String = line.chars().take(at).collect();
            let script = format!("{before}{word}{append}");
            let mut bench = self::bench();
            // Some lines would go on for ever: `print follow`.
            bench.device.patience = Some(100);
            let refused = bench.session.run(&script, How::Import, &mut bench.device, &mut |_| {});
            let Err(error) = refused else { continue };
            // Where the word stands.
            let line_no = before.matches('\n').count() as u32 + 1;
            let column = before.rsplit('\n').next().unwrap_or("").chars().count() as u32 + 1;
            let is_here = error.at.line == line_no
                && (column..column + word.chars().count() as u32).contains(&error.at.column);
            // What is still missing, or undone, is said at the command.
            let is_more = ["missing value", "failure: ", "no such item", "interrupted"];
            let is_refused = is_here && !is_more.iter().any(|more| error.text.starts_with(more));
            prop_assert!(!is_refused, "{script:?} is refused at {word}: {error}");
        }
    }
}
