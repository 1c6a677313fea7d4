//! What a command did not read of a capture, on standard error.

use nanotape_answers::is_without_session;
use nanotape_console::{
    status::{note, warn},
    values::{counted, grouped},
};
use nanotape_feed::{
    SessionSummary,
    capture::{Destination, Destinations, Group, SessionName, SkipReason, UnreadSession},
};
use nanotape_market::MessageNumbers;

/// Destinations that are listed in a line, and sessions that get a line each.
const LISTED: usize = 16;

/// What a capture lacks of what was chosen.
#[derive(Clone, Copy, Debug)]
pub struct Lacking<'a> {
    /// Groups.
    pub groups: &'a [Group],
    /// The session.
    pub session: Option<SessionName>,
}

impl Lacking<'_> {
    /// Whether nothing is lacking.
    pub fn is_empty(self) -> bool {
        self.groups.is_empty() && self.session.is_none()
    }

    fn text(self) -> Option<String> {
        let groups: Vec<_> = self.groups.iter().map(ToString::to_string).collect();
        let groups = (!groups.is_empty()).then(|| format!("--group {}", groups.join(", ")));
        let session = self.session.map(|session| format!("session {session}"));
        let parts: Vec<_> = session.into_iter().chain(groups).collect();
        (!parts.is_empty()).then(|| format!("no packet read of {}", parts.join(", ")))
    }
}

/// Reports what a capture that was read lacks, and what was not read of it. `option` chooses a
/// session.
pub(crate) fn report_capture(name: &str, session: &SessionSummary, option: &str) {
    for UnreadSession { session, first, last } in session.unread.iter().take(LISTED) {
        let numbers = MessageNumbers { first: *first, next: last.saturating_add(1) };
        warn(format_args!("{name}: session {session} not read: {numbers} ({option} {session})"));
    }
    let more = session.unread.len().saturating_sub(LISTED);
    if more > 0 {
        let more = counted(more as u64, "more session");
        warn(format_args!("{name}: and {more} not read (nanotape capture lists all)"));
    }
    let lacking = Lacking { groups: &session.absent, session: session.absent_session };
    let no_session = || is_without_session(session).then(|| "no MoldUDP64 session".to_owned());
    report_rest(name, lacking.text().or_else(no_session), &session.others, &session.skipped);
}

/// Reports what a capture lacks, and the packets that were not read: `skipped` by [`SkipReason`],
/// and datagrams to other destinations.
pub fn report_unread(
    name: &str,
    lacking: Lacking<'_>,
    others: &Destinations,
    skipped: &[u64; SkipReason::ALL.len()],
) {
    report_rest(name, lacking.text(), others, skipped);
}

fn report_rest(
    name: &str,
    lacks: Option<String>,
    others: &Destinations,
    skipped: &[u64; SkipReason::ALL.len()],
) {
    let others = (others.datagrams() > 0).then(|| others_text(others));
    if let Some(lacks) = &lacks {
        let others = others.as_deref().unwrap_or("no other datagrams");
        warn(format_args!("{name}: {lacks}; the capture has {others}"));
    }
    let reasons = SkipReason::ALL.into_iter().zip(skipped).filter(|(_, count)| **count > 0);
    let reasons: Vec<_> =
        reasons.map(|(reason, &count)| format!("{} {}", grouped(count), reason.name())).collect();
    let total = counted(skipped.iter().sum(), "packet");
    let skipped = (!reasons.is_empty()).then(|| format!("{total} ({})", reasons.join(", ")));
    let unread: Vec<_> = skipped.into_iter().chain(others.filter(|_| lacks.is_none())).collect();
    if !unread.is_empty() {
        note(format_args!("{name}: not read: {}", unread.join("; ")));
    }
}

/// `4 datagrams to 239.1.1.1:5000 (3, session MONDAY), 10.0.0.1:53 (1)`
fn others_text(others: &Destinations) -> String {
    let listed = others.listed().iter().take(LISTED).map(destination_text).collect::<Vec<_>>();
    let more = match others.listed().len() > LISTED {
        true => ", and other destinations (nanotape capture lists all)",
        false => "",
    };
    format!("{} to {}{more}", counted(others.datagrams(), "datagram"), listed.join(", "))
}

fn destination_text(destination: &Destination) -> String {
    let Destination { address, datagrams, session } = destination;
    let session = session.map(|session| format!(", session {session}")).unwrap_or_default();
    format!("{address} ({}{session})", grouped(*datagrams))
}
