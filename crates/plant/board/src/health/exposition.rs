//! The health of a plant as text for Prometheus and other collectors: OpenMetrics 1.0, or the older
//! format of Prometheus (0.0.4), the only one that node_exporter reads from files.
//!
//! Layout: docs/formats/metrics.md lists the names. The samples of both formats are the same; the
//! older one has fewer types and no units. Values are in base units, seconds and bytes. The
//! collector computes rates: every increasing number is a counter. Histograms have the same bounds
//! in every exposition, powers of two.

use std::fmt::{self, Write as _};

use nanotape_book::Anomaly;
use nanotape_records::{Pace, RecordKind, TradeDate};
use nanotape_shm::OwnerState;

use super::{Life, PlantHealth, RecorderHealth};
use crate::{
    RecorderState,
    board::{DAMAGES, StageTimes},
};

impl PlantHealth {
    /// A complete exposition as OpenMetrics 1.0; every sample has the name of the ring.
    /// `lists_tainted` adds one sample for each stock whose book is unreliable.
    pub fn to_openmetrics(&self, ring: &str, lists_tainted: bool) -> String {
        let mut text = self.exposition(Dialect::OpenMetrics, ring, lists_tainted);
        text.push_str("# EOF\n");
        text
    }

    /// The same in the text format 0.0.4 of Prometheus.
    pub fn to_prometheus(&self, ring: &str, lists_tainted: bool) -> String {
        self.exposition(Dialect::Prometheus, ring, lists_tainted)
    }

    fn exposition(&self, dialect: Dialect, ring: &str, lists_tainted: bool) -> String {
        let mut text = Exposition { dialect, text: String::new(), ring: escaped(ring) };
        about_the_run(&mut text, self);
        about_messages(&mut text, self);
        about_trouble(&mut text, self);
        if lists_tainted {
            about_tainted_stocks(&mut text, self);
        }
        about_stages(&mut text, self);
        about_the_ring(&mut text, self);
        if let Some(recorder) = &self.recorder {
            about_the_recorder(&mut text, recorder);
        }
        about_the_followers(&mut text, self);
        text.text
    }
}

fn about_the_run(text: &mut Exposition, look: &PlantHealth) {
    let (plant, life) = (&look.plant, look.life());
    text.family("nanotape_plant", "info", "", "Parameters of the plant's run.");
    let date = TradeDate::text_of(plant.run.date);
    let pace = Pace::of_milli(plant.run.pace_milli).to_string();
    let (kinds, pid) = (plant.kinds().to_string(), plant.owner.pid.to_string());
    let labels = [("trade_date", &*date), ("pace", &pace), ("kinds", &kinds), ("pid", &pid)];
    text.sample("nanotape_plant_info", &labels, 1);

    let name = "nanotape_plant_state";
    text.family(name, "stateset", "", "State of the plant; died: exited without a stop notice.");
    for state in Life::NAMES {
        text.sample(name, &[(name, state)], u64::from(state == life.name()));
    }
    let started = plant.run.started_ns;
    text.time("nanotape_plant_started_timestamp_seconds", "When the run began.", started);
    let updated = plant.updated_ns;
    text.time(
        "nanotape_plant_updated_timestamp_seconds",
        "When the plant updated these counters.",
        updated,
    );
}

fn about_messages(text: &mut Exposition, look: &PlantHealth) {
    let plant = &look.plant;
    text.counter("nanotape_plant_messages", "", "Messages read.", plant.messages);
    let help = "The exchange's time of the last message.";
    text.time("nanotape_plant_event_timestamp_seconds", help, plant.ts_event);
    let help = "Bytes of the input, as it is stored, that were read.";
    text.counter("nanotape_plant_input_read_bytes", "bytes", help, plant.input_done_bytes);
    if let Some(total) = plant.input_total_bytes {
        let help = "Bytes of the input, as it is stored.";
        text.gauge("nanotape_plant_input_size_bytes", "bytes", help, total);
    }
    let help = "Offset of the last message in the decompressed input.";
    text.gauge("nanotape_plant_input_offset_bytes", "bytes", help, plant.offset);
    text.gauge("nanotape_plant_live_orders", "", "Live orders in all books.", plant.live_orders);
    let records = RecordKind::ALL.into_iter().map(RecordKind::name).zip(plant.records);
    let records = records.chain([("notices", plant.notices)]);
    text.counters("nanotape_plant_records", "Records published.", records);
}

