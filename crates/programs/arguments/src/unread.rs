//! What a command did not read of a capture, on standard error.

use nanotape_console::{
    status::{note, tell},
    values::{counted, grouped},
};
use nanotape_feed::capture::{Destination, Destinations, Group, SkipReason};

/// Destinations that are listed in a line.
const LISTED: usize = 16;

/// Reports the packets of a capture that were not read: `skipped` by [`SkipReason`], and datagrams
/// to other destinations. Returns `false` if a chosen group is absent, or if the capture is without
/// a session although a command needs one.
pub fn tell_of_unread(
    name: &str,
    (absent, is_without_session): (&[Group], bool),
    others: &Destinations,
    skipped: &[u64; SkipReason::ALL.len()],
) -> bool {
    let lacks = match (absent, is_without_session) {
        ([], false) => None,
        ([], true) => Some("no MoldUDP64 session".to_owned()),
        (absent, _) => {
            let absent: Vec<_> = absent.iter().map(ToString::to_string).collect();
            Some(format!("no packet read of --group {}", absent.join(", ")))
        }
    };
    let others = (others.datagrams() > 0).then(|| others_text(others));
    if let Some(lacks) = &lacks {
        let others = others.as_deref().unwrap_or("no other datagrams");
        tell(format_args!("{name}: {lacks}; the capture has {others}"));
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
    lacks.is_none()
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
