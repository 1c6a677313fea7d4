//! The recursion against a naive queue: every message is an element of a list.

use std::collections::VecDeque;

use nanotape_lab::Rng;
use proptest::prelude::*;

use super::*;

/// What the naive queue finds for one service time.
#[derive(PartialEq, Eq, Debug, Default)]
struct Naive {
    delays: Vec<u64>,
    largest_queue: usize,
    catch_up_ns: u64,
}

/// Processes message after message, with the moments at which those in the system leave.
fn naive(arrivals: &[u64], service: u64) -> Naive {
    let mut found = Naive::default();
    let mut leaves: VecDeque<u64> = VecDeque::new();
    let (mut latest, mut idle_until) = (0, 0);
    for &at in arrivals {
        latest = at.max(latest);
        while leaves.front().is_some_and(|&leave| leave <= latest) {
            leaves.pop_front();
        }
        if leaves.is_empty() {
            idle_until = latest;
        }
        let leave = leaves.back().copied().unwrap_or(latest) + service;
        leaves.push_back(leave);
        found.delays.push(leave - latest);
        found.largest_queue = found.largest_queue.max(leaves.len());
        found.catch_up_ns = found.catch_up_ns.max(leave - idle_until);
    }
    found
}

fn simulated(arrivals: &[u64], services: &[u64], limits: &[u64], window_ns: u64) -> Outcome {
    let mut simulation = Simulation::new(services, limits, window_ns).unwrap();
    arrivals.iter().for_each(|&at| simulation.arrive(at));
    simulation.finish()
}

/// Everything that one service time of `outcome` must have.
fn assert_like_naive(arrivals: &[u64], outcome: &Outcome, index: usize, limits: &[u64]) {
    let result = &outcome.services[index];
    let naive = naive(arrivals, result.service_ns);
    let mut sorted = naive.delays.clone();
    sorted.sort_unstable();
    assert_eq!(result.largest_delay_ns, sorted.last().copied().unwrap_or(0));
    assert_eq!(result.largest_queue, naive.largest_queue as u64);
    assert_eq!(result.catch_up_ns, naive.catch_up_ns);
    assert_eq!(result.delays.count(), arrivals.len() as u64);
    for (limit, &over) in limits.iter().zip(&result.over) {
        assert_eq!(over, sorted.iter().filter(|delay| *delay > limit).count() as u64);
    }
    for quantile in [0.01, 0.5, 0.9, 0.99, 1.0] {
        let rank = ((quantile * sorted.len() as f64).ceil() as usize).max(1) - 1;
        let (exact, got) = (sorted.get(rank), result.quantile_ns(quantile));
        let is_near = match (exact, got) {
            (Some(&exact), Some(got)) => {
                exact <= got && (got - exact) as f64 <= exact as f64 / 128.0
            }
            (exact, got) => exact.is_none() && got.is_none(),
        };
        assert!(is_near, "{quantile}: {got:?} for {exact:?}");
    }
}

