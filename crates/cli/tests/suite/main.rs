//! The command line, one module per subject. The tests run the program and check its options,
//! answers and exit status.

mod bench_book;
mod bench_feed;
mod bench_journal;
mod bench_plant;
mod bench_replay;
mod bench_ring;
mod captures;
mod commands;
mod damaged_days;
mod exchange;
mod honest;
mod inputs;
mod journal;
mod journal_record;
mod journal_upkeep;
mod lab;
mod live;
mod live_kept;
mod live_recovery;
mod real_days;
mod recorded;
mod replay;
mod ring;
mod run;
mod run_journal;
mod run_ring_lost;
mod run_snapshots;
mod same_again;
mod snapshots;
mod stat;
mod structures;
mod support;
mod tap;
mod time_travel;
