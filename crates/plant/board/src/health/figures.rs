//! The figures of a plant's health, declared once, in the order of JSON. `docs/formats/metrics.md`
//! is generated from the metrics among them.

use nanotape_book::Anomaly;
use nanotape_clock::Clock;
use nanotape_records::{Pace, RecordKind, TradeDate};
use nanotape_shm::OwnerState;

use super::{
    FollowerHealth, Life, PlantHealth,
    figure::{Figure, FigureValue, Kind, about, flag, nanos, real, text, time, whole},
    session_figures,
};
use crate::{RecorderState, Waiting, board::DAMAGES};

/// The quantiles of the times of stages.
const QUANTILES: [(&str, f64); 4] = [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("max", 1.0)];

impl PlantHealth {
    /// All figures. `lists_tainted` adds the stocks whose book is unreliable.
    pub fn figures(&self, lists_tainted: bool) -> Vec<Figure> {
        let tainted = lists_tainted.then(|| self.tainted_stocks());
        [
            self.of_the_run(),
            self.of_messages(),
            self.of_records(),
            self.of_trouble(),
            Vec::from_iter(tainted),
            self.of_stages(),
            session_figures(self.plant.live.as_ref()),
            self.of_the_ring(),
            self.of_the_recorder(),
            self.of_the_followers(),
        ]
        .concat()
    }

    /// The same, and after each figure that has a rate its increase per second since `before`.
    pub fn figures_since(&self, before: &Self, clock: &Clock, lists_tainted: bool) -> Vec<Figure> {
        let pairs = self.figures(lists_tainted).into_iter().zip(before.figures(lists_tainted));
        let with_rate = pairs.flat_map(|(figure, earlier)| {
            let rate = match (figure.has_rate, &figure.value, earlier.value) {
                (true, Some(FigureValue::Whole(now)), Some(FigureValue::Whole(then))) => {
                    let rate = self.rate(before, clock, now.saturating_sub(then));
                    Some(real(format!("{}_per_second", figure.name), rate))
                }
                _ => None,
            };
            [figure].into_iter().chain(rate)
        });
        with_rate.collect()
    }

    fn of_the_run(&self) -> Vec<Figure> {
        let (plant, life, waiting) = (&self.plant, self.life(), self.waiting());
        let reason = match life {
            Life::Stopped(reason) => Some(reason.name()),
            _ => None,
        };
        let until = waiting.and_then(|waiting| waiting.until(plant.run.midnight_ns));
        let info = |figure: Figure| figure.metric(Kind::Info, "Parameters of the plant's run.");
        let pid = (plant.owner.pid != 0).then_some(u64::from(plant.owner.pid));
        let help = "State of the plant; died: exited without a stop notice.";
        let figures = vec![
            Figure::new("state", Some(FigureValue::State(life.name(), &Life::NAMES)))
                .metric(Kind::StateSet, help),
            text("stop_reason", reason),
            text("waiting_for", waiting.map(Waiting::name)),
            text("waiting_until", until),
            info(whole("plant_pid", pid)),
            time("started_ns", plant.run.started_ns).gauge("When the run began."),
            time("midnight_ns", plant.run.midnight_ns),
            info(text("trade_date", Some(TradeDate::text_of(plant.run.date)))),
            info(text("pace", Some(Pace::of_milli(plant.run.pace_milli)))),
            info(text("kinds", Some(plant.kinds()))),
            whole("first_sequence", plant.run.first_sequence).outside_json(),
            time("updated_ns", plant.updated_ns).gauge("When the plant updated these counters."),
            self.age("board_age_ns", Some(plant.updated_ns)),
        ];
        about("plant", figures)
    }

    fn of_messages(&self) -> Vec<Figure> {
        let (plant, time_of_day) = (&self.plant, self.plant.time_of_day());
        let ts_event = time_of_day.map_or(0, |_| plant.ts_event);
        let figures = vec![
            whole("messages", plant.messages).counter("Messages read.").with_rate(),
            real("messages_per_second_mean", self.mean_rate()),
            time("ts_event_ns", ts_event)
                .gauge("The exchange's time of the last message.")
                .named("plant_event_timestamp_seconds"),
            text("time_of_day", time_of_day),
            whole("input_done_bytes", plant.input_done_bytes)
                .counter("Bytes of the input, as it is stored, that were read.")
                .named("plant_input_read_bytes"),
            whole("input_total_bytes", plant.input_total_bytes)
                .gauge("Bytes of the input, as it is stored.")
                .named("plant_input_size_bytes"),
            real("input_percent", self.input_percent()),
            // Messages of lines have numbers and no offsets.
            whole("offset_bytes", plant.live.is_none().then_some(plant.offset))
                .gauge("Offset of the last message in the decompressed input.")
                .named("plant_input_offset_bytes"),
            whole("live_orders", plant.live_orders).gauge("Live orders in all books."),
        ];
        about("plant", figures)
    }

