// The page of jitter: round trips between two processors, overlaid, as two histograms and two
// series, and the interruptions of each side and of each processor with their causes.
"use strict";

(function () {
  const main = document.querySelector("main");
  const records = Lab.records();
  const runs = records.filter((record) => record.kind === "jitter");
  const alone = records.filter((record) => record.kind === "gaps");
  const labels = Lab.labels(runs);
  const quantileNames = ["p50", "p90", "p99", "p99.9", "p99.99", "p99.999", "p100"];
  const quantilesOf = (record) => Lab.obj(Lab.obj(record.round_trips).quantiles);
  const quantile = (record, name) => Lab.num(quantilesOf(record)[name]);
  const longName = (name) => (name === "p100" ? "longest" : name === "p0" ? "shortest" : name);

  // Pairs of numbers; anything else is left out.
  const pairs = (list) => Lab.list(list).filter((pair) => Array.isArray(pair) &&
    Lab.num(pair[0]) !== null && Lab.num(pair[1]) !== null);
  const medians = () => runs.map((record, index) => ({ x: quantile(record, "p50"),
    style: Lab.style(index), text: Lab.ns(quantile(record, "p50")) }))
    .filter(({ x }) => x !== null);

  // Histograms. The linear one leaves the slowest thousandth out: it would be one column wide.
  function histogram(log) {
    const series = runs.map((record, index) => {
      const most = log ? Infinity : quantile(record, "p99.9") || Infinity;
      const points = pairs(Lab.obj(record.round_trips).distribution)
        .filter(([ns, count]) => ns <= most && count > 0 && (!log || ns > 0))
        .map(([ns, count]) => ({ x: ns, y: count, mark: false, tip: [labels[index],
          "up to " + Lab.ns(ns), Lab.count(count) + " round trips"] }));
      return { name: labels[index], style: Lab.style(index), path: "stepped", points };
    });
    return Lab.lines({ height: 300, series, uprights: medians(),
      x: { title: "round trip", choices: [{ kind: log ? "logNs" : "ns",
        title: log ? "round trip, logarithmic" : "round trip, without the slowest 0.1%" }] },
      y: { title: "round trips", choices: [{ kind: log ? "logCount" : "linear",
        fromZero: !log, title: log ? "round trips, logarithmic" : "round trips" }] } });
  }

  // Over time. Neighbouring slices are drawn together where there are more than a plot can show.
  const mostPoints = 500;
  function slices(record) {
    const { slice_ns: slice, p50, high } = Lab.obj(record.series);
    const [middles, highs] = [Lab.list(p50), Lab.list(high)];
    const together = Math.max(1, Math.ceil(highs.length / mostPoints));
    const points = [];
    for (let at = 0; at < highs.length && Lab.positive(slice) !== null; at += together) {
      const some = Lab.numbers(highs.slice(at, at + together));
      const usual = Lab.numbers(middles.slice(at, at + together)).sort((one, two) => one - two);
      if (some.length === 0) continue;
      points.push({ at: at * slice, high: Math.max(...some),
        p50: usual.length > 0 ? usual[Math.floor((usual.length - 1) / 2)] : null });
    }
    return points;
  }
  function series(log) {
    const all = runs.flatMap((record, index) => {
      const style = Lab.style(index);
      const points = slices(record);
      const tip = (point) => [labels[index], "after " + Lab.ns(point.at),
        "longest " + Lab.ns(point.high) + ", median " + Lab.ns(point.p50)];
      return [
        { name: labels[index] + ", longest", style, path: null, hollow: true,
          points: points.map((point) => ({ x: point.at, y: point.high, hollow: true,
            tip: tip(point) })) },
        { name: labels[index] + ", median", style, path: "line", points: points
          .filter((point) => point.p50 !== null)
          .map((point) => ({ x: point.at, y: point.p50, mark: false })) }];
    });
    return Lab.lines({ height: 300, series: all,
      levels: runs.map((record) => quantile(record, "p50")).filter((ns) => ns !== null),
      x: { title: "time, without pauses between turns", choices: [{ kind: "ns" }] },
      y: { title: "round trip", choices: [{ kind: log ? "logNs" : "ns", fromZero: !log,
        title: log ? "round trip, logarithmic" : "round trip" }] } });
  }

  function quantileTable() {
    const rows = runs.map((record, index) => {
      const intervals = Lab.obj(Lab.obj(record.round_trips).intervals);
      const cell = (name) => {
        const [low, high] = Lab.list(intervals[name]);
        return Lab.el("span", { title: Lab.num(low) === null ? "no interval"
          : Lab.nsRange(low, high) + " at 95%, over turns" }, Lab.ns(quantile(record, name)));
      };
      const counters = Lab.obj(record.counters);
      return [Lab.el("a", { href: "#run-" + index }, labels[index]),
        Lab.count(Lab.obj(record.round_trips).count), ...quantileNames.map(cell),
        Lab.percent(counters.bad_speculation), Lab.noiseBadge(record)];
    });
    return Lab.table([["variant", "name"], ["round trips", "number"],
      ...quantileNames.map((name) => [longName(name), "number"]), ["bad speculation", "number"],
      ["noise", ""]], rows, { class: "quantiles" });
  }

  // Causes: objects of the record, by time.
  function causeTable(causes, lost, withSide) {
    const rows = Lab.list(causes).map(Lab.obj)
      .sort((one, other) => (Lab.num(other.ns) || 0) - (Lab.num(one.ns) || 0))
      .map((cause) => [Lab.text(cause.cause) || "cause unknown",
        ...(withSide ? [Lab.text(cause.side) || Lab.none] : []), Lab.count(cause.count),
        Lab.ns(cause.ns), Lab.percent((Lab.num(cause.ns) || 0) / Math.max(1, lost)),
        Lab.ns(cause.p50_ns), Lab.ns(cause.max_ns)]);
    if (rows.length === 0) return Lab.el("p", { class: "missing" }, "No interruption was found.");
    return Lab.table([["cause", "name"], ...(withSide ? [["side", ""]] : []), ["times", "number"],
      ["lost", "number"], ["share of the lost time", "number"], ["median", "number"],
      ["longest", "number"]], rows, { class: "causes" });
  }
  function rungs(record) {
    const unused = Lab.list(record.rungs).map(Lab.obj).filter((rung) => rung.used === false);
    const lines = unused.map((rung) =>
      (Lab.text(rung.rung) || "a source") + ": " + (Lab.text(rung.why) || "no reason given"));
    lines.push(...Lab.list(record.refused).map(String));
    const lost = Lab.kernelEvents(record);
    if (lost !== null) lines.push(lost);
    if (lines.length === 0) return null;
    return [Lab.el("h4", {}, "Not used, refused, or lost"),
      Lab.el("ul", {}, lines.map((line) => Lab.el("li", {}, line)))];
  }

  function runCard(record, index) {
    const { interruptions, slow } = { interruptions: Lab.obj(record.interruptions),
      slow: Lab.obj(record.slow) };
    const sides = Lab.list(interruptions.sides).map(Lab.obj);
    const lost = sides.reduce((sum, side) => sum + (Lab.num(side.lost_ns) || 0), 0);
    const longest = Lab.list(record.longest).map(Lab.obj).slice(0, 20).map((one) =>
      [Lab.ns(one.ns), Lab.ns(one.at_ns), Lab.text(one.side) || Lab.none,
        Lab.text(one.cause) || "no interruption was seen"]);
    const absent = Lab.text(record.counters_absent);
    return Lab.card({ class: "run", id: "run-" + index },
      [Lab.el("h3", {}, labels[index]), " ", Lab.el("span", { class: "headline" },
        "median " + Lab.ns(quantile(record, "p50")) + ", longest " +
        Lab.ns(quantile(record, "p100"))), " ", Lab.noiseBadge(record)], runs.length <= 6, () => [
        Lab.facts([...sides.map((side) => [Lab.text(side.side) || "side",
          Lab.count(side.count) + " interruptions, " + Lab.percent((Lab.num(side.lost_ns) || 0) /
            Math.max(1, Lab.num(side.watched_ns) || 0), 3) + " of its time"]),
        ["slow round trips were interrupted at", ["pinger", "ponger", "both", "neither"]
          .map((name) => name + " " + Lab.count(Lab.num(slow[name]))).join(", ")],
        ...(absent === null ? [] : [["hardware counters", absent]])]),
        Lab.el("h4", {}, "Causes"), causeTable(interruptions.causes, lost, true),
        Lab.el("h4", {}, "The longest round trips"),
        longest.length === 0 ? Lab.el("p", { class: "missing" }, "No round trip was slow.")
          : Lab.table([["length", "number"], ["after", "number"], ["interrupted", ""],
            ["cause", ""]], longest, { class: "longest narrow" }),
        rungs(record), Lab.environment(record)]);
  }

  // One processor alone.
  function interruptions(record) {
    const longest = Lab.list(record.longest).filter((one) => Array.isArray(one) &&
      Lab.num(one[0]) !== null && Lab.positive(one[1]) !== null);
    const causeOf = (one) => Lab.text(one[2]) || "cause unknown";
    const causes = [...new Set(longest.map(causeOf))].slice(0, 12);
    const all = causes.map((cause, index) => ({ name: cause, style: Lab.style(index), path: null,
      points: longest.filter((one) => causeOf(one) === cause).map((one) => ({ x: one[0],
        y: one[1], tip: [cause, Lab.ns(one[1]), "after " + Lab.ns(one[0])] })) }));
    return Lab.lines({ height: 300, series: all,
      x: { title: "time", choices: [{ kind: "ns" }] },
      y: { title: "interruption", choices: [{ kind: "logNs",
        title: "interruption, logarithmic" }] } });
  }
  function lengths(record) {
    const points = pairs(record.distribution).filter(([ns, count]) => ns > 0 && count > 0)
      .map(([ns, count]) => ({ x: ns, y: count, mark: false, tip: ["up to " + Lab.ns(ns),
        Lab.count(count) + " interruptions"] }));
    return Lab.lines({ height: 220,
      series: [{ name: "interruptions", style: Lab.style(0), path: "stepped", points }],
      x: { title: "length", choices: [{ kind: "logNs", title: "length, logarithmic" }] },
      y: { title: "count", choices: [{ kind: "logCount", title: "count, logarithmic" }] } });
  }
  function aloneCard(record, index) {
    const name = Lab.nameOf(record) + ", " + (Lab.text(record.class) || "class unknown") +
      (Lab.num(record.priority) === null ? "" : " " + record.priority);
    const [lost, watched] = [Lab.num(record.lost_ns) || 0, Lab.num(record.watched_ns) || 0];
    const seconds = watched / 1e9;
    const found = Lab.list(record.periods).map(Lab.obj).filter((period) => period.is_found === true);
    const interrupts = Lab.list(record.interrupts).map(Lab.obj)
      .map((one) => [Lab.text(one.name) || "no name", Lab.count(one.count)]);
    const speed = Lab.obj(record.speed);
    return Lab.card({ class: "alone", id: "alone-" + index },
      [Lab.el("h3", {}, name), " ", Lab.el("span", { class: "headline" },
        Lab.percent(lost / Math.max(1, watched), 3) + " of its time lost"), " ",
      Lab.noiseBadge(record)], alone.length <= 4, () => [
        Lab.facts([["interruptions", Lab.count(record.count)],
          ["a second", seconds > 0 ? Lab.digits((Lab.num(record.count) || 0) / seconds, 4)
            : Lab.none],
          ["longest", Lab.ns(Lab.obj(record.quantiles).p100)],
          ["more than interrupts of this kernel", Lab.count(record.unmatched)],
          ["a turn of the loop", Lab.ns(speed.turn_ns) + " (" +
            Lab.nsRange(speed.low_ns, speed.high_ns) + ")"],
          ["changes of its speed", Lab.count(speed.steps)],
          ...found.map((period) => ["the unexplained ones recur every",
            Lab.ns(period.period_ns) + ", strength " + Lab.digits(period.strength, 2)])]),
        Lab.figure("Interruptions over time", "The longest ones; a colour and a mark for each " +
          "cause.", interruptions(record)),
        Lab.figure("Lengths", "All of them.", lengths(record)),
        causeTable(record.causes, lost, false),
        interrupts.length === 0 ? null : Lab.el("details", { class: "environment" },
          Lab.el("summary", {}, "Interrupts and softirqs of this processor meanwhile"),
          Lab.table([["name", "name"], ["times", "number"]], interrupts, { class: "narrow" })),
        rungs(record), Lab.environment(record)]);
  }

  function page() {
    const machines = [...new Set(records.map(Lab.machine))];
    main.append(Lab.el("p", { class: "machines" }, machines.join("; ") + "."));
    if (runs.length > 0) {
      main.append(Lab.part(quantileTable),
        ...[["Round trips", "How often each length occurred. Upright lines are medians.", false],
          ["Round trips, logarithmic", "Both axes, so that the rare slow ones are seen.", true]]
          .map(([title, caption, log]) =>
            Lab.part(() => Lab.figure(title, caption, histogram(log)))),
        ...[["Over time", "Rings are the longest round trip of a moment, lines its median; " +
          "dashed is the median of all.", false],
        ["Over time, logarithmic", "The same.", true]].map(([title, caption, log]) =>
          Lab.part(() => Lab.figure(title, caption, series(log)))),
        ...runs.map(runCard));
    }
    if (alone.length > 0) {
      main.append(Lab.el("h2", {}, "Each processor with a thread that does nothing else"),
        ...alone.map(aloneCard));
    }
    Lab.drawPlots();
  }
  if (records.length > 0) page();
})();