proptest! {
    #[test]
    fn every_service_time_equals_the_naive_queue(
        gaps in prop::collection::vec(prop_oneof![Just(0), 0..50_u64, 0..5_000_u64], 0..300),
        services in prop::collection::vec(1..3_000_u64, 1..=LANES),
        limits in prop::collection::vec(0..20_000_u64, 0..=MAX_LIMITS),
        window_ns in 1..10_000_u64,
    ) {
        let mut now = 1_000_000;
        let arrivals: Vec<u64> = gaps.iter().map(|gap| { now += gap; now }).collect();
        let outcome = simulated(&arrivals, &services, &limits, window_ns);
        for index in 0..services.len() {
            assert_like_naive(&arrivals, &outcome, index, &limits);
        }
        let delays: Vec<Vec<u64>> =
            services.iter().map(|&service| naive(&arrivals, service).delays).collect();
        for window in outcome.windows.iter() {
            let is_in = |at: u64| at - at % window_ns == window.start_ns;
            let inside = || (0..arrivals.len()).filter(|&n| is_in(arrivals[n]));
            prop_assert_eq!(window.messages, inside().count() as u64);
            for (largest, delays) in window.delays_ns.iter().zip(&delays) {
                prop_assert_eq!(Some(*largest), inside().map(|n| delays[n]).max());
            }
        }
        let in_windows: u64 = outcome.windows.iter().map(|window| window.messages).sum();
        prop_assert_eq!(in_windows, arrivals.len() as u64);
    }

    #[test]
    fn any_timestamps_are_accepted(
        arrivals in prop::collection::vec(prop_oneof![any::<u64>(), 0..1_000_u64], 0..200),
        window_ns in prop_oneof![1..100_u64, any::<u64>().prop_map(|ns| ns.max(1))],
    ) {
        let services = [1, 250, MAX_SERVICE_NS];
        let outcome = simulated(&arrivals, &services, &[100], window_ns);
        for index in 0..services.len() {
            assert_like_naive(&arrivals, &outcome, index, &[100]);
        }
        let mut latest = 0;
        let is_reversed = |&&at: &&u64| {
            let is_reversed = at < latest;
            latest = at.max(latest);
            is_reversed
        };
        prop_assert_eq!(outcome.reversed, arrivals.iter().filter(is_reversed).count() as u64);
    }
}

#[test]
fn a_message_that_ends_at_an_arrival_has_left() {
    let outcome = simulated(&[0, 100, 200], &[99, 100, 101], &[], 1_000);
    let of = |index: usize| {
        let result = &outcome.services[index];
        (result.largest_delay_ns, result.largest_queue, result.catch_up_ns)
    };
    assert_eq!(of(0), (99, 1, 99));
    assert_eq!(of(1), (100, 1, 100), "never idle for a moment, and never behind");
    assert_eq!(of(2), (103, 2, 303));
}

#[test]
fn messages_of_one_timestamp_arrive_together() {
    let outcome = simulated(&[7; 50], &[10], &[490, 500], 1_000);
    let result = &outcome.services[0];
    assert_eq!((result.largest_delay_ns, result.largest_queue, result.catch_up_ns), (500, 50, 500));
    assert_eq!(result.over, [1, 0]);
}

#[test]
fn no_message_is_no_delay() {
    let outcome = simulated(&[], &default_services(), &[1], 1_000);
    assert_eq!((outcome.messages, outcome.span_ns, outcome.windows.iter().count()), (0, None, 0));
    let result = &outcome.services[0];
    assert_eq!(
        (result.largest_delay_ns, result.largest_queue, result.worst_window_ns),
        (0, 0, None)
    );
    assert_eq!(result.quantile_ns(0.5), None);
}

#[test]
fn wrong_numbers_are_refused() {
    let refusal = |services: &[u64], limits: &[u64], window_ns| {
        Simulation::new(services, limits, window_ns).unwrap_err()
    };
    assert_eq!(refusal(&[], &[], 1), QueueError::Services { count: 0 });
    assert_eq!(refusal(&[1; 61], &[], 1), QueueError::Services { count: 61 });
    assert_eq!(refusal(&[5, 0], &[], 1), QueueError::Service { ns: 0 });
    assert_eq!(refusal(&[10_000_001], &[], 1), QueueError::Service { ns: 10_000_001 });
    assert_eq!(refusal(&[1], &[1; 5], 1), QueueError::Limits { count: 5 });
    assert_eq!(refusal(&[1], &[], 0), QueueError::Window);
}

#[test]
fn the_default_service_times_grow_by_one_factor() {
    let services = default_services();
    assert_eq!((services.len(), services[0], services[LANES - 1]), (LANES, 100, 100_000));
    for pair in services.windows(2) {
        let factor = pair[1] as f64 / pair[0] as f64;
        // A whole number of nanoseconds is at most 0.5% away.
        assert!((1.11..1.14).contains(&factor), "{pair:?}");
    }
}

