//! Variables, expressions, blocks and functions.

use super::bench::Bench;
use super::*;

/// Scripts and what they print, each on a device of its own; an error behind `!`.
fn check(cases: &[(&str, &str)]) {
    for (script, printed) in cases {
        let text = Bench::new().types(script);
        assert_eq!(text.trim_end_matches('\n'), *printed, "{script}");
    }
}

#[test]
fn operators() {
    check(
        &[
            (":put (1 + 2 * 3)", "7"),
            (":put ((1 + 2) * 3)", "9"),
            (":put (10/2-1)", "4"),
            (":put (-7 % 4)", "-3"),
            (":put (0x10 | 3 ^ 1 & 7)", "18"),
            (":put (1 << 4 >> 2)", "4"),
            (":put (~0)", "-1"),
            (":put (3 - -2)", "5"),
            (":put (9223372036854775807 + 1)", "-9223372036854775808"),
            (":put (\"5\" + 1)", "6"),
            (":put (\"a\" . 1 . yes)", "a1true"),
            (":put (1 = 1 && 2 > 3 || !false)", "true"),
            (":put (1 = 1 and 2 > 3 or 2 = 2)", "true"),
            (":put (\"abc\" ~ \"^a.c\\$\")", "true"),
            (":put (\"b\" > \"a\")", "true"),
            (":put (\"10\" > 9)", "true"),
            (":put (1.1.1.1 in 1.0.0.0/8)", "true"),
            (":put (1.1.1.1 in 2.0.0.0/8)", "false"),
            (":put (1.1.0.0/16 in 1.0.0.0/8)", "true"),
            (":put (\"b\" in {\"a\";\"b\"})", "true"),
            (":put (1.1.1.1 + 255)", "1.1.2.0"),
            (":put (1.1.1.9 - 1.1.1.1)", "8"),
            (":put (1.1.1.77 & 255.255.255.0)", "1.1.1.0"),
            (":put (10s + 1m)", "1m10s"),
            (":put (1h / 4)", "15m"),
            (":put (1h / 15m)", "4"),
            (":put (00:01:00 > 59s)", "true"),
            (":put ({1;2} , 3)", "1;2;3"),
            (":put (1 / 0)", "!division by zero (line 1 column 9)"),
            (":put (1h + {1})", "!cannot apply + to time and array (line 1 column 10)"),
            (":put (false && (1/0))", "false"),
            (":put (1 +)", "!syntax error (line 1 column 10) (line 1 column 10)"),
            (":put (1 2)", "!syntax error (line 1 column 9) (line 1 column 9)"),
            (":put (1", "!syntax error (line 1 column 6) (line 1 column 6)"),
        ]
        .map(|(script, printed)| (script, printed)),
    );
}

#[test]
fn variables() {
    check(&[
        (
            ":local x 5\n:put ($x + 1)\n:set x \"a b\"\n:put \"<$x> $(1+1) $[:len $x] \\$x\"",
            "6\n<a b> 2 3 $x",
        ),
        (":local x; :put [:typeof $x]", "nothing"),
        (":put [:typeof *+5]; :put [:typeof *5]", "str\nid"),
        (":put $x", "!syntax error (line 1 column 6) (line 1 column 6)"),
        (":set x 1", "!syntax error (line 1 column 6) (line 1 column 6)"),
        (
            "{ :local x 1; :put $x }\n:put $x",
            "1\n!syntax error (line 2 column 6) (line 2 column 6)",
        ),
        (":local x 1; { :set x 2; :local x 3 }; :put $x", "2"),
        (
            ":local a {1;\"two\";k=3;\"l m\"=[:len abc]}; :put $a; :put ($a->1); :put ($a->\"l m\"); :set ($a->\"k\") 4; :set ($a->\"n\"->\"o\") 5; :put $a",
            "1;two;k=3;l m=3\ntwo\n3\n1;two;k=4;l m=3;n=o=5",
        ),
        (":local \"a-b\" 1; :put $\"a-b\"", "1"),
        (
            ":local x yes; /interface bridge add name=$x disabled=$x; :put [/interface bridge get 0 disabled]",
            "true",
        ),
        (":global g 7; :put $g", "7"),
    ]);
    let mut bench = Bench::new();
    bench.types(":global counter 1; :local gone 1");
    assert_eq!(bench.types(":set counter ($counter + 1); :put $counter"), "2\n");
    assert!(bench.types(":put $gone").starts_with("!syntax error"));
    let failed = ":global counter 9\n:error bad";
    assert_eq!(bench.runs(failed, How::Import), "!bad (line 2 column 2)");
    assert_eq!(bench.types(":put $counter"), "2\n");
}

