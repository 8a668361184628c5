//! The API from end to end: what goes over the wire, and what comes back.

mod device;

use device::{Small, answer, lock, say, serve};
use serve::client::{Client, Failure};
use serve::{Device, Sentence, Server};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

#[test]
fn commands_and_their_answers() {
    let served = serve();
    let mut client = served.client();
    let mut check = |words: &str, expected: &str| {
        assert_eq!(answer(&mut client, words), expected, "{words}");
    };
    check("/ip/address/add =address=10.0.0.1/24 =interface=ether1", "!done =ret=*D\n");
    check("/ip/address/add =address=10.0.1.1/24 =interface=ether2 =comment=x", "!done =ret=*E\n");
    check(
        "/ip/address/print =.proplist=.id,address ?interface=ether2",
        "!re =.id=*E =address=10.0.1.1/24\n!done\n",
    );
    check("/ip/address/print =.proplist=address ?>address=11.0.0.0/8", "!done\n");
    check("/ip/address/set =.id=*E =disabled=yes", "!done\n");
    check(
        "/ip/address/print .proplist=address ?disabled=true",
        "!re =address=10.0.1.1/24\n!done\n",
    );
    check("/ip/address/remove =.id=*E", "!done\n");
    check("/ip/address/remove =.id=*E", "!trap =category=0 =message=no such item (4)\n");
    check(
        "/ip/address/add =address=10.0.0.1/24 =interface=ether9",
        "!trap =category=1 =message=input does not match any value of interface\n",
    );
    check("/ip/address/add =adress=1.1.1.1", "!trap =message=unknown parameter adress\n");
    check("/ip/adress/print", "!trap =category=0 =message=no such command prefix\n");
    check("/ip/address/prin", "!trap =category=0 =message=no such command\n");
    check("/system/identity/set =name=box", "!done\n");
    check("/system/identity/print", "!re =name=box\n!done\n");
    check("/queue/simple/add =name=a", "!done =ret=*10\n");
    check("/queue/simple/add =name=b", "!done =ret=*11\n");
    check("/queue/simple/move =numbers=*11 =destination=*10", "!done\n");
    check("/queue/simple/print =.proplist=name", "!re =name=b\n!re =name=a\n!done\n");
    check(
        "/ip/address/print bare",
        "!trap =category=5 =message=failure: bare is no attribute, no query and no tag\n",
    );
    assert_eq!(served.device.tree().items("/ip address").len(), 1);
}

#[test]
fn logging_in() {
    let served = serve();
    let mut admin = served.client();
    for user in [
        "/user/add =name=noc =group=read =password=secret",
        "/user/add =name=ops =group=write =password=other",
        "/user/add =name=far =group=full =address=192.0.2.0/24",
        "/user/add =name=off =group=full =disabled=yes",
    ] {
        assert!(answer(&mut admin, user).starts_with("!done"), "{user}");
    }
    let check = |login: &str, expected: &str| {
        let mut client = served.stranger();
        assert_eq!(answer(&mut client, login), expected, "{login}");
    };
    let refused = "!trap =message=invalid user name or password (6)\n";
    check("/login =name=noc =password=secret", "!done\n");
    check("/login =name=noc =password=wrong", refused);
    check("/login =name=ops =password=other", "!done\n");
    check("/login =name=nobody =password=", refused);
    check("/login =name=far =password=", refused);
    check("/login =name=off =password=", refused);
    check("/ip/address/print", "!trap =message=not logged in\n");
    check("/quit", "!fatal session terminated on request\n");
    let mut old = served.stranger();
    assert!(answer(&mut old, "/login").contains("log in with =name= and =password="));
    let log = lock(&served.device.log).join("\n");
    assert!(log.contains("system,info,account user noc logged in from 127.0.0.1 via api"), "{log}");
    assert!(log.contains("login failure for user nobody from 127.0.0.1 via api"), "{log}");
}

#[test]
fn failed_logins_are_slowed() {
    let served = serve();
    let began = device::now();
    for n in 0..3 {
        let mut client = served.stranger();
        assert!(client.login("admin", Some("guess")).is_err(), "{n}");
    }
    // The second waits 250 ms, the third 500 ms.
    assert!(began.elapsed() >= Duration::from_millis(750), "{:?}", began.elapsed());
}

