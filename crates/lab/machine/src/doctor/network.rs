//! Network cards: where they are, and what delays a packet between the card and a program.
//!
//! Only cards with a device, which are not down: neither the loopback nor virtual pairs.

use super::{
    Change, Check, CpuList, Finding, System, Verdict, View, When,
    ethtool::{CardTexts, is_on, receive_ring, word},
    shown,
};

const FOLDER: &str = "/sys/class/net";

/// Files in a finding.
const MOST_SHOWN: usize = 4;

pub(super) fn check(view: &View<'_>) -> Vec<Finding> {
    let cards = cards(view.system);
    vec![
        node(view, &cards),
        coalescing(view, &cards),
        offloads(view, &cards),
        drops(view, &cards),
        polling(view, &cards),
        steering(view, &cards),
    ]
}

/// The names of the network cards.
pub(super) fn cards(system: &System) -> Vec<String> {
    let mut names = system.folders(FOLDER);
    names.retain(|name| {
        let is_down = system.read(&format!("{FOLDER}/{name}/operstate")).as_deref() == Some("down");
        system.has(&format!("{FOLDER}/{name}/device")) && !is_down
    });
    names
}

impl Check {
    fn no_card(self, view: &View<'_>) -> Finding {
        match view.hidden_cards() {
            Some(why) => self.unknown(format!("no network card in {FOLDER}; {why}")),
            None if !view.system.has(FOLDER) => view.absent(self, FOLDER, "CONFIG_NET"),
            None => self.found(Verdict::Ok, format!("no network card in {FOLDER}")),
        }
    }
}

/// An option of a card that ethtool sets.
struct Switch {
    name: &'static str,
    now: String,
    good: &'static str,
}

/// A finding from the output of ethtool: `judge` returns the words for a card, and its options that
/// are not good. `print` and `set` are the options of ethtool that print and set them.
fn by_ethtool(
    view: &View<'_>,
    cards: &[String],
    (check, otherwise): (Check, Verdict),
    (print, set): (&str, &str),
    judge: fn(&CardTexts) -> (String, Vec<Switch>),
) -> Finding {
    let texts = match (cards.first(), &view.facts.ethtool) {
        (None, _) => return check.no_card(view),
        (Some(_), Ok(texts)) => texts,
        (Some(card), Err(why)) => {
            return check.unknown(format!("{why}; `ethtool {print} {card}` prints it"));
        }
    };
    let (mut parts, mut wrong) = (Vec::new(), Vec::new());
    for one in texts {
        let (words, switches) = judge(one);
        parts.push(format!("{}: {words}", one.card));
        if !switches.is_empty() {
            wrong.push((&one.card, switches));
        }
    }
    let commands = |value: fn(&Switch) -> &str| {
        let command = |(card, switches): &(&String, Vec<Switch>)| {
            let words = switches.iter().map(|one| format!(" {} {}", one.name, value(one)));
            format!("ethtool {set} {card}{}", words.collect::<String>())
        };
        wrong.iter().map(command).collect::<Vec<_>>().join("; ")
    };
    check
        .judged(wrong.is_empty(), otherwise, parts.join("; "))
        .fix(commands(|one| one.good))
        .undo(commands(|one| &one.now))
}

fn node(view: &View<'_>, cards: &[String]) -> Finding {
    let check = Check {
        name: "nic-node",
        title: "memory nodes of the network cards",
        good: "the node of the hot processors",
        why: "each packet and each access to the card crosses the link between the nodes",
        when: When::Now,
    };
    let cpus = |node: u32| {
        let text = view.read(&format!("/sys/devices/system/node/node{node}/cpulist"))?;
        CpuList::parse(&text)
    };
    if cards.is_empty() {
        return check.no_card(view);
    }
    if !view.system.has("/sys/devices/system/node/node1") {
        return check.found(Verdict::Ok, "one node in /sys/devices/system/node");
    }
    let (mut parts, mut far) = (Vec::new(), None);
    for card in cards {
        let text = view.read(&format!("{FOLDER}/{card}/device/numa_node")).unwrap_or_default();
        // -1: the firmware does not report a node.
        let Some((node, cpus)) = text.parse().ok().and_then(|node| Some((node, cpus(node)?)))
        else {
            parts.push(format!("{card} on an unknown node"));
            continue;
        };
        parts.push(format!("{card} on node {node} with processors {cpus}"));
        if !cpus.has_all_of(view.hot) {
            far = far.or(Some((node, cpus)));
        }
    }
    let read = format!("{} (numa_node in {FOLDER}/*/device)", parts.join(", "));
    match far {
        None => check.found(Verdict::Ok, read),
        Some((node, cpus)) => check.found(Verdict::Warn, read).fix(format!(
            "hot processors of {cpus}, and numactl --cpunodebind={node} --membind={node} PROGRAM"
        )),
    }
}

fn coalescing(view: &View<'_>, cards: &[String]) -> Finding {
    let check = Check {
        name: "nic-coalescing",
        title: "time that a network card collects packets before it interrupts",
        good: "adaptive-rx off, rx-usecs 0",
        why: "the first packet waits for the next ones",
        when: When::Now,
    };
    by_ethtool(view, cards, (check, Verdict::Warn), ("-c", "-C"), |texts| {
        // A driver refuses the whole command if it does not have one of the options.
        let known = [
            ("adaptive-rx", word(&texts.coalescing, "Adaptive RX"), "off"),
            ("rx-usecs", word(&texts.coalescing, "rx-usecs"), "0"),
        ];
        let words = known.map(|(name, now, _)| format!("{name} {}", now.unwrap_or("not reported")));
        let switch = |(name, now, good): (_, Option<&str>, _)| {
            let now = now.filter(|now| *now != good)?.to_owned();
            Some(Switch { name, now, good })
        };
        (words.join(", "), known.into_iter().filter_map(switch).collect())
    })
}

