//! Human-readable output of `nanotape stat`: one page, or one line per reading.

use std::fmt::Write as _;

use nanotape_arguments::regions::state_name;
use nanotape_board::{
    DAMAGES, RecorderStat, RecorderState, StageTimes,
    health::{FollowerHealth, Life, PlantHealth, RecorderHealth, SnapshotsHealth},
};
use nanotape_book::Anomaly;
use nanotape_plant::{
    Pace, TradeDate,
    records::{RecordKind, StopReason},
};
use nanotape_shm::{OwnerState, Started};
use nanotape_types::{StockLocate, Symbol};

use super::{Report, json::QUANTILES};
use crate::{
    session,
    values::{bytes_text, nanos_text},
};

impl Report<'_> {
    pub(super) fn text(&self) -> String {
        let mut text = format!("{}\n", self.path.display());
        // Writing to a string cannot fail.
        let mut put = |name: &str, value: String| {
            let _ = writeln!(text, "{name:<16}{value}");
        };
        put("plant", self.life_text());
        if let Some(waiting) = self.now.waiting_text(self.clock) {
            put("  now", waiting);
        }
        put("run", self.run_text());
        put("messages", self.messages_text());
        put("input", self.input_text());
        put("last message", self.last_message_text());
        put("board", format!("counters updated {}", self.age_text(self.now.plant.updated_ns)));
        put("records", self.records_text(|look| look.plant.total_records()));
        for kind in self.now.plant.kinds().iter() {
            put(&format!("  {kind}"), self.records_text(|look| count_of(look, kind)));
        }
        put("  notices", self.now.plant.notices.to_string());
        put("live orders", self.now.plant.live_orders.to_string());
        put("damage", self.damage_text());
        put("anomalies", self.anomalies_text());
        put("tainted stocks", self.now.plant.tainted_stocks.to_string());
        if self.arguments.tainted {
            for &(locate, symbol, messages) in &self.now.tainted {
                put(&format!("  {}", stock_text(locate, symbol)), format!("{messages} messages"));
            }
        }
        for (name, value) in self.now.plant.live.iter().flat_map(session::report) {
            put(&name, value);
        }
        put("message time", "sampled about 1 in 250; bucket width 12.5%".to_owned());
        for times in &self.now.plant.stages {
            put(&format!("  {}", times.stage.name()), stage_text(times));
        }
        put("ring", self.ring_text());
        put("  writer", self.writer_text());
        put("  held", self.held_text());
        put("  last message", self.age_text(self.now.ring.ts_publish_ns));
        if let Some(recorder) = &self.now.recorder {
            put("recorder", recorder_text(recorder));
            let journal = recorder.stat.journal.display().to_string();
            put("  journal", journal.escape_debug().to_string());
            put("  lag", lag_text(recorder));
            put("  recorded", recorded_text(recorder));
            if let Some(snapshots) = &recorder.snapshots {
                put("  snapshots", snapshots_text(snapshots));
            }
            put("  progress", self.age_text(recorder.stat.updated_ns));
        }
        for follower in &self.now.followers {
            put("follower", follower_text(follower));
            put("  lag", follower_lag_text(follower));
        }
        text
    }

    /// One report as a line.
    pub(super) fn line(&self, first: bool) -> String {
        let mut text = String::new();
        if first {
            let _ = writeln!(
                text,
                "{:<8} {:<18} {:>14} {:>12} {:>6} {:>12} {:>8} {:>7}  last record",
                "plant",
                "time_of_day",
                "messages",
                "messages/s",
                "input",
                "records/s",
                "damaged",
                "tainted"
            );
        }
        let plant = &self.now.plant;
        let rate = |rate: Option<f64>| rate.map(|rate| format!("{rate:.0}")).unwrap_or_default();
        let waiting = self.now.waiting_text(self.clock);
        let _ = writeln!(
            text,
            "{:<8} {:<18} {:>14} {:>12} {:>6} {:>12} {:>8} {:>7}  {}{}",
            self.now.life().name(),
            self.now.time_of_day().map(|time| time.to_string()).unwrap_or_default(),
            plant.messages,
            rate(self.rate(|look| look.plant.messages)),
            self.now.input_percent().map(|share| format!("{share:.1}%")).unwrap_or_default(),
            rate(self.rate(|look| look.plant.total_records())),
            plant.damages.iter().sum::<u64>(),
            plant.tainted_stocks,
            self.age_text(self.now.ring.ts_publish_ns),
            waiting.map(|waiting| format!("; {waiting}")).unwrap_or_default(),
        );
        text
    }

    fn life_text(&self) -> String {
        let what = match self.now.life() {
            Life::Stopped(StopReason::Asked) => StopReason::Asked.to_string(),
            Life::Stopped(reason) => format!("stopped: {reason}"),
            Life::Died => "died: exited without a stop notice (crashed or killed)".to_owned(),
            life => life.name().to_owned(),
        };
        let started = Started::at_unix_s(self.now.plant.run.started_ns / 1_000_000_000);
        format!("{what}; process {}, started {started}", self.now.plant.owner.pid)
    }

    fn run_text(&self) -> String {
        let run = &self.now.plant.run;
        let (date, pace) = (TradeDate::text_of(run.date), Pace::of_milli(run.pace_milli));
        let first = run.first_sequence;
        format!("trade date {date}, pace {pace}, first message {first}")
    }

    fn messages_text(&self) -> String {
        let mut text = self.now.plant.messages.to_string();
        if let Some(rate) = self.rate(|look| look.plant.messages) {
            let _ = write!(text, ", {rate:.1} a second");
        }
        if let Some(rate) = self.now.mean_rate() {
            let _ = write!(text, ", {rate:.1} a second over the whole run");
        }
        text
    }

    fn input_text(&self) -> String {
        let plant = &self.now.plant;
        let done = plant.input_done_bytes;
        match (plant.input_total_bytes, self.now.input_percent()) {
            (Some(total), Some(share)) => format!("{done} of {total} bytes, {share:.1} percent"),
            _ => format!("{done} bytes, total size unknown"),
        }
    }

    fn last_message_text(&self) -> String {
        match self.now.time_of_day() {
            Some(time) => format!("exchange time {time}, offset {}", self.now.plant.offset),
            None => "none yet".to_owned(),
        }
    }

    fn records_text(&self, count: impl Fn(&PlantHealth) -> u64) -> String {
        let mut text = count(self.now).to_string();
        if let Some(rate) = self.rate(count) {
            let _ = write!(text, ", {rate:.1} a second");
        }
        text
    }

    fn damage_text(&self) -> String {
        let plant = &self.now.plant;
        let kinds = counted(DAMAGES.into_iter().zip(plant.damages));
        if kinds.is_empty() {
            return "none".to_owned();
        }
        let (bytes, messages) = (plant.lost_bytes, plant.lost_messages);
        match (bytes, messages) {
            (_, 0) => format!("{kinds}; {bytes} bytes lost"),
            (0, _) => format!("{kinds}; {messages} messages lost"),
            _ => format!("{kinds}; {bytes} bytes and {messages} messages lost"),
        }
    }

    fn anomalies_text(&self) -> String {
        let kinds = Anomaly::ALL.into_iter().map(Anomaly::name).zip(self.now.plant.anomalies);
        let text = counted(kinds);
        if text.is_empty() { "none".to_owned() } else { text }
    }

    fn ring_text(&self) -> String {
        let size = self.now.capacity_bytes().map(bytes_text).unwrap_or_default();
        let how = match self.now.fill_percent() {
            _ if self.now.is_full() => "full, the oldest messages are overwritten".to_owned(),
            Some(share) => format!("{share:.1} percent full"),
            None => "not yet full".to_owned(),
        };
        format!("{size}, {how}; next message {}", self.now.ring.next_sequence)
    }

    fn writer_text(&self) -> String {
        let owner = self.now.ring.owner;
        let state = state_name(owner.state);
        format!("{state}: process {}, epoch {}", owner.pid, owner.epoch)
    }

    fn held_text(&self) -> String {
        let ring = &self.now.ring;
        let mut text = match self.now.held() {
            0 => return "no message".to_owned(),
            held => format!(
                "{held} messages, {} to {}",
                ring.oldest_sequence,
                ring.next_sequence.saturating_sub(1)
            ),
        };
        if let Some(span) = self.now.span_ns() {
            let _ = write!(text, ", over {}", nanos_text(span));
            if self.now.is_full() {
                text.push_str(": a tap can be this far behind without a loss");
            }
        }
        text
    }

    fn age_text(&self, utc_ns: u64) -> String {
        match self.age_ns(utc_ns) {
            None => "at an unknown time".to_owned(),
            Some(age) if age < 0 => {
                format!("{} ahead of this machine's clock", nanos_text(age.unsigned_abs()))
            }
            Some(age) => format!("{} ago", nanos_text(age.unsigned_abs())),
        }
    }
}

