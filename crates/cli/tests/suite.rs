//! `wirespeed test` as a user meets it: a plan in virtual time, an impossible plan.

mod folder;

use folder::{Folder, SMALL, text, wirespeed};

#[test]
fn a_plan_in_virtual_time() {
    let folder = Folder::with("plan", SMALL);
    let (plan, json, html) =
        (folder.path("plan.toml"), folder.path("a.json"), folder.path("a.html"));
    let out = wirespeed(&["test", &plan, "--virtual", "--json", &json, "--html", &html]);
    let (stdout, stderr) = (text(&out.stdout), text(&out.stderr));
    assert!(out.status.success(), "{stdout}{stderr}");
    for expected in
        ["Throughput (RFC 2544 §26.1)", "SHORTENED: durations divided by 300", "512", "0 loss]"]
    {
        assert!(stdout.contains(expected), "{expected} in {stdout}");
    }
    let page = std::fs::read_to_string(&html).unwrap();
    assert!(page.contains("<svg") && page.contains("the wire (theoretical)"));
    let results = report::suite::read(&std::fs::read_to_string(&json).unwrap()).unwrap();
    assert_eq!((results.complete, results.cells.len()), (true, 4));
    assert_eq!(results.plan, SMALL);
}

#[test]
fn impossible_plans_are_refused_with_their_place() {
    let folder = Folder::with("bad", &SMALL.replace("64, 512", "63, 512"));
    let plan = folder.path("plan.toml");
    let out = wirespeed(&["test", &plan, "--virtual"]);
    let stderr = text(&out.stderr);
    assert_eq!(out.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("plan.toml:8:16: frames of 63 bytes"), "{stderr}");
    assert!(out.stdout.is_empty());
    let out = wirespeed(&["test", &folder.path("none.toml")]);
    assert_eq!(out.status.code(), Some(3), "{}", text(&out.stderr));
}