fn offloads(view: &View<'_>, cards: &[String]) -> Finding {
    let check = Check {
        name: "nic-offloads",
        title: "packets that are joined before a program gets them",
        good: "generic and large receive offload off",
        why: "the first packet waits until the card's queue is read, and many small ones gain nothing",
        when: When::Now,
    };
    by_ethtool(view, cards, (check, Verdict::Info), ("-k", "-K"), |texts| {
        let known = [("gro", "generic-receive-offload"), ("lro", "large-receive-offload")];
        let words = known.map(|(name, long)| {
            format!("{name} {}", word(&texts.features, long).unwrap_or("not reported"))
        });
        let on = known.into_iter().filter(|(_, long)| is_on(&texts.features, long));
        let switch = |(name, _)| Switch { name, now: "on".to_owned(), good: "off" };
        (words.join(", "), on.map(switch).collect())
    })
}

fn drops(view: &View<'_>, cards: &[String]) -> Finding {
    let check = Check {
        name: "nic-drops",
        title: "packets that a network card dropped because its ring was full",
        good: "0; else the largest receive ring",
        why: "a burst that does not fit is a gap in the feed",
        when: When::Now,
    };
    if cards.is_empty() {
        return check.no_card(view);
    }
    let (mut parts, mut commands, mut undo) = (Vec::new(), Vec::new(), Vec::new());
    let mut sum = 0_u64;
    for card in cards {
        let counts = ["rx_missed_errors", "rx_fifo_errors"].iter().filter_map(|name| {
            view.read(&format!("{FOLDER}/{card}/statistics/{name}"))?.parse::<u64>().ok()
        });
        let count = counts.fold(0, u64::saturating_add);
        let texts = view.facts.ethtool.iter().flatten().find(|texts| texts.card == *card);
        let ring = texts.and_then(|texts| receive_ring(&texts.rings));
        parts.push(match ring {
            Some((now, most)) => format!("{card}: {count}, ring of {now} (at most {most})"),
            None => format!("{card}: {count}"),
        });
        sum = sum.saturating_add(count);
        if let Some((now, most)) = ring.filter(|(now, most)| count > 0 && now < most) {
            commands.push(format!("ethtool -G {card} rx {most}"));
            undo.push(format!("ethtool -G {card} rx {now}"));
        }
    }
    let read = format!("{} (rx_missed_errors and rx_fifo_errors)", parts.join("; "));
    let finding = check.judged(sum == 0, Verdict::Warn, read);
    match commands.is_empty() {
        true => finding.fix("more receive queues, or ethtool -G CARD rx N with a larger N"),
        false => finding.fix(commands.join("; ")).undo(undo.join("; ")),
    }
}

fn polling(view: &View<'_>, cards: &[String]) -> Finding {
    let check = Check {
        name: "nic-polling",
        title: "packets that wait for a timer or a thread of the kernel",
        good: "0 in gro_flush_timeout, napi_defer_hard_irqs and threaded, unless the program polls \
               with SO_PREFER_BUSY_POLL",
        why: "interrupts of the card stay off until the timer ends, or the thread gets a processor",
        when: When::Now,
    };
    if cards.is_empty() {
        return check.no_card(view);
    }
    let names = ["gro_flush_timeout", "napi_defer_hard_irqs", "threaded"];
    let paths = cards.iter().flat_map(|card| names.map(|name| format!("{FOLDER}/{card}/{name}")));
    let change = |path: String| {
        let before = view.read(&path).filter(|text| text != "0")?;
        Some(Change::new(path, before, "0"))
    };
    let changes: Vec<Change> = paths.filter_map(change).collect();
    let read = values(&changes).unwrap_or_else(|| format!("0 in {FOLDER}/*"));
    check.judged(changes.is_empty(), Verdict::Info, read).changes(&changes)
}

fn steering(view: &View<'_>, cards: &[String]) -> Finding {
    let check = Check {
        name: "nic-steering",
        title: "processors to which the kernel passes received packets (RPS)",
        good: "not the hot ones",
        why: "their protocol work runs there, after an interrupt from another processor",
        when: When::Now,
    };
    if cards.is_empty() {
        return check.no_card(view);
    }
    let queues = cards.iter().flat_map(|card| {
        let folder = format!("{FOLDER}/{card}/queues");
        let queues = view.system.names(&folder).into_iter();
        queues
            .filter(|queue| queue.starts_with("rx-"))
            .map(move |queue| format!("{folder}/{queue}/rps_cpus"))
    });
    let change = |path: String| {
        let before = view.read(&path)?;
        let mask = CpuList::parse_mask(&before).filter(|mask| mask.has_any_of(view.hot))?;
        let others = CpuList::of(mask.iter().filter(|cpu| !view.hot.contains(*cpu)));
        Some(Change::new(path, before, others.mask()))
    };
    let changes: Vec<Change> = queues.filter_map(change).collect();
    let none = || format!("none of them in {FOLDER}/*/queues/rx-*/rps_cpus");
    let read = values(&changes).unwrap_or_else(none);
    check.judged(changes.is_empty(), Verdict::Warn, read).changes(&changes)
}

/// The first values that are not good; `None` without one.
fn values(changes: &[Change]) -> Option<String> {
    let text = |change: &Change| format!("{} in {}", change.before, change.path);
    let texts: Vec<String> = changes.iter().map(text).collect();
    (!texts.is_empty()).then(|| shown(&texts, MOST_SHOWN))
}
