//! Sentences of the API: words up to an empty one.
//!
//! ```text
//! /ip/address/print   =.proplist=address   ?interface=ether1   .tag=7   (empty)
//! └─ what it is       └─ attribute         └─ query            └─ API attribute
//! ```
//!
//! What comes over the wire comes in any pieces: [`Decoder`] is fed whatever has arrived and gives
//! whole sentences. What is announced too long is refused before it has arrived, so a sentence under
//! way takes no more memory than [`Bounds`] says.

use crate::word::{self, Prefix};
use std::fmt;

/// One sentence. Words are bytes; whoever needs text asks for it.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Sentence {
    /// Its words, none of them empty.
    pub words: Vec<Vec<u8>>,
}

impl Sentence {
    /// A sentence of one word.
    pub fn new(first: impl AsRef<[u8]>) -> Sentence {
        Sentence { words: vec![first.as_ref().to_vec()] }
    }

    /// With a further word.
    pub fn word(mut self, word: impl AsRef<[u8]>) -> Sentence {
        self.words.push(word.as_ref().to_vec());
        self
    }

    /// With the attribute `=name=value`.
    pub fn with(self, name: &str, value: impl AsRef<[u8]>) -> Sentence {
        self.word([b"=", name.as_bytes(), b"=", value.as_ref()].concat())
    }

    /// With the tag `.tag=tag`, if there is one.
    pub fn tagged(self, tag: Option<&[u8]>) -> Sentence {
        match tag {
            Some(tag) => self.word([TAG, tag].concat()),
            None => self,
        }
    }

    /// What it is: a command's path, or `!re` and the like. Empty if it is no text.
    pub fn kind(&self) -> &str {
        self.words.first().and_then(|word| str::from_utf8(word).ok()).unwrap_or_default()
    }

    /// The value of the last attribute of this name.
    pub fn get(&self, name: &str) -> Option<&[u8]> {
        self.all(name).last()
    }

    /// The values of all attributes of this name.
    pub fn all(&self, name: &str) -> impl Iterator<Item = &[u8]> {
        self.attributes().filter(move |(n, _)| *n == name.as_bytes()).map(|(_, value)| value)
    }

    /// The value of an attribute as text; whatever is no UTF-8 is replaced.
    pub fn text(&self, name: &str) -> Option<String> {
        self.get(name).map(|value| String::from_utf8_lossy(value).into_owned())
    }

    /// All `=name=value`, in order. `=name` alone has an empty value.
    pub fn attributes(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.words.iter().skip(1).filter_map(|word| {
            let rest = word.strip_prefix(b"=")?;
            let end = rest.iter().position(|byte| *byte == b'=').unwrap_or(rest.len());
            Some((&rest[..end], rest.get(end + 1..).unwrap_or_default()))
        })
    }

    /// The tag, which every answer repeats.
    pub fn tag(&self) -> Option<&[u8]> {
        self.words.iter().skip(1).find_map(|word| word.strip_prefix(TAG))
    }

    /// Appends it as it goes over the wire.
    pub fn write(&self, out: &mut Vec<u8>) {
        // An empty word would be the end.
        self.words.iter().filter(|word| !word.is_empty()).for_each(|w| word::write(out, w));
        word::write(out, b"");
    }
}

const TAG: &[u8] = b".tag=";

impl fmt::Debug for Sentence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.words.iter().map(|word| String::from_utf8_lossy(word))).finish()
    }
}

/// How much one sentence may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Bytes in a word.
    pub word: usize,
    /// Bytes in all words together.
    pub sentence: usize,
    /// Words.
    pub words: usize,
}

impl Bounds {
    /// For whom we know: more than any command needs.
    pub const KNOWN: Bounds = Bounds { word: 64 << 10, sentence: 1 << 20, words: 4096 };

    /// Before the login: enough for a name and a password.
    pub const STRANGER: Bounds = Bounds { word: 4 << 10, sentence: 16 << 10, words: 64 };
}

