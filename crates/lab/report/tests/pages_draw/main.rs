//! Tests the pages as files, and as drawn by a browser.
//!
//! Without a browser: no part of a record becomes markup, nothing is fetched, nothing is dropped.
//! With a browser: the expected number of plots and no script error, for ordinary records, for
//! hostile names, and with each field null in turn.

mod day;
mod delays;
mod machine;
mod samples;

use nanotape_harness::browser::{Browser, count, errors, on_threads};
use nanotape_report::{results, trend};
use samples::{bench, compare, each_null, environment, month};
use serde_json::{Value, json};

/// A name that tries to leave a script, an element, an attribute and a comment.
const HOSTILE: &str = "</script><img src=x onerror=\"hacked()\">'\"--><!--<script>&amp;\u{2028}";

/// Presses every switch twice, so that everything switched off is switched on again; then paper,
/// another size, and the pointer over each plot until it shows something.
const PRESS: &str = "for (let times = 0; times < 2; times++) {
    document.querySelectorAll('button, .chip input').forEach((one) => one.click());
}
dispatchEvent(new Event('beforeprint'));
dispatchEvent(new Event('afterprint'));
dispatchEvent(new Event('resize'));
setTimeout(() => document.querySelectorAll('.plot').forEach((plot) => {
    const [over, tip] = [plot.querySelector('.u-over'), plot.querySelector('.tip')];
    const place = over.getBoundingClientRect();
    for (let at = 0; at < 4000 && tip.hidden; at += 1) {
        over.dispatchEvent(new MouseEvent('mousemove', { bubbles: true,
            clientX: place.left + place.width * (at % 80) / 80,
            clientY: place.top + place.height * Math.floor(at / 80) / 50 }));
    }
    plot.dataset.shown = String(!tip.hidden);
}), 500);";

/// A folder for pages beside the build.
const BUILT: &str = env!("CARGO_TARGET_TMPDIR");

type Draw = fn(&[Value]) -> String;
const PAGES: [(&str, Draw); 2] = [("results", results), ("trend", trend)];

/// Four benchmarks and four comparisons: ordinary, noisy, void, too short for a latency.
fn ordinary() -> Vec<Value> {
    let mut noisy = bench("feed/arbitrate", 31.0, 3);
    noisy["noise"] = json!(["the hypervisor took 2.1% of the processor", "governor is powersave"]);
    let mut short = bench("wire/price", 0.61, 4);
    short["latency"] = Value::Null;
    short["counters"] = Value::Null;
    let mut void = compare("wire/price", 1.021, "slower", 8);
    void["control"] = json!({"ratio": 1.018, "low": 1.009, "high": 1.026, "p_wilcoxon": 0.0004,
                             "rejected": true});
    void["reason"] = json!("The control was rejected.");
    void["noise"] = json!(["load average 3.4"]);
    let mut weak = compare("feed/arbitrate", 1.006, "not enough power", 9);
    weak["change"] = json!({"ratio": 1.006, "low": 0.985, "high": 1.027, "confidence": 0.95});
    weak["detectable"] = json!(0.024);
    vec![
        bench("book/hot", 82.0, 1),
        bench("book/cold", 210.0, 2),
        noisy,
        short,
        compare("book/hot", 1.032, "slower", 5),
        compare("book/cold", 0.971, "faster", 6),
        compare("book/touch", 1.001, "same", 7),
        weak,
        void,
    ]
}

fn two_months() -> Vec<Value> {
    let mut records = month("book/hot", 82.0);
    records.extend(month("wire/add_order", 11.4));
    records
}

/// Records that contain only nulls, or whose fields have wrong types.
fn broken() -> Vec<Value> {
    let mut records = Vec::new();
    for (record, odd) in [(bench("null", 50.0, 1), 0), (compare("null", 1.0, "same", 2), 1)] {
        records.extend(each_null(&record));
        for value in [Value::Null, json!("text"), json!([null, [], {}]), json!({"x": []})] {
            let mut all = record.clone();
            for (name, field) in all.as_object_mut().expect("a record is an object") {
                if !["format", "version", "kind"].contains(&name.as_str()) {
                    *field = value.clone();
                }
            }
            records.push(all);
        }
        assert!(records.len() > 30 * (odd + 1), "each field was taken away once");
    }
    records
}

