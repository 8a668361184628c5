//! Any bytes from a client of the API.
//!
//! However they are cut, the same sentences come of them, within their bounds; what came is written
//! and read again as it was.

use serve::sentence::{Bounds, Decoder, Malformed, Sentence};

/// Small, so that inputs reach them.
const BOUNDS: Bounds = Bounds { word: 300, sentence: 700, words: 12 };

/// The first byte says how the rest is cut.
pub fn run(input: &[u8]) {
    let Some((&piece, bytes)) = input.split_first() else { return };
    let (whole, failed) = read(bytes, bytes.len());
    assert_eq!(read(bytes, usize::from(piece)), (whole.clone(), failed));
    let mut written = Vec::new();
    for sentence in &whole {
        let length: usize = sentence.words.iter().map(Vec::len).sum();
        assert!(length <= BOUNDS.sentence && sentence.words.len() <= BOUNDS.words);
        assert!(sentence.words.iter().all(|word| (1..=BOUNDS.word).contains(&word.len())));
        // Taken apart without a panic, and nothing lost.
        let attributes = sentence.attributes().count();
        let _ = (sentence.kind(), sentence.tag(), sentence.text("name"));
        assert!(attributes < sentence.words.len().max(1));
        sentence.write(&mut written);
    }
    assert_eq!(read(&written, usize::from(piece)), (whole, None));
}

/// Words that the API knows.
pub fn words() -> Vec<Vec<u8>> {
    let mut words: Vec<Vec<u8>> = Vec::new();
    for word in ["/login", "=name=admin", ".tag=1", "?>a=1", "?#|!", "=.proplist=a,b", ""] {
        let mut bytes = vec![word.len() as u8];
        bytes.extend(word.bytes());
        words.push(bytes);
    }
    words.extend([vec![0x81, 0x2c], vec![0xc0, 0x01, 0x2c], vec![0xf0, 0, 0, 0, 9], vec![0xf8]]);
    words
}

fn read(bytes: &[u8], piece: usize) -> (Vec<Sentence>, Option<Malformed>) {
    let (mut decoder, mut sentences) = (Decoder::new(BOUNDS), Vec::new());
    for piece in bytes.chunks(piece.max(1)) {
        decoder.feed(piece);
        loop {
            match decoder.take() {
                Ok(Some(sentence)) => sentences.push(sentence),
                Ok(None) => break,
                Err(why) => {
                    assert_eq!(decoder.take(), Err(why), "nothing comes after an error");
                    return (sentences, Some(why));
                }
            }
        }
    }
    (sentences, None)
}
