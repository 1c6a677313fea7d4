// The page of delays between feeds: the delay over time with its interval, the windows of one stock
// and attribute, the correlation of a window, the table of all stocks, and who leads whom.
"use strict";

(function () {
  const main = document.querySelector("main");
  const records = Lab.records();
  const labels = Lab.labels(records);
  const day = 86400;
  // Seconds of the day in which the record begins, so that they keep their fractions.
  const secondsOf = (record, ns) => {
    if (Lab.num(ns) === null) return null;
    const first = Lab.num(Lab.obj(Lab.list(record.over_time)[0]).from_ns);
    const start = Math.floor((first === null ? ns : first) / 1e9 / day) * day;
    return ns / 1e9 - start;
  };
  const clock = (seconds) => (seconds === null ? Lab.none : Lab.clock(seconds, 3));
  const nameOf = (one) => [one.symbol, one.attribute].map(Lab.text).filter(Boolean).join(", ") ||
    "whole feed";
  const count = (value, one, many) => Lab.count(value) + " " + (value === 1 ? one : many);
  const later = (ns) => Lab.ns(Math.abs(ns)) + (ns < 0 ? " earlier" : " later");

  // One of many, chosen from a list: what `make` returns for it is shown below.
  function chosen(title, names, make) {
    const place = Lab.el("div", {});
    const list = Lab.el("select", {}, names.map((name, index) =>
      Lab.el("option", { value: index }, name)));
    const show = () => {
      place.replaceChildren(Lab.part(() => make(Number(list.value))));
      Lab.drawPlots();
    };
    list.addEventListener("change", show);
    place.append(Lab.part(() => make(0)));
    return Lab.el("div", {}, Lab.el("label", { class: "choice" }, title + " ", list), place);
  }

  // Below all delays, for what has none.
  function floorOf(points) {
    const all = points.flatMap(({ y, low, high }) => [y, low, high]).map(Lab.num)
      .filter((value) => value !== null);
    const [low, high] = [Math.min, Math.max].map((pick) => all.reduce((a, b) => pick(a, b), all[0]));
    return all.length === 0 ? 0 : low - 0.12 * (high - low || Math.abs(high) || 1);
  }
  const marks = (name, style, points, floor) => points.length === 0 ? []
    : [{ name, style, path: null, hollow: true,
      points: points.map((point) => ({ ...point, y: floor, hollow: true })) }];
  // What has no delay, apart by why.
  function missing(points, floor) {
    const none = points.filter(({ y }) => y === null);
    return [...marks("no estimate", { ...Lab.style(4), shape: "cross" },
      none.filter(({ isOut }) => !isOut), floor),
    ...marks("left out for a gap or a taint", { ...Lab.style(1), shape: "square" },
      none.filter(({ isOut }) => isOut), floor)];
  }
  const timeAxis = { title: "time of day",
    choices: [{ name: "time", kind: "clock", title: "time of day" }] };

  function overTime(record) {
    const points = Lab.list(record.over_time).map(Lab.obj).map((span) => {
      const [from, until] = [span.from_ns, span.until_ns].map((ns) => secondsOf(record, ns));
      const [some, refused, out] = [span.estimates, span.refused, span.left_out]
        .map((value) => Lab.num(value) || 0);
      const tip = [clock(from) + " to " + clock(until),
        "median " + Lab.ns(Lab.num(span.delay_ns)),
        "interval " + Lab.nsRange(span.low_ns, span.high_ns),
        "5% to 95% " + Lab.nsRange(span.p05_ns, span.p95_ns),
        count(some, "estimate", "estimates") + ", " + Lab.count(refused) + " refused, " +
          Lab.count(out) + " left out"];
      return { x: from === null || until === null ? from : (from + until) / 2, tip,
        isOut: out > refused, y: Lab.num(span.delay_ns),
        low: Lab.num(span.low_ns), high: Lab.num(span.high_ns),
        p05: Lab.num(span.p05_ns), p95: Lab.num(span.p95_ns),
        share: some + refused + out > 0 ? (refused + out) / (some + refused + out) : null };
    });
    const spread = points.map(({ x, y, p05, p95 }) => ({ x, y: null, low: p05, high: p95,
      mark: false }));
    // Many marks would hide the line.
    const mark = points.length <= 200;
    const series = [
      { name: "5% to 95% of the estimates", style: { ...Lab.style(5), shape: "square" }, path: null,
        band: 0.16, points: spread },
      { name: "median, with its interval", style: Lab.style(0), path: "line", band: 0.3,
        points: points.map((point) => ({ ...point, mark })) },
      ...missing(points, floorOf([...points, ...spread])),
    ];
    const uprights = Lab.list(record.shifts).map(Lab.obj).map((shift) => ({
      x: secondsOf(record, shift.from_ns), style: Lab.style(1),
      text: "shift to " + Lab.ns(Lab.num(shift.after_ns)) })).filter(({ x }) => x !== null);
    return Lab.figure("Delay over time", "All stocks and attributes. Above 0 the second input is " +
      "later.", Lab.lines({ height: 340, series, uprights, x: timeAxis, y: { name: "shown",
        title: "delay", choices: [{ name: "delay", kind: "ns", title: "delay of the second input" },
          { name: "share without an estimate", kind: "share", key: "share",
            title: "windows without an estimate" }] } }));
  }

  function windowPoint(record, one) {
    const [from, until] = [one.from_ns, one.until_ns].map((ns) => secondsOf(record, ns));
    const reason = Lab.text(one.left_out) !== null ? "left out: " + one.left_out
      : Lab.text(one.refused);
    const tip = [clock(from) + " to " + clock(until), ...(reason !== null ? [reason]
      : [Lab.ns(Lab.num(one.delay_ns)), "interval " + Lab.nsRange(one.low_ns, one.high_ns),
        "from " + count(Lab.num(one.support), "observation", "observations") + ", quality " +
          Lab.digits(Lab.num(one.quality), 2)])];
    return { x: from === null || until === null ? from : (from + until) / 2, tip,
      isOut: Lab.text(one.left_out) !== null, quality: Lab.num(one.quality),
      y: Lab.num(one.delay_ns), low: Lab.num(one.low_ns), high: Lab.num(one.high_ns) };
  }
  function windows(record) {
    const groups = new Map();
    for (const one of Lab.list(record.windows).map(Lab.obj)) {
      const name = nameOf(one);
      if (!groups.has(name)) groups.set(name, []);
      groups.get(name).push(one);
    }
    if (groups.size === 0) return null;
    const estimates = (name) => groups.get(name).filter((one) => Lab.num(one.delay_ns) !== null).length;
    const names = [...groups.keys()].sort((one, two) => estimates(two) - estimates(one));
    const more = Lab.positive(record.windows_left_out);
    return [Lab.el("h4", {}, "Single windows"),
      more === null ? null : Lab.el("p", { class: "missing" }, 
        count(more, "window is", "windows are") + " not here, most of them with too few changes; " +
        "they count in all else."),
      chosen("Windows of", names, (index) => {
        const points = groups.get(names[index]).map((one) => windowPoint(record, one));
        const mark = points.length <= 300;
        const series = [{ name: "delay, with its interval", style: Lab.style(0), path: "line",
          band: 0.25, points: points.map((point) => ({ ...point, mark })) },
        ...missing(points, floorOf(points))];
        return Lab.lines({ height: 260, series, x: timeAxis, y: { name: "shown", title: "delay",
          choices: [{ name: "delay", kind: "ns", title: "delay of the second input" },
            { name: "quality", kind: "linear", key: "quality",
              title: "quality, from 0 to 1" }] } });
      })];
  }

  function correlations(record) {
    const all = Lab.list(record.correlations).map(Lab.obj);
    if (all.length === 0) return null;
    const names = all.map((one) => nameOf(one) + " from " +
      clock(secondsOf(record, one.from_ns)) + " to " + clock(secondsOf(record, one.until_ns)));
    return [Lab.el("h4", {}, "Correlation of a window"), chosen("Window of", names, (index) => {
      const one = all[index];
      const values = Lab.list(one.values);
      const points = Lab.list(one.lags_ns).map((lag, at) => ({ x: Lab.num(lag),
        y: Lab.num(values[at]), mark: false,
        tip: [Lab.ns(Lab.num(lag)), "correlation " + Lab.digits(Lab.num(values[at]), 3)] }));
      // The text is beside the last of the three lines.
      const uprights = [
        { x: Lab.num(one.low_ns), style: Lab.style(5), text: "" },
        { x: Lab.num(one.peak_ns), style: Lab.style(1), text: "" },
        { x: Lab.num(one.high_ns), style: Lab.style(5), text: "peak at " + Lab.ns(one.peak_ns) +
          ", interval " + Lab.nsRange(one.low_ns, one.high_ns) },
      ].filter(({ x }) => x !== null);
      const refused = Lab.text(one.refused);
      return [refused === null ? null
        : Lab.el("p", { class: "missing" }, "No estimate: " + refused + "."),
      Lab.lines({ height: 260, uprights, levels: [0],
        series: [{ name: "correlation", style: Lab.style(0), path: "line", points }],
        x: { title: "lag of the second input", choices: [{ kind: "ns" }] },
        y: { title: "correlation", choices: [{ kind: "linear" }] } })];
    })];
  }

  const hourly = (slope) => (Lab.num(slope) === null ? Lab.none : Lab.ns(3600 * slope));
  function table(record) {
    const rows = Lab.list(record.rows).map(Lab.obj);
    if (rows.length === 0) return null;
    const heads = [["stock, attribute", ""], ...["windows", "estimates", "no estimate", "left out",
      "median", "interval", "5%", "95%", "change an hour"].map((name) => [name, "number"])];
    const ns = (value) => Lab.ns(Lab.num(value));
    const share = (part, row) => Lab.positive(row.windows) === null ? Lab.none
      : Lab.percent((Lab.num(part) || 0) / row.windows);
    const make = () => Lab.table(heads, rows.map((row) => [nameOf(row), Lab.count(row.windows),
      Lab.count(row.estimates), share(row.refused, row), share(row.left_out, row), ns(row.delay_ns),
      Lab.nsRange(row.low_ns, row.high_ns), ns(row.p05_ns), ns(row.p95_ns), hourly(row.ns_per_s)]),
    { class: "delays" });
    if (rows.length <= 60) return [Lab.el("h4", {}, "By stock and attribute"), make()];
    return Lab.card({ class: "rows" }, "By stock and attribute: " + rows.length + " rows", false,
      make);
  }

  // The lead of a row's instrument over a column's; null if the record has none of the two.
  function cells(pairs) {
    const found = new Map();
    const key = (row, column) => JSON.stringify([row, column]);
    for (const pair of pairs) found.set(key(pair.second, pair.first), { pair, sign: -1 });
    for (const pair of pairs) found.set(key(pair.first, pair.second), { pair, sign: 1 });
    return (row, column) => found.get(key(row, column)) || null;
  }
  const words = (pair, sign) => {
    const lead = Lab.num(pair.lead_ns);
    return lead === null ? "no lead: " + (Lab.text(pair.refused) || "not known")
      : Lab.ns(sign * lead) + ", interval " + (sign > 0 ? Lab.nsRange(pair.low_ns, pair.high_ns)
        : Lab.nsRange(-pair.high_ns, -pair.low_ns)) + ", correlation " +
        Lab.digits(Lab.num(pair.contrast), 2) + ", q " + Lab.probability(Lab.num(pair.q));
  };
  function heatMap(pairs) {
    const firsts = [...new Set(pairs.map((pair) => String(pair.first)))];
    const seconds = [...new Set(pairs.map((pair) => String(pair.second)))];
    // The pairs of one set have each instrument on both sides.
    const isOneSet = firsts.some((name) => seconds.includes(name));
    const both = [...new Set([...firsts, ...seconds])];
    const [down, across] = isOneSet ? [both, both] : [firsts, seconds];
    if (down.length > 40 || across.length > 40) return null;
    const [left, top, width, height] = [100, 26, 68, 26];
    const at = cells(pairs.map((pair) =>
      ({ ...pair, first: String(pair.first), second: String(pair.second) })));
    const cell = (row, y, column, x) => {
      const one = row === column ? null : at(row, column);
      const lead = one && one.pair.is_found === true ? Lab.num(one.pair.lead_ns) : null;
      const strength = Math.min(1, Math.abs(Lab.num(one && one.pair.contrast) || 0));
      const leads = lead === null ? 0 : one.sign * lead;
      return [Lab.svg("rect", { class: "cell", x: left + x * width, y: top + y * height, width,
        height, stroke: "var(--line)",
        fill: lead === null ? "none" : "var(--series-" + (leads < 0 ? 1 : 0) + ")",
        "fill-opacity": 0.12 + 0.5 * strength },
      one === null ? null : Lab.svg("title", {}, row + " over " + column + ": " +
        words(one.pair, one.sign))),
      lead === null ? null : Lab.svg("text", { x: left + (x + 0.5) * width, class: "ahead",
        y: top + y * height + 17, "text-anchor": "middle", "pointer-events": "none" },
      Lab.nsTick(Number(leads.toPrecision(3))).replace("-", "\u2212"))];
    };
    return Lab.figure("Lead of a row over a column", "Only pairs that are found. Blue: the row " +
      "leads; orange: the column leads; the stronger the correlation, the darker.",
    Lab.el("div", { class: "scroll" }, Lab.svg("svg", { class: "leads",
      width: left + across.length * width + 2, height: top + down.length * height + 2 },
    across.map((name, x) => Lab.label(name, left + (x + 0.5) * width, top - 8, 9,
      { "text-anchor": "middle" })),
    down.map((name, y) => [Lab.label(name, left - 8, top + y * height + 17, 13,
      { "text-anchor": "end" }), across.map((column, x) => cell(name, y, column, x))]))));
  }
  function matrix(record) {
    const all = Lab.obj(record.matrix);
    const pairs = Lab.list(all.pairs).map(Lab.obj);
    if (pairs.length === 0) return null;
    const found = pairs.filter((pair) => pair.is_found === true);
    const rate = Lab.num(all.false_discovery_rate);
    const order = (pair) => [pair.is_found === true ? 0 : 1,
      Lab.num(pair.q) === null ? 2 : pair.q, -Math.abs(Lab.num(pair.contrast) || 0)];
    const sorted = [...pairs].sort((one, two) => {
      const [a, b] = [order(one), order(two)];
      return a[0] - b[0] || a[1] - b[1] || a[2] - b[2];
    });
    const heads = [["pair", ""], ["leader", ""], ...["lead", "interval", "correlation", "LLR", "p",
      "q"].map((name) => [name, "number"]), ["found", ""]];
    const row = (pair) => {
      const [lead, low, high] = [pair.lead_ns, pair.low_ns, pair.high_ns].map(Lab.num);
      const leader = lead === null ? Lab.none : low > 0 ? String(pair.first)
        : high < 0 ? String(pair.second) : "not clear";
      return [String(pair.first) + ", " + String(pair.second), leader, Lab.ns(lead),
        Lab.nsRange(low, high), Lab.digits(Lab.num(pair.contrast), 3),
        Lab.digits(Lab.num(pair.lead_lag_ratio), 3), Lab.probability(Lab.num(pair.p)),
        Lab.probability(Lab.num(pair.q)), pair.is_found === true ? "yes"
          : "no" + (Lab.text(pair.refused) === null ? "" : ": " + pair.refused)];
    };
    const shown = sorted.slice(0, 200);
    const falsely = rate === null || found.length === 0 ? "" : " At most " + Lab.percent(rate) +
      " of them, " + Lab.digits(rate * found.length, 2) + ", are expected to be unrelated.";
    return [Lab.el("h4", {}, "Which instrument leads which"),
      Lab.el("p", {}, Lab.count(found.length) + " of " + count(pairs.length, "pair", "pairs") +
        " found." + falsely + " A lead is clear if its interval does not contain 0."),
      Lab.part(() => heatMap(pairs)), Lab.table(heads, shown.map(row), { class: "pairs" }),
      sorted.length > shown.length ? Lab.el("p", { class: "missing" }, "The other " +
        count(sorted.length - shown.length, "pair is", "pairs are") + " less certain.") : null];
  }

  function statements(record) {
    const total = Lab.obj(record.total);
    const lines = [];
    if (Lab.num(total.delay_ns) === null) {
      lines.push("No window has an estimate.");
    } else {
      lines.push("The second input is " + later(total.delay_ns) + " (interval " +
        Lab.nsRange(total.low_ns, total.high_ns) + "), as the median of " +
        count(Lab.num(total.estimates), "estimate", "estimates") + ". 5% to 95% of them are from " +
        Lab.nsRange(total.p05_ns, total.p95_ns) + ".");
    }
    const trend = Lab.obj(record.trend);
    if (Lab.num(trend.ns_per_s) !== null) {
      const isFlat = !(trend.low_ns_per_s > 0 || trend.high_ns_per_s < 0);
      lines.push((isFlat ? "No drift is certain: " : "The delay drifts: ") +
        hourly(trend.ns_per_s) + " an hour (interval " + hourly(trend.low_ns_per_s) + " to " +
        hourly(trend.high_ns_per_s) + ").");
    }
    for (const shift of Lab.list(record.shifts).map(Lab.obj)) {
      lines.push("Alarm: from " + clock(secondsOf(record, shift.from_ns)) + " on the delay is " +
        Lab.ns(Lab.num(shift.after_ns)) + " instead of " + Lab.ns(Lab.num(shift.before_ns)) + ".");
    }
    return lines;
  }
  function facts(record) {
    const sum = (name) => Lab.list(record.rows).map(Lab.obj)
      .reduce((all, row) => all + (Lab.num(row[name]) || 0), 0);
    const settings = Object.entries(Lab.obj(record.settings)).map(([name, value]) =>
      [name, String(value)]);
    return Lab.facts([["first input", Lab.text(record.first) || Lab.none],
      ["second input", Lab.text(record.second) || Lab.none],
      ["times", record.clock === "receive" ? "when packets were received"
        : record.clock === "event" ? "the exchange's" : Lab.none],
      ["method", Lab.text(record.method) || Lab.none],
      ["window", Lab.ns(Lab.num(record.window_ns))],
      ["windows", Lab.count(sum("windows")) + ": " + Lab.count(sum("estimates")) +
        " with an estimate, " + Lab.count(sum("refused")) + " without, " +
        Lab.count(sum("left_out")) + " left out for a gap or a taint"], ...settings]);
  }

  function card(record, index) {
    const total = Lab.obj(record.total);
    return Lab.card({ class: "delay", id: "delay-" + index },
      [Lab.el("h3", {}, labels[index]), " ", Lab.el("span", { class: "headline" },
        Lab.num(total.delay_ns) === null ? "no estimate" : later(total.delay_ns))], true, () => [
        Lab.el("ul", {}, statements(record).map((line) => Lab.el("li", {}, line))),
        Lab.part(() => facts(record)),
        Lab.part(() => overTime(record)),
        Lab.part(() => windows(record)),
        Lab.part(() => correlations(record)),
        Lab.part(() => table(record)),
        Lab.part(() => matrix(record))]);
  }

  main.append(...records.map(card));
  if (records.length > 0) Lab.drawPlots();
})();
