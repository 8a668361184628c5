//! The packet flow: `flow.rs`, `step.rs` and ARCHITECTURE.md say the same (invariant 1).
//!
//! ```text
//! step.rs          Name = "box" missing,      the boxes, their names, which are not built
//! flow.rs          fn …  r.at(Step::Name)     the order they are walked in, function by function
//! ARCHITECTURE.md  function   box ─► box      the same, for the reader
//! ```
//!
//! The sources are read as text: no build, no dependency on `router`.

use super::sources::code;

/// The document's heading above the list.
const HEADING: &str = "### The packet flow, box by box";

/// A box of the flow, as `step.rs` has it.
#[derive(Debug)]
struct Step<'a> {
    name: &'a str,
    text: &'a str,
    missing: bool,
}

/// Complains where the three disagree.
pub(crate) fn check(architecture: &str, step: &str, flow: &str) -> Vec<String> {
    let (steps, walked) = (steps(step), walked(flow));
    let mut complaints = Vec::new();
    if steps.is_empty() || walked.is_empty() {
        complaints.push("crates/router/src: no boxes found in step.rs or flow.rs".to_string());
    }
    let mut first: Vec<&str> = Vec::new();
    for (_, names) in &walked {
        for name in names {
            if !first.contains(&name.as_str()) {
                first.push(name);
            }
        }
    }
    let all: Vec<&str> = steps.iter().map(|step| step.name).collect();
    for name in all.iter().filter(|name| !first.contains(name)) {
        complaints.push(format!("crates/router/src/flow.rs: no `r.at(Step::{name})`"));
    }
    if complaints.is_empty() && all != first {
        let (listed, walked) = all.iter().zip(&first).find(|(a, b)| a != b).unwrap_or((&"", &""));
        complaints.push(format!(
            "crates/router/src/step.rs: lists {listed} where flow.rs first comes to {walked}"
        ));
    }
    let expected = picture(&walked, &steps);
    if documented(architecture) != expected.trim() {
        complaints.push(format!("ARCHITECTURE.md: under \"{HEADING}\" should stand:\n{expected}"));
    }
    complaints
}

/// The boxes, from the list in `step.rs`.
fn steps(source: &str) -> Vec<Step<'_>> {
    let list = source.split_once("\nsteps! {").map_or("", |(_, list)| list);
    let list = list.split("\n}").next().unwrap_or_default();
    list.lines()
        .filter_map(|line| {
            let (name, rest) = line.split_once(" = \"")?;
            let (text, rest) = rest.split_once('"')?;
            Some(Step { name: name.trim(), text, missing: rest.contains("missing") })
        })
        .collect()
}

/// The functions of `flow.rs` that come to boxes, and the boxes in their order, each once.
fn walked(source: &str) -> Vec<(String, Vec<String>)> {
    let word = |text: &str| -> String {
        text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
    };
    let mut walked: Vec<(String, Vec<String>)> = Vec::new();
    for line in code(source).lines() {
        if !line.starts_with(' ')
            && let Some((_, name)) = line.split_once("fn ")
        {
            walked.push((word(name), Vec::new()));
        }
        for step in line.split("r.at(Step::").skip(1) {
            let step = word(step);
            if let Some((_, steps)) = walked.last_mut()
                && !steps.contains(&step)
            {
                steps.push(step);
            }
        }
    }
    walked.retain(|(_, steps)| !steps.is_empty());
    walked
}

/// The list as the document shows it: a line for each function, folded, missing boxes marked.
fn picture(walked: &[(String, Vec<String>)], steps: &[Step<'_>]) -> String {
    let mut picture = String::new();
    for (function, names) in walked {
        let mut line = format!("{function:<17} ");
        for (n, name) in names.iter().enumerate() {
            let text = match steps.iter().find(|step| step.name == name) {
                Some(Step { text, missing: true, .. }) => format!("{text} (missing)"),
                Some(step) => step.text.to_string(),
                None => format!("Step::{name}?"),
            };
            let arrow = if n == 0 { "" } else { " ─► " };
            if line.chars().count() + arrow.len() + text.len() > 100 {
                picture.push_str(&line);
                picture.push('\n');
                line = format!("{:<18}", "");
            }
            line.push_str(arrow);
            line.push_str(&text);
        }
        picture.push_str(&line);
        picture.push('\n');
    }
    picture
}

/// What stands in the document, in the first fence after the heading.
fn documented(architecture: &str) -> &str {
    let after = architecture.split_once(HEADING).map_or("", |(_, after)| after);
    let fence = after.split_once("```text\n").map_or("", |(_, fence)| fence);
    fence.split("```").next().unwrap_or_default().trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEP: &str = "macro\nsteps! {\n    In = \"physical in\",\n    Mark = \"mangle\" missing,\n    \
                        Out = \"physical out\",\n}\nrest = \"x\"\n";
    const FLOW: &str = "pub(crate) fn come(r: &mut Router) {\n    r.at(Step::In);\n    \
                        r.at(Step::Mark); // r.at(Step::Gone)\n}\n\nfn leave() {\n    \
                        if x {\n        r.at(Step::Out);\n        r.at(Step::Out);\n    }\n}\n\nfn other() {}\n";

    fn document() -> String {
        format!(
            "{HEADING}\n\nprose\n\n```text\n\
             come              physical in ─► mangle (missing)\n\
             leave             physical out\n```\n"
        )
    }

    #[test]
    fn agrees() {
        assert_eq!(check(&document(), STEP, FLOW), [""; 0]);
    }

    #[test]
    fn sees_every_disagreement() {
        let (document, built) = (document(), STEP.replace(" missing", ""));
        let swapped = STEP.replace("    Mark = \"mangle\" missing,\n", "");
        let swapped = swapped.replace("    In", "    Mark = \"mangle\" missing,\n    In");
        let shorter = FLOW.replace("    r.at(Step::Mark);", "");
        let unknown = STEP.replace("Out", "Away");
        for (step, flow, expected) in [
            (built.as_str(), FLOW, "ARCHITECTURE.md: under"),
            (&swapped, FLOW, "step.rs: lists Mark where flow.rs first comes to In"),
            (STEP, &shorter, "flow.rs: no `r.at(Step::Mark)`"),
            (&unknown, FLOW, "flow.rs: no `r.at(Step::Away)`"),
            ("", "", "no boxes found"),
        ] {
            let complaints = check(&document, step, flow);
            assert!(complaints.iter().any(|it| it.contains(expected)), "{complaints:#?}");
        }
    }
}
