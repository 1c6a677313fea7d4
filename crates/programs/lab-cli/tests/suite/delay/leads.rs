//! `--matrix`: pairs with known leads are found, and few others.

use std::{collections::BTreeMap, fs};

use super::{likely_least, likely_most, list, number};
use crate::support::{Folder, nanotape, running::json};

const PAIRS: usize = 8;

#[test]
fn known_leads_are_found_and_few_others() {
    let folder = Folder::new("delay-leads");
    let (day, truth) = (folder.path("a_20191230.itch50"), folder.path("pairs.json"));
    let spec = format!("pairs={PAIRS},lead=50ms..500ms,rho=0.8,unrelated=4,ticks=5/s");
    let hours = ["--hours", "10:00-10:10", "--truth", &truth];
    let ran = nanotape([&["synth", "-o", &day, "--leads", &spec], &hours[..]].concat());
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let pairs = fs::read_to_string(&truth).unwrap();
    let known: BTreeMap<(String, String), f64> = pairs
        .lines()
        .map(|line| {
            let pair = json(line);
            let name = |name: &str| pair[name].as_str().unwrap().to_owned();
            ((name("leader"), name("follower")), number(&pair, "lead_ns"))
        })
        .collect();
    assert_eq!(known.len(), PAIRS);
    // All pairs of the stocks of one input, or of a stock of each: then a pair is seen from both
    // sides, and every stock beside itself.
    for (inputs, all, times) in [(vec![&day], 190, 1), (vec![&day, &day], 400, 2)] {
        let matrix = ["--matrix", "--format", "json"];
        let inputs: Vec<&str> = inputs.into_iter().map(String::as_str).collect();
        let ran = nanotape([&["delay"], &inputs[..], &matrix].concat());
        assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
        let record = json(&ran.stdout);
        assert_eq!(record["settings"]["max-lag"], "1.0 s");
        let rows = list(&record["matrix"], "pairs");
        assert_eq!(rows.len(), all);
        let (mut found, mut covered, mut others) = (0, 0, 0);
        for row in rows.iter().filter(|row| row["is_found"] == true) {
            let name = |name: &str| row[name].as_str().unwrap().to_owned();
            let (first, second) = (name("first"), name("second"));
            let ends = [number(row, "low_ns"), number(row, "high_ns")];
            let forwards = known.get(&(first.clone(), second.clone())).copied();
            let backwards = known.get(&(second.clone(), first.clone())).map(|lead_ns| -lead_ns);
            if first == second {
                assert!(ends[0] <= 0.0 && 0.0 <= ends[1], "{row}");
            } else if let Some(lead_ns) = forwards.or(backwards) {
                found += 1;
                covered += usize::from((ends[0]..=ends[1]).contains(&lead_ns));
                // The members of a pair tick each 200 ms, and a lead is not known better than that.
                assert!((number(row, "lead_ns") - lead_ns).abs() < 200e6, "{row} {lead_ns}");
            } else {
                others += 1;
            }
        }
        assert_eq!(found, times * PAIRS);
        assert!(covered >= times * likely_least(PAIRS, 0.95), "{covered} of {found}");
        assert!(others <= likely_most(found + others, 0.05), "{others} beside {found}");
    }
    // The text names the leader first.
    let text = nanotape(["delay", &day, "--matrix"]).stdout;
    assert!(text.contains(": 190 pairs, "), "{text}");
    for (leader, follower) in known.keys() {
        let has = |line: &str| {
            let words: Vec<&str> = line.split_whitespace().take(2).collect();
            words == [leader, follower]
        };
        assert!(text.lines().any(has), "{leader} {follower}: {text}");
    }
    let csv = nanotape(["delay", &day, "--matrix", "--format", "csv"]).stdout;
    let header = "first,second,lead_ns,low_ns,high_ns,contrast,lead_lag_ratio,p,q,is_found,refused";
    assert_eq!((csv.lines().next(), csv.lines().count()), (Some(header), 191));
    let page = folder.path("leads.html");
    assert_eq!(nanotape(["delay", &day, "--matrix", "-o", &page]).status, 0);
    assert!(fs::read_to_string(&page).unwrap().starts_with("<!doctype html>"));
}
