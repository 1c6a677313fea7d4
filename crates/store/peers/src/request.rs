//! What another process of the machine requests of a node, and its answer.
//!
//! Protocol: the other process puts a file beside the map: a line, and a random number. The node
//! puts its answer with that number in another file, and removes the first one.
//! Failure: files of another user than the map are ignored.

use std::{
    fs, io,
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use nanotape_clock::Clock;
use nanotape_link::random;

use crate::member_file::{is_of_owner, put};

/// What was done follows.
pub(crate) const DONE: &str = "done";
/// Why it was not done follows.
pub(crate) const REFUSED: &str = "refused";

/// The answer to a request.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum RequestAnswer {
    /// It was done: what.
    Done(String),
    /// It was not done: why. The members are as before.
    Refused(String),
    /// No process of the node has taken it.
    NotTaken,
    /// It was taken, and the answer is missing or of another request.
    Unknown,
}

/// Requests something of the node of a map, and waits for its answer: `drop N` or `add N`.
pub fn request(map: &Path, line: &str, wait: Duration) -> io::Result<RequestAnswer> {
    let (path, answer) = (request_path(map), answer_path(map));
    let number = format!("{:016x}", random());
    put(&path, 0o600, &format!("{line}\n{number}\n"))?;
    let clock = Clock::monotonic();
    let since = clock.stamp();
    while path.exists() {
        if u128::from(clock.nanos_between(since, clock.stamp())) >= wait.as_nanos() {
            // It can have been taken at this moment.
            if fs::remove_file(&path).is_ok() {
                return Ok(RequestAnswer::NotTaken);
            }
            break;
        }
        thread::sleep(Duration::from_millis(5));
    }
    if !is_of_owner(map, &answer).unwrap_or(false) {
        return Ok(RequestAnswer::Unknown);
    }
    let text = fs::read_to_string(&answer)?;
    let mut lines = text.lines();
    if lines.next() != Some(&number) {
        return Ok(RequestAnswer::Unknown);
    }
    let _ = fs::remove_file(&answer);
    Ok(match (lines.next(), lines.next()) {
        (Some(DONE), Some(what)) => RequestAnswer::Done(what.to_owned()),
        (Some(REFUSED), Some(what)) => RequestAnswer::Refused(what.to_owned()),
        _ => RequestAnswer::Unknown,
    })
}

/// What another process requests of the node: a line, and a line with a random number.
pub(crate) fn request_path(map: &Path) -> PathBuf {
    nanotape_shm::beside(map, ".request")
}

/// The answer of the node: the number of the request, whether it was done, and what or why not.
pub(crate) fn answer_path(map: &Path) -> PathBuf {
    nanotape_shm::beside(map, ".answer")
}