/// What was refused; nothing can be read behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// A byte that begins no word.
    Control(u8),
    /// A word that was announced with this length, and the most there may be.
    LongWord(usize, usize),
    /// The words of a sentence have more bytes than this together.
    LongSentence(usize),
    /// A sentence has more words than this.
    ManyWords(usize),
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Malformed::Control(byte) => {
                write!(f, "malformed sentence: no word begins with {byte:#x}")
            }
            Malformed::LongWord(length, most) => {
                write!(f, "malformed sentence: a word of {length} bytes, where {most} are the most")
            }
            Malformed::LongSentence(most) => {
                write!(f, "malformed sentence: more than {most} bytes")
            }
            Malformed::ManyWords(most) => write!(f, "malformed sentence: more than {most} words"),
        }
    }
}

impl std::error::Error for Malformed {}

/// Makes sentences of bytes in any pieces. Holds no memory between two sentences.
#[derive(Debug)]
pub struct Decoder {
    bounds: Bounds,
    /// Fed, not yet read: less than a word, whatever is fed after [`take`](Self::take) said `None`.
    bytes: Vec<u8>,
    at: usize,
    sentence: Sentence,
    /// Bytes in the words of the sentence so far.
    taken: usize,
    failed: Option<Malformed>,
}

impl Decoder {
    /// For sentences within these bounds.
    pub fn new(bounds: Bounds) -> Decoder {
        let (bytes, sentence) = (Vec::new(), Sentence::default());
        Decoder { bounds, bytes, at: 0, sentence, taken: 0, failed: None }
    }

    /// Other bounds, from the next word on.
    pub fn set_bounds(&mut self, bounds: Bounds) {
        self.bounds = bounds;
    }

    /// Takes what has arrived. Ask for sentences until there is none before feeding more.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// The next whole sentence, if it has arrived. Empty sentences are passed over, as RouterOS
    /// does.
    ///
    /// # Errors
    /// What was refused; the same for ever after.
    pub fn take(&mut self) -> Result<Option<Sentence>, Malformed> {
        if let Some(failed) = self.failed {
            return Err(failed);
        }
        loop {
            match self.word() {
                Ok(None) => return Ok(None),
                Ok(Some(word)) if !word.is_empty() => self.sentence.words.push(word),
                Ok(Some(_)) if self.sentence.words.is_empty() => {}
                Ok(Some(_)) => {
                    self.taken = 0;
                    return Ok(Some(std::mem::take(&mut self.sentence)));
                }
                Err(why) => {
                    self.failed = Some(why);
                    (self.bytes, self.at, self.sentence) = (Vec::new(), 0, Sentence::default());
                    return Err(why);
                }
            }
        }
    }

    /// Whether a sentence has begun and not ended.
    pub fn is_midway(&self) -> bool {
        self.at < self.bytes.len() || !self.sentence.words.is_empty()
    }

    fn word(&mut self) -> Result<Option<Vec<u8>>, Malformed> {
        let rest = &self.bytes[self.at..];
        let (prefix, length) = match word::read_length(rest) {
            Prefix::Length { prefix, word } => (prefix, word),
            Prefix::Illegal(byte) => return Err(Malformed::Control(byte)),
            Prefix::More => {
                self.forget();
                return Ok(None);
            }
        };
        let Bounds { word, sentence, words } = self.bounds;
        if length > word {
            return Err(Malformed::LongWord(length, word));
        }
        if self.taken + length > sentence {
            return Err(Malformed::LongSentence(sentence));
        }
        if length > 0 && self.sentence.words.len() == words {
            return Err(Malformed::ManyWords(words));
        }
        let Some(word) = rest.get(prefix..prefix + length).map(<[u8]>::to_vec) else {
            self.forget();
            return Ok(None);
        };
        (self.at, self.taken) = (self.at + prefix + length, self.taken + length);
        Ok(Some(word))
    }