    fn of_records(&self) -> Vec<Figure> {
        let plant = &self.plant;
        let of_kind = |figure: Figure, kind| {
            figure.counter("Records published.").named("plant_records").of("kind", kind)
        };
        let by_kind = RecordKind::ALL.into_iter().zip(plant.records).map(|(kind, records)| {
            of_kind(whole(format!("{kind}_records"), records).with_rate(), kind.name())
        });
        let all = [whole("records", plant.total_records()).with_rate()];
        let notices = [of_kind(whole("notices", plant.notices), "notices")];
        all.into_iter().chain(by_kind).chain(notices).collect()
    }

    fn of_trouble(&self) -> Vec<Figure> {
        let plant = &self.plant;
        let damages = DAMAGES.into_iter().zip(plant.damages).map(|(kind, damages)| {
            whole(format!("damage_{kind}"), damages)
                .counter("Damaged places in the input.")
                .named("plant_damages")
                .of("kind", kind)
        });
        let anomalies = Anomaly::ALL.into_iter().zip(plant.anomalies).map(|(kind, anomalies)| {
            whole(format!("anomaly_{kind}"), anomalies)
                .counter("Messages that could not be applied to their book.")
                .named("plant_anomalies")
                .of("kind", kind.name())
        });
        let lost = [
            whole("lost_bytes", plant.lost_bytes).counter("Bytes of the input that were skipped."),
            whole("lost_messages", plant.lost_messages)
                .counter("Messages of a session that no line brought."),
        ];
        let tainted = whole("tainted_stocks", plant.tainted_stocks)
            .gauge("Stocks with an unreliable (tainted) book.");
        about("plant", damages.chain(lost).chain(anomalies).chain([tainted]).collect())
    }

    fn tainted_stocks(&self) -> Figure {
        let help = "Messages that could not be applied to the book of a stock.";
        let stocks = self.tainted.iter().map(|&(locate, symbol, messages)| {
            let stock = symbol.map_or_else(|| format!("#{locate}"), |symbol| symbol.to_string());
            let figures = vec![
                text("stock", Some(stock)).outside_json(),
                whole("stock_locate", u64::from(locate.get())).label(),
                text("symbol", symbol).label(),
                whole("messages", messages).counter(help).named("plant_tainted_messages"),
            ];
            about("plant", figures)
        });
        Figure::new("tainted", Some(FigureValue::Rows(stocks.collect())))
    }

    fn of_stages(&self) -> Vec<Figure> {
        let help = "Time of a message in a stage, sampled for about 1 message in 250. The sum adds \
                    upper bounds and is at most 12.5 percent too large.";
        let stages = self.plant.stages.iter().flat_map(|(stage, times)| {
            let name = stage.name();
            let quantiles = QUANTILES.into_iter().map(move |(quantile, share)| {
                nanos(format!("{name}_ns_{quantile}"), times.quantile(share))
            });
            let all = Figure::new(format!("{name}_ns"), Some(FigureValue::Times(times.clone())))
                .metric(Kind::Histogram, help)
                .named("plant_stage_seconds")
                .of("stage", name)
                .outside_json();
            let samples = whole(format!("{name}_samples"), times.count());
            [samples].into_iter().chain(quantiles).chain([all])
        });
        stages.collect()
    }

    fn of_the_ring(&self) -> Vec<Figure> {
        let ring = &self.ring;
        let figures = vec![
            text("ring_writer_state", Some(ring.owner.state)),
            whole("ring_writer_pid", u64::from(ring.owner.pid)),
            whole("ring_writer_epoch", ring.owner.epoch),
            whole("ring_capacity_bytes", self.capacity_bytes()).gauge("Size of the ring."),
            whole("ring_oldest_sequence", ring.oldest_sequence)
                .gauge("Sequence number of the oldest message in the ring."),
            whole("ring_next_sequence", ring.next_sequence)
                .gauge("Sequence number of the next message."),
            whole("ring_last_sequence", ring.next_sequence.saturating_sub(1)).outside_json(),
            whole("ring_messages_held", self.held()).gauge("Messages in the ring."),
            real("ring_fill_percent", self.fill_percent())
                .gauge("Share of the ring that holds messages, from 0 to 1."),
            nanos("ring_span_ns", self.span_ns())
                .gauge("Time from the oldest record in the ring to the last."),
            self.age("ring_last_message_age_ns", Some(ring.ts_publish_ns))
                .gauge("When the last message was published."),
            self.age("ring_heartbeat_age_ns", Some(ring.heartbeat_ns)),
        ];
        about("ring", figures)
    }

