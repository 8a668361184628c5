//! Files: `import` runs one, `export file=` and `print file=` write one.
//!
//! An import is taken over as a whole, and of one that fails nothing is left; its error names the
//! line and the column in the file. Inside another import it is a part of that.
//!
//! Never touches a file system: files are the [`Host`](crate::Host)'s.

use crate::inert;
use crate::run::{Line, Run};
use crate::script::Operator;
use crate::{At, Error, How, Reply, Type, Value};

/// What a file that imports itself may do.
const DEPTH: usize = 20;

/// A file's content as a text.
///
/// # Errors
/// What it is instead, and what to do.
pub fn text_of_file(content: Vec<u8>) -> Result<String, &'static str> {
    String::from_utf8(content).map_err(|error| match error.as_bytes() {
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => "the file is UTF-16; save it as UTF-8",
        _ => "the file is not UTF-8",
    })
}

impl Run<'_> {
    /// `import file-name=backup.rsc`, `import backup.rsc tolerant=yes confirm=5m`.
    pub(crate) fn import(&mut self, line: Line) -> Result<Reply, Error> {
        let (mut file, mut tolerant, mut confirm) = (None, false, None);
        for word in line.words {
            match &word.name {
                None if file.is_none() => file = Some(word),
                Some((name, Operator::Equal)) if name == "file-name" && file.is_none() => {
                    file = Some(word);
                }
                Some((name, Operator::Equal)) if name == "tolerant" => {
                    let value = self.value_of(word, "tolerant", &Type::Bool, line.path)?;
                    tolerant = value == Value::Bool(true);
                }
                Some((name, Operator::Equal)) if name == "confirm" => {
                    let Value::Time(within) =
                        self.value_of(word, "confirm", &Type::Time, line.path)?
                    else {
                        return Err(Error::end_of_command(word.at));
                    };
                    if within.is_zero() || self.how == How::Import {
                        let text = "failure: confirm is a time, and of no import within another";
                        return Err(Error::new(word.value_at, text));
                    }
                    confirm = Some((within, word.value_at));
                }
                _ => {
                    let help = "parameters are file-name, tolerant, confirm";
                    return Err(Error::end_of_command(word.at).help(help));
                }
            }
        }
        let Some(word) = file else {
            return Err(Error::new(line.at, "missing value(s) of argument(s) file-name"));
        };
        let name = self.text_of(word, line.path)?;
        let failed = |text| Error::new(word.value_at, text);
        let content = self.host.read_file(&name).map_err(failed)?;
        let script = text_of_file(content).map_err(|why| failed(format!("failure: {why}")))?;
        let (script, kept) = if tolerant {
            inert::tolerant(&script).map_err(|error| error.locate_in(&name, &script))?
        } else {
            (script, 0)
        };
        self.settle()?;
        let before = confirm.map(|_| self.host.tree());
        self.descend(DEPTH, line.at)?;
        let place = std::mem::take(&mut self.place);
        let here = self.script;
        self.script = here.wrapping_add(1 << 32);
        let result = match self.how {
            How::Import => self.script(&script),
            How::Typed => {
                self.how = How::Import;
                let result = self.whole(|run| run.script(&script));
                self.how = How::Typed;
                result
            }
        };
        (self.place, self.script) = (place, here);
        self.depth -= DEPTH;
        result.map_err(|error| error.locate_in(&name, &script))?;
        if let (Some((within, at)), Some(before)) = (confirm, before) {
            self.host.go_back(before, within).map_err(|text| Error::new(at, text))?;
            let within = Value::Time(within);
            self.print_text(format!("\nwithout /confirm all goes back after {within}\n"));
        }
        if kept > 0 {
            let kept = format!("\n{kept} lines without a meaning here are kept: /system inert\n");
            self.print_text(kept);
        }
        self.print_text("\nScript file loaded and executed successfully\n");
        Ok(Reply::Nothing)
    }

    /// Writes what was printed; a name without a dot gets this ending.
    pub(crate) fn write(
        &mut self,
        name: &str,
        ending: &str,
        text: &str,
        at: At,
    ) -> Result<(), Error> {
        let name = if name.contains('.') { name.to_string() } else { format!("{name}.{ending}") };
        self.host.write_file(&name, text.as_bytes()).map_err(|text| Error::new(at, text))
    }
}