fn about_trouble(text: &mut Exposition, look: &PlantHealth) {
    let plant = &look.plant;
    let damages = DAMAGES.into_iter().zip(plant.damages);
    text.counters("nanotape_plant_damages", "Damaged places in the input.", damages);
    let help = "Bytes of the input that were skipped.";
    text.counter("nanotape_plant_lost_bytes", "bytes", help, plant.lost_bytes);
    let help = "Messages of a session that no line brought.";
    text.counter("nanotape_plant_lost_messages", "", help, plant.lost_messages);
    let anomalies = Anomaly::ALL.into_iter().map(Anomaly::name).zip(plant.anomalies);
    let help = "Messages that could not be applied to their book.";
    text.counters("nanotape_plant_anomalies", help, anomalies);
    let help = "Stocks with an unreliable (tainted) book.";
    text.gauge("nanotape_plant_tainted_stocks", "", help, plant.tainted_stocks);
}

fn about_tainted_stocks(text: &mut Exposition, look: &PlantHealth) {
    let name = "nanotape_plant_tainted_messages";
    let help = "Messages that could not be applied to the book of a stock.";
    text.family(name, "counter", "", help);
    for (locate, symbol, messages) in &look.tainted {
        let locate = locate.to_string();
        let symbol = symbol.map(|symbol| symbol.to_string()).unwrap_or_default();
        let labels = [("stock_locate", &*locate), ("symbol", &symbol)];
        text.sample("nanotape_plant_tainted_messages_total", &labels, *messages);
    }
}

fn about_stages(text: &mut Exposition, look: &PlantHealth) {
    let help = "Time of a message in a stage, sampled for about 1 message in 250. The sum adds upper \
                bounds and is at most 12.5 percent too large.";
    text.family("nanotape_plant_stage_seconds", "histogram", "seconds", help);
    for times in &look.plant.stages {
        text.histogram("nanotape_plant_stage_seconds", times);
    }
}

fn about_the_ring(text: &mut Exposition, look: &PlantHealth) {
    let ring = &look.ring;
    if let Some(capacity) = look.capacity_bytes() {
        text.gauge("nanotape_ring_capacity_bytes", "bytes", "Size of the ring.", capacity);
    }
    text.gauge("nanotape_ring_messages_held", "", "Messages in the ring.", look.held());
    let help = "Sequence number of the oldest message in the ring.";
    text.gauge("nanotape_ring_oldest_sequence", "", help, ring.oldest_sequence);
    let help = "Sequence number of the next message.";
    text.gauge("nanotape_ring_next_sequence", "", help, ring.next_sequence);
    if let Some(share) = look.fill_percent() {
        let name = "nanotape_ring_fill_ratio";
        text.family(name, "gauge", "ratio", "Share of the ring that holds messages, from 0 to 1.");
        text.sample(name, &[], format_args!("{:.4}", share / 100.0));
    }
    let help = "When the last message was published.";
    text.time("nanotape_ring_last_message_timestamp_seconds", help, ring.ts_publish_ns);
    if let Some(span) = look.span_ns() {
        let name = "nanotape_ring_span_seconds";
        text.family(
            name,
            "gauge",
            "seconds",
            "Time from the oldest record in the ring to the last.",
        );
        text.sample(name, &[], Seconds(span));
    }
}

