//! A client of the API: the console is one, the lab and the tests use it.
//!
//! ```text
//! connect ─► login ─► run: a sentence out, !re … !done in
//!                     └─ Canceller, from any thread: /cancel
//! ```
//!
//! Synchronous, one command at a time; whoever wants several under way opens several.
//!
//! ```no_run
//! use serve::client::Client;
//! let mut client = Client::unix("/tmp/dut.sock".as_ref())?;
//! client.login("admin", None)?;
//! let answer = client.run(Client::sentence("/ip/address/print").word("?interface=ether1"))?;
//! for address in &answer.records {
//!     println!("{}", address.text("address").unwrap_or_default());
//! }
//! # Ok::<(), serve::client::Failure>(())
//! ```

use crate::sentence::{Bounds, Decoder, Malformed, Sentence};
use crate::stream::Stream;
use std::fmt;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// What a device may answer: a whole export as one value.
const ANSWERS: Bounds = Bounds { word: 64 << 20, sentence: 64 << 20, words: 1 << 16 };

/// A connection to a device.
#[derive(Debug)]
pub struct Client {
    line: Arc<Line>,
    decoder: Decoder,
    /// The command under way, for answers of one that was cancelled too late.
    tag: u64,
}

/// The connection, and whose turn it is to write: sentences of two threads must not mix.
#[derive(Debug)]
struct Line {
    stream: Stream,
    writing: Mutex<()>,
}

impl Line {
    fn write(&self, bytes: &[u8]) -> io::Result<()> {
        let _turn = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        (&self.stream).write_all(bytes)
    }

    fn send(&self, sentence: &Sentence) -> io::Result<()> {
        let mut bytes = Vec::new();
        sentence.write(&mut bytes);
        self.write(&bytes)
    }
}

/// What a command has answered.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    /// Its `!re` sentences.
    pub records: Vec<Sentence>,
    /// Its `!done`, with what it returned.
    pub done: Sentence,
}

impl Answer {
    /// What it returned: the `=ret=` of its `!done`.
    pub fn ret(&self) -> Option<String> {
        self.done.text("ret")
    }
}

/// Why a command has not come to its end.
#[derive(Debug)]
pub enum Failure {
    /// The connection failed or ended.
    Io(io::Error),
    /// What came is no sentence.
    Malformed(Malformed),
    /// The command failed: the `!trap`, which has a `message`.
    Trap(Sentence),
    /// The device has ended the connection, and says why.
    Fatal(String),
}

impl Failure {
    /// The message of a `!trap` or `!fatal`.
    pub fn message(&self) -> String {
        match self {
            Failure::Io(error) => error.to_string(),
            Failure::Malformed(why) => why.to_string(),
            Failure::Trap(trap) => trap.text("message").unwrap_or_default(),
            Failure::Fatal(why) => why.clone(),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message())
    }
}

impl std::error::Error for Failure {}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        Failure::Io(error)
    }
}

impl Client {
    /// Connects to the socket at this path.
    ///
    /// # Errors
    /// Nobody listens there, or not to us.
    pub fn unix(path: &Path) -> Result<Client, Failure> {
        Client::new(Stream::Unix(UnixStream::connect(path)?))
    }

    /// Connects over TCP, waiting `timeout` at most.
    ///
    /// # Errors
    /// Nobody answers there.
    pub fn tcp(to: SocketAddr, timeout: Duration) -> Result<Client, Failure> {
        Client::new(Stream::Tcp(TcpStream::connect_timeout(&to, timeout)?))
    }

    pub(crate) fn new(stream: Stream) -> Result<Client, Failure> {
        stream.prepare()?;
        let line = Arc::new(Line { stream, writing: Mutex::new(()) });
        Ok(Client { line, decoder: Decoder::new(ANSWERS), tag: 0 })
    }

    /// A command to be sent: its path, to which attributes are added.
    pub fn sentence(path: &str) -> Sentence {
        Sentence::new(path)
    }

