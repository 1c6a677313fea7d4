// The page of slow messages: the totals by cause, and the slowest messages with the stages of all
// messages between their arrival and their end.
"use strict";

(function () {
  const main = document.querySelector("main");
  const records = Lab.records().filter((record) => record.kind === "explain");
  const labels = Lab.labels(records);

  function totals(title, all, whole) {
    const rows = Lab.list(all).map(Lab.obj).map((one) => [Lab.text(one.what) || Lab.none,
      Lab.count(one.messages), Lab.ns(Lab.num(one.ns)),
      whole > 0 && Lab.num(one.ns) !== null ? Lab.percent(one.ns / whole) : Lab.none]);
    const heads = [[title, ""], ["messages", "number"], ["time", "number"], ["share", "number"]];
    return Lab.table(heads, rows, { class: "causes" });
  }

  // The stages of a message as bars over time: its own, and those that it waited for.
  const width = 900;
  const row = 16;
  function timeline(one) {
    const total = Lab.positive(one.total_ns);
    const spans = Lab.list(one.spans).map(Lab.obj)
      .filter((span) => Lab.num(span.from_ns) !== null && Lab.num(span.to_ns) !== null);
    if (total === null || spans.length === 0) return null;
    const sites = [...new Set(spans.map((span) => String(span.site)))];
    const left = 140;
    const scale = (ns) => left + (width - left) * Math.min(Math.max(ns / total, 0), 1);
    const bars = spans.map((span) => {
      const x = scale(span.from_ns);
      const own = span.message === one.message;
      return Lab.svg("rect", { x, y: row * sites.indexOf(String(span.site)) + 2,
        width: Math.max(scale(span.to_ns) - x, 0.5), height: row - 4,
        fill: own ? "var(--series-1)" : "var(--series-2)" },
      Lab.svg("title", {}, String(span.site) + " of message " + Lab.count(Lab.num(span.message)) +
        ": " + Lab.ns(span.to_ns - span.from_ns)));
    });
    const names = sites.map((site, index) => Lab.svg("text", { x: 0, y: row * index + row - 4,
      "font-size": 12, fill: "currentColor" }, site));
    const height = row * sites.length;
    return Lab.svg("svg", { class: "timeline", viewBox: "0 0 " + width + " " + height, width: "100%",
      role: "img", "aria-label": "stages of message " + Lab.count(Lab.num(one.message)) },
    names, bars);
  }
  function interruptions(one) {
    const all = Lab.list(one.interruptions).map(Lab.obj).filter((share) => Lab.positive(share.ns));
    if (all.length === 0) return null;
    const heads = [["interruption", ""], ["time", "number"], ["in message", "number"],
      ["processor", "number"]];
    return Lab.table(heads, all.map((share) => [Lab.text(share.cause) || Lab.none,
      Lab.ns(Lab.num(share.ns)), Lab.count(Lab.num(share.message)), Lab.count(Lab.num(share.cpu))]),
    { class: "interruptions" });
  }
  function message(one) {
    const stages = Lab.list(one.stages).map(Lab.obj).map((stage) => [Lab.text(stage.site) || Lab.none,
      Lab.ns(Lab.num(stage.ns)), Lab.ns(Lab.num(stage.usual_ns))]);
    const left = Lab.positive(one.spans_left_out);
    return [Lab.el("h4", {}, "Message " + Lab.count(Lab.num(one.message)) + ": " +
      Lab.ns(Lab.num(one.total_ns)) + ", most of it " + (Lab.text(one.main) || Lab.none)),
    Lab.el("p", {}, "Waited " + Lab.ns(Lab.num(one.waited_ns)) + ", usual work " +
      Lab.ns(Lab.num(one.usual_ns)) + ", unexplained " + Lab.ns(Lab.num(one.unexplained_ns)) +
      ", not traced " + Lab.ns(Lab.num(one.not_traced_ns)) + ", residual " +
      Lab.ns(Lab.num(one.residual_ns)) + "."),
    interruptions(one), timeline(one),
    left === null ? null : Lab.el("p", {}, Lab.count(left) + " stages in the middle are not shown."),
    Lab.table([["own stage", ""], ["took", "number"], ["usually", "number"]], stages,
      { class: "stages" })];
  }

  function card(record, index) {
    const slow = Lab.num(record.slow);
    const whole = Lab.num(record.total_ns) || 0;
    const summary = [Lab.el("b", {}, labels[index]), " ", Lab.count(slow) + " of " +
      Lab.count(Lab.num(record.messages)) + " messages took more than " +
      Lab.ns(Lab.num(record.above_ns))];
    return Lab.card({ class: "explain" }, summary, true, () => [
      Lab.positive(record.lost_spans) === null ? null : Lab.el("p", { class: "banner" },
        Lab.count(record.lost_spans) + " spans were overwritten before they were read."),
      Lab.kernelEvents(record) === null ? null
        : Lab.el("p", { class: "banner" }, Lab.kernelEvents(record) + "."),
      totals("most of a message's time", record.by_main, whole),
      totals("part of the time", record.by_part, whole),
      Lab.el("p", {}, "The largest difference between a message's time and the sum of its parts is " +
        Lab.ns(Lab.num(record.largest_residual_ns)) + "."),
      Lab.list(record.worst).map(Lab.obj).map(message),
    ]);
  }
  records.forEach((record, index) => main.append(card(record, index)));
}());