#[test]
fn windows_join_when_there_are_too_many() {
    let arrivals: Vec<u64> = (0..50_000).map(|n| n * 10 + n % 7).collect();
    let outcome = simulated(&arrivals, &[3, 400], &[], 10);
    assert_eq!(outcome.windows.length_ns(), 40);
    assert!(outcome.windows.iter().count() <= MAX_WINDOWS);
    let whole = simulated(&arrivals, &[3, 400], &[], 40);
    assert!(outcome.windows.iter().eq(whole.windows.iter()));
    assert_eq!(outcome.services[1].worst_window_ns, Some(499_960));
    assert_eq!(outcome.services[1].overloaded_windows, 12_500);
    assert_eq!(outcome.windows.at(45).map(|window| window.start_ns), Some(40));
    assert_eq!(outcome.windows.at(10_000_000), None);
}

#[test]
fn the_record_has_one_object_for_each_service_time() {
    let mut rng = Rng::new(5);
    let mut now = 0;
    let arrivals: Vec<u64> = (0..2_000)
        .map(|_| {
            now += rng.below(400) as u64;
            now
        })
        .collect();
    let outcome = simulated(&arrivals, &[100, 200, 400], &[], 10_000);
    let answer = (Question::Ring { messages: 40 }, Search { good_ns: 100, bad_ns: Some(300) });
    let source = Source { name: "day", arrivals: "event" };
    let record = record(source, &outcome, &[answer], 1);
    assert_eq!(record["messages"], 2_000);
    assert_eq!(record["answers"][0]["ring"], 40);
    assert_eq!(record["answers"][0]["speed"], 0.5, "200 ns need half the speed");
    let services = record["services"].as_array().unwrap();
    assert_eq!(services.len(), 3);
    assert!(services[0]["growth"].is_null());
    // The receiver falls behind between 100 ns and 400 ns: the delay grows faster than the service.
    assert!(services[2]["growth"].as_f64() > Some(1.0), "{record}");
    assert!(services[2]["utilisation"].as_f64() > Some(1.9), "{record}");
    let windows = record["windows"].as_array().unwrap();
    let delays = windows.iter().map(|window| window["largest_delay_ns"].as_u64().unwrap());
    assert_eq!(delays.max(), services[1]["largest_delay_ns"].as_u64());
    assert_eq!(record["windows_at_ns"], 200);
    assert_eq!(services[0]["ring_speed"], 1.0);
    assert!(service_record(&outcome, &[], 3).is_null());
}

/// One core of the naive receiver.
#[derive(Default)]
struct NaiveCore {
    arrivals: Vec<(u64, u64)>,
    delays: Vec<u64>,
    largest_queue: usize,
    dropped: u64,
    batches: u64,
    busy_ns: u64,
}

impl NaiveCore {
    /// Checks every moment at which something happens: first a batch ends, then messages arrive,
    /// then the next batch begins.
    fn run(&mut self, ring: usize, batch: Batch) {
        let mut arrivals = VecDeque::from(std::mem::take(&mut self.arrivals));
        let (mut waiting, mut serving): (VecDeque<(u64, u64)>, usize) = (VecDeque::new(), 0);
        let mut end = None;
        loop {
            let next = arrivals.front().map(|message| message.0);
            let Some(now) = [end, next].into_iter().flatten().min() else { return };
            if end == Some(now) {
                (end, serving) = (None, 0);
            }
            while arrivals.front().is_some_and(|message| message.0 == now) {
                let message = arrivals.pop_front().unwrap();
                if waiting.len() + serving >= ring {
                    self.dropped += 1;
                } else {
                    waiting.push_back(message);
                    self.largest_queue = self.largest_queue.max(waiting.len() + serving);
                }
            }
            if end.is_none() && !waiting.is_empty() {
                serving = waiting.len().min(batch.messages);
                let taken: Vec<(u64, u64)> = waiting.drain(..serving).collect();
                let needs = batch.fixed_ns + taken.iter().map(|message| message.1).sum::<u64>();
                self.delays.extend(taken.iter().map(|message| now + needs - message.0));
                self.batches += 1;
                self.busy_ns += needs;
                end = Some(now + needs);
            }
        }
    }
}

