//! Files: `import` runs one, `export file=` and `print file=` write one.
//!
//! An import is taken over as a whole, and of one that fails nothing is left; its error names the
//! line and the column in the file. Inside another import it is a part of that.
//!
//! Never touches a file system: files are the [`Host`](crate::Host)'s.

use crate::run::{Line, Run};
use crate::script::Operator;
use crate::{At, Error, How, Reply};

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
    /// `import file-name=backup.rsc`, `import backup.rsc`.
    pub(crate) fn import(&mut self, line: Line) -> Result<Reply, Error> {
        let [word, surplus @ ..] = line.words else {
            return Err(Error::new(line.at, "missing value(s) of argument(s) file-name"));
        };
        if let Some(word) = surplus.first() {
            return Err(Error::end_of_command(word.at));
        }
        if !matches!(&word.name, None | Some((_, Operator::Equal)))
            || word.name.as_ref().is_some_and(|(name, _)| name != "file-name")
        {
            return Err(Error::end_of_command(word.at).help("parameters are file-name"));
        }
        let name = self.text_of(word, line.path)?;
        let failed = |text| Error::new(word.value_at, text);
        let content = self.host.read_file(&name).map_err(failed)?;
        let script = text_of_file(content).map_err(|why| failed(format!("failure: {why}")))?;
        self.settle()?;
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