#[test]
fn what_groups_may_do() {
    let served = serve();
    let mut admin = served.client();
    for group in ["read", "write", "full"] {
        answer(&mut admin, &format!("/user/add =name={group} =group={group}"));
    }
    let forbidden = "!trap =message=not enough permissions (9)\n";
    let check = |name: &str, words: &str, may: bool| {
        let mut client = served.stranger();
        client.login(name, Some("")).unwrap();
        let answer = answer(&mut client, words);
        assert_eq!(answer != forbidden, may, "{name}: {words}: {answer}");
    };
    for (words, read, write, full) in [
        ("/ip/address/print", true, true, true),
        ("/user/print", true, true, true),
        ("/system/identity/set =name=x", false, true, true),
        ("/tool/reset-counters", false, true, true),
        ("/console/run =line=:put_1", true, true, true),
        ("/user/add =name=new =group=full", false, false, true),
        ("/user/set =.id=admin =password=mine", false, false, true),
    ] {
        check("read", words, read);
        check("write", words, write);
        check("full", words, full);
    }
    // Groups of one's own, by their policies; who manages users manages them.
    answer(&mut admin, "/user/group/add =name=help =policy=read,api,!write");
    answer(&mut admin, "/user/group/add =name=nobody =policy=test,winbox");
    for group in ["help", "nobody"] {
        answer(&mut admin, &format!("/user/add =name={group} =group={group}"));
    }
    check("help", "/ip/address/print", true);
    check("help", "/system/identity/set =name=y", false);
    check("write", "/user/group/set =.id=help =policy=read,write", false);
    assert!(served.stranger().login("nobody", Some("")).is_err());
    let bad = answer(&mut admin, "/user/group/add =name=x =policy=root");
    assert!(bad.contains("invalid value for argument policy"), "{bad}");
    answer(&mut admin, "/user/remove =.id=help");
    answer(&mut admin, "/user/remove =.id=nobody");
    // An export has passwords in it.
    for (name, sees) in [("read", false), ("write", true)] {
        let mut client = served.stranger();
        client.login(name, Some("")).unwrap();
        let files = answer(&mut client, "/file/print");
        assert!(files.contains("all.rsc") && files.contains("secret") == sees, "{name}: {files}");
        assert_eq!(answer(&mut client, "/file/add =name=x") == forbidden, !sees, "{name}");
    }
    // Nobody could undo that.
    let mut client = served.stranger();
    client.login("full", Some("")).unwrap();
    for name in ["admin", "new"] {
        assert!(answer(&mut client, &format!("/user/remove =.id={name}")).starts_with("!done"));
    }
    let last = answer(&mut client, "/user/remove =.id=full");
    assert!(last.contains("at least one enabled user of group full"), "{last}");
}

#[test]
fn a_password_is_seen_nowhere() {
    let served = serve();
    let mut admin = served.client();
    answer(&mut admin, "/user/add =name=noc =group=read =password=s3cret-word");
    let tree = format!("{:?}", served.device.tree());
    assert!(tree.contains("$argon2id$") && !tree.contains("s3cret-word"), "{tree}");
    let mut seen = answer(&mut admin, "/user/print");
    seen += &answer(&mut admin, "/user/print ?name=noc =.proplist=password,name");
    for line in [
        "/user print detail",
        "/user print",
        "/user export verbose",
        "/export",
        "/export terse verbose",
        ":put [/user get noc password]",
        "/user print as-value",
        "/user find where password~\"argon\"",
    ] {
        let run = Sentence::new("/console/run").with("line", line);
        match admin.run(run) {
            Ok(answer) => seen += &format!("{answer:?}\n"),
            Err(why) => seen += &format!("{why:?}\n"),
        }
    }
    assert!(!seen.contains("argon2id") && !seen.contains("s3cret"), "{seen}");
    assert!(!seen.contains("/user\\nadd"), "users are not exported: {seen}");
}

/// The next sentence, without its tag.
fn heard(client: &mut Client) -> String {
    let words = client.receive().unwrap().words;
    let words = words.iter().map(|word| String::from_utf8_lossy(word).into_owned());
    words.filter(|word| !word.starts_with(".tag=")).collect::<Vec<_>>().join(" ")
}

