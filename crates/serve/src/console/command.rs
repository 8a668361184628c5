//! One line, or a whole script, run to its end: what it prints goes to the screen, keys go back.

use super::remote::{Gone, Remote, Tag};
use super::screen::Screen;
use super::terminal::{Key, Keys};
use crate::sentence::Sentence;
use std::io::{self, Write};
use std::time::Duration;

/// What came of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Outcome {
    /// Where the session stands now.
    pub(super) place: Option<String>,
    /// Why it was refused.
    pub(super) trap: Option<Trap>,
}

/// Why a line was refused, and where.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Trap {
    pub(super) message: String,
    /// Counted from 1; 0 if the device did not say.
    pub(super) line: usize,
    pub(super) column: usize,
    /// The line itself.
    pub(super) source: String,
    /// What would have been legal.
    pub(super) help: String,
    /// Whether it ended because we asked it to.
    pub(super) is_interrupted: bool,
}

impl Trap {
    fn new(sentence: &Sentence) -> Trap {
        let field = |name| sentence.text(name).unwrap_or_default();
        let number = |name| field(name).parse().unwrap_or(0);
        Trap {
            message: field("message"),
            line: number("line"),
            column: number("column"),
            source: field("source"),
            help: field("help"),
            is_interrupted: field("message").starts_with("interrupted"),
        }
    }

    /// The line, and a caret below the place.
    pub(super) fn below(&self) -> String {
        if self.source.is_empty() || self.column == 0 {
            return String::new();
        }
        let (line, before) = config::excerpt(&self.source, self.column);
        format!("    {line}\n    {before}^\n")
    }

    /// What would have been legal, on a line of its own.
    pub(super) fn advice(&self) -> String {
        if self.help.is_empty() { String::new() } else { format!("{}\n", self.help) }
    }

    /// What stands before the caret: tabs stay tabs, so that it stands below its character.
    pub(super) fn blanks(&self) -> String {
        let before =
            self.source.chars().chain(std::iter::repeat(' ')).take(self.column.saturating_sub(1));
        before.map(|c| if c == '\t' { c } else { ' ' }).collect()
    }
}

/// How often keys are looked for.
const TICK: Duration = Duration::from_millis(20);
/// So many looks are left out at first: who types ahead of a short command means the next line.
const TYPED_AHEAD: u32 = 10;

/// Runs `line`; `keys` are those of the terminal, if there is one.
pub(super) fn run<W: Write>(
    remote: &mut Remote,
    line: &str,
    width: usize,
    screen: &mut Screen<W>,
    keys: Option<&Keys>,
) -> Result<Outcome, Ended> {
    let tag = send(remote, line, width)?;
    let mut outcome = Outcome::default();
    // Looks at the keyboard that are still to be left out.
    let mut left_out = TYPED_AHEAD;
    // Whether it was asked to end, and whether what it still says is of interest.
    let (mut has_cancelled, mut is_muted) = (false, false);
    loop {
        let timeout = keys.map(|_| TICK);
        // A full page holds what comes: the device waits when nobody reads.
        let sentence = if screen.is_waiting() { None } else { remote.next(tag, timeout)? };
        match sentence {
            Some(sentence) => match sentence.kind() {
                "!done" => {
                    outcome.place = sentence.text("place");
                    while let Some(keys) = keys.filter(|_| screen.is_waiting()) {
                        page(screen, keys)?;
                    }
                    screen.end()?;
                    return Ok(outcome);
                }
                "!trap" => drop(outcome.trap.get_or_insert(Trap::new(&sentence))),
                _ if is_muted => {}
                _ => {
                    for (name, value) in sentence.attributes() {
                        let value = String::from_utf8_lossy(value);
                        match name {
                            b"text" => screen.text(&value)?,
                            b"frame" => {
                                screen.frame(&value)?;
                                left_out = 0;
                            }
                            _ => {}
                        }
                    }
                }
            },
            None if screen.is_waiting() => {
                let quit = keys.map_or(Ok(true), |keys| page(screen, keys))?;
                if quit {
                    remote.cancel(tag)?;
                    (has_cancelled, is_muted) = (true, true);
                }
                continue;
            }
            None => {}
        }
        left_out = left_out.saturating_sub(1);
        let Some(keys) = keys.filter(|_| left_out == 0) else { continue };
        match keys.next(Duration::ZERO) {
            Some(Key::Quit) if !has_cancelled => {
                remote.cancel(tag)?;
                has_cancelled = true;
            }
            Some(Key::Dump) => screen.dump()?,
            Some(Key::Pause) => screen.pause()?,
            _ => {}
        }
    }
}

/// Sends a script, in as many words and sentences as it takes.
fn send(remote: &mut Remote, script: &str, width: usize) -> Result<Tag, Gone> {
    /// Bytes in a word, and words in a sentence: within what the API takes.
    const WORD: usize = 32 << 10;
    const WORDS: usize = 16;
    let run = || Sentence::new("/console/run").with("width", width.to_string());
    let (mut sentence, mut n_words, mut rest) = (run(), 0, script);
    loop {
        let (word, behind) = rest.split_at(rest.floor_char_boundary(WORD));
        (sentence, n_words, rest) = (sentence.with("line", word), n_words + 1, behind);
        if rest.is_empty() {
            return remote.start(sentence);
        }
        if n_words == WORDS {
            let answer = remote.call(sentence.with("more", "yes"))?;
            if let Some(trap) = answer.trap {
                return Err(Gone(trap.text("message").unwrap_or_default()));
            }
            (sentence, n_words) = (run(), 0);
        }
    }
}

/// What is done with a full page. Whether the user has seen enough.
fn page<W: Write>(screen: &mut Screen<W>, keys: &Keys) -> io::Result<bool> {
    match keys.next(Duration::from_secs(60)) {
        Some(Key::Quit) => {
            screen.quit()?;
            return Ok(true);
        }
        Some(Key::Dump) => screen.more(None)?,
        Some(Key::Line) => screen.more(Some(1))?,
        Some(Key::Page) => screen.more(Some(screen.page()))?,
        Some(Key::Pause) | None => {}
    }
    Ok(false)
}

/// Why a command could not be brought to its end.
#[derive(Debug)]
pub(super) enum Ended {
    /// There is no device any more.
    Gone(Gone),
    /// There is nowhere to write to any more.
    Output(io::Error),
}

impl From<Gone> for Ended {
    fn from(gone: Gone) -> Ended {
        Ended::Gone(gone)
    }
}

impl From<io::Error> for Ended {
    fn from(error: io::Error) -> Ended {
        Ended::Output(error)
    }
}
