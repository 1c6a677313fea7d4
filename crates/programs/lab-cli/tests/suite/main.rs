//! Both programs, one module per subject: the commands of `nanotape-lab` through `nanotape`, and
//! what spans both.

use nanotape_runner as support;

mod bench_book;
mod bench_feed;
mod bench_journal;
mod bench_latest;
mod bench_plant;
mod bench_replay;
mod bench_replicate;
mod bench_ring;
mod bench_trace;
mod delay;
mod doctor;
mod explain;
mod forwarding;
mod install;
mod journal_prove;
mod lab;
mod latest_prove;
mod machine;
mod measured_inputs;
mod queue;
mod queue_live;
mod queue_validate;
mod ring_prove;
mod study;
mod values;