#[test]
fn one_hears_what_another_changes() {
    let served = serve();
    let (mut ears, mut hands) = (served.client(), served.client());
    let mut change =
        |words: &str| assert!(answer(&mut hands, words).starts_with("!done"), "{words}");
    change("/ip/address/add =address=10.0.0.1/24 =interface=ether1");
    ears.send(&say("/ip/address/print =follow= =.proplist=.id,address,comment .tag=a")).unwrap();
    assert_eq!(heard(&mut ears), "!re =.id=*D =address=10.0.0.1/24");
    change("/ip/address/add =address=10.0.1.1/24 =interface=ether2");
    assert_eq!(heard(&mut ears), "!re =.id=*E =address=10.0.1.1/24");
    change("/ip/address/set =.id=*D =interface=ether2");
    change("/ip/address/set =.id=*D =comment=x");
    assert_eq!(heard(&mut ears), "!re =.id=*D =address=10.0.0.1/24 =comment=x", "asked for");
    change("/ip/address/remove =.id=*E");
    assert_eq!(heard(&mut ears), "!re =.id=*E =.dead=true");
    ears.send(&say("/cancel =tag=a")).unwrap();
    assert_eq!(heard(&mut ears), "!trap =category=2 =message=interrupted");
    assert_eq!([heard(&mut ears), heard(&mut ears)], ["!done", "!done"]);
    ears.send(&say("/system/identity/listen")).unwrap();
    std::thread::sleep(Duration::from_millis(300));
    change("/system/identity/set =name=other");
    assert_eq!(heard(&mut ears), "!re =name=other");
    ears.send(&say("/cancel")).unwrap();
    while heard(&mut ears) != "!done" {}
    assert_eq!(heard(&mut ears), "!done");
    ears.send(&say("/ip/address/print =interval=100ms =.proplist=address")).unwrap();
    for section in 0..3 {
        assert_eq!(heard(&mut ears), format!("!re =address=10.0.0.1/24 =.section={section}"));
    }
    drop(ears);
}