    /// Lets go of what has been read.
    fn forget(&mut self) {
        self.bytes.drain(..self.at);
        self.at = 0;
        if self.bytes.is_empty() {
            self.bytes = Vec::new();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn decode(bytes: &[u8], bounds: Bounds, piece: usize) -> (Vec<Sentence>, Option<Malformed>) {
        let (mut decoder, mut sentences) = (Decoder::new(bounds), Vec::new());
        for piece in bytes.chunks(piece.max(1)) {
            decoder.feed(piece);
            loop {
                match decoder.take() {
                    Ok(Some(sentence)) => sentences.push(sentence),
                    Ok(None) => break,
                    Err(why) => return (sentences, Some(why)),
                }
            }
        }
        (sentences, None)
    }

    #[test]
    fn parts() {
        let sentence = Sentence::new("/user/add")
            .with("name", "a=b")
            .with("name", "")
            .word("=bare")
            .word("?name=x")
            .word("=.id=*1")
            .tagged(Some(b"7"));
        assert_eq!(sentence.kind(), "/user/add");
        assert_eq!(sentence.all("name").collect::<Vec<_>>(), [&b"a=b"[..], b""]);
        assert_eq!((sentence.get("name"), sentence.get("bare")), (Some(&b""[..]), Some(&b""[..])));
        assert_eq!(sentence.get(".id"), Some(&b"*1"[..]));
        assert_eq!((sentence.get("else"), sentence.tag()), (None, Some(&b"7"[..])));
        assert_eq!(sentence.attributes().count(), 4);
        assert_eq!(Sentence::new([0xff]).kind(), "");
    }

    #[test]
    fn refused_before_it_has_arrived() {
        let small = Bounds { word: 10, sentence: 15, words: 3 };
        let check = |bytes: &[u8], sentences: usize, expected: Option<Malformed>| {
            for piece in [1, 2, 100] {
                let (read, failed) = decode(bytes, small, piece);
                assert_eq!((read.len(), failed), (sentences, expected), "{bytes:x?} by {piece}");
            }
        };
        check(b"\x01a\0\x01b\0", 2, None);
        check(b"\0\0\x01a\0\0", 1, None);
        check(b"\x0aaaaaaaaaaa\0", 1, None);
        check(b"\x01a\0\x0b", 1, Some(Malformed::LongWord(11, 10)));
        check(b"\xf0\xff\xff\xff\xff", 0, Some(Malformed::LongWord(0xffff_ffff, 10)));
        check(b"\x08aaaaaaaa\x08", 0, Some(Malformed::LongSentence(15)));
        check(b"\x01a\x01a\x01a\0", 1, None);
        check(b"\x01a\x01a\x01a\x01", 0, Some(Malformed::ManyWords(3)));
        check(b"\x01a\0\xf8", 1, Some(Malformed::Control(0xf8)));
    }

    #[test]
    fn stays_refused_and_keeps_nothing() {
        let mut decoder = Decoder::new(Bounds::KNOWN);
        decoder.feed(b"\x01a\xff");
        assert_eq!(decoder.take(), Err(Malformed::Control(0xff)));
        decoder.feed(b"\x01a\0");
        assert_eq!(decoder.take(), Err(Malformed::Control(0xff)));
        let mut decoder = Decoder::new(Bounds::KNOWN);
        decoder.feed(b"\x01a\0");
        assert!(decoder.take().unwrap().is_some() && decoder.take().unwrap().is_none());
        assert_eq!((decoder.bytes.capacity(), decoder.is_midway()), (0, false));
        decoder.feed(b"\x05ab");
        assert_eq!((decoder.take(), decoder.is_midway()), (Ok(None), true));
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_in_any_pieces(
            sentences in prop::collection::vec(
                prop::collection::vec(prop::collection::vec(any::<u8>(), 1..300), 1..6), 0..6),
            piece in 1..400usize,
        ) {
            let sentences: Vec<Sentence> =
                sentences.into_iter().map(|words| Sentence { words }).collect();
            let mut bytes = Vec::new();
            sentences.iter().for_each(|sentence| sentence.write(&mut bytes));
            prop_assert_eq!(decode(&bytes, Bounds::KNOWN, piece), (sentences, None));
        }

        #[test]
        fn any_bytes_are_read_alike_in_any_pieces(
            bytes in prop::collection::vec(any::<u8>(), 0..400),
            piece in 1..40usize,
        ) {
            let bounds = Bounds { word: 50, sentence: 100, words: 8 };
            prop_assert_eq!(decode(&bytes, bounds, piece), decode(&bytes, bounds, bytes.len()));
        }
    }
}