fn recorder_text(recorder: &RecorderHealth) -> String {
    let RecorderStat { state, owner, .. } = recorder.stat;
    let what = match state {
        RecorderState::WaitingForRoom => "waiting for room: the disk of the journal is full",
        RecorderState::Dead => "dead: exited without an end (crashed or killed)",
        RecorderState::JournalGone => {
            "ended: the journal was removed, replaced or renamed while it was recorded"
        }
        state => state.name(),
    };
    format!("{what}; process {}, started {}", owner.pid, owner.started)
}

fn follower_text(follower: &FollowerHealth) -> String {
    let FollowerHealth { name, stat, .. } = follower;
    let what = match stat.owner.state {
        OwnerState::Alive => "following",
        OwnerState::Closed => "ended",
        OwnerState::Dead => "dead: exited without an end (crashed or killed)",
    };
    format!("{name}: {what}; process {}, started {}", stat.owner.pid, stat.owner.started)
}

fn follower_lag_text(follower: &FollowerHealth) -> String {
    let FollowerHealth { lag, stat, .. } = follower;
    let lag = if *lag == 0 { "none".to_owned() } else { format!("{lag} messages") };
    match stat.lost {
        0 => lag,
        lost => format!("{lag}; {lost} lost"),
    }
}

fn lag_text(recorder: &RecorderHealth) -> String {
    let RecorderStat { lost, state, .. } = recorder.stat;
    match (recorder.lag, recorder.lag_ns) {
        _ if state == RecorderState::JournalGone => "messages are not recorded any more".to_owned(),
        (0, _) if lost > 0 => format!("none, but {lost} earlier messages are lost"),
        (0, _) => "none, every message is recorded".to_owned(),
        (lag, Some(lag_ns)) => format!("{lag} messages, {}", nanos_text(lag_ns)),
        (lag, None) => format!("{lag} messages"),
    }
}