#[test]
fn several_under_way_and_cancelled() {
    let served = serve();
    let mut client = served.client();
    client.send(&say("/tool/count .tag=a")).unwrap();
    client.send(&say("/tool/count .tag=b")).unwrap();
    client.send(&say("/system/identity/print .tag=c")).unwrap();
    let (mut counts, mut done) = ([0; 2], false);
    while counts.iter().any(|count| *count < 3) || !done {
        let sentence = client.receive().unwrap();
        match (sentence.kind(), sentence.tag()) {
            ("!re", Some(b"a")) => counts[0] += 1,
            ("!re", Some(b"b")) => counts[1] += 1,
            ("!re", Some(b"c")) => assert_eq!(sentence.get("name"), Some(&b"test"[..])),
            ("!done", Some(b"c")) => done = true,
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(served.device.under_way.load(Ordering::SeqCst), 2);
    client.send(&say("/cancel =tag=a .tag=x")).unwrap();
    let mut ends = Vec::new();
    while ends.len() < 3 {
        let sentence = client.receive().unwrap();
        if sentence.kind() != "!re" {
            assert_ne!(sentence.tag(), Some(&b"b"[..]), "{sentence:?}");
            ends.push(
                sentence.words.iter().map(|w| String::from_utf8_lossy(w)).collect::<String>(),
            );
        }
    }
    assert_eq!(ends, ["!trap=category=2=message=interrupted.tag=a", "!done.tag=a", "!done.tag=x"]);
    client.send(&say("/cancel .tag=y")).unwrap();
    while client.receive().unwrap().tag() != Some(b"y") {}
    served.until("b has stopped", |device| device.under_way.load(Ordering::SeqCst) == 0);
}

#[test]
fn without_tags_one_after_the_other() {
    let served = serve();
    let mut client = served.client();
    let mut bytes = Vec::new();
    for n in 0..200 {
        let add = Sentence::new("/queue/simple/add").with("name", format!("q{n}"));
        add.write(&mut bytes);
    }
    say("/queue/simple/print =.proplist=name").write(&mut bytes);
    client.send_bytes(&bytes).unwrap();
    for _ in 0..200 {
        let done = client.receive().unwrap();
        assert_eq!(done.kind(), "!done", "{done:?}");
    }
    for n in 0..200 {
        assert_eq!(client.receive().unwrap().text("name"), Some(format!("q{n}")));
    }
}

#[test]
fn a_client_that_goes_stops_what_it_had_under_way() {
    let served = serve();
    let client = served.client();
    for n in 0..5 {
        client.send(&say(&format!("/tool/count .tag={n}"))).unwrap();
    }
    served.until("all count", |device| device.under_way.load(Ordering::SeqCst) == 5);
    drop(client);
    served.until("none counts", |device| device.under_way.load(Ordering::SeqCst) == 0);
}

#[test]
fn a_command_that_panics_takes_only_its_client_along() {
    let served = serve();
    let (mut other, mut client) = (served.client(), served.client());
    assert_eq!(answer(&mut client, "/tool/panic"), "!fatal internal error\n");
    assert_eq!(answer(&mut other, "/system/identity/print"), "!re =name=test\n!done\n");
}

#[test]
fn the_service_is_what_the_menu_says() {
    let device = Small::new();
    let mut server = Server::new(Arc::clone(&device) as Arc<dyn Device>).unwrap();
    let socket = temporary("service");
    server.unix(&socket).unwrap();
    let mut local = Client::unix(&socket).unwrap();
    local.login("admin", None).unwrap();
    // A port that was free a moment ago.
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let connects = || {
        Client::tcp(free, Duration::from_secs(1))
            .and_then(|mut client| client.login("admin", Some("")))
    };
    assert!(connects().is_err(), "off until somebody turns it on");
    let set = format!("/ip/service/set =.id=api =disabled=no =port={}", free.port());
    assert_eq!(answer(&mut local, &set), "!done\n");
    connects().unwrap();
    assert_eq!(answer(&mut local, "/ip/service/set =.id=api =address=192.0.2.0/24"), "!done\n");
    assert!(connects().is_err(), "somebody else's network");
    let both = "/ip/service/set =.id=api =address=192.0.2.0/24,127.0.0.1";
    assert_eq!(answer(&mut local, both), "!done\n");
    connects().unwrap();
    // A port somebody else has: refused, and all is as it was.
    let taken = std::net::TcpListener::bind("0.0.0.0:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let refused = answer(&mut local, &format!("/ip/service/set =.id=api =port={port}"));
    assert!(refused.contains("failure: cannot listen at 0.0.0.0:"), "{refused}");
    connects().unwrap();
    assert_eq!(
        answer(&mut local, "/ip/service/print =.proplist=name,port ?disabled=false"),
        format!("!re =name=api =port={}\n!done\n", free.port())
    );
    assert_eq!(answer(&mut local, "/ip/service/disable =.id=api"), "!done\n");
    assert!(connects().is_err());
    // What is not there is off already, and cannot be turned on.
    for (sentence, expected) in [
        ("set =.id=telnet =disabled=yes", "!done\n"),
        ("set =.id=www-ssl =certificate=none =port=4443", "!done\n"),
        ("enable =.id=telnet", "not implemented: there is no telnet; only api can be enabled"),
        ("set =.id=api-ssl =tls-version=only-1.2", "not implemented: there is no TLS"),
    ] {
        let told = answer(&mut local, &format!("/ip/service/{sentence}"));
        assert!(told.contains(expected), "{sentence}: {told}");
    }
}

#[test]
fn the_unix_socket_is_its_users_own() {
    let path = temporary("own");
    // Left behind by somebody who is no more.
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    let device = Small::new();
    let mut server = Server::new(Arc::clone(&device) as Arc<dyn Device>).unwrap();
    server.unix(&path).unwrap();
    let mode = std::fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let mut client = Client::unix(&path).unwrap();
    assert!(client.login("nobody", None).is_err(), "no such user");
    client.login("admin", None).unwrap();
    // A password that is given is checked, here too.
    answer(&mut client, "/user/set =.id=admin =password=secret");
    assert!(Client::unix(&path).unwrap().login("admin", Some("wrong")).is_err());
    Client::unix(&path).unwrap().login("admin", None).unwrap();
    // A living one's socket is not taken away, nor a file.
    let second = server.unix(&path).unwrap_err();
    assert!(second.to_string().contains("another device listens here"), "{second}");
    let file = temporary("file");
    std::fs::write(&file, "precious").unwrap();
    assert!(server.unix(&file).unwrap_err().to_string().contains("no socket"));
    std::fs::remove_file(&file).unwrap();
    server.stop();
    assert!(!path.exists());
    assert!(matches!(client.receive(), Err(Failure::Io(_))));
}

/// A path of this test alone.
fn temporary(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("wirespeed-{}-{name}", std::process::id()));
    let _ = std::fs::remove_file(&path);
    path
}

/// What is changed in safe mode goes back with its session, or stays if it says so; nobody else can be
/// in it meanwhile.
#[test]
fn safe_mode() {
    for (end, stays) in [("release", true), ("unroll", false), ("", false)] {
        let served = serve();
        let mut client = served.client();
        let add = "/ip/address/add =interface=ether1 =address=";
        answer(&mut client, &format!("{add}10.0.0.1/24"));
        assert_eq!(answer(&mut client, "/safe-mode/take"), "!done\n");
        let mut other = served.client();
        let refused = "!trap =message=failure: another session is in safe mode\n";
        assert_eq!(answer(&mut other, "/safe-mode/take"), refused);
        let refused = "!trap =message=failure: this session is not in safe mode\n";
        assert_eq!(answer(&mut other, "/safe-mode/release"), refused);
        answer(&mut client, &format!("{add}10.0.1.1/24"));
        if !end.is_empty() {
            assert_eq!(answer(&mut client, &format!("/safe-mode/{end}")), "!done\n");
        }
        drop(client);
        // The other may have it as soon as the first session is over.
        for _ in 0..500 {
            if answer(&mut other, "/safe-mode/take") == "!done\n" {
                break;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        let expected = if stays { 2 } else { 1 };
        assert_eq!(served.device.tree().items("/ip address").len(), expected, "{end}");
    }
}
