//! What a capture contains: its groups, the sessions that they carry, and what is missing of them.
//!
//! Where: `nanotape capture`. The reader of a [`DaySource`] delivers the messages of one session,
//! and counts in the same way ([`counting`](super::counting)); this module delivers nothing.
//! Protocol: a datagram is IEX-TP, MoldUDP64 or PITCH if it follows that format to its last byte. A
//! row is one session on one destination. Datagrams that follow none are malformed if their
//! destination carries a session, and otherwise a row of their own.
//! Bounds: [`MOST_ROWS`] rows, each with a bounded set of message numbers; datagrams without a row
//! are counted.

use core::ops::ControlFlow;
use std::net::SocketAddrV4;

use nanotape_wire::capture::{CaptureDamage, SkipReason, Vlans};

use super::{
    choice::SessionName,
    counting::Surveyor,
    groups::{Destinations, Group},
    items::{Item, read_items},
};
use crate::{DaySource, SourceError, carried::Carried};

/// Rows of a survey.
pub const MOST_ROWS: usize = 1024;

/// Damage that is kept; more is counted.
const MOST_DAMAGE: usize = 64;

/// One session on one destination.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SurveyRow {
    /// The destination.
    pub destination: SocketAddrV4,
    /// The sender of the first datagram.
    pub source: SocketAddrV4,
    /// The VLANs of the first datagram.
    pub vlans: Vlans,
    /// What the datagrams are.
    pub carried: Carried,
    /// Datagrams, with those that are malformed.
    pub packets: u64,
    /// Bytes of their payloads.
    pub bytes: u64,
    /// Datagrams without messages.
    pub heartbeats: u64,
    /// Datagrams that do not follow the format of the session.
    pub malformed: u64,
    /// Messages, with duplicates.
    pub messages: u64,
    /// The lowest number of a message.
    pub first_message: Option<u64>,
    /// The highest number of a message.
    pub last_message: Option<u64>,
    /// Messages that the destination had before.
    pub duplicates: u64,
    /// Messages that came after a later one.
    pub overtaken: u64,
    /// Ranges of numbers without a message, also before and after all messages if a heartbeat shows
    /// that there are earlier or later ones.
    pub gaps: u64,
    /// The numbers in these ranges.
    pub missing: u64,
    /// Messages that another destination of the session has too.
    pub shared: u64,
    /// Segments of IEX-TP that continue the numbers of the one before, but not its bytes.
    pub offset_mismatches: u64,
    /// Whether the session ended.
    pub has_ended: bool,
    /// The earliest and the latest capture time, ns since the UNIX epoch.
    pub times_ns: Option<(u64, u64)>,
}

/// A session on all of its destinations.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SurveySession {
    /// The protocol and the session.
    pub carried: Carried,
    /// Destinations that carry it.
    pub groups: usize,
    /// Different messages. `None` if there are too many gaps to compare the destinations.
    pub messages: Option<u64>,
    /// Numbers without a message on any destination. `None` if there are too many gaps.
    pub missing: Option<u64>,
}

/// What a capture contains.
#[derive(Debug, Default)]
pub struct CaptureSurvey {
    /// Packets in the file.
    pub packets: u64,
    /// Bytes of the file that were read, decompressed.
    pub bytes: u64,
    /// Packets without a complete datagram, by [`SkipReason`].
    pub skipped: [u64; SkipReason::ALL.len()],
    /// The rows, in the order of their first packets.
    pub rows: Vec<SurveyRow>,
    /// The sessions, in the order of their first packets.
    pub sessions: Vec<SurveySession>,
    /// The chosen groups without a datagram.
    pub absent: Vec<Group>,
    /// The chosen session, if no packet has it.
    pub absent_session: Option<SessionName>,
    /// Datagrams that are not of the chosen groups, or not of the chosen session.
    pub others: Destinations,
    /// Datagrams for which there is no room in a row.
    pub without_row: u64,
    /// The first damage of the file.
    pub damage: Vec<CaptureDamage>,
    /// Damage of the file, in total.
    pub total_damage: u64,
    /// Why the source ended early.
    pub fault: Option<SourceError>,
}

impl CaptureSurvey {
    /// Reads a capture to its end. Calls `progress` once per block. Fails if the source is not a
    /// capture.
    pub fn read(
        source: &mut DaySource,
        mut progress: impl FnMut(&DaySource),
    ) -> Result<Self, SourceError> {
        source.require_capture()?;
        let mut surveyor = Surveyor::new(source.choice());
        let bytes = read_items(source, &mut progress, |item| {
            match item {
                Item::Packet(packet) => _ = surveyor.packet(&packet),
                Item::Damage(damage) => surveyor.survey.damaged(damage),
                Item::End(damage) => {
                    damage.into_iter().for_each(|damage| surveyor.survey.damaged(damage));
                }
                Item::Idle => {}
            }
            Ok::<_, SourceError>(ControlFlow::Continue(()))
        })?;
        let mut survey = surveyor.finish(source.choice());
        (survey.bytes, survey.fault) = (bytes, source.fault());
        Ok(survey)
    }

    /// Whether the file and all packets follow their formats, all packets are complete, and the
    /// sessions have every message on one of their destinations.
    pub fn is_good(&self) -> bool {
        let has_all = |session: &SurveySession| session.missing == Some(0);
        let is_good = |row: &SurveyRow| row.malformed == 0 && row.offset_mismatches == 0;
        self.total_damage == 0
            && self.fault.is_none()
            && self.without_row == 0
            && self.absent.is_empty()
            && self.absent_session.is_none()
            && self.skipped[SkipReason::Truncated as usize] == 0
            && self.sessions.iter().all(has_all)
            && self.rows.iter().all(is_good)
    }

    fn damaged(&mut self, damage: CaptureDamage) {
        self.total_damage += 1;
        if self.damage.len() < MOST_DAMAGE {
            self.damage.push(damage);
        }
    }
}
