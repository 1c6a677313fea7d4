//! The environment and the noise of the machine the test runs on. `--nocapture` shows the record.

use std::{path::Path, thread};

use nanotape_clock::Clock;
use nanotape_lab::{
    environment::{BuildInfo, Environment, NoiseWatch, to_json},
    placement::{Pin, Placement, PlacementRequest},
};

use nanotape_harness::skipped;
use serde_json::json;

/// Spins for this long, so that there is activity to observe.
fn work(clock: &Clock, nanos: u64) {
    let start = clock.stamp();
    while clock.nanos_between(start, clock.stamp()) < nanos {
        std::hint::spin_loop();
    }
}

#[test]
fn a_record_of_this_machine_can_be_written() {
    let clock = Clock::calibrate();
    let request = PlacementRequest { pin: Pin::Last, real_time_priority: None, lock_memory: false };
    let placement = Placement::apply(&request);
    let build = BuildInfo::from_env_of_build();
    let environment = Environment::capture(&placement, build, Path::new("."));
    let watch = NoiseWatch::start(clock, placement.cpu());
    work(&clock, 500_000_000);
    let noise = watch.stop();

    let object = to_json(&environment, &noise);
    println!("{object:#}\nnoise: {:?}\nunknown: {:?}", noise.sentences, noise.unknown);
    assert_eq!(object["cpu_pinned"], json!(placement.cpu()));
    assert_eq!(object["scheduling"], placement.scheduling());
    assert!(object["kernel"].as_str().is_some_and(|kernel| kernel.starts_with("Linux ")));
    assert!(object["cpus"].as_u64().is_some_and(|cpus| cpus > 0));
    assert!(object["load_average"].as_f64().is_some_and(|load| load >= 0.0));
    assert!(object["binary"].as_str().is_some_and(|hash| hash.starts_with("fnv1a64:")));
    for share in [noise.stolen, noise.foreign, noise.pressure].into_iter().flatten() {
        assert!((0.0..=1.0).contains(&share), "{share}");
    }
}

#[test]
fn another_program_on_the_same_processor_is_foreign() {
    let clock = Clock::calibrate();
    let request = PlacementRequest { pin: Pin::Last, real_time_priority: None, lock_memory: false };
    thread::spawn(move || {
        let placement = Placement::apply(&request);
        if placement.cpu().is_none() {
            skipped(format_args!("{:?}", placement.refused()));
            return;
        }
        // It inherits the placement of this thread.
        let mut rival =
            match std::process::Command::new("sh").args(["-c", "while :; do :; done"]).spawn() {
                Ok(rival) => rival,
                Err(error) => return skipped(format_args!("no sh to be noisy with: {error}")),
            };
        let watch = NoiseWatch::start(clock, placement.cpu());
        work(&clock, 1_000_000_000);
        let noise = watch.stop();
        rival.kill().and_then(|()| rival.wait()).expect("the rival ends");
        println!("{noise:#?}");
        // Another thread of this test can run on any processor, so the share might be unknown.
        match noise.foreign {
            Some(share) => {
                assert!(share > 0.05, "{share}");
                assert!(
                    noise.sentences.iter().any(|line| line.starts_with("other processes used"))
                );
            }
            None => assert!(!noise.unknown.is_empty()),
        }
    })
    .join()
    .expect("the thread ends well");
}