fn about_the_recorder(text: &mut Exposition, recorder: &RecorderHealth) {
    let RecorderHealth { stat, lag, lag_ns, .. } = recorder;
    text.family("nanotape_recorder", "info", "", "The recorder of the ring.");
    let (journal, pid) = (stat.journal.display().to_string(), stat.owner.pid.to_string());
    text.sample("nanotape_recorder_info", &[("journal", &journal), ("pid", &pid)], 1);
    let name = "nanotape_recorder_state";
    text.family(name, "stateset", "", "State of the recorder; dead: exited without an end.");
    for state in RecorderState::NAMES {
        text.sample(name, &[(name, state)], u64::from(state == stat.state.name()));
    }
    let help = "When the recorder updated these counters.";
    text.time("nanotape_recorder_updated_timestamp_seconds", help, stat.updated_ns);
    let help = "Messages of the ring that are not recorded yet.";
    text.gauge("nanotape_recorder_lag_messages", "", help, *lag);
    if let Some(lag_ns) = *lag_ns {
        let name = "nanotape_recorder_lag_seconds";
        let help = "Time from the first message that is not recorded to the last.";
        text.family(name, "gauge", "seconds", help);
        text.sample(name, &[], Seconds(lag_ns));
    }
    let help = "Messages recorded into the journal.";
    text.counter("nanotape_recorder_recorded", "", help, stat.recorded);
    let help = "Messages that were overwritten before they were recorded.";
    text.counter("nanotape_recorder_lost", "", help, stat.lost);
    let help = "Ranges of messages that were overwritten before they were recorded.";
    text.counter("nanotape_recorder_gaps", "", help, stat.gaps);
}

fn about_the_followers(text: &mut Exposition, look: &PlantHealth) {
    if look.followers.is_empty() {
        return;
    }
    let name = "nanotape_follower_lag_messages";
    text.family(name, "gauge", "", "Messages of the ring that a named follower has not read yet.");
    for follower in &look.followers {
        text.sample(name, &[("name", &follower.name)], follower.lag);
    }
    let name = "nanotape_follower_alive";
    text.family(name, "gauge", "", "Whether the process of a named follower is alive, 0 or 1.");
    for follower in &look.followers {
        let is_alive = follower.stat.owner.state == OwnerState::Alive;
        text.sample(name, &[("name", &follower.name)], u64::from(is_alive));
    }
    let name = "nanotape_follower_lost";
    text.family(name, "counter", "", "Messages overwritten before a named follower read them.");
    for follower in &look.followers {
        text.sample(&format!("{name}_total"), &[("name", &follower.name)], follower.stat.lost);
    }
}

/// The format of an exposition.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Dialect {
    OpenMetrics,
    /// It has no types for information and for states, and a counter has the name of its sample.
    Prometheus,
}

/// The text so far. Every sample names the ring.
struct Exposition {
    dialect: Dialect,
    text: String,
    /// The name, escaped.
    ring: String,
}

impl Exposition {
    /// Begins a family; its name ends with its unit, if any.
    fn family(&mut self, name: &str, kind: &str, unit: &str, help: &str) {
        // Writing to a string cannot fail.
        if self.dialect == Dialect::Prometheus {
            let (suffix, kind) = match kind {
                "counter" => ("_total", kind),
                "info" => ("_info", "gauge"),
                "stateset" => ("", "gauge"),
                kind => ("", kind),
            };
            let _ = writeln!(self.text, "# HELP {name}{suffix} {}", escaped_help(help));
            let _ = writeln!(self.text, "# TYPE {name}{suffix} {kind}");
            return;
        }
        let _ = writeln!(self.text, "# TYPE {name} {kind}");
        if !unit.is_empty() {
            let _ = writeln!(self.text, "# UNIT {name} {unit}");
        }
        let _ = writeln!(self.text, "# HELP {name} {}", escaped(help));
    }

    fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: impl fmt::Display) {
        let _ = write!(self.text, "{name}{{ring=\"{}\"", self.ring);
        for (label, text) in labels {
            let _ = write!(self.text, ",{label}=\"{}\"", escaped(text));
        }
        let _ = writeln!(self.text, "}} {value}");
    }

    fn gauge(&mut self, name: &str, unit: &str, help: &str, value: u64) {
        self.family(name, "gauge", unit, help);
        self.sample(name, &[], value);
    }

    /// Adds a point in time; nothing if unknown.
    fn time(&mut self, name: &str, help: &str, utc_ns: u64) {
        if utc_ns != 0 {
            self.family(name, "gauge", "seconds", help);
            self.sample(name, &[], Seconds(utc_ns));
        }
    }

    fn counter(&mut self, name: &str, unit: &str, help: &str, value: u64) {
        self.family(name, "counter", unit, help);
        self.sample(&format!("{name}_total"), &[], value);
    }

    fn counters<'k>(
        &mut self,
        name: &str,
        help: &str,
        values: impl Iterator<Item = (&'k str, u64)>,
    ) {
        self.family(name, "counter", "", help);
        for (kind, value) in values {
            self.sample(&format!("{name}_total"), &[("kind", kind)], value);
        }
    }

    /// Adds cumulative buckets. The board's own bounds are finer, and include each of these.
    fn histogram(&mut self, name: &str, times: &StageTimes) {
        let stage = times.stage.name();
        let counts: Vec<_> = times.buckets().collect();
        for power in FIRST_POWER..=LAST_POWER {
            let bound = (1_u64 << power) - 1;
            let within = counts.iter().filter(|&&(highest, _)| highest <= bound);
            let within: u64 = within.map(|&(_, count)| count).sum();
            let bound = Seconds(bound).to_string();
            let labels = [("stage", stage), ("le", &*bound)];
            self.sample(&format!("{name}_bucket"), &labels, within);
        }
        let samples = times.samples();
        self.sample(&format!("{name}_bucket"), &[("stage", stage), ("le", "+Inf")], samples);
        let weighed = counts.iter().map(|&(highest, count)| highest.saturating_mul(count));
        let sum = weighed.fold(0, u64::saturating_add);
        self.sample(&format!("{name}_sum"), &[("stage", stage)], Seconds(sum));
        self.sample(&format!("{name}_count"), &[("stage", stage)], samples);
    }
}

/// Bounds of histograms: from 15 ns to 2^31 - 1, two seconds.
const FIRST_POWER: u32 = 4;
const LAST_POWER: u32 = 31;

/// Nanoseconds as seconds, all digits.
struct Seconds(u64);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:09}", self.0 / 1_000_000_000, self.0 % 1_000_000_000)
    }
}

/// Escapes text after `# HELP` in the format of Prometheus, where quotes stay.
fn escaped_help(text: &str) -> String {
    text.replace('\\', "\\\\").replace('\n', "\\n")
}

/// Escapes text inside quotes, and after `# HELP` in OpenMetrics.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_cannot_break_out_of_their_quotes() {
        let written = |dialect| {
            let ring = escaped("a\"b\\c\nd");
            let mut text = Exposition { dialect, text: String::new(), ring };
            text.gauge("x_bytes", "bytes", "One \"two\"\nlines.", 7);
            text.text
        };
        let sample = "x_bytes{ring=\"a\\\"b\\\\c\\nd\"} 7\n";
        let expected = "# TYPE x_bytes gauge\n# UNIT x_bytes bytes\n\
                        # HELP x_bytes One \\\"two\\\"\\nlines.\n";
        assert_eq!(written(Dialect::OpenMetrics), format!("{expected}{sample}"));
        let expected = "# HELP x_bytes One \"two\"\\nlines.\n# TYPE x_bytes gauge\n";
        assert_eq!(written(Dialect::Prometheus), format!("{expected}{sample}"));
        assert_eq!(Seconds(1_500_000_001).to_string(), "1.500000001");
    }
}
