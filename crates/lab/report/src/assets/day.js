// The page of a day: its busiest stocks, rates against totals, event depth, messages in time at
// four scales, and changes of the inside.
"use strict";

(function () {
  const main = document.querySelector("main");
  const colours = ["--series-0", "--series-1", "--series-2", "--series-3", "--series-4",
    "--series-5", "--line"];
  const second = 1e9;
  const none = (text) => Lab.el("p", { class: "missing" }, text);
  const sum = (values) => values.reduce((all, value) => all + value, 0);
  const words = { add: "adds", execution: "executions", cancel: "cancels and deletes",
    replace: "replaces", level: "level changes", trade: "trades off the book", other: "others" };
  const wordOf = (kind) => (Object.hasOwn(words, kind) ? words[kind] : String(kind));

  // Which kinds occur, with the place of each in lists of counts.
  function kindsOf(record, lists) {
    return Lab.list(record.kinds).map((kind, index) => ({ name: wordOf(kind), index,
      colour: colours[index % colours.length], style: Lab.style(index),
      total: sum(lists.map((counts) => Lab.num(Lab.list(counts)[index]) || 0)) }))
      .filter((kind) => kind.total > 0);
  }

  // Activity of the busiest stocks, a bar each, divided by kind.
  function bars(stocks, kinds) {
    const [left, right, row] = [110, 980, 19];
    const total = (stock) => sum(Lab.numbers(stock.events));
    const most = Math.max(1, ...stocks.map(total));
    const height = stocks.length * row + 6;
    const rows = stocks.map((stock, place) => {
      const y = 3 + place * row;
      let at = left;
      const parts = kinds.map((kind) => {
        const count = Lab.num(Lab.list(stock.events)[kind.index]) || 0;
        const width = (count / most) * (right - left);
        const part = count > 0 && Lab.svg("rect", { x: at, y, width, height: row - 5,
          style: "fill:var(" + kind.colour + ")" },
        Lab.svg("title", {}, String(stock.symbol) + ": " + Lab.count(count) + " " + kind.name));
        at += width;
        return part || null;
      });
      return [Lab.label(String(stock.symbol), left - 8, y + 11, 14,
        { class: "name", "text-anchor": "end" }), parts,
      Lab.svg("text", { class: "small", x: at + 6, y: y + 11 }, Lab.count(total(stock)))];
    });
    return Lab.svg("svg", { class: "shape activity", viewBox: "0 0 1080 " + height, role: "img",
      "aria-label": "Events of the busiest stocks by kind" }, rows);
  }
  function activity(record) {
    const stocks = Lab.list(record.activity).map(Lab.obj);
    if (stocks.length === 0) return none("No message is about a stock.");
    const kinds = kindsOf(record, stocks.map((stock) => stock.events));
    const legend = Lab.el("div", { class: "legend" }, kinds.map((kind) =>
      Lab.el("span", { class: "chip" }, Lab.svg("svg", { class: "swatch", width: 12, height: 12 },
        Lab.svg("rect", { width: 12, height: 12, style: "fill:var(" + kind.colour + ")" })),
      " ", kind.name)));
    const heads = [["stock", ""], ["messages", "number"],
      ...kinds.map((kind) => [kind.name, "number"])];
    const rows = stocks.map((stock) => [String(stock.symbol), Lab.count(stock.messages),
      ...kinds.map((kind) => Lab.count(Lab.num(Lab.list(stock.events)[kind.index])))]);
    return [Lab.figure("The busiest stocks", "Events by kind, of the " + Lab.count(stocks.length) +
      " stocks with the most messages.", legend, bars(stocks, kinds)),
    Lab.card({ class: "numbers" }, "The numbers", false, () => Lab.table(heads, rows, {}))];
  }

  function concentration(record) {
    const ranks = Lab.list(record.concentration).map(Lab.obj);
    const last = Lab.obj(ranks[ranks.length - 1]);
    const all = Lab.positive(last.cumulative);
    if (all === null) return null;
    const points = ranks.map((one) => ({ x: Lab.positive(one.rank), y: Lab.positive(one.messages),
      share: Lab.num(one.cumulative) === null ? null : one.cumulative / all, mark: false,
      tip: ["rank " + Lab.count(one.rank), Lab.count(one.messages) + " messages",
        "the first " + Lab.count(one.rank) + " have " +
          Lab.percent((Lab.num(one.cumulative) || 0) / all)] }));
    const to = (rank) => points.filter((point) => point.x !== null && point.x <= rank).pop();
    const shares = [1, 10, 100, 1000].filter((rank) => rank < (Lab.num(last.rank) || 0))
      .map((rank) => (rank === 1 ? "the first has " : "the first " + Lab.count(rank) + " have ") +
        Lab.percent(Lab.obj(to(rank)).share));
    const rank = "rank of the stock by messages, logarithmic";
    return Lab.figure("Concentration", Lab.count(last.rank) + " stocks" +
      (shares.length > 0 ? "; of their messages " + shares.join(", ") : "") + ".",
    Lab.lines({ height: 280, legend: false, x: { title: rank, choices: [{ kind: "logCount", title: rank }] },
      y: { name: "messages", title: "", choices: [
        { name: "of the stock", kind: "logCount", title: "messages of the stock, logarithmic" },
        { name: "up to the rank", kind: "share", key: "share", title: "share of all messages" }] },
      series: [{ name: "stocks by rank", style: Lab.style(0), path: "line", points }] }));
  }

  // Peak rates against totals.
  function rates(record) {
    const stocks = Lab.list(record.rates).map(Lab.list)
      .filter((stock) => Lab.positive(stock[1]) !== null);
    if (stocks.length === 0) return none("No stock has a message with a time.");
    const plot = (place, window) => {
      const points = stocks.filter((stock) => Lab.positive(stock[place]) !== null)
        .map((stock) => ({ x: stock[1], y: stock[place], tip: [String(stock[0]),
          Lab.count(stock[1]) + " messages", "at most " + Lab.count(stock[place]) + " in " + window] }));
      const busiest = points.slice(0, 10);
      const labels = busiest.map(({ x, y, tip }) => ({ x, y, text: tip[0] }));
      const x = "messages of the day, logarithmic";
      const y = "most messages in " + window + ", logarithmic";
      return Lab.figure("In " + window, "", Lab.lines({ height: 380, labels,
        x: { title: x, choices: [{ kind: "logCount", title: x }] },
        y: { title: y, choices: [{ kind: "logCount", title: y }] },
        series: [{ name: "stocks", style: Lab.style(0), path: null, size: 1.6, points },
          { name: "the busiest", style: Lab.style(1), path: null, size: 3.4, points: busiest }] }));
    };
    const left = (Lab.num(record.stocks) || 0) - stocks.length;
    return [Lab.el("p", {}, "The most messages that a stock has in a window, against all its " +
      "messages. Windows begin at multiples of their length." +
      (left > 0 ? " The " + Lab.count(left) + " stocks with the fewest messages are left out." : "")),
    Lab.el("div", { class: "pair" }, plot(2, "1 s"), plot(3, "1 ms"))];
  }

  // Event depth.
  function depth(record) {
    const levels = Lab.list(record.depths).map(Lab.list);
    const kinds = kindsOf(record, levels);
    const note = record.has_orders === false
      ? "This exchange shows price levels and no orders: an event is a level that changes, and what " +
        "an execution took from a level is such a change." : "";
    if (kinds.length === 0) return none("No event acts on the books. " + note);
    const deepest = levels.length - 1;
    const series = kinds.map((kind) => {
      let before = 0;
      const points = levels.slice(0, deepest).map((counts, level) => {
        const count = Lab.num(counts[kind.index]) || 0;
        before += count;
        return { x: level, y: count > 0 ? (100 * count) / kind.total : null,
          share: before / kind.total, count: count > 0 ? count : null, mark: false,
          tip: [kind.name + ", level " + level, Lab.count(count) + " events",
            Lab.percent(count / kind.total, 3) + " of them", Lab.percent(before / kind.total, 2) +
              " up to this level"] };
      });
      return { name: kind.name, style: kind.style, path: "line", points };
    });
    const within = (kind, levelsOfIt) => Lab.percent(sum(levels.slice(0, levelsOfIt)
      .map((counts) => Lab.num(counts[kind.index]) || 0)) / kind.total, 2);
    const heads = [["kind", ""], ...["events", "inside", "first 5 levels", "first 10", "first 50",
      "level " + deepest + " or deeper"].map((name) => [name, "number"])];
    const rows = kinds.map((kind) => [kind.name, Lab.count(kind.total), within(kind, 1),
      within(kind, 5), within(kind, 10), within(kind, 50),
      Lab.percent((Lab.num(Lab.list(levels[deepest])[kind.index]) || 0) / kind.total, 2)]);
    const x = "level of the book, 0 is the inside";
    return [Lab.figure("Where events act", "Price levels of the same side that are better than the " +
      "event's price, before the event; of a replace, its new price. An add that improves the inside " +
      "has level 0. " + note, Lab.lines({ height: 340, series,
      x: { title: x, choices: [{ kind: "whole", title: x }] },
      y: { name: "events", title: "", choices: [
        { name: "share", kind: "logCount", title: "% of the events of the kind, logarithmic" },
        { name: "up to the level", kind: "share", key: "share", title: "share up to the level" },
        { name: "number", kind: "logCount", key: "count", title: "events, logarithmic" }] } })),
    Lab.table(heads, rows, {})];
  }

  // A scale as the corners of a stepped line: the last bin gets its width from a point behind it.
  // `floor` is where a logarithmic axis has 0.
  function steps(scale, counts, x, tip, floor) {
    const [begins, bin] = [Lab.num(scale.begins_ns) || 0, Lab.num(scale.bin_ns) || 1];
    const points = counts.map((count, index) => ({ x: x(begins + index * bin), y: count,
      log: count > 0 ? count : floor, mark: false, tip: tip(begins + index * bin, count) }));
    const last = points[points.length - 1];
    return [...points, { ...last, x: x(begins + counts.length * bin), tip: null }];
  }
  // 09:30:00.123450, with as many places as a scale needs.
  function clock(ns, places) {
    const days = Math.floor(ns / (86400 * second));
    const rest = String(Math.round(ns % second)).padStart(9, "0").slice(0, places);
    return (days > 0 ? "day " + (days + 1) + ", " : "") + Lab.clock(Math.floor(ns / second)) +
      (places > 0 ? "." + rest : "");
  }
  const length = (ns) => Lab.nsTick(ns).replace("60 s", "1 min");

  function dayScale(scale, title, what, next, extra) {
    const bin = Lab.num(scale.bin_ns) || second;
    const counts = Lab.numbers(scale.counts);
    const perSecond = counts.map((count) => (count * second) / bin);
    const x = (ns) => ns / second;
    // Half of one message in a bin.
    const floor = second / bin / 2;
    const tip = (words) => (ns, count) => [clock(ns, 0), Lab.digits(count, 5) + " " + words];
    const largest = Lab.numbers(scale.largest_second);
    const series = [{ name: "mean", style: Lab.style(0), path: "stepped",
      points: steps(scale, perSecond, x, tip(what + " a second"), floor) }];
    if (largest.length === counts.length && bin > second) {
      series.push({ name: "busiest second", style: Lab.style(1), path: "stepped",
        points: steps(scale, largest, x, tip(what + " in the busiest second"), floor) });
    }
    return Lab.figure(title, Lab.count(sum(counts)) + " " + what + " in bins of " + length(bin) +
      (counts.includes(0) ? ", of which empty ones are at the lower edge of a logarithmic axis" : "") +
      "." + extra, Lab.lines({ height: 250, series, uprights: next,
      x: { title: "time of day", choices: [{ kind: "clock", title: "time of day" }] },
      y: { name: "axis", title: "", choices: [
        { name: "logarithmic", kind: "logCount", key: "log", title: what + " a second, logarithmic" },
        { name: "linear", kind: "linear", fromZero: true, title: what + " a second" }] } }));
  }
  function zoomScale(scale, title, unit, next) {
    const counts = Lab.numbers(scale.counts);
    const begins = Lab.num(scale.begins_ns);
    if (counts.length === 0 || begins === null) return null;
    const bin = Lab.num(scale.bin_ns) || 1;
    const [size, name, places] = unit;
    const x = (ns) => (ns - begins) / size;
    const from = clock(begins, places);
    const most = Math.max(...counts);
    const at = begins + counts.indexOf(most) * bin;
    const tip = (ns, count) => [clock(ns, 6), Lab.count(count) + " messages in " + length(bin)];
    const title_x = name + " after " + from;
    const title_y = "messages in " + length(bin);
    return Lab.figure(title, "From " + from + ": " + Lab.count(sum(counts)) + " messages in bins of " +
      length(bin) + ", the largest with " + Lab.count(most) + " at " + clock(at, 6) + ".",
    Lab.lines({ height: 210, legend: false, uprights: next.map((mark) => ({ ...mark, x: x(mark.x) })),
      series: [{ name: "messages", style: Lab.style(0), path: "stepped",
        points: steps(scale, counts, x, tip, 0.5) }],
      x: { title: title_x, choices: [{ kind: "linear", title: title_x }] },
      y: { name: "axis", title: "", choices: [
        { name: "linear", kind: "linear", fromZero: true, title: title_y },
        { name: "logarithmic", kind: "logCount", key: "log", title: title_y + ", logarithmic" }] } }));
  }
  function arrivals(record) {
    const scales = Lab.obj(record.arrivals);
    const [day, minute, one, finest] =
      ["day", "minute", "second", "finest"].map((name) => Lab.obj(scales[name]));
    if (Lab.numbers(day.counts).length === 0) return none("No message has a time.");
    const upright = (scale, text) => (Lab.num(scale.begins_ns) === null ? []
      : [{ x: scale.begins_ns, style: Lab.style(3), text, above: true }]);
    const days = upright(minute, "busiest minute")
      .map((mark) => ({ ...mark, x: mark.x / second }));
    const late = Lab.positive(scales.late);
    const untimed = Lab.positive(record.untimed);
    return [dayScale(day, "The day", "messages", days,
      (untimed ? " " + Lab.count(untimed) + " messages have no time of the day." : "") +
      (late ? " " + Lab.count(late) + " came more than a second after a later one, and are in this " +
        "plot only." : "")),
    zoomScale(minute, "Its busiest minute", [second, "s", 0], upright(one, "busiest second")),
    zoomScale(one, "The busiest second of that minute", [1e6, "ms", 0],
      upright(finest, "busiest 10 ms")),
    zoomScale(finest, "The busiest 10 ms of that second", [1e3, "\u00b5s", 3], [])];
  }

  // Changes of the inside by themselves.
  function inside(record) {
    const one = Lab.obj(record.inside);
    const rate = Lab.obj(one.rate);
    if (Lab.numbers(rate.counts).length === 0) return none("No message changes the inside.");
    const names = { stock: "of the same stock", any: "of any stock" };
    const series = Object.entries(names).map(([name, words], index) => {
      const bins = Lab.list(Lab.obj(one.gaps)[name]).map(Lab.list);
      const all = sum(bins.map((bin) => Lab.num(bin[2]) || 0));
      let before = 0;
      const points = bins.filter((bin) => Lab.positive(bin[1]) !== null).map((bin) => {
        const count = Lab.num(bin[2]) || 0;
        before += count;
        // A time of 0 has no place on the axis: its bin is drawn below the first one.
        const low = Lab.positive(bin[0]) || 0.5;
        // Bins differ in width on this axis, so the height is for a doubling.
        return { x: low, y: (100 * count) / all / Math.log2(bin[1] / low), mark: false,
          share: before / all, tip: [Lab.num(bin[0]) === 0 ? "0 ns" : Lab.nsTick(Lab.num(bin[0])) +
            " to " + Lab.nsTick(bin[1]), Lab.count(count) + " times, " +
            Lab.percent(count / all, 2), Lab.percent(before / all, 2) + " up to the end of the bin"] };
      });
      const last = Lab.list(bins[bins.length - 1]);
      if (points.length > 0) points.push({ x: Lab.num(last[1]), y: 0, share: 1, mark: false });
      return { name: words + " (" + Lab.count(all) + ")", style: Lab.style(index), path: "stepped",
        points };
    }).filter(({ points }) => points.length > 0);
    const x = "time from one change of the inside to the next, logarithmic";
    const zero = series.some(({ points }) => points[0].x < 1)
      ? " The bin below 1 ns has changes with equal timestamps." : "";
    return [dayScale(rate, "Rate", "changes", [], ""),
      series.length === 0 ? none("The inside changes once.")
        : Lab.figure("Times between changes", "In two bins for each doubling; the area is the share of the times." + zero,
          Lab.lines({ height: 300, series,
            x: { title: x, choices: [{ kind: "logNs", title: x }] },
            y: { name: "times", title: "", choices: [
              { name: "density", kind: "linear", fromZero: true, title: "% of the times, for a doubling" },
              { name: "up to the bin", kind: "share", key: "share",
                title: "share up to the bin" }] } }))];
  }

  function facts(record) {
    const selection = Lab.obj(record.selection);
    const symbols = Lab.list(selection.symbols).map(String);
    const span = [selection.from_ns, selection.until_ns].map(Lab.num);
    const ends = span.map((ns, index) => (ns === null ? ["the start", "the end"][index]
      : clock(ns, 9)));
    const pairs = [["input", record.name], ["kind", record.input], ["date", record.date],
      ["messages", Lab.count(record.messages)], ["stocks", Lab.count(record.stocks)],
      ["inside changes", Lab.count(record.inside_changes)],
      ["events that did not fit the books", Lab.count(record.anomalies)],
      ["selected stocks", symbols.length > 0 ? symbols.join(", ") : null],
      ["selected time", span.some((ns) => ns !== null) ? ends.join(" to ") : null],
      ["nanotape", record.nanotape]];
    return Lab.el("section", { class: "card" }, Lab.facts(pairs
      .filter(([, value]) => value !== null && value !== undefined && value !== Lab.none)
      .map(([name, value]) => [name, String(value)])));
  }
  function section(title, id, record, make) {
    return [Lab.el("h2", { id }, title),
      Lab.el("section", { class: "card" }, Lab.part(() => make(record)))];
  }

  for (const record of Lab.records().map(Lab.obj)) {
    main.append(Lab.part(() => facts(record)), ...[
      section("Activity by stock", "activity", record, (one) => [activity(one), concentration(one)]),
      section("Rates against totals", "rates", record, rates),
      section("Event depth", "depth", record, depth),
      section("Messages in time, at four scales", "arrivals", record, arrivals),
      section("Changes of the inside", "inside", record, inside)].flat());
  }
  Lab.drawPlots();
})();