fn recorded_text(recorder: &RecorderHealth) -> String {
    let RecorderStat { recorded, lost, gaps, .. } = recorder.stat;
    match lost {
        0 => format!("{recorded} messages, none lost"),
        _ => format!("{recorded} messages, {lost} lost in {gaps} gaps"),
    }
}

fn snapshots_text(snapshots: &SnapshotsHealth) -> String {
    let SnapshotsHealth { count, last_sequence, behind, .. } = *snapshots;
    match (count, behind) {
        (0, 0) => "none".to_owned(),
        (0, _) => format!("none of {behind} recorded messages"),
        (_, 0) => format!("{count}, the last one is of the last message"),
        _ => {
            format!("{count}, the last one is of message {last_sequence}, {behind} messages behind")
        }
    }
}

fn count_of(look: &PlantHealth, kind: RecordKind) -> u64 {
    look.plant.records[kind as usize]
}

fn stock_text(locate: StockLocate, symbol: Option<Symbol>) -> String {
    symbol.map_or_else(|| format!("#{locate}"), |symbol| symbol.to_string())
}

/// The counters that are not zero: `length 3, lost 1`.
fn counted(kinds: impl Iterator<Item = (&'static str, u64)>) -> String {
    let there = kinds.filter(|&(_, count)| count > 0);
    there.map(|(kind, count)| format!("{kind} {count}")).collect::<Vec<_>>().join(", ")
}

fn stage_text(times: &StageTimes) -> String {
    let quantiles = QUANTILES.into_iter().filter_map(|(name, quantile)| {
        times.quantile_ns(quantile).map(|nanos| format!("{name} {}", nanos_text(nanos)))
    });
    let quantiles: Vec<_> = quantiles.collect();
    match quantiles.is_empty() {
        true => "no samples".to_owned(),
        false => format!("{} ({} samples)", quantiles.join(", "), times.samples()),
    }
}