    /// Logs in. Over a Unix socket a user's own device asks for no password.
    ///
    /// # Errors
    /// The device does not know this user by this password.
    pub fn login(&mut self, name: &str, password: Option<&str>) -> Result<(), Failure> {
        let mut login = Sentence::new("/login").with("name", name);
        if let Some(password) = password {
            login = login.with("password", password);
        }
        self.run(login).map(|_| ())
    }

    /// Runs a command and gathers what it answers.
    ///
    /// # Errors
    /// It failed, or the connection did.
    pub fn run(&mut self, command: Sentence) -> Result<Answer, Failure> {
        let mut records = Vec::new();
        let done = self.stream(command, |record| records.push(record))?;
        Ok(Answer { records, done })
    }

    /// Runs a command; `each` gets what it says, as it says it. Returns its `!done`.
    ///
    /// # Errors
    /// It failed, or the connection did. What was cancelled fails with `interrupted`.
    pub fn stream(
        &mut self,
        command: Sentence,
        mut each: impl FnMut(Sentence),
    ) -> Result<Sentence, Failure> {
        self.tag += 1;
        let tag = self.tag.to_string();
        self.send(&command.tagged(Some(tag.as_bytes())))?;
        let mut trap = None;
        loop {
            let answer = self.receive()?;
            if answer.kind() == "!fatal" {
                let why = answer.words.get(1).cloned().unwrap_or_default();
                return Err(Failure::Fatal(String::from_utf8_lossy(&why).into_owned()));
            }
            if answer.tag() != Some(tag.as_bytes()) {
                continue;
            }
            match answer.kind() {
                "!re" => each(answer),
                "!trap" => trap = trap.or(Some(answer)),
                "!done" => return trap.map_or(Ok(answer), |trap| Err(Failure::Trap(trap))),
                _ => {}
            }
        }
    }

    /// What cancels the command under way, from another thread or for a key.
    pub fn canceller(&self) -> Canceller {
        Canceller(Arc::clone(&self.line))
    }

    /// Sends any sentence.
    ///
    /// # Errors
    /// The connection has ended.
    pub fn send(&self, sentence: &Sentence) -> Result<(), Failure> {
        self.line.send(sentence).map_err(Failure::Io)
    }

    /// Sends any bytes, sentences or not.
    ///
    /// # Errors
    /// The connection has ended.
    pub fn send_bytes(&self, bytes: &[u8]) -> Result<(), Failure> {
        self.line.write(bytes).map_err(Failure::Io)
    }

    /// The next sentence, whatever it answers.
    ///
    /// # Errors
    /// The connection has ended, or what came is no sentence.
    pub fn receive(&mut self) -> Result<Sentence, Failure> {
        let mut bytes = [0; 16 << 10];
        loop {
            if let Some(sentence) = self.decoder.take().map_err(Failure::Malformed)? {
                return Ok(sentence);
            }
            match (&self.line.stream).read(&mut bytes) {
                Ok(0) => {
                    let why = "the device has closed the connection";
                    return Err(io::Error::new(io::ErrorKind::UnexpectedEof, why).into());
                }
                Ok(n) => self.decoder.feed(&bytes[..n]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// How long [`receive`](Self::receive) may wait for more; `None` for ever.
    ///
    /// # Errors
    /// The system refuses.
    pub fn set_timeout(&self, timeout: Option<Duration>) -> Result<(), Failure> {
        self.line.stream.set_read_timeout(timeout).map_err(Failure::Io)
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.line.stream.close();
    }
}

/// Cancels what its [`Client`] has under way.
#[derive(Clone, Debug)]
pub struct Canceller(Arc<Line>);

impl Canceller {
    /// The command under way ends with `interrupted`; if there is none, nothing happens.
    pub fn cancel(&self) {
        // If the connection has failed, the client finds out by itself.
        let _ = self.0.send(&Sentence::new("/cancel").tagged(Some(b"cancel")));
    }
}
