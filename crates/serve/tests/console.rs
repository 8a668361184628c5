//! Console over the API: `/console/run`.

mod device;

use device::serve;
use serve::Sentence;
use serve::client::{Client, Failure};
use std::sync::atomic::Ordering;
use std::time::Duration;

fn run(line: &str) -> Sentence {
    Sentence::new("/console/run").with("line", line)
}

/// What was printed, and where the session is then.
fn typed(client: &mut Client, sentence: Sentence) -> (String, String) {
    let mut text = String::new();
    let done = client.stream(sentence, |re| text += &re.text("text").unwrap_or_default());
    match done {
        Ok(done) => (text, done.text("place").unwrap()),
        Err(Failure::Trap(trap)) => {
            let word = |name| trap.text(name).unwrap_or_default();
            let (message, source) = (word("message"), word("source"));
            let at = format!("{}:{}", word("line"), word("column"));
            (format!("{text}{message} | {at} | {source} | {}", word("help")), word("place"))
        }
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn the_place_stays_from_line_to_line() {
    let served = serve();
    let mut client = served.client();
    let mut check = |line: &str, text: &str, place: &str| {
        let said = typed(&mut client, run(line));
        assert_eq!(said, (text.to_string(), place.to_string()), "{line}");
    };
    check("/ip address", "", "/ip address");
    check("add address=10.0.0.1/24 interface=ether1", "", "/ip address");
    check(":put [find]", "*D\n", "/ip address");
    check("/", "", "/");
    let (said, place) = typed(&mut client, run("sett 0 x=1"));
    let wrong = "bad command name sett (line 1 column 1) | 1:1 | sett 0 x=1 | one of: export, ";
    assert!(said.starts_with(wrong) && said.ends_with(", user"), "{said}");
    assert_eq!(place, "/");
    let (said, _) = typed(&mut client, run("/ip address\nadd address=10.0.1.1/24 interface=eher1"));
    assert!(said.starts_with("input does not match any value of interface | 2:"), "{said}");
    assert!(said.contains("add address=10.0.1.1/24 interface=eher1"), "{said}");
    assert!(said.ends_with("did you mean ether1?"), "{said}");
    // Another's session is another.
    assert_eq!(typed(&mut served.client(), run("")).1, "/");
}

#[test]
fn a_long_script_comes_in_parts_and_counts_as_one() {
    let served = serve();
    let mut client = served.client();
    let lines = (0..20_000).map(|n| format!("add name=queue-{n} max-limit=10M\n"));
    let script: String = ["/queue simple\n".to_string()].into_iter().chain(lines).collect();
    assert!(script.len() > 600_000);
    let import = |mut script: String, end: &str, client: &mut Client| {
        script += end;
        for part in script.as_bytes().chunks(60_000) {
            let line = Sentence::new("/console/run").with("line", part).with("more", "yes");
            client.run(line).unwrap();
        }
        typed(client, Sentence::new("/console/run").with("how", "import"))
    };
    let (said, _) = import(script.clone(), "add nme=x\n", &mut client);
    assert!(said.contains("20002:5"), "{said}");
    assert_eq!(served.device.tree().items("/queue simple").len(), 0, "all or nothing");
    import(script, "", &mut client);
    assert_eq!(served.device.tree().items("/queue simple").len(), 20_000);
}

#[test]
fn a_monitor_is_cancelled() {
    let served = serve();
    let mut client = served.client();
    let canceller = client.canceller();
    let mut lines = 0;
    let end = client.stream(run("/tool count"), |re| {
        lines += re.text("text").unwrap_or_default().lines().count();
        if lines == 3 {
            canceller.cancel();
        }
    });
    let Err(Failure::Trap(trap)) = end else { panic!("{end:?}") };
    assert_eq!(trap.text("message").unwrap(), "interrupted");
    assert_eq!(served.device.under_way.load(Ordering::SeqCst), 0);
    // The session goes on.
    assert_eq!(typed(&mut client, run(":put 1")).0, "1\n");
}

#[test]
fn one_line_at_a_time() {
    let served = serve();
    let mut client = served.client();
    client.send(&run("/tool count").tagged(Some(b"a"))).unwrap();
    client.receive().unwrap();
    client.send(&run(":put 1").tagged(Some(b"b"))).unwrap();
    let trap = loop {
        let sentence = client.receive().unwrap();
        if sentence.tag() == Some(b"b") {
            break sentence;
        }
    };
    assert_eq!(trap.text("message").unwrap(), "failure: the console is running something else");
    drop(client);
    served.until("it stops", |device| device.under_way.load(Ordering::SeqCst) == 0);
}

#[test]
fn a_cancel_comes_soon() {
    let served = serve();
    let mut client = served.client();
    let canceller = client.canceller();
    let mut cancelled = None;
    let end = client.stream(run("/tool count every=1h"), |_| {
        cancelled = Some(device::now());
        canceller.cancel();
    });
    assert!(end.is_err());
    let took = cancelled.unwrap().elapsed();
    assert!(took < Duration::from_secs(2), "{took:?}");
}

/// What is said of a line under way is RouterOS v7's `/console/inspect`.
#[test]
fn lines_under_way() {
    let served = serve();
    let mut client = served.client();
    let mut check = |words: &[(&str, &str)], expected: &[&str]| {
        let inspect = Sentence::new("/console/inspect");
        let inspect = words.iter().fold(inspect, |s, (name, value)| s.with(name, value));
        let said = match client.run(inspect) {
            Ok(answer) => answer.records.iter().map(|re| format!("{re:?}")).collect::<Vec<_>>(),
            Err(failure) => vec![failure.message()],
        };
        for (said, expected) in said.iter().zip(expected) {
            assert!(said.contains(expected), "{words:?}: {expected} in {said}");
        }
        assert_eq!(said.len(), expected.len(), "{words:?}: {said:?}");
    };
    let completion = ("request", "completion");
    check(
        &[completion, ("input", "/ip addr")],
        &[r#""=completion=address", "=style=dir", "=offset=4", "=preference=80", "=show=true""#],
    );
    check(
        &[completion, ("input", "add i"), ("path", "ip,address")],
        &[r#""=text=Where.", "=append==", "=type=completion""#],
    );
    check(
        &[("request", "highlight"), ("input", "/ip x")],
        &[r#""=highlight=dir,dir,dir,none,error", "=type=highlight""#],
    );
    check(
        &[("request", "syntax"), ("input", "/ip address add address=")],
        &["=symbol-type=explanation", "=symbol-type=definition"],
    );
    check(
        &[("request", "child"), ("path", "system")],
        &[r#""=name=export", "=node-type=cmd""#, r#""=name=identity", "=node-type=dir""#],
    );
    check(&[("request", "child"), ("path", "no")], &["no such command or directory"]);
    check(&[("request", "x")], &["input does not match any value of request"]);
    check(&[], &["missing value(s) of argument(s) request"]);
    // The place is that of the lines that were run.
    typed(&mut served.client(), run("/ip address"));
    check(&[completion, ("input", "ad")], &[]);
}
