// The page of trends: the cost of each benchmark over time, one series a machine.
//
// Times of different machines are never joined by a line: a series is a host and a processor, with
// a colour, a dash and a mark of its own, the same on every plot of the page.
"use strict";

(function () {
  const main = document.querySelector("main");
  const records = Lab.records();
  const machines = [...new Set(records.map(Lab.machine))];
  const styleOf = (machine) => Lab.style(machines.indexOf(machine));
  const byTime = (one, other) => (Lab.seconds(one) || 0) - (Lab.seconds(other) || 0);

  function tipOf(record, lines) {
    const environment = Lab.obj(record.environment);
    const known = (name, value) => (Lab.text(value) === null ? null : name + " " + value);
    const noise = Lab.noise(record);
    return [Lab.when(record), ...lines, "revision " + Lab.revision(record), Lab.machine(record),
      [known("kernel", environment.kernel), known("compiler", environment.compiler),
        known("governor", environment.governor)].filter(Boolean).join(", ") || null,
      noise.length > 0 ? "noisy: " + noise.join("; ") : null].filter(Boolean);
  }

  function benchPoint(record, value, low, high, lines) {
    return { x: Lab.seconds(record), y: Lab.num(value), low: Lab.num(low), high: Lab.num(high),
      hollow: Lab.isNoisy(record), tip: tipOf(record, lines) };
  }
  function seriesOf(benches, point) {
    return machines.map((machine) => ({ name: machine, style: styleOf(machine), path: "line",
      points: benches.filter((record) => Lab.machine(record) === machine).map(point)
        .filter(({ x, y }) => x !== null && y !== null) }))
      .filter((series) => series.points.length > 0);
  }
  function costSeries(benches) {
    return seriesOf(benches, (record) => {
      const cost = Lab.obj(record.cost);
      return benchPoint(record, cost.median_ns, cost.low_ns, cost.high_ns, [
        Lab.ns(cost.median_ns) + " an operation (" + Lab.nsRange(cost.low_ns, cost.high_ns) + ")",
        Lab.num(record.instructions) === null ? null
          : Lab.digits(record.instructions, 5) + " instructions"].filter(Boolean));
    });
  }
  function marksOf(compares) {
    return compares.map((record) => {
      const style = Lab.verdict(record);
      const change = Lab.obj(record.change);
      const loud = ["slower", "faster", "void"].includes(style.word);
      const ratio = style.word === "void" || Lab.num(change.ratio) === null ? ""
        : " \u00d7" + change.ratio.toFixed(3);
      return { x: Lab.seconds(record), y: Lab.num(Lab.obj(record.candidate).median_ns),
        shape: style.shape, colour: style.colour, hollow: Lab.isNoisy(record),
        below: style.word === "faster",
        text: loud ? style.word + ratio + (Lab.isNoisy(record) ? ", noisy" : "") : "",
        tip: tipOf(record, ["comparison: " + style.word, "change " + Lab.change(change.ratio) +
          " (" + Lab.changeRange(change.low, change.high) + ")"]) };
    });
  }

  function table(all) {
    const rows = all.map((record) => {
      const cost = Lab.obj(record.cost);
      const change = Lab.obj(record.change);
      const compare = record.kind === "compare";
      return [Lab.when(record), Lab.machine(record), Lab.revision(record),
        Lab.ns(compare ? Lab.obj(record.candidate).median_ns : cost.median_ns),
        compare ? Lab.none : Lab.nsRange(cost.low_ns, cost.high_ns),
        compare ? [Lab.verdictBadge(record), " ", Lab.change(change.ratio), " (",
          Lab.changeRange(change.low, change.high), ")"] : Lab.none,
        compare ? Lab.none : Lab.digits(record.instructions, 5), Lab.noiseBadge(record)];
    });
    return Lab.el("details", { class: "environment" },
      Lab.el("summary", {}, "All " + all.length + " records"),
      Lab.table([["ended", "name"], ["machine", ""], ["revision", ""], ["one operation", "number"],
        ["interval", "number"], ["comparison", ""], ["instructions", "number"], ["noise", ""]],
      rows));
  }

  const timeAxis = { title: "end of the run, UTC", choices: [{ kind: "time" }] };
  function figures(benches, compares, sync) {
    const series = costSeries(benches);
    const marks = marksOf(compares).filter(({ x, y }) => x !== null && y !== null);
    if (series.length + marks.length === 0) {
      return [Lab.el("p", { class: "missing" }, "No record has both a time and a cost.")];
    }
    const parts = [Lab.figure("Cost of one operation", "Bars are intervals; hollow marks are " +
      "noisy runs. Large marks are comparisons, at the median of the candidate, with the ratio " +
      "to its base (up: slower, down: faster, diamond: same, circle: not enough power, cross: " +
      "void).", Lab.lines({ height: 300, sync, series, marks, x: timeAxis,
      y: { name: "Cost", title: "one operation", choices: [
        { name: "fitted", kind: "ns", title: "cost of one operation" },
        { name: "from zero", kind: "ns", fromZero: true, title: "cost of one operation" },
        { name: "logarithmic", kind: "logNs", title: "cost of one operation" }] } }))];
    const counted = seriesOf(benches, (record) => benchPoint(record, record.instructions, null,
      null, [Lab.digits(record.instructions, 5) + " instructions"]));
    if (counted.length > 0) {
      parts.push(Lab.figure("Instructions for one operation", "Counted, not timed: noise of the " +
        "machine does not move them.", Lab.lines({ height: 190, sync, series: counted,
        x: timeAxis, y: { name: "Instructions", title: "instructions", choices: [
          { name: "fitted", kind: "linear" }, { name: "from zero", kind: "linear",
            fromZero: true }] } })));
    }
    return parts;
  }

  function card(name, index, open) {
    const all = records.filter((record) => Lab.nameOf(record) === name).sort(byTime);
    const benches = all.filter((record) => record.kind === "bench");
    const compares = all.filter((record) => record.kind === "compare");
    const here = new Set(all.map(Lab.machine)).size;
    const untimed = all.filter((record) => Lab.seconds(record) === null).length;
    const last = compares[compares.length - 1];
    const summary = [Lab.el("h3", {}, name), " ", Lab.el("span", { class: "headline" },
      benches.length + " runs, " + compares.length + " comparisons"), " ",
    last ? ["last comparison: ", Lab.verdictBadge(last)] : null];
    return Lab.card({ class: "trend", id: "trend-" + index }, summary, open, () => [
      here > 1 ? Lab.el("p", { class: "banner" }, "Runs of " + here + " machines: each has a " +
        "line of its own, and times of different machines are not comparable.") : null,
      untimed > 0 ? Lab.el("p", { class: "missing" }, untimed +
        " records without a time are only in the table.") : null,
      figures(benches, compares, "trend-" + index), table(all)]);
  }

  function summary(names) {
    const rows = names.flatMap((name, index) => machines.flatMap((machine) => {
      const benches = records.filter((record) => record.kind === "bench" &&
        Lab.nameOf(record) === name && Lab.machine(record) === machine).sort(byTime);
      if (benches.length === 0) return [];
      const [first, last] = [benches[0], benches[benches.length - 1]];
      const of = (record) => Lab.positive(Lab.obj(record.cost).median_ns);
      const ratio = of(first) !== null && of(last) !== null ? of(last) / of(first) : null;
      return [[Lab.el("a", { href: "#trend-" + index }, name), machine, Lab.count(benches.length),
        Lab.ns(of(first)), Lab.ns(of(last)), Lab.change(ratio), Lab.when(last),
        Lab.noiseBadge(last)]];
    }));
    return Lab.table([["benchmark", "name"], ["machine", ""], ["runs", "number"],
      ["first", "number"], ["last", "number"], ["last against first", "number"],
      ["last run", ""], ["its noise", ""]], rows, { class: "trends" });
  }

  function page() {
    const names = [...new Set(records.map(Lab.nameOf))].sort();
    main.append(Lab.el("p", { class: "machines" }, machines.length === 1
      ? "All on one machine: " + machines[0] + "."
      : machines.length + " machines. Times of different machines are not comparable: each " +
        "machine has a line of its own."), summary(names),
    Lab.el("p", { class: "missing" }, "\u201cLast against first\u201d is two runs side by side; " +
      "whether anything changed is for a comparison to say."),
    ...names.map((name, index) => card(name, index, names.length <= 12)));
    Lab.drawPlots();
  }
  if (records.length > 0) page();
})();
