//! One command of a client: an API command, or one of the console's.
//!
//! ```text
//! /ip/address/print …    ─► Session::execute ─► !re =name=value …   !done =ret=
//! /console/run =line=…   ─► Session::run     ─► !re =text= | =frame= …   !done =place= =ret=
//! /console/inspect …     ─► Session::complete and the like ─► !re …     !done
//! ```
//!
//! `/console/run` runs in the connection's own session, so the current menu, item numbers and
//! variables stay from one to the next. Its words: `line` (several are joined; with `more=yes` the
//! script goes on in the next sentence), `how` (`typed` or `import`, all or nothing), `width` of the
//! terminal. What is refused comes as `!trap` with `message`, `line`, `column`, `source`, `help`
//! and `place`.

use crate::connection::{Connection, Console};
use crate::guard::Guard;
use crate::inspect;
use crate::lanes::Task;
use crate::outbox::Answers;
use crate::sentence::Sentence;
use crate::user::User;
use config::{How, Piece, Reply, Request, Session};

/// The longest script that may come in several sentences: a full BGP table is shorter.
const LONGEST_SCRIPT: usize = 128 << 20;

/// What is printed goes out in words of at most so many bytes.
const PIECE: usize = 16 << 10;

/// Runs it and says what came of it.
pub(crate) fn run(connection: &Connection, task: &Task, user: &User, answers: &Answers) {
    let shared = &connection.shared;
    let host = shared.device.host();
    let group = user.group;
    let mut guard = Guard { host, shared, group, stop: &task.stop, answers, before: None };
    let Some(words) = texts(&task.sentence) else {
        return answers.fail(Some(5), "failure: a word that is not UTF-8");
    };
    match task.sentence.kind() {
        "/console/run" => {
            let Some(mut console) = connection.take_console() else {
                return answers.fail(Some(6), "failure: the console is running something else");
            };
            // If it panics the session is lost, and the connection with it.
            run_console(&mut console, &task.sentence, &mut guard, answers);
            connection.put_console(console);
        }
        "/console/inspect" => {
            let Some(console) = connection.take_console() else {
                return answers.fail(Some(6), "failure: the console is running something else");
            };
            let records = request(&words).and_then(|request| {
                inspect::inspect(&console.session, &mut guard, &request.attributes)
            });
            connection.put_console(console);
            match records {
                Ok(records) => {
                    records.into_iter().for_each(|record| answers.say(re(&record)));
                    answers.say(Sentence::new("!done"));
                }
                Err(why) => answers.fail(Some(1), &why),
            }
        }
        _ => execute(connection, &words, &mut guard, answers),
    }
}

/// The words as text, if they are.
fn texts(sentence: &Sentence) -> Option<Vec<&str>> {
    sentence.words.iter().map(|word| str::from_utf8(word).ok()).collect()
}

fn execute(connection: &Connection, words: &[&str], guard: &mut Guard, answers: &Answers) {
    let request = match request(words) {
        Ok(request) => request,
        Err(why) => return answers.fail(Some(5), &why),
    };
    let mut session = Session::new(connection.shared.device.language());
    let mut record = |fields: Vec<(String, String)>| answers.say(re(&fields));
    match session.execute(&request, guard, &mut record) {
        Ok(reply) => answers.say(done(&reply)),
        Err(why) => answers.fail(why.category, &why.message),
    }
}

fn re(fields: &[(String, String)]) -> Sentence {
    fields.iter().fold(Sentence::new("!re"), |re, (name, value)| re.with(name, value))
}

fn request(words: &[&str]) -> Result<Request, String> {
    let mut request = Request::new(words.first().copied().unwrap_or_default());
    for word in words.iter().skip(1) {
        if let Some(query) = word.strip_prefix('?') {
            request = request.query(query);
        } else if let Some(attribute) = word.strip_prefix('=') {
            let (name, value) = attribute.split_once('=').unwrap_or((attribute, ""));
            request = request.with(name, value);
        } else if let Some(list) = word.strip_prefix(".proplist=") {
            request = request.with(".proplist", list);
        } else if !word.starts_with(".tag=") {
            return Err(format!("failure: {word} is no attribute, no query and no tag"));
        }
    }
    Ok(request)
}

fn done(reply: &Reply) -> Sentence {
    match reply {
        Reply::Nothing => Sentence::new("!done"),
        _ => Sentence::new("!done").with("ret", reply.to_string()),
    }
}

fn run_console(console: &mut Console, sentence: &Sentence, guard: &mut Guard, answers: &Answers) {
    for line in sentence.all("line") {
        // It was looked at as UTF-8 before.
        console.begun.push_str(&String::from_utf8_lossy(line));
    }
    if console.begun.len() > LONGEST_SCRIPT {
        console.begun = String::new();
        return answers
            .fail(Some(4), &format!("failure: a script longer than {LONGEST_SCRIPT} bytes"));
    }
    if sentence.get("more") == Some(b"yes") {
        return answers.say(Sentence::new("!done"));
    }
    let script = std::mem::take(&mut console.begun);
    let how = match sentence.get("how") {
        None | Some(b"typed") => How::Typed,
        Some(b"import") => How::Import,
        Some(_) => return answers.fail(Some(1), "input does not match any value of how"),
    };
    if let Some(width) = sentence.text("width") {
        match width.parse() {
            Ok(width) => console.session.set_width(width),
            Err(_) => return answers.fail(Some(1), "invalid value for argument width"),
        }
    }
    let mut out = |piece: Piece| match piece {
        Piece::Text(text) => in_pieces(&text).for_each(|part| {
            answers.say(Sentence::new("!re").with("text", part));
        }),
        Piece::Frame(frame) => answers.say(Sentence::new("!re").with("frame", frame)),
    };
    match console.session.run(&script, how, guard, &mut out) {
        Ok(reply) => answers.say(done(&reply).with("place", console.session.place())),
        Err(error) => {
            let (line, column) = (error.at.line.to_string(), error.at.column.to_string());
            let trap = Sentence::new("!trap").with("message", error.text).with("line", line);
            let trap = trap.with("column", column).with("source", error.source);
            // The place may have changed before the line that was refused.
            answers.say(trap.with("help", error.help).with("place", console.session.place()));
            answers.say(Sentence::new("!done"));
        }
    }
}

/// A text cut between characters.
fn in_pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (piece, behind) = rest.split_at(rest.floor_char_boundary(PIECE));
        rest = behind;
        (!piece.is_empty()).then_some(piece)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_request() {
        let words = ["/a/print", "=x=y=z", "=flag", ".proplist=a,b", "?q=1", "?#!", ".tag=9"];
        let request = request(&words).unwrap();
        assert_eq!(request.command, "/a/print");
        let expected = [("x", "y=z"), ("flag", ""), (".proplist", "a,b")];
        assert_eq!(request.attributes, expected.map(|(n, v)| (n.to_string(), v.to_string())));
        assert_eq!(request.queries, ["q=1", "#!"]);
        assert!(super::request(&["/a/print", "bare"]).is_err());
    }

    #[test]
    fn texts_are_cut_between_characters() {
        let text = "é".repeat(PIECE);
        let pieces: Vec<&str> = in_pieces(&text).collect();
        assert_eq!((pieces.concat(), pieces.len()), (text.clone(), 2));
        let odd = format!("x{text}");
        assert!(in_pieces(&odd).all(|piece| piece.len() <= PIECE));
        assert_eq!(in_pieces("").count(), 0);
    }
}
