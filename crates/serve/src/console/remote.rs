//! The device at the other end: a client that looks up from its answers now and then, for the keys.

use crate::client::{Client, Failure};
use crate::sentence::Sentence;
use std::io::ErrorKind;
use std::time::Duration;

/// The connection is gone, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Gone(pub(super) String);

impl From<Failure> for Gone {
    fn from(failure: Failure) -> Gone {
        Gone(failure.message())
    }
}

/// A command under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tag(u64);

/// What a whole command answered.
#[derive(Debug)]
pub(super) struct Answer {
    /// Its `!re`.
    pub(super) records: Vec<Sentence>,
    /// The first `!trap`, if there was one.
    pub(super) trap: Option<Sentence>,
}

/// A device at the other end.
pub(super) struct Remote {
    client: Client,
    last_tag: u64,
}

impl Remote {
    pub(super) fn new(client: Client) -> Remote {
        Remote { client, last_tag: 0 }
    }

    /// Sends a command.
    pub(super) fn start(&mut self, command: Sentence) -> Result<Tag, Gone> {
        self.last_tag += 1;
        self.client.send(&command.tagged(Some(self.last_tag.to_string().as_bytes())))?;
        Ok(Tag(self.last_tag))
    }

    /// The next sentence of a command, if one comes in time; `None` waits for ever. Those of others,
    /// which were given up, are passed over.
    pub(super) fn next(
        &mut self,
        tag: Tag,
        timeout: Option<Duration>,
    ) -> Result<Option<Sentence>, Gone> {
        self.client.set_timeout(timeout)?;
        loop {
            match self.client.receive() {
                Ok(sentence) if sentence.kind() == "!fatal" => {
                    let why = sentence.words.get(1).map(|word| String::from_utf8_lossy(word));
                    return Err(Gone(why.unwrap_or_default().into_owned()));
                }
                Ok(sentence) if sentence.tag() == Some(tag.0.to_string().as_bytes()) => {
                    return Ok(Some(sentence));
                }
                Ok(_) => {}
                Err(Failure::Io(error))
                    if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) =>
                {
                    return Ok(None);
                }
                Err(failure) => return Err(failure.into()),
            }
        }
    }

    /// A short command, to its end.
    pub(super) fn call(&mut self, command: Sentence) -> Result<Answer, Gone> {
        /// A device that says nothing for so long is not there.
        const PATIENCE: Duration = Duration::from_secs(10);
        let tag = self.start(command)?;
        let mut answer = Answer { records: Vec::new(), trap: None };
        loop {
            let sentence = self.next(tag, Some(PATIENCE))?;
            let Some(sentence) = sentence else {
                return Err(Gone("the device does not answer".to_string()));
            };
            match sentence.kind() {
                "!done" => return Ok(answer),
                "!trap" => drop(answer.trap.get_or_insert(sentence)),
                _ => answer.records.push(sentence),
            }
        }
    }

    /// Asks for a command to end. It still answers: a `!trap` and `!done`.
    pub(super) fn cancel(&mut self, tag: Tag) -> Result<(), Gone> {
        self.start(Sentence::new("/cancel").with("tag", tag.0.to_string())).map(drop)
    }
}
