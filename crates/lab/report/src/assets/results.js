// The page of results: comparisons first, because they carry a verdict, then benchmarks side by
// side, then each by itself with its environment.
"use strict";

(function () {
  const main = document.querySelector("main");
  const records = Lab.records();
  const benches = records.filter((record) => record.kind === "bench");
  const compares = records.filter((record) => record.kind === "compare");
  const part = Lab.part;
  const link = (id, name) => Lab.el("a", { href: "#" + id }, name);

  // Comparisons.
  const compareLabels = Lab.labels(compares);
  function compareTable() {
    const columns = [["benchmark", "name"], ["verdict", ""], ["base", "number"],
      ["candidate", "number"], ["change", "number"], ["interval", "number"],
      ["p, corrected", "number"], ["detectable", "number"], ["replicates (looks)", "number"],
      ["noise", ""]];
    const rows = compares.map((record, index) => {
      const change = Lab.obj(record.change);
      return [link("compare-" + index, compareLabels[index]), Lab.verdictBadge(record),
        Lab.ns(Lab.obj(record.base).median_ns), Lab.ns(Lab.obj(record.candidate).median_ns),
        Lab.change(change.ratio), Lab.changeRange(change.low, change.high),
        Lab.probability(record.p_holm), Lab.percent(record.detectable),
        Lab.count(record.replicates) + " (" + Lab.count(record.looks) + ")",
        Lab.noiseBadge(record)];
    });
    return Lab.table(columns, rows, { class: "compares" });
  }
  function side(record, name) {
    const one = Lab.obj(record[name]);
    const revision = Lab.text(one.revision);
    return (Lab.text(one.label) || "no label") +
      (revision === null ? "" : ", revision " + Lab.short(revision));
  }
  function compareCard(record, index) {
    return Lab.card({ class: "compare", id: "compare-" + index },
      [Lab.el("h3", {}, compareLabels[index]), " ", Lab.verdictBadge(record), " ",
        Lab.noiseBadge(record)], compares.length <= 6, () => compareInside(record));
  }
  function compareInside(record) {
    const control = Lab.obj(record.control);
    const ratios = Lab.quantileRatios(record);
    return [
      Lab.el("p", { class: "words" }, Lab.verdictWords(record)),
      Lab.facts([["base", side(record, "base")], ["candidate", side(record, "candidate")],
        ["p, Wilcoxon, of no change at all", Lab.probability(record.p_wilcoxon)],
        ["p, signs, of no change at all", Lab.probability(record.p_sign)],
        ["p of no change beyond the smallest effect", Lab.probability(record.p_verdict)],
        ["the same, corrected for all benchmarks", Lab.probability(record.p_holm)],
        ["accepted chance of a wrong claim", Lab.percent(record.alpha)],
        ["detectable with a power of " + Lab.percent(record.power, 0),
          Lab.percent(record.detectable)],
        ["control: base against itself", Lab.change(control.ratio) + " (" +
          Lab.changeRange(control.low, control.high) + "), p " +
          Lab.probability(control.p_wilcoxon)]]),
      Lab.figure("Replicates", "Each mark is the median of one process, from the first (top) to " +
        "the last; the line is the median of all.", Lab.replicates(record)),
      ratios === null ? null : Lab.figure("Quantiles",
        "Ratio of each quantile of latency, candidate against base, with its interval.", ratios),
      Lab.environment(record)];
  }

  // Benchmarks.
  const labels = Lab.labels(benches);
  const rowsOf = (indexes) => indexes.map((index, place) =>
    ({ name: labels[index], record: benches[index], style: Lab.style(place) }));

  function benchTable() {
    const columns = [["benchmark", "name"], ["one operation", "number"], ["interval", "number"],
      ["one run: p50", "number"], ["p99", "number"], ["p99.9", "number"], ["max", "number"],
      ["instructions", "number"], ["epochs \u00d7 samples \u00d7 runs", "number"], ["noise", ""]];
    const rows = benches.map((record, index) => {
      const cost = Lab.obj(record.cost);
      const { quantiles } = Lab.latency(record);
      const cut = ["epochs", "samples_per_epoch", "runs_per_sample"]
        .map((name) => Lab.count(record[name])).join(" \u00d7 ");
      return [link("bench-" + index, labels[index]), Lab.ns(cost.median_ns),
        Lab.nsRange(cost.low_ns, cost.high_ns),
        ...["p50", "p99", "p99.9", "p100"].map((name) => Lab.ns(quantiles[name])),
        Lab.digits(record.instructions, 5), cut, Lab.noiseBadge(record)];
    });
    return Lab.table(columns, rows, { class: "benches" });
  }

  // The cost of one operation with its interval, on one axis.
  function costs(rows) {
    const of = (record) => Lab.obj(record.cost);
    const values = rows.flatMap(({ record }) =>
      [of(record).median_ns, of(record).low_ns, of(record).high_ns].map(Lab.positive));
    const bottom = 12 + rows.length * 32;
    const axis = Lab.axis("logNs", values, 8);
    const frame = Lab.frame(axis, 190, 780, 6, bottom, "cost of one operation, logarithmic");
    const marks = rows.map(({ name, record, style }, index) => {
      const y = 24 + index * 32;
      const { median_ns: median, low_ns: low, high_ns: high } = of(record);
      const interval = Lab.positive(low) === null || Lab.positive(high) === null ? null
        : Lab.svg("line", { x1: frame.place(low), x2: frame.place(high), y1: y, y2: y,
          style: "stroke:var(" + style.colour + ");stroke-width:7;opacity:.45" });
      return Lab.svg("g", { class: "row" },
        Lab.label(name, 176, y + 4, 20, { class: "name", "text-anchor": "end" }), interval,
        Lab.positive(median) === null ? null
          : Lab.mark(style.shape, frame.place(median), y, 4.5, style.colour, Lab.isNoisy(record)),
        Lab.svg("text", { class: "small", x: 792, y: y + 4 },
          Lab.ns(median) + (Lab.isNoisy(record) ? ", noisy" : "")));
    });
    return Lab.svg("svg", { class: "shape costs", viewBox: "0 0 940 " + (bottom + 46), role: "img",
      "aria-label": "Cost of one operation" }, frame.node, marks);
  }

  function epochs(rows) {
    const series = rows.map(({ name, record, style }) => {
      const values = Lab.list(record.epoch_ns).map(Lab.num);
      const sorted = values.filter((value) => value !== null).sort((one, other) => one - other);
      const median = Lab.positive(Lab.obj(record.cost).median_ns) ||
        Lab.positive(sorted[sorted.length >> 1]);
      return { name, style, path: "line", hollow: Lab.isNoisy(record),
        points: values.map((value, index) => ({ x: index + 1, y: value,
          relative: value !== null && median !== null ? value / median : null,
          hollow: Lab.isNoisy(record), mark: values.length <= 200,
          tip: [name, "epoch " + (index + 1) + ": " + Lab.ns(value)] })) };
    });
    const cost = Lab.obj(rows[0].record.cost);
    const levels = rows.length > 1 ? []
      : [cost.median_ns, cost.low_ns, cost.high_ns].map(Lab.num).filter((y) => y !== null);
    const absolute = { name: "time", kind: "ns", title: "median sample, one operation" };
    const relative = { name: "relative", kind: "relative", key: "relative",
      title: "against its own median" };
    return Lab.lines({ height: 250, series, levels,
      x: { title: "epoch, in order", choices: [{ kind: "whole" }] },
      y: { name: "Epoch medians",
        choices: rows.length > 1 ? [relative, absolute] : [absolute, relative] } });
  }

  // Several benchmarks over each other; which ones is up to the reader.
  function sideBySide() {
    const most = 6;
    const chosen = new Set(benches.map((record, index) => index).slice(0, most));
    const holder = Lab.el("div", {});
    function draw() {
      const rows = rowsOf([...chosen].sort((one, other) => one - other));
      if (rows.length === 0) {
        holder.replaceChildren(Lab.el("p", { class: "missing" }, "No benchmark is chosen."));
        return;
      }
      const timed = rows.filter(({ record }) => Lab.hasLatency(record));
      holder.replaceChildren(
        Lab.figure("Cost", "Median over epochs; the bar behind is its interval. Hollow: noisy run.",
          part(() => costs(rows))),
        Lab.figure("Distribution of latency", Lab.distributionCaption,
          part(() => Lab.distribution(rows))),
        timed.length === 0 ? "" : Lab.figure("Cumulative",
          "Marks: p50, p90, p99, p99.9, p99.99 and the maximum. Drag to enlarge, double click to " +
          "see all.", part(() => Lab.cumulative(timed))),
        Lab.figure("Epochs", "A drift or a step over the run is a disturbance, not noise.",
          part(() => epochs(rows))));
      Lab.drawPlots();
    }
    const boxes = benches.map((record, index) => {
      const input = Lab.el("input", { type: "checkbox" });
      input.checked = chosen.has(index);
      input.addEventListener("change", () => {
        if (!chosen.delete(index)) chosen.add(index);
        draw();
      });
      return Lab.el("label", { class: "chip" }, input, " ", labels[index]);
    });
    return [Lab.el("fieldset", { class: "chips" }, Lab.el("legend", {}, "Benchmarks shown"), boxes),
      holder, draw];
  }

  function quantileTable(record) {
    const latency = Lab.latency(record);
    const names = Lab.quantileNames(Object.keys(latency.quantiles));
    if (names.length === 0) return null;
    return Lab.table([["quantile", "name"], ["latency of one run", "number"],
      ["interval", "number"]], names.map((name) => {
      const interval = Lab.list(latency.intervals[name]);
      return [name, Lab.ns(latency.quantiles[name]),
        Lab.nsRange(interval[0], interval[1])];
    }), { class: "narrow" });
  }
  function counters(record) {
    const pairs = Object.entries(Lab.obj(record.counters)).map(([name, value]) =>
      [name.replace(/_/g, " "), Lab.num(value) === null
        ? Lab.text(value) || Lab.none : Lab.digits(value, 4)]);
    return pairs.length === 0 ? null : [Lab.el("h4", {}, "Hardware counters, for one operation"),
      Lab.facts(pairs)];
  }
  function benchCard(record, index) {
    return Lab.card({ class: "bench", id: "bench-" + index },
      [Lab.el("h3", {}, labels[index]), " ", Lab.el("span", { class: "headline" },
        Lab.ns(Lab.obj(record.cost).median_ns) + " an operation"), " ", Lab.noiseBadge(record)],
      benches.length <= 6, () => benchInside(record, index));
  }
  function benchInside(record, index) {
    const cost = Lab.obj(record.cost);
    const rows = rowsOf([index]);
    // What is said above, over the plots side by side, is not said again.
    const caption = benches.length > 1 ? "" : Lab.distributionCaption;
    const timed = Lab.hasLatency(record);
    const level = Lab.num(cost.confidence) === null ? "" : Lab.percent(cost.confidence, 0) + " ";
    return [Lab.facts([["cost of one operation", Lab.ns(cost.median_ns) + " (" + level +
      "interval " + Lab.nsRange(cost.low_ns, cost.high_ns) + ")"],
    ["operations in one run", Lab.count(record.operations_per_run)],
    ["instructions, one operation", Lab.digits(record.instructions, 5)],
    ["runs timed alone", Lab.count(Lab.obj(record.latency).count)],
    ["revision", Lab.revision(record)], ["ended", Lab.when(record)]]),
    timed ? [Lab.figure("Distribution of latency", caption, Lab.distribution(rows)),
      Lab.figure("Cumulative", "", Lab.cumulative(rows)), quantileTable(record)]
      : Lab.el("p", { class: "missing" },
        "No latency of single runs: a run is too short for the clock to time alone."),
    Lab.figure("Epochs", "Dashed: the median of epochs and its interval.", epochs(rows)),
    counters(record), Lab.environment(record)];
  }

  function page() {
    const noisy = records.filter(Lab.isNoisy).length;
    if (noisy > 0) {
      main.append(Lab.el("p", { class: "banner" }, noisy + " of " + records.length +
        " runs were not quiet. They are marked \u201cnoisy\u201d, and drawn hollow or dashed: " +
        "read their numbers with care."));
    }
    const machines = [...new Set(records.map(Lab.machine))];
    main.append(Lab.el("p", { class: "machines" }, machines.length === 1
      ? "All on one machine: " + machines[0] + "."
      : "Runs of " + machines.length + " machines, whose times are not comparable with each " +
        "other: " + machines.join("; ") + "."));
    if (compares.length > 0) {
      main.append(Lab.el("h2", {}, "Comparisons"), part(compareTable),
        Lab.figure("Changes", Lab.forestCaption, part(() => Lab.forest(compares.map(
          (record, index) => ({ name: compareLabels[index], record }))))),
        ...compares.map(compareCard));
    }
    if (benches.length > 0) {
      main.append(Lab.el("h2", {}, "Benchmarks"), part(benchTable));
      if (benches.length > 1) {
        const [chips, holder, draw] = sideBySide();
        main.append(Lab.el("h2", {}, "Side by side"),
          Lab.el("section", { class: "card" }, chips, holder));
        draw();
      }
      main.append(Lab.el("h2", {}, "One by one"),
        ...benches.map(benchCard));
    }
    Lab.drawPlots();
  }
  if (records.length > 0) page();
})();
