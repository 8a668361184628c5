//! Talks by HTTP with hosts that ask the router: a request on each connection, and its answer.
//!
//! ```text
//! tcp::serve ─► [heard]: bytes, until they are a request ─► the service's answer ─► as TCP takes it ─► the end
//! ticks      ─► [tick]: who takes too long is sent away
//! ```

use super::tcp::{Ends, Progress};
use crate::flow::tcp;
use crate::router::Router;
use std::collections::BTreeMap;
use std::time::Duration;
use wire::Moment;
use wire::upnp::Request;

/// How long a request and its answer may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// Those of a service.
#[derive(Clone, Debug, Default)]
pub(crate) struct Talks(BTreeMap<Ends, Talk>);

/// A request, and what it is answered.
#[derive(Clone, Debug)]
struct Talk {
    asked: Vec<u8>,
    /// What is still to be sent, once it is answered.
    answer: Option<Vec<u8>>,
    until: Moment,
}

/// Where a service has its talks, and how it answers: what is no request, too, then without one.
pub(crate) type Service =
    (fn(&mut Router) -> &mut Talks, fn(&mut Router, Moment, Ends, Option<&Request<'_>>) -> Vec<u8>);

/// Something has become of a TCP connection.
pub(crate) fn heard(r: &mut Router, now: Moment, ends: Ends, (talks, answers): Service) {
    let progress = r.link.tcp.progress(ends);
    if progress == Progress::Opening {
        return;
    }
    let bytes = r.link.tcp.read(ends);
    let until = now + PATIENCE;
    let new = || Talk { asked: Vec::new(), answer: None, until };
    let talk = talks(r).0.entry(ends).or_insert_with(new);
    let until = talk.until;
    if talk.answer.is_none() {
        talk.asked.extend(bytes);
        let asked = std::mem::take(&mut talk.asked);
        let answer = match Request::read(&asked) {
            Ok(None) => None,
            Ok(Some((request, _))) => Some(answers(r, now, ends, Some(&request))),
            Err(_) => Some(answers(r, now, ends, None)),
        };
        if let Some(talk) = talks(r).0.get_mut(&ends) {
            (talk.asked, talk.answer) = (asked, answer);
        }
    }
    r.services.due = r.services.due.min(until);
    let mut answer = talks(r).0.get_mut(&ends).and_then(|talk| talk.answer.take());
    let mut is_done = progress != Progress::Open && answer.is_none() || progress == Progress::Over;
    if let Some(answer) = &mut answer {
        let taken = r.link.tcp.offer(ends, answer);
        answer.drain(..taken);
        is_done |= answer.is_empty();
    }
    match is_done {
        true => {
            talks(r).0.remove(&ends);
            r.link.tcp.close(now, ends);
        }
        false => {
            if let Some(talk) = talks(r).0.get_mut(&ends) {
                talk.answer = answer;
            }
        }
    }
    tcp::push(r, now, ends);
}

/// Sends who takes too long away; returns when the next one does.
pub(crate) fn tick(r: &mut Router, now: Moment, (talks, _): Service) -> Option<Moment> {
    let late = talks(r).0.iter().filter(|(_, talk)| now >= talk.until);
    for ends in late.map(|(ends, _)| *ends).collect::<Vec<_>>() {
        talks(r).0.remove(&ends);
        r.link.tcp.abort(now, ends);
        tcp::push(r, now, ends);
    }
    talks(r).0.values().map(|talk| talk.until).min()
}