fn hostile() -> Vec<Value> {
    let mut run = bench(HOSTILE, 80.0, 1);
    run["noise"] = json!([HOSTILE]);
    run["environment"] = environment(HOSTILE, 1);
    run["environment"]["compiler"] = json!(HOSTILE);
    run["environment"][HOSTILE] = json!(HOSTILE);
    run["counters"][HOSTILE] = json!(1.0);
    run["latency"]["quantiles"][HOSTILE] = json!(1.0);
    run["latency"]["unit"] = json!(HOSTILE);
    let mut pair = compare(HOSTILE, 1.03, "slower", 2);
    pair["base"]["label"] = json!(HOSTILE);
    pair["candidate"]["revision"] = json!(HOSTILE);
    pair["reason"] = json!(HOSTILE);
    let mut odd = compare(HOSTILE, 1.03, HOSTILE, 2);
    odd["time"] = json!(HOSTILE);
    let proto = compare("__proto__", 1.0, "toString", 3);
    vec![run, pair, odd, proto, json!({"name": HOSTILE, "kind": HOSTILE, "format": HOSTILE})]
}

/// The page with one more script at its end.
fn with_script(page: &str, script: &str) -> String {
    page.replace("</body>", &format!("<script>{script}</script></body>"))
}

#[test]
fn a_hostile_name_is_only_ever_text() {
    for (name, draw) in PAGES {
        let (plain, page) = (draw(&ordinary()), draw(&hostile()));
        for tag in ["<script", "</script", "<img", "<!--", "-->"] {
            assert_eq!(count(&page, tag), count(&plain, tag), "{name}: {tag}");
        }
        assert!(page.contains("\\u003c/script\\u003e\\u003cimg src=x"), "{name}: the data");
        assert!(page.contains("&lt;/script&gt;&lt;img src=x"), "{name}: the skipped record");
    }
}

#[test]
fn a_page_fetches_nothing() {
    for (name, draw) in PAGES {
        let page = draw(&ordinary());
        let lower = page.to_ascii_lowercase();
        for forbidden in [
            " src=",
            "<link",
            "@import",
            "url(",
            "fetch(",
            "xmlhttprequest",
            "import(",
            "websocket",
            "sendbeacon",
            "eventsource",
        ] {
            assert!(!lower.contains(forbidden), "{name} contains {forbidden}");
        }
        // The namespace of SVG, and the comment with the origin of uPlot.
        let known = ["http://www.w3.org/2000/svg", "https://github.com/leeoniya/uPlot"];
        let links = page.matches("http://").count() + page.matches("https://").count();
        let expected: usize = known.iter().map(|link| count(&page, link)).sum();
        assert_eq!(links, expected, "{name} names another address");
        assert!(!lower.contains("href=\"http") && !lower.contains("href='http"), "{name}");
        assert!(page.contains("default-src 'none'"), "{name} forbids what is left");
    }
}

#[test]
fn a_page_is_ascii_but_for_its_records() {
    for (name, draw) in PAGES {
        assert!(draw(&[]).is_ascii(), "{name}");
    }
}

#[test]
fn a_page_of_nothing_says_so() {
    for (name, draw) in PAGES {
        assert!(draw(&[]).contains("There are no records to draw."), "{name}");
    }
}

#[test]
fn records_that_are_not_drawn_are_listed() {
    let other = json!({"format": "nanotape-lab", "version": 9, "kind": "bench", "name": "a <b>"});
    for (name, draw) in PAGES {
        let page = draw(&[other.clone(), bench("book/hot", 82.0, 1), json!(null)]);
        assert!(page.contains("Skipped, not drawn: 2"), "{name}");
        assert!(page.contains("record 1, a &lt;b&gt;: version 9, this program reads 1"), "{name}");
        assert!(page.contains("record 3, (no name): not an object"), "{name}");
        assert!(page.contains("1 record.") && !page.contains("a <b>"), "{name}");
    }
}