proptest! {
    #[test]
    fn a_receiver_equals_a_naive_one(
        messages in prop::collection::vec(
            (prop_oneof![Just(0), 0..400_u64], 0..9_u64, 1..600_u64), 0..300),
        cores in 1..5_usize,
        ring in 1..20_usize,
        most in prop_oneof![Just(1), 1..25_usize],
        fixed_ns in prop_oneof![Just(0), 0..500_u64],
    ) {
        let batch = Batch { messages: most, fixed_ns };
        let mut receiver = Receiver::new(cores, ring, batch).unwrap();
        let mut naive: Vec<NaiveCore> = (0..cores).map(|_| NaiveCore::default()).collect();
        let mut now = 0;
        for &(gap, key, service) in &messages {
            now += gap;
            receiver.arrive(now, key, service, 0);
            naive[(key % cores as u64) as usize].arrivals.push((now, service));
        }
        receiver.finish();
        naive.iter_mut().for_each(|core| core.run(ring, batch));
        for (core, naive) in receiver.cores().iter().zip(&naive) {
            prop_assert_eq!(core.messages, naive.delays.len() as u64);
            prop_assert_eq!(core.batches, naive.batches);
            prop_assert_eq!(core.dropped, naive.dropped);
            prop_assert_eq!(core.busy_ns, naive.busy_ns);
            prop_assert_eq!(core.largest_queue, naive.largest_queue as u64);
            prop_assert_eq!(core.largest_delay_ns, naive.delays.iter().copied().max().unwrap_or(0));
        }
        let delays: Vec<u64> = naive.iter().flat_map(|core| core.delays.clone()).collect();
        prop_assert_eq!(receiver.delays().count(), delays.len() as u64);
        prop_assert_eq!(receiver.delays().max(), delays.iter().copied().max());
        prop_assert_eq!(receiver.dropped(), naive.iter().map(|core| core.dropped).sum::<u64>());
    }
}

#[test]
fn a_batch_takes_what_waits_and_all_of_it_ends_together() {
    let mut receiver = Receiver::new(1, 10, Batch { messages: 3, fixed_ns: 50 }).unwrap();
    // The first batch is alone: 0 to 60. The second takes three of four: 60 to 140.
    for at in [0, 10, 20, 30, 60] {
        receiver.arrive(at, 0, 10, 0);
    }
    receiver.finish();
    let core = &receiver.cores()[0];
    assert_eq!((core.messages, core.batches, core.largest_queue), (5, 3, 4));
    assert_eq!((core.busy_ns, core.largest_delay_ns), (200, 140), "the last ends at 200");
    assert_eq!(receiver.delays().min(), Some(60));
}

#[test]
fn a_full_ring_drops_and_a_message_that_ends_at_an_arrival_has_left_it() {
    let mut receiver = Receiver::new(1, 2, Batch::SINGLE).unwrap();
    for at in [0, 0, 0, 99, 100] {
        receiver.arrive(at, 7, 100, 0);
    }
    receiver.finish();
    let core = &receiver.cores()[0];
    assert_eq!((core.messages, core.dropped, core.largest_queue), (3, 2, 2));
    assert_eq!((core.largest_delay_ns, core.busy_ns), (200, 300));
    // The end of the clock is no panic.
    receiver.arrive(u64::MAX, 0, 10, 0);
    receiver.arrive(u64::MAX, 0, 10, 0);
    receiver.finish();
    assert_eq!(receiver.cores()[0].largest_delay_ns, 200);
}

