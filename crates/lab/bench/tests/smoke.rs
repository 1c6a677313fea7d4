//! Every benchmark runs and gives the right answer.

#[test]
fn every_benchmark_gives_the_answer_that_was_found_in_another_way() {
    nanotape_bench::hot().smoke().unwrap();
}