#[test]
fn the_same_records_give_the_same_page() {
    for (name, draw) in PAGES {
        assert!(draw(&ordinary()) == draw(&ordinary()), "{name}");
    }
}

#[test]
fn pages_draw_in_a_browser() {
    let Some(browser) = Browser::find(BUILT, "pages_draw_in_a_browser") else { return };

    let page = browser.document("results.html", &results(&ordinary()));
    assert_eq!(errors(&page), "");
    let plots = [
        // Side by side: one cumulative and one of epochs; one by one: three and four.
        ("data-drawn=\"yes\"", 2 + 3 + 4),
        ("class=\"uplot", 2 + 3 + 4),
        ("class=\"shape distribution\"", 1 + 3),
        ("class=\"violin", 3 + 3),
        ("class=\"violin noisy\"", 1 + 1),
        ("class=\"box\"", 3 + 3),
        ("class=\"shape costs\"", 1),
        ("class=\"shape forest\"", 1),
        ("class=\"band\"", 5),
        ("class=\"shape replicates\"", 5),
        ("class=\"shape quantiles\"", 5),
        ("class=\"card compare\"", 5),
        ("class=\"card bench\"", 4),
        ("This part could not be drawn", 0),
    ];
    for (what, expected) in plots {
        assert_eq!(count(&page, what), expected, "results: {what}");
    }
    for words in [
        "Slower: the candidate takes 3.20% more time",
        "Faster: the candidate takes 2.90% less time",
        "Void: the base, measured against itself in the same run, differs",
        "Not enough power: the change is +0.60%",
        "2 of 9 runs were not quiet",
    ] {
        assert!(page.contains(words), "results: {words}");
    }

    let page = browser.document("trend.html", &trend(&two_months()));
    assert_eq!(errors(&page), "");
    let plots = [
        ("class=\"card trend\"", 2),
        ("data-drawn=\"yes\"", 4),
        ("each has a line of its own", 2),
        ("This part could not be drawn", 0),
    ];
    for (what, expected) in plots {
        assert_eq!(count(&page, what), expected, "trend: {what}");
    }
}

#[test]
fn pages_draw_hostile_and_broken_records_in_a_browser() {
    let Some(browser) = Browser::find(BUILT, "pages_draw_broken_records") else { return };
    on_threads(&PAGES, |(name, draw)| {
        for (kind, records) in [("hostile", hostile()), ("broken", broken()), ("none", vec![])] {
            let page = with_script(&draw(&records), "Lab.unfoldAll()");
            let page = browser.document(&format!("{name}-{kind}.html"), &page);
            assert_eq!(errors(&page), "", "{name}, {kind}");
            assert_eq!(count(&page, "could not be drawn"), 0, "{name}, {kind}");
            assert_eq!(count(&page, "<img"), 0, "{name}, {kind}");
            assert_eq!(count(&page, "data-drawn") > 0, !records.is_empty(), "{name}, {kind}");
        }
    });
}

#[test]
fn every_switch_can_be_pressed() {
    let Some(browser) = Browser::find(BUILT, "every_switch_can_be_pressed") else { return };
    for (name, page) in [("results", results(&ordinary())), ("trend", trend(&two_months()))] {
        let page = browser.document(&format!("{name}.html"), &with_script(&page, PRESS));
        assert_eq!(errors(&page), "", "{name}");
        assert_eq!(count(&page, "data-shown=\"true\""), count(&page, "class=\"plot\""), "{name}");
    }
}

#[test]
fn an_error_of_a_script_is_seen() {
    let Some(browser) = Browser::find(BUILT, "an_error_of_a_script_is_seen") else { return };
    let fetch = "const image = new Image(); image.src = 'x.png';";
    for (script, seen) in
        [("nothing.here()", "nothing is not defined"), (fetch, "refused: img-src")]
    {
        let page = browser.document("page.html", &with_script(&results(&ordinary()), script));
        assert!(errors(&page).contains(seen), "{script}: {}", errors(&page));
    }
}