#[test]
fn control() {
    check(&[
        (":if (1 < 2) do={ :put yes } else={ :put no }", "true"),
        (":if (1 > 2) do={ :put a } else={ :put b }", "b"),
        (":if (1 > 2) do={ :put a }", ""),
        (":foreach i in={1;2;3} do={ :put ($i * $i) }", "1\n4\n9"),
        (":foreach k,v in={a=1;2} do={ :put \"$k:$v\" }", "a:1\n1:2"),
        (":for i from=1 to=3 do={ :put $i }", "1\n2\n3"),
        (":for i from=5 to=1 step=-2 do={ :put $i }", "5\n3\n1"),
        (":for i from=3 to=1 do={ :put $i }", "3\n2\n1"),
        (":local i 0; :while ($i < 3) do={ :set i ($i + 1) }; :put $i", "3"),
        (":local i 0; :do { :set i ($i + 1) } while=($i < 3); :put $i", "3"),
        (":do { :error \"bad\"; :put no } on-error={ :put caught }", "caught"),
        (":do { /ip address add } on-error={ :put caught }", "caught"),
        (":error \"too bad\"", "!too bad (line 1 column 2)"),
        ("put ok; if (true) do={put fine}", "ok\nfine"),
        (":nothing; :put [:nothing]", ""),
        (
            "/interface bridge { add name=a; print count-only }\n:put [/interface bridge get 0 name]",
            "1\na",
        ),
        (
            "/interface bridge\n:foreach i in=[/ip address find] do={ }\nadd name=x; :put [get [find name=x] name]",
            "x",
        ),
        (":if (\"perhaps\") do={}", "!str is no condition (line 1 column 5)"),
        (":if (1) then={}", "!expected end of command (line 1 column 9) (line 1 column 9)"),
        (":for i from=1 do={}", "!missing value(s) of argument(s) to (line 1 column 2)"),
        (":execute x", "!not implemented: this global command (line 1 column 2)"),
    ]);
}

#[test]
fn functions() {
    check(&[
        (":local double do={ :return ($1 * 2) }\n:put [$double 21]", "42"),
        (":local hi do={ :put \"$a-$b-$1\" }; $hi x a=1", "1--x"),
        (
            ":global fac do={ :global fac; :if ($1 < 2) do={ :return 1 }; :return ($1 * [$fac ($1 - 1)]) }\n:put [$fac 10]",
            "3628800",
        ),
        (
            ":local f do={ :foreach i in={1;2;3} do={ :if ($i = 2) do={ :return $i } }; :return 9 }; :put [$f]",
            "2",
        ),
        (":local x 1; :local f do={ :return [:typeof $x] }; :put [$f]", "nothing"),
        (":local f [:parse \":put parsed\"]; $f", "parsed"),
        (":put 1; :return 5; :put 2", "1"),
        (
            ":global loop do={ :global loop; $loop }; $loop",
            "!maximum nesting depth reached (line 1 column 39)",
        ),
        (":put [:time { :delay 5s }]", "5s"),
    ]);
    let reply = Interpreter::new([]).run(":return (40 + 2)", &()).map(|output| output.reply);
    assert_eq!(reply, Ok(Reply::Text("42".to_string())));
}

