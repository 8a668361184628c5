//! Observations after a step: values, whether they are as expected, and the table's cells.

use super::report::{Found, StepReport, TableCell};
use super::{Lab, Plan};
use crate::topology::{Cell, Expectation, Source, Test};
use config::{How, Piece, Reply, Session};

impl Lab {
    /// Whether what was expected is so.
    pub(super) fn look(
        &mut self,
        plan: &Plan,
        expectation: &Expectation,
        report: &StepReport,
    ) -> Found {
        let text = expectation.text.clone();
        match &expectation.test {
            Test::Output { pattern, there } => {
                match report.output().find(|line| pattern.matches(line)) {
                    Some(_) if *there => Found::met(text),
                    None if !there => Found::met(text),
                    Some(line) => Found::not(text, line.to_string()),
                    None => Found::not(text, "no line of the output matches".to_string()),
                }
            }
            Test::Value { source, wanted } => match self.value(plan, source, report) {
                Ok(value) if wanted.holds(&value) => Found::met(text),
                Ok(value) | Err(value) => Found::not(text, value),
            },
        }
    }

    /// A cell of the table, filled.
    pub(super) fn fill(
        &mut self,
        plan: &Plan,
        cell: &Cell,
        report: &StepReport,
    ) -> Result<TableCell, String> {
        let value = self.value(plan, &cell.source, report)?;
        let (row, column) = (cell.row.clone(), cell.column.clone());
        Ok(TableCell { row, column, value: cell.show(&value)? })
    }

    /// A value, or why there is none.
    fn value(
        &mut self,
        plan: &Plan,
        source: &Source,
        report: &StepReport,
    ) -> Result<String, String> {
        match source {
            Source::Value { node, command } => self.ask(*node, command, plan),
            Source::Json(path) => report.commands.last().map_or_else(
                || Err("nothing was printed".to_string()),
                |typed| json(&typed.output, path),
            ),
            Source::Field { of, field, or } => {
                let Some(line) = report.output().find(|line| of.matches(line)) else {
                    return or.clone().ok_or("no line of the output matches".to_string());
                };
                let word = line.split_whitespace().nth(field - 1);
                let word = word.ok_or_else(|| format!("no word {field} in: {line}"))?;
                Ok(word.trim_end_matches('%').to_string())
            }
            Source::Text(text) => Ok(text.clone()),
        }
    }

    /// What a command returns on a router.
    fn ask(&mut self, node: usize, command: &str, plan: &Plan) -> Result<String, String> {
        // A session of its own: an expectation moves nobody to another menu.
        let mut session = Session::new(self.sessions[node].language().clone());
        let mut printed = String::new();
        let mut print = |piece: Piece| match piece {
            Piece::Text(text) | Piece::Frame(text) => printed.push_str(&text),
        };
        let reply = self
            .with_host(node, plan.limit, |host| session.run(command, How::Typed, host, &mut print));
        match reply {
            Ok(Reply::Nothing) => Ok(printed.trim().to_string()),
            Ok(reply) => Ok(reply.to_string()),
            Err(error) => Err(error.to_string()),
        }
    }
}

/// What stands at a place of the JSON in a text.
fn json(text: &str, path: &str) -> Result<String, String> {
    let object = text.find('{').zip(text.rfind('}')).filter(|(begin, end)| begin < end);
    let (begin, end) = object.ok_or("no JSON was printed")?;
    let root: serde_json::Value =
        serde_json::from_str(&text[begin..=end]).map_err(|error| format!("no JSON: {error}"))?;
    let mut value = &root;
    for step in path.split('.') {
        let next = match step.parse::<usize>() {
            Ok(at) if value.is_array() => value.get(at),
            _ => value.get(step),
        };
        value = next.ok_or_else(|| format!("there is no {step} of {path} in the JSON printed"))?;
    }
    match value {
        serde_json::Value::String(text) => Ok(text.clone()),
        value => Ok(value.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::json;

    #[test]
    fn places_in_json() {
        let text = "warning: {\n{\"a\": [{\"b c\": 1.5e9}, \"x\"], \"1\": null}\n";
        let text = text.trim_start_matches("warning: {\n");
        for (path, expected) in [
            ("a.0.b c", Ok("1500000000.0")),
            ("a.1", Ok("x")),
            ("1", Ok("null")),
            ("a.2", Err("there is no 2 of a.2 in the JSON printed")),
            ("a.b", Err("there is no b of a.b in the JSON printed")),
        ] {
            assert_eq!(
                json(text, path).as_deref(),
                expected.map_err(String::from).as_ref().map(|t| *t),
                "{path}"
            );
        }
        assert!(json("} {", "a").is_err());
        assert!(json("{ a }", "a").unwrap_err().starts_with("no JSON: "));
    }
}
