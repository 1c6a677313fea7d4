// The page of queues: the delay of a message against the time that each message takes, the delay
// over the day, and the table of all service times.
"use strict";

(function () {
  const main = document.querySelector("main");
  const records = Lab.records();
  const labels = Lab.labels(records);
  const minute = 60 * 1000 * 1000 * 1000;
  const day = 24 * 60 * minute;

  // A moment as a time of day, and in UTC if it is a number since 1970.
  function time(ns) {
    if (Lab.num(ns) === null) return Lab.none;
    const text = new Date(Math.min(ns / 1e6, 8.64e15)).toISOString();
    return ns < day ? text.slice(11, 23) : text;
  }
  function answers(record) {
    return Lab.list(record.answers).map(Lab.obj).map((answer) => {
      const good = Lab.num(answer.longest_good_ns);
      const bad = Lab.num(answer.shortest_bad_ns);
      const question = Lab.num(answer.ring) !== null
        ? "no drop in a ring of " + Lab.count(answer.ring)
        : "p" + Lab.digits(100 * answer.quantile, 7) + " at or below " +
          Lab.ns(Lab.num(answer.limit_ns));
      if (bad === null) return question + ": " + Lab.count(good) + " ns a message is short enough";
      if (bad === 1) return question + ": 1 ns a message is too long";
      const upTo = bad - good > 1 ? " to " + Lab.count(bad - 1) : "";
      return question + " needs at most " + Lab.count(good) + upTo + " ns a message";
    });
  }

  function byService(services) {
    const names = Object.keys(Lab.obj(Lab.obj(services[0]).quantiles));
    const line = (name, index, value) => ({ name, style: Lab.style(index), path: "line",
      points: services.map((service) => ({ x: Lab.num(service.service_ns), y: value(service),
        tip: [name, Lab.ns(Lab.num(service.service_ns)) + " a message", Lab.ns(value(service))] }))
        .filter(({ x, y }) => x !== null && y !== null) });
    const series = [line("largest", 0, (service) => Lab.num(service.largest_delay_ns)),
      ...names.map((name, index) => line(name, index + 1,
        (service) => Lab.num(Lab.obj(service.quantiles)[name])))];
    const axis = (title) => ({ title, choices: [{ kind: "logNs", title: title + ", logarithmic" }] });
    return Lab.figure("Delay against service time", "The delay is from the arrival of a message to " +
      "the end of its processing.", Lab.lines({ height: 360, series, x: axis("service time"),
      y: axis("delay") }));
  }
  function byWindow(record) {
    const windows = Lab.list(record.windows).map(Lab.obj);
    if (windows.length === 0) return null;
    const start = Lab.num(windows[0].start_ns) < day ? 0 : Lab.num(windows[0].start_ns);
    const points = windows.map((window) => ({ x: (window.start_ns - start) / minute,
      y: Lab.num(window.largest_delay_ns), queue: Lab.num(window.largest_queue),
      tip: [time(window.start_ns), Lab.ns(Lab.num(window.largest_delay_ns)),
        "queue " + Lab.count(window.largest_queue), Lab.count(window.messages) + " messages"] }))
      .filter(({ x, y }) => Lab.num(x) !== null && y !== null);
    const title = start === 0 ? "minutes since midnight" : "minutes since the first window";
    const series = [{ name: "largest of the window", style: Lab.style(0), path: "line", points }];
    return Lab.figure("Windows of " + Lab.ns(Lab.num(record.window_ns)) + " at " +
      Lab.ns(Lab.num(record.windows_at_ns)) + " a message", "Only windows with a message.",
      Lab.lines({ height: 300, series, x: { title, choices: [{ kind: "linear", title }] },
        y: { name: "largest", title: "largest", choices: [
          { name: "delay", kind: "logNs", title: "largest delay, logarithmic" },
          { name: "queue", kind: "logCount", key: "queue", title: "largest queue, logarithmic" }] } }));
  }
  function table(services) {
    const names = Object.keys(Lab.obj(Lab.obj(services[0]).quantiles));
    const heads = ["service", ...names, "largest", "queue", "growth", "worst window", "catch-up",
      "utilisation", "overloaded windows"].map((name) => [name, "number"]);
    const ns = (value) => (Lab.num(value) === null ? Lab.none : Lab.ns(value));
    const number = (value, digits) => (Lab.num(value) === null ? Lab.none : Lab.digits(value, digits));
    return Lab.table(heads, services.map((service) => [ns(service.service_ns),
      ...names.map((name) => ns(Lab.obj(service.quantiles)[name])), ns(service.largest_delay_ns),
      Lab.count(service.largest_queue), number(service.growth, 3), time(service.worst_window_ns),
      ns(service.catch_up_ns), number(service.utilisation, 3),
      Lab.count(service.overloaded_windows)]), { class: "study" });
  }

  function capacity(record) {
    const one = Lab.obj(record.capacity);
    const speeds = Lab.list(one.speeds).map(Lab.obj);
    if (speeds.length === 0) return null;
    const first = Lab.obj(one.first);
    const heads = ["speed", "as service time", "dropped", "bursts that drop"]
      .map((name) => [name, "number"]);
    const rows = speeds.map((speed) => [Lab.digits(speed.speed, 5), Lab.ns(Lab.num(speed.service_ns)),
      Lab.count(speed.dropped), Lab.count(speed.bursts)]);
    return [Lab.el("h4", {}, "Ring of " + Lab.count(one.ring) + " at " +
      Lab.ns(Lab.num(one.service_ns)) + " a message"),
    Lab.el("p", {}, "At " + Lab.digits(one.drops, 5) + " times the speed of this input you drop: " +
      "first at " + time(first.dropped_ns) + ", message " + Lab.count(first.message) +
      " of the burst from " + time(first.burst_ns) + ". At " + Lab.digits(one.holds, 5) +
      " times you drop none."),
    Lab.table(heads, rows, { class: "capacity" })];
  }

  function bursts(record) {
    const all = Lab.list(record.bursts).map(Lab.obj).slice(0, 20);
    if (all.length === 0) return null;
    const heads = ["burst", "from", "messages", "largest delay", "ring drops at"]
      .map((name) => [name, "number"]);
    return [Lab.el("h4", {}, "Worst bursts at " + Lab.ns(Lab.num(record.windows_at_ns)) + " a message"),
      Lab.table(heads, all.map((burst, index) => [String(index + 1), time(burst.first_ns),
        Lab.count(burst.messages), Lab.ns(Lab.num(burst.largest_delay_ns)),
        Lab.num(burst.ring_speed) === null ? Lab.none : Lab.digits(burst.ring_speed, 3) + " times"]),
      { class: "bursts" })];
  }
  function receiver(record) {
    const one = Lab.obj(record.receiver);
    const cores = Lab.list(one.cores).map(Lab.obj);
    if (cores.length === 0) return null;
    const heads = ["core", "messages", "batches", "dropped", "largest delay", "largest queue", "busy"]
      .map((name) => [name, "number"]);
    return [Lab.el("h4", {}, "Receiver: " + Lab.count(one.messages) + " processed, " +
      Lab.count(one.dropped) + " dropped"),
    Lab.table(heads, cores.map((core, index) => [String(index), Lab.count(core.messages),
      Lab.count(core.batches),
      Lab.count(core.dropped), Lab.ns(Lab.num(core.largest_delay_ns)),
      Lab.count(core.largest_queue), Lab.ns(Lab.num(core.busy_ns))]), { class: "receiver" }),
    ...links(one)];
  }
  function links(one) {
    const all = Lab.list(one.links).map(Lab.obj);
    if (all.length === 0) return [];
    const heads = ["link", "messages", "dropped", "largest delay", "at", "backlog bytes", "at",
      "backlog messages", "at", "busy"].map((name) => [name, "number"]);
    const peak = (value, show) => [show(Lab.num(Lab.obj(value).value)), time(Lab.obj(value).at_ns)];
    return [Lab.el("p", {}, "Bottleneck (largest delay): " + String(one.bottleneck)),
      Lab.table(heads, all.map((link) => [String(link.name), Lab.count(link.messages),
        Lab.count(link.dropped), ...peak(link.largest_delay_ns, Lab.ns),
        ...peak(link.largest_bytes, Lab.count), ...peak(link.largest_messages, Lab.count),
        Lab.ns(Lab.num(link.busy_ns))]), { class: "links" })];
  }

  // The delays that one message in so many reaches: measured, and as each model predicts them.
  function curves(comparison, title) {
    const all = [comparison.measured, ...Lab.list(comparison.predicted)].map(Lab.obj);
    const series = all.map((one, index) => ({ name: String(one.name), style: Lab.style(index),
      path: "line", points: Lab.list(one.curve).map((point) => ({ x: Lab.num(Lab.list(point)[0]),
        y: Lab.num(Lab.list(point)[1]) })).filter(({ x, y }) => x > 0 && y > 0)
        .map(({ x, y }) => ({ x, y, tip: [String(one.name), "one message in " + Lab.count(x),
          Lab.ns(y)] })) }));
    return Lab.figure(title, Lab.count(comparison.messages) + " messages.", Lab.lines({ height: 300,
      series, x: { title: "one message in", choices: [{ kind: "logCount", title: "one message in" }] },
      y: { title: "delay", choices: [{ kind: "logNs", title: "delay, logarithmic" }] } }));
  }
  function comparison(value, name) {
    const one = Lab.obj(value);
    const measured = Lab.obj(one.measured);
    const fields = ["p50", "p99", "p99.9", "largest_ns"];
    const heads = [name, "p50", "p99", "p99.9", "largest"].map((title) => [title, "number"]);
    const row = (delays) => [String(delays.name), ...fields.map((field) => {
      const ns = Lab.num(delays[field]);
      const is = Lab.num(measured[field]);
      if (ns === null || is === null) return Lab.none;
      return delays === measured || is === 0 ? Lab.ns(ns)
        : Lab.ns(ns) + " (" + (ns < is ? "" : "+") + Lab.digits(100 * (ns / is - 1), 3) + "%)";
    })];
    return Lab.table(heads, [measured, ...Lab.list(one.predicted).map(Lab.obj)].map(row),
      { class: "validated" });
  }
  function validation(record) {
    const parts = Lab.list(Lab.obj(record.validation).parts).map(Lab.obj);
    return parts.flatMap((part) => {
      const causes = Lab.list(part.causes).map(Lab.obj).map((one) => Lab.count(one.count) + " " +
        String(one.cause) + " (" + Lab.ns(Lab.num(one.ns)) + ")");
      return [Lab.el("h4", {}, "Predicted against measured: " + String(part.name)),
        Lab.el("p", {}, Lab.count(part.messages) + " messages from " + time(part.first_ns) + " to " +
          time(part.last_ns) + ", replayed " + Lab.count(part.replays) + " times. " +
          Lab.digits(100 * part.idle_share, 4) + "% of them find the plant idle; " +
          Lab.digits(100 * part.interrupted_share, 3) + "% were interrupted" +
          (causes.length > 0 ? ": " + causes.join(", ") : "") + "."),
        ...(Lab.num(Lab.obj(part.quiet).messages) === null ? []
          : [curves(Lab.obj(part.quiet), "Quiet messages"), comparison(part.quiet, "quiet")]),
        curves(Lab.obj(part.all), "All messages"), comparison(part.all, "all")];
    });
  }

  function card(record, index) {
    const services = Lab.list(record.services).map(Lab.obj);
    const clock = record.arrivals === "received" ? "receive times" : "exchange times";
    return Lab.card({ class: "study", id: "queue-" + index },
      [Lab.el("h3", {}, labels[index]), " ", Lab.el("span", { class: "headline" },
        Lab.count(record.messages) + " messages, " + clock)], true, () => [
        Lab.el("ul", {}, answers(record).map((line) => Lab.el("li", {}, line))),
        Lab.part(() => byService(services)),
        Lab.part(() => byWindow(record)),
        Lab.part(() => capacity(record)),
        Lab.part(() => bursts(record)),
        Lab.part(() => receiver(record)),
        Lab.part(() => validation(record)),
        Lab.part(() => table(services))]);
  }

  main.append(...records.map(card));
  if (records.length > 0) Lab.drawPlots();
})();
