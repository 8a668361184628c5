//! Tests of a new device's configuration, and of files that are not plain UTF-8.

use super::*;
use std::sync::Arc;

static SERVICE: Menu = Menu {
    path: "/ip service",
    kind: MenuKind::List { key: Some("name"), auto_name: None, ordered: false, fixed: true },
    properties: &[
        Property::new("name", Type::Text, "The service.").read_only().column(),
        Property::new("port", Type::Number(1, 65535), "Its port.").default("8728").column(),
    ],
    help: "Services.",
};

static NEW: Factory = Factory {
    install: |tree| {
        if tree.items(SERVICE.path).is_empty() {
            let name = |name: &str| ("name", Value::Text(name.to_string()));
            tree.push_disabled(&SERVICE, [name("api")].into());
            tree.push_disabled(&SERVICE, [name("telnet"), ("port", Value::Number(23))].into());
        }
    },
    check: |_, item| match item.name("name") {
        "telnet" if !item.disabled => Err("not implemented: there is no telnet".to_string()),
        _ => Ok(()),
    },
};

/// What a device prints that was made just now.
fn prints(script: &str) -> Result<String, Error> {
    let mut bench = bench::Bench::new();
    let language = Language::new([&SERVICE], []).with_factory(&NEW);
    bench.session = Session::new(Arc::new(language));
    let mut text = String::new();
    bench.session.run(script, How::Import, &mut bench.device, &mut |piece| match piece {
        Piece::Text(piece) | Piece::Frame(piece) => text += &piece,
    })?;
    Ok(text.lines().filter(|line| !line.starts_with('#')).collect::<Vec<_>>().join("; "))
}

/// An export says what is not as a new device has it, whether it is more or less.
#[test]
fn exported_is_what_differs() {
    for (said, export) in [
        ("", ""),
        ("set telnet disabled=yes", ""),
        ("set api disabled=yes port=8728", ""),
        ("set api disabled=no", "/ip service; set api disabled=no"),
        (
            "enable api; set telnet port=2323",
            "/ip service; set api disabled=no; set telnet port=2323",
        ),
        ("set telnet comment=x", "/ip service; set telnet comment=x"),
    ] {
        let told = prints(&format!("/ip service; {said}; /export")).unwrap();
        assert_eq!(told, export, "{said}");
        let again = prints(&format!("{}\n/export", told.replace("; ", "\n"))).unwrap();
        assert_eq!(again, told, "{said}");
    }
    let refused = prints("/ip service set telnet disabled=no").unwrap_err();
    assert_eq!(refused.text, "not implemented: there is no telnet");
}

/// A byte order mark is nothing; a file of another encoding is named.
#[test]
fn encodings() {
    let utf16 = |mark: [u8; 2]| [&mark[..], b"/\0i\0p\0"].concat();
    for (content, expected) in [
        (b"\xef\xbb\xbf/ip service".to_vec(), Ok("\u{feff}/ip service")),
        (utf16([0xff, 0xfe]), Err("the file is UTF-16; save it as UTF-8")),
        (utf16([0xfe, 0xff]), Err("the file is UTF-16; save it as UTF-8")),
        (b"caf\xe9".to_vec(), Err("the file is not UTF-8")),
    ] {
        assert_eq!(text_of_file(content).as_deref(), expected.as_deref());
    }
    assert_eq!(prints("\u{feff}/ip service export"), Ok(String::new()));
    let error = prints("\u{feff}/ip serv1ce").unwrap_err().to_string();
    assert!(error.contains("column 5)\n    /ip serv1ce\n        ^"), "{error}");
}

/// However long what was typed is, what is said of it is not.
#[test]
fn sentences_have_an_end() {
    let long = "x".repeat(200_000);
    for script in [
        long.clone(),
        format!("/{long}"),
        format!("/ip service {long}"),
        format!("/ip service set {long}"),
        format!("/ip service set api {long}=1"),
        format!("/ip service set api port={long}"),
        format!("/ip service print where {long}=1"),
        format!("/ip service export file={long} {long}"),
        format!(":put ${long}"),
        format!("/ip service set api port=1 # {long}\nfoo"),
    ] {
        let Err(error) = prints(&script) else { continue };
        let (said, start) = (error.to_string(), script.chars().take(40).collect::<String>());
        assert!(said.len() < 2500, "{start}: {} bytes", said.len());
    }
}
