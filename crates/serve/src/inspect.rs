//! `/console/inspect`: what RouterOS v7 answers about a line under way.
//!
//! ```text
//! request=completion  input="/ip addr"    =completion=address =offset=4 =style=dir =text=…
//! request=highlight   input="/ip addr"    =highlight=dir,dir,dir,none,dir,…
//! request=syntax      input="/ip address" =symbol=… =symbol-type=explanation =text=…
//! request=child       path=ip,address     =name=add =node-type=cmd
//! ```
//!
//! `path=` is where the line is typed, for those who have no place of their own. Beside what
//! RouterOS says, `append` is what belongs behind a completed word.

use config::{Host, Session};

/// Named values, as the API sends them.
type Record = Vec<(String, String)>;

/// The answer to one request, a record at a time; `attributes` as they came.
///
/// # Errors
/// RouterOS's words for a request that is none.
pub(crate) fn inspect(
    session: &Session,
    host: &mut dyn Host,
    attributes: &[(String, String)],
) -> Result<Vec<Record>, String> {
    let get = |wanted: &str| attributes.iter().rev().find(|(name, _)| name == wanted);
    let get = |wanted| get(wanted).map(|(_, value)| value.as_str());
    let input = get("input").unwrap_or("");
    let path = get("path").unwrap_or("");
    let words: Vec<&str> = path.split([',', '/', ' ']).filter(|word| !word.is_empty()).collect();
    let standing = match get("path") {
        Some(_) if get("request") != Some("child") => {
            Some(session.standing_at(&words).ok_or("no such command or directory")?)
        }
        _ => None,
    };
    let session = standing.as_ref().unwrap_or(session);
    Ok(match get("request") {
        Some("completion") => completion(session, host, input),
        Some("highlight") => {
            let classes = session.highlight(input, host);
            let classes: Vec<&str> = classes.iter().map(|class| class.name()).collect();
            vec![record("highlight", &[("highlight", &classes.join(","))])]
        }
        Some("syntax") => syntax(session, host, input),
        Some("child") => {
            let children = session.children(&words).ok_or("no such command or directory")?;
            let child = |child: &config::inspect::Child| {
                record("child", &[("name", child.name), ("node-type", child.class.name())])
            };
            children.iter().map(child).collect()
        }
        Some(_) => return Err("input does not match any value of request".to_string()),
        None => return Err("missing value(s) of argument(s) request".to_string()),
    })
}

fn completion(session: &Session, host: &mut dyn Host, input: &str) -> Vec<Record> {
    let completions = session.complete(input, host).into_iter();
    let completion = |c: config::inspect::Completion| {
        record(
            "completion",
            &[
                ("completion", &c.word),
                ("style", c.class.name()),
                ("offset", &c.at.to_string()),
                ("preference", "80"),
                ("show", "true"),
                ("text", &c.help),
                ("append", c.append),
            ],
        )
    };
    completions.map(completion).collect()
}

fn syntax(session: &Session, host: &mut dyn Host, input: &str) -> Vec<Record> {
    let mut records = Vec::new();
    for about in session.explain(input, host) {
        for (kind, text) in [("explanation", &about.text), ("definition", &about.definition)] {
            if !text.is_empty() {
                records.push(record(
                    "syntax",
                    &[("symbol", &about.symbol), ("symbol-type", kind), ("text", text)],
                ));
            }
        }
    }
    records
}

fn record(kind: &str, values: &[(&str, &str)]) -> Record {
    let own = |(name, value): &(&str, &str)| (name.to_string(), value.to_string());
    values.iter().chain(&[("type", kind)]).map(own).collect()
}
