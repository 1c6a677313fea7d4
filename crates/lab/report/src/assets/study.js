// The page of studies: a question about this machine, what it answers, the plots and the table.
"use strict";

(function () {
  const main = document.querySelector("main");
  const records = Lab.records();
  const labels = Lab.labels(records);

  // A cell of the table, in the unit of its column.
  function cell(value, unit) {
    if (Lab.num(value) === null) return typeof value === "string" ? value : Lab.none;
    if (unit === "ns") return Lab.ns(value);
    if (unit === "%") return Lab.digits(value, 3) + "%";
    if (unit === "x") return "\u00d7" + Lab.digits(value, 3);
    return unit === "count" ? Lab.count(value) : Lab.digits(value, 4);
  }
  function table(record) {
    const columns = Lab.list(record.columns).map(Lab.obj);
    const rows = Lab.list(record.rows).filter(Array.isArray);
    if (columns.length === 0 || rows.length === 0) return null;
    const heads = columns.map((column, index) =>
      [Lab.text(column.name) || "no name", index > 0 && Lab.text(column.unit) ? "number" : ""]);
    return Lab.table(heads, rows.map((row) => columns.map((column, index) =>
      cell(row[index], column.unit))), { class: "study" });
  }

  // An axis of the record as one of ours; words have places of their own, in their order.
  function axisOf(axis, words) {
    const { label, unit, scale } = Lab.obj(axis);
    const title = Lab.text(label) || "";
    const log = scale === "log";
    if (words !== null) return { title, choices: [{ kind: "words", words, title }] };
    const kind = unit === "ns" ? (log ? "logNs" : "ns") : log ? "logCount" : "linear";
    const full = title + (Lab.text(unit) && unit !== "ns" ? ", " + unit : "");
    return { title: full, choices: [{ kind, title: full + (log ? ", logarithmic" : "") }] };
  }
  function plot(one) {
    const all = Lab.list(one.series).map(Lab.obj);
    const isWords = Lab.obj(one.x).scale === "words";
    const pointsOf = (series) => Lab.list(series.points).filter(Array.isArray);
    const words = isWords ? [...new Set(all.flatMap((series) =>
      pointsOf(series).map((point) => String(point[0]))))] : null;
    const isNs = Lab.obj(one.y).unit === "ns";
    const shown = (value) => (isNs ? Lab.ns(value) : Lab.digits(value, 4));
    const series = all.map((series, index) => {
      const [low, high] = [Lab.list(series.low), Lab.list(series.high)];
      const name = Lab.text(series.name) || "no name";
      // Several series of words stand beside each other.
      const aside = all.length > 1 ? (index - (all.length - 1) / 2) * 0.5 / all.length : 0;
      const points = pointsOf(series).map(([x, y], at) => ({
        x: isWords ? words.indexOf(String(x)) + aside : Lab.num(x), y: Lab.num(y),
        low: Lab.num(low[at]), high: Lab.num(high[at]),
        tip: [name, isWords ? String(x) : Lab.digits(x, 5), shown(y),
          Lab.num(low[at]) === null ? null : shown(low[at]) + " to " + shown(high[at])]
          .filter(Boolean) }));
      return { name, style: Lab.style(index), path: isWords ? null : "line",
        points: points.filter(({ x, y }) => x !== null && y !== null) };
    });
    return Lab.figure(Lab.text(one.title) || "Plot", "Bars, where there are some, are quartiles " +
      "or intervals.", Lab.lines({ height: 300, series, x: axisOf(one.x, words),
      y: axisOf(one.y, null) }));
  }

  function card(record, index) {
    const list = (title, lines) => (lines.length === 0 ? null
      : [title === null ? null : Lab.el("h4", {}, title),
        Lab.el("ul", {}, lines.map((line) => Lab.el("li", {}, line)))]);
    return Lab.card({ class: "study", id: "study-" + index },
      [Lab.el("h3", {}, labels[index]), " ", Lab.el("span", { class: "headline" },
        Lab.text(record.question) || "no question"), " ", Lab.noiseBadge(record)], true, () => [
        Lab.el("div", { class: "words" }, list(null, Lab.list(record.answers).map(String))),
        ...Lab.list(record.plots).map(Lab.obj).map((one) => Lab.part(() => plot(one))),
        Lab.part(() => table(record)),
        list("Not measured", Lab.list(record.not_measured).map(String)),
        Lab.text(record.method) === null ? null : [Lab.el("h4", {}, "Method"),
          Lab.el("p", {}, record.method)],
        Lab.environment(record)]);
  }

  main.append(...records.map(card));
  if (records.length > 0) Lab.drawPlots();
})();