    /// Nothing is known if no recorder of the ring shows its progress.
    fn of_the_recorder(&self) -> Vec<Figure> {
        let recorder = self.recorder.as_ref();
        let stat = recorder.map(|recorder| &recorder.stat);
        let snapshots = recorder.and_then(|recorder| recorder.snapshots);
        let state = stat.map(|stat| FigureValue::State(stat.state.name(), &RecorderState::NAMES));
        let info = |figure: Figure| figure.metric(Kind::Info, "The recorder of the ring.");
        let lost = "Messages that were overwritten before they were recorded.";
        let gaps = "Ranges of messages that were overwritten before they were recorded.";
        let figures = vec![
            Figure::new("recorder_state", state)
                .metric(Kind::StateSet, "State of the recorder; dead: exited without an end."),
            info(whole("recorder_pid", stat.map(|stat| u64::from(stat.owner.pid)))),
            text("recorder_started", stat.map(|stat| stat.owner.started)).outside_json(),
            info(text("recorder_journal", stat.map(|stat| stat.journal.display()))),
            whole("recorder_next_sequence", stat.map(|stat| stat.next_sequence)),
            whole("recorder_lag_messages", recorder.map(|recorder| recorder.lag))
                .gauge("Messages of the ring that are not recorded yet."),
            nanos("recorder_lag_ns", recorder.and_then(|recorder| recorder.lag_ns))
                .gauge("Time from the first message that is not recorded to the last."),
            whole("recorder_recorded", stat.map(|stat| stat.recorded))
                .counter("Messages recorded into the journal."),
            whole("recorder_lost", stat.map(|stat| stat.lost)).counter(lost),
            whole("recorder_gaps", stat.map(|stat| stat.gaps)).counter(gaps),
            whole("snapshots", snapshots.map(|snapshots| snapshots.count))
                .gauge("Snapshots beside the journal."),
            whole("snapshots_last_sequence", snapshots.map(|snapshots| snapshots.last_sequence))
                .outside_json(),
            whole("snapshots_behind", snapshots.map(|snapshots| snapshots.behind))
                .gauge("Recorded messages after the last snapshot."),
            whole("journal_free_bytes", recorder.and_then(|recorder| recorder.free_bytes))
                .gauge("Free room on the disk of the journal."),
            self.age("recorder_age_ns", stat.map(|stat| stat.updated_ns))
                .gauge("When the recorder updated these counters.")
                .named("recorder_updated_timestamp_seconds"),
        ];
        about("recorder", figures)
    }

    fn of_the_followers(&self) -> Vec<Figure> {
        let lag = "Messages of the ring that a named follower has not read yet.";
        let lost = "Messages overwritten before a named follower read them.";
        let alive = "Whether a named follower is alive, 0 or 1.";
        let followers = self.followers.iter().map(|follower| {
            let FollowerHealth { name, stat, .. } = follower;
            let figures = vec![
                text("name", Some(name)).label(),
                text("state", Some(stat.owner.state)),
                flag("alive", stat.owner.state == OwnerState::Alive).gauge(alive).outside_json(),
                whole("pid", u64::from(stat.owner.pid)),
                text("started", Some(stat.owner.started)).outside_json(),
                whole("next_sequence", stat.next_sequence),
                whole("lag_messages", follower.lag).gauge(lag),
                whole("lost", stat.lost).counter(lost),
            ];
            about("follower", figures)
        });
        let followers = Figure::new("followers", Some(FigureValue::Rows(followers.collect())));
        vec![whole("wait_for", self.plant.wait_for), followers]
    }

    fn age(&self, name: &'static str, utc_ns: Option<u64>) -> Figure {
        Figure::new(name, utc_ns.map(|utc_ns| FigureValue::Age(utc_ns, self.age_ns(utc_ns))))
    }
}