#[test]
fn receivers_without_cores_rings_or_batches_are_refused() {
    let one = Batch::SINGLE;
    let none = Batch { messages: 0, fixed_ns: 1 };
    assert_eq!(Receiver::new(1, 1, none).unwrap_err(), QueueError::Batch { messages: 0 });
    assert_eq!(Receiver::new(0, 1, one).unwrap_err(), QueueError::Cores { count: 0 });
    assert_eq!(Receiver::new(257, 1, one).unwrap_err(), QueueError::Cores { count: 257 });
    assert_eq!(Receiver::new(1, 0, one).unwrap_err(), QueueError::Ring { messages: 0 });
    assert_eq!(
        Receiver::new(1, MAX_RING + 1, one).unwrap_err(),
        QueueError::Ring { messages: MAX_RING + 1 }
    );
}

proptest! {
    #[test]
    fn the_worst_bursts_are_those_of_all_bursts_in_order(
        gaps in prop::collection::vec(prop_oneof![Just(0), 0..200_u64], 0..200),
        service in 1..150_u64,
        most in 1..12_usize,
    ) {
        let mut bursts = Bursts::new(service, most);
        let mut all: Vec<Burst> = Vec::new();
        let (mut now, mut leave) = (0, 0);
        for (number, gap) in gaps.iter().enumerate() {
            now += gap;
            let byte = number as u8;
            bursts.arrive(now, |bytes| bytes.push(byte));
            if leave <= now {
                leave = now;
                all.push(Burst { first_ns: now, ..Burst::default() });
            }
            leave += service;
            let burst = all.last_mut().unwrap();
            burst.messages += 1;
            burst.last_ns = now;
            burst.bytes.push(byte);
            burst.largest_delay_ns = burst.largest_delay_ns.max(leave - now);
        }
        // The sort is stable: of equal ones the earlier is worse.
        all.sort_by_key(|burst| std::cmp::Reverse(burst.largest_delay_ns));
        all.truncate(most);
        let found = bursts.finish();
        let plain = |burst: &Burst| {
            (burst.first_ns, burst.last_ns, burst.messages, burst.largest_delay_ns)
        };
        prop_assert!(found.iter().map(plain).eq(all.iter().map(plain)));
        prop_assert!(found.iter().map(|one| &one.bytes).eq(all.iter().map(|one| &one.bytes)));
        // Each burst alone: the longest service time without a drop is the last one.
        let mut now = 0;
        let times: Vec<u64> = gaps.iter().map(|gap| { now += gap; now }).collect();
        for burst in found {
            let first = burst.bytes[0];
            let of_burst = &times[usize::from(first)..][..burst.messages as usize];
            for ring in [1, 2, 5] {
                let Some(good) = burst.longest_service_ns(ring) else {
                    prop_assert!(burst.messages <= ring || of_burst.len() == 1);
                    continue;
                };
                let mut capacity = Capacity::new(ring, 1, &[good.max(1), good + 1]);
                of_burst.iter().for_each(|&at| capacity.arrive(at));
                let [at_good, at_bad] = capacity.speeds() else { panic!("two speeds") };
                prop_assert!(good == 0 || at_good.dropped == 0);
                prop_assert!(at_bad.dropped > 0);
            }
        }
    }
}

#[test]
fn a_burst_without_an_end_keeps_its_first_bytes() {
    let mut bursts = Bursts::new(10, 1);
    for _ in 0..MAX_BURST_MESSAGES + 5 {
        bursts.arrive(0, |bytes| bytes.push(1));
    }
    let [burst] = <[Burst; 1]>::try_from(bursts.finish()).unwrap();
    assert_eq!(burst.messages, MAX_BURST_MESSAGES + 5);
    assert_eq!(burst.bytes.len() as u64, MAX_BURST_MESSAGES);
}