#[test]
fn values() {
    check(&[
        (
            ":foreach v in={1; a; yes; 1.1.1.1; 1.1.1.0/24; 10s; *1F; {1}; \"1\"} do={ :put [:typeof $v] }",
            "num\nstr\nbool\nip\nip-prefix\ntime\nid\narray\nstr",
        ),
        (":put [:len \"grüße\"]; :put [:len {1;2}]; :put [:len 123]", "5\n2\n3"),
        (
            ":put [:pick \"abcdef\" 1]; :put [:pick \"abcdef\" 1 3]; :put [:pick {1;2;3} 1 9]",
            "b\nbc\n2;3",
        ),
        (
            ":put [:find \"abcabc\" \"b\"]; :put [:find \"abcabc\" \"b\" 1]; :put [:typeof [:find a x]]; :put [:find {a;b} b]",
            "1\n4\nnil\n1",
        ),
        (
            ":put [:tonum \"0x10\"]; :put [:typeof [:tonum x]]; :put [:toip \"1.2.3.4\"]; :put [:totime 90]; :put [:tobool yes]",
            "16\nnil\n1.2.3.4\n1m30s\ntrue",
        ),
        (":put [:toarray \"a,2\"]; :put [:tostr {1;2}]; :put [:toid 31]", "a;2\n1;2\n*1F"),
        (
            ":put [:typeof [/interface ethernet find]]; :put [:len [/interface ethernet find]]",
            "array\n13",
        ),
        (
            "/interface ethernet; :put [:typeof [get ether1 mtu]]; :put [get ether1 running]",
            "num\ntrue",
        ),
        (
            "/ip firewall filter add chain=x dst-port=80,443 protocol=tcp; :put [/ip firewall filter get 0 dst-port]; /ip firewall filter add chain=y protocol=tcp dst-port=[/ip firewall filter get 0 dst-port]; :put [/ip firewall filter find dst-port=80,443]",
            "80;443\n*E;*F",
        ),
        (":put ([/interface ethernet print as-value from=0]->0->\"name\")", "ether1"),
        (
            ":foreach i in=[/interface ethernet find where name~\"1[23]\"] do={ :put [/interface ethernet get $i name] }",
            "ether12\nether13",
        ),
    ]);
}

#[test]
fn conditions() {
    let rules = "/ip firewall filter\nadd chain=a disabled=yes\nadd chain=b comment=x\nadd chain=c timeout=1h\n";
    for (condition, chains) in [
        ("disabled or comment=x", "ab"),
        ("chain=a or (chain=c and timeout>30m)", "ac"),
        ("!(chain=a or chain=b)", "c"),
        ("(disabled=no)", "bc"),
        ("(!disabled && comment=\"\")", "c"),
        ("chain = b", "b"),
        ("chain in {a;c}", "ac"),
        ("chain=$wanted", "b"),
        ("($wanted = \"b\")", "abc"),
        ("chain=a or chain=b or chain=c disabled", "ab"),
        ("packets=7 and chain=c", "c"),
    ] {
        let script = format!(
            "{rules}:local wanted b; :foreach i in=[find where {condition}] do={{ :put [get $i chain] }}"
        );
        let text = Bench::new().types(&script);
        assert_eq!(text.replace('\n', ""), chains, "{condition}");
    }
}

/// Whatever a script does, it ends: when the user has had enough, and before memory has.
#[test]
fn bounds() {
    for script in [
        ":while (true) do={}",
        ":for i from=1 to=9999999999 do={ :local x }",
        ":do { :while (true) do={} } on-error={ :put no }",
        ":delay 1000000000w",
    ] {
        let mut bench = Bench::new();
        bench.device.patience = Some(5);
        let text = bench.types(script);
        let expected = if script.contains("delay") { "!invalid time" } else { "!interrupted" };
        assert!(text.starts_with(expected), "{script} {text}");
    }
    check(&[
        (
            ":local x abcdefgh; :for i from=1 to=40 do={ :set x ($x . $x) }",
            "!value is too large (line 1 column 56)",
        ),
        (
            ":local x {1}; :for i from=1 to=60 do={ :set x {$x;$x} }",
            "!value is too large (line 1 column 48)",
        ),
        (
            ":local x {1}; :for i from=1 to=60 do={ :set x ($x,$x) }",
            "!value is too large (line 1 column 50)",
        ),
    ]);
}

#[test]
fn waiting_and_logging() {
    let mut bench = Bench::new();
    assert_eq!(
        bench.types("/interface bridge add name=a; :delay 90s; :log info \"done $[:len abc]\""),
        ""
    );
    assert_eq!(bench.device.now, wire::Moment::from_nanos(90_000_000_000));
    assert_eq!(bench.device.log, ["edit", "commit", "release", "script,info: done 3"]);
    assert_eq!(
        bench.types(":log loud x"),
        "!input does not match any value of topics (line 1 column 6)"
    );
}
