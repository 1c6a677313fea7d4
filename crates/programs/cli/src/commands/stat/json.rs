//! `nanotape stat` as JSON: one flat object per reading; names contain their units.

use nanotape_arguments::regions::state_name;
use nanotape_board::{
    DAMAGES, Waiting,
    health::{Life, PlantHealth},
};
use nanotape_book::Anomaly;
use nanotape_plant::{Pace, TradeDate, records::RecordKind};
use serde_json::{Value, json};

use super::Report;
use crate::{record::Record, session::with_session};

impl Report<'_> {
    pub(super) fn record(&self) -> Record {
        let record = self.run_part();
        let record = self.count_part(record);
        let record = self.trouble_part(record);
        let record = self.stage_part(record);
        let record = with_session(record, self.now.plant.live.as_ref());
        let record = self.ring_part(record);
        let record = self.recorder_part(record);
        self.follower_part(record)
    }

    fn run_part(&self) -> Record {
        let (life, plant) = (self.now.life(), &self.now.plant);
        let reason = match life {
            Life::Stopped(reason) => Some(reason.name()),
            _ => None,
        };
        let known = |value: u64| (value != 0).then_some(value);
        let waiting = self.now.waiting();
        let until = waiting.and_then(|waiting| waiting.until(plant.run.midnight_ns));
        Record::default()
            .with("path", self.path.display().to_string())
            .with("state", life.name())
            .with("stop_reason", reason)
            .with("waiting_for", waiting.map(Waiting::name))
            .with("waiting_until", until.map(|until| until.to_string()))
            .with("plant_pid", known(u64::from(plant.owner.pid)))
            .with("started_ns", known(plant.run.started_ns))
            .with("midnight_ns", known(plant.run.midnight_ns))
            .with("trade_date", TradeDate::text_of(plant.run.date))
            .with("pace", Pace::of_milli(plant.run.pace_milli).to_string())
            .with("kinds", plant.kinds().to_string())
            .with("updated_ns", known(plant.updated_ns))
            .with("board_age_ns", self.age_ns(plant.updated_ns))
    }

    fn count_part(&self, record: Record) -> Record {
        let plant = &self.now.plant;
        let time_of_day = self.now.time_of_day().map(|time| time.to_string());
        let record = record
            .with("messages", plant.messages)
            .with("messages_per_second", rounded(self.rate(|look| look.plant.messages)))
            .with("messages_per_second_mean", rounded(self.now.mean_rate()))
            .with("ts_event_ns", time_of_day.is_some().then_some(plant.ts_event))
            .with("time_of_day", time_of_day)
            .with("input_done_bytes", plant.input_done_bytes)
            .with("input_total_bytes", plant.input_total_bytes)
            .with("input_percent", rounded(self.now.input_percent()))
            .with("offset_bytes", plant.offset)
            .with("live_orders", plant.live_orders)
            .with("records", plant.total_records())
            .with("records_per_second", rounded(self.rate(|look| look.plant.total_records())));
        let by_kind = |record: Record, kind: RecordKind| {
            let count = move |look: &PlantHealth| look.plant.records[kind as usize];
            record
                .with(format!("{kind}_records"), count(self.now))
                .with(format!("{kind}_records_per_second"), rounded(self.rate(count)))
        };
        RecordKind::ALL.into_iter().fold(record, by_kind).with("notices", plant.notices)
    }

    fn trouble_part(&self, record: Record) -> Record {
        let plant = &self.now.plant;
        let damages = DAMAGES.into_iter().zip(plant.damages);
        let record = damages
            .fold(record, |record, (kind, count)| record.with(format!("damage_{kind}"), count));
        let anomalies = Anomaly::ALL.into_iter().zip(plant.anomalies);
        let record = anomalies.fold(
            record.with("lost_bytes", plant.lost_bytes).with("lost_messages", plant.lost_messages),
            |record, (kind, count)| record.with(format!("anomaly_{kind}"), count),
        );
        let record = record.with("tainted_stocks", plant.tainted_stocks);
        if !self.arguments.tainted {
            return record;
        }
        let stocks = self.now.tainted.iter().map(|(locate, symbol, messages)| {
            let symbol = symbol.map(|symbol| symbol.to_string());
            json!({ "stock_locate": locate.get(), "symbol": symbol, "messages": messages })
        });
        record.with("tainted", Value::Array(stocks.collect()))
    }

    fn stage_part(&self, record: Record) -> Record {
        self.now.plant.stages.iter().fold(record, |record, times| {
            let stage = times.stage.name();
            let record = record.with(format!("{stage}_samples"), times.samples());
            QUANTILES.into_iter().fold(record, |record, (name, quantile)| {
                record.with(format!("{stage}_ns_{name}"), times.quantile_ns(quantile))
            })
        })
    }

    fn ring_part(&self, record: Record) -> Record {
        let ring = &self.now.ring;
        record
            .with("ring_writer_state", state_name(ring.owner.state))
            .with("ring_writer_pid", ring.owner.pid)
            .with("ring_writer_epoch", ring.owner.epoch)
            .with("ring_capacity_bytes", self.now.capacity_bytes())
            .with("ring_oldest_sequence", ring.oldest_sequence)
            .with("ring_next_sequence", ring.next_sequence)
            .with("ring_messages_held", self.now.held())
            .with("ring_fill_percent", rounded(self.now.fill_percent()))
            .with("ring_span_ns", self.now.span_ns())
            .with("ring_last_message_age_ns", self.age_ns(ring.ts_publish_ns))
            .with("ring_heartbeat_age_ns", self.age_ns(ring.heartbeat_ns))
    }

    /// An empty list if no named follower has joined.
    fn follower_part(&self, record: Record) -> Record {
        let followers = self.now.followers.iter().map(|follower| {
            let stat = &follower.stat;
            json!({
                "name": follower.name,
                "state": state_name(stat.owner.state),
                "pid": stat.owner.pid,
                "next_sequence": stat.next_sequence,
                "lag_messages": follower.lag,
                "lost": stat.lost,
            })
        });
        record
            .with("wait_for", self.now.plant.wait_for)
            .with("followers", Value::Array(followers.collect()))
    }

    /// All values are null if no recorder of the ring shows its progress.
    fn recorder_part(&self, record: Record) -> Record {
        let recorder = self.now.recorder.as_ref();
        let stat = recorder.map(|recorder| &recorder.stat);
        let snapshots = recorder.and_then(|recorder| recorder.snapshots);
        record
            .with("recorder_state", stat.map(|stat| stat.state.name()))
            .with("recorder_pid", stat.map(|stat| stat.owner.pid))
            .with("recorder_journal", stat.map(|stat| stat.journal.display().to_string()))
            .with("recorder_next_sequence", stat.map(|stat| stat.next_sequence))
            .with("recorder_lag_messages", recorder.map(|recorder| recorder.lag))
            .with("recorder_lag_ns", recorder.and_then(|recorder| recorder.lag_ns))
            .with("recorder_recorded", stat.map(|stat| stat.recorded))
            .with("recorder_lost", stat.map(|stat| stat.lost))
            .with("recorder_gaps", stat.map(|stat| stat.gaps))
            .with("snapshots", snapshots.map(|snapshots| snapshots.count))
            .with("snapshots_behind", snapshots.map(|snapshots| snapshots.behind))
            .with("recorder_age_ns", stat.and_then(|stat| self.age_ns(stat.updated_ns)))
    }
}

/// The reported quantiles, with their names.
pub(super) const QUANTILES: [(&str, f64); 4] =
    [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("max", 1.0)];

fn rounded(value: Option<f64>) -> Option<f64> {
    value.map(|value| (value * 10.0).round() / 10.0)
}
