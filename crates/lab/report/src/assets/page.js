// What both pages share: reading records that may lack anything, text that cannot become markup,
// numbers with units, and the places where errors are shown.
//
// Every text of a record goes through textContent or an attribute, never through innerHTML.
"use strict";

const Lab = {};

(function () {
  // An error must be seen, by a person and by the test that searches for it in the document.
  Lab.failed = function (what) {
    const box = document.getElementById("errors");
    box.hidden = false;
    box.append(Lab.el("p", {}, String(what)));
  };
  window.onerror = function (message, source, line) {
    Lab.failed(message + " (line " + line + ")");
  };
  window.addEventListener("unhandledrejection", (event) => Lab.failed(event.reason));
  document.addEventListener("securitypolicyviolation", (event) => {
    Lab.failed("refused: " + event.violatedDirective + " " + event.blockedURI);
  });

  // Fields are null where they could not be read; nothing below may depend on one being there.
  Lab.num = (value) => (typeof value === "number" && isFinite(value) ? value : null);
  Lab.positive = (value) => (Lab.num(value) !== null && value > 0 ? value : null);
  Lab.text = (value) => (typeof value === "string" && value !== "" ? value : null);
  Lab.list = (value) => (Array.isArray(value) ? value : []);
  Lab.obj = (value) =>
    value !== null && typeof value === "object" && !Array.isArray(value) ? value : {};
  Lab.numbers = (value) => Lab.list(value).map(Lab.num).filter((number) => number !== null);
  Lab.nameOf = (record) => Lab.text(record.name) || "(no name)";
  Lab.seconds = function (record) {
    const milliseconds = Date.parse(Lab.text(record.time) || "");
    return isFinite(milliseconds) ? milliseconds / 1000 : null;
  };

  // Elements. Children are nodes or text; null children are left out.
  function build(node, attributes, children) {
    for (const [name, value] of Object.entries(attributes || {})) {
      if (value !== null && value !== undefined && value !== false) node.setAttribute(name, value);
    }
    const some = (child) => child !== null && child !== undefined;
    node.append(...children.flat(Infinity).filter(some));
    return node;
  }
  Lab.el = (tag, attributes, ...children) =>
    build(document.createElement(tag), attributes, children);
  Lab.svg = (tag, attributes, ...children) =>
    build(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);

  // Numbers. `none` is what stands where a field is null.
  const none = "\u2013";
  const minus = (text) => text.replace("-", "\u2212");
  Lab.none = none;
  Lab.digits = function (value, digits) {
    if (Lab.num(value) === null) return none;
    if (value === 0) return "0";
    const size = Math.floor(Math.log10(Math.abs(value)));
    if (size >= 12 || size < -9) return minus(value.toExponential(2));
    const places = Math.min(12, Math.max(0, digits - 1 - size));
    return minus(value.toLocaleString("en-US", {
      maximumFractionDigits: places,
    }));
  };
  Lab.count = (value) =>
    Lab.num(value) === null ? none : minus(value.toLocaleString("en-US"));
  Lab.plain = (value) =>
    minus(value.toLocaleString("en-US", { maximumSignificantDigits: 6 }));
  const units = [[1e9, "s"], [1e6, "ms"], [1e3, "\u00b5s"], [1, "ns"], [1e-3, "ps"]];
  function unitOf(value) {
    return units.find(([size]) => Math.abs(value) >= size) || units[units.length - 1];
  }
  // 1234.5 is "1.235 us": four digits always, so that columns and intervals can be compared.
  Lab.ns = function (value) {
    if (Lab.num(value) === null) return none;
    if (value === 0) return "0 ns";
    const [size, unit] = unitOf(value);
    const scaled = value / size;
    const whole = Math.floor(Math.log10(Math.abs(scaled)));
    const places = Math.min(9, Math.max(0, 3 - whole));
    return minus(scaled.toLocaleString("en-US", { minimumFractionDigits: places,
      maximumFractionDigits: places })) + "\u00a0" + unit;
  };
  Lab.nsTick = function (value) {
    if (value === 0) return "0";
    const [size, unit] = unitOf(value);
    return Lab.plain(value / size) + " " + unit;
  };
  Lab.nsRange = (low, high) =>
    Lab.num(low) === null || Lab.num(high) === null ? none : Lab.ns(low) + " to " + Lab.ns(high);
  Lab.percent = function (share, places) {
    if (Lab.num(share) === null) return none;
    return minus((share * 100).toFixed(places === undefined ? 1 : places)) + "%";
  };
  // A ratio as a change: 1.031 is "+3.1%"; doublings and more read better as a factor.
  Lab.change = function (ratio) {
    if (Lab.num(ratio) === null) return none;
    if (ratio >= 2 || ratio <= 0.5) return "\u00d7" + Lab.digits(ratio, 3);
    const percent = (ratio - 1) * 100;
    const places = Math.abs(percent) < 10 ? 2 : 1;
    return (percent > 0 ? "+" : "") + minus(percent.toFixed(places)) + "%";
  };
  Lab.changeRange = (low, high) =>
    Lab.num(low) === null || Lab.num(high) === null
      ? none
      : Lab.change(low) + " to " + Lab.change(high);
  Lab.probability = function (value) {
    if (Lab.num(value) === null) return none;
    return value < 0.0001 ? "< 0.0001" : value.toFixed(value < 0.1 ? 4 : 2);
  };
  Lab.when = function (record) {
    const text = Lab.text(record.time);
    return text === null ? "time unknown" : text.replace("T", " ").replace(/Z$/, " UTC");
  };
  Lab.short = (revision) =>
    /^[0-9a-f]{12,}$/.test(revision) ? revision.slice(0, 10) : revision;

  // Noise and environment.
  Lab.noise = (record) => Lab.list(record.noise).map(String);
  Lab.isNoisy = (record) => Lab.noise(record).length > 0;
  Lab.noiseBadge = function (record) {
    const noise = Lab.noise(record);
    if (noise.length > 0) {
      return Lab.el("span", { class: "badge noisy", title: noise.join("; ") }, "noisy");
    }
    return Array.isArray(record.noise)
      ? Lab.el("span", { class: "badge quiet" }, "quiet")
      : Lab.el("span", { class: "badge" }, "noise unknown");
  };
  // What was lost of the events of the kernel, or null.
  Lab.kernelEvents = function (record) {
    const events = Lab.obj(record.kernel_events);
    const lost = Lab.positive(events.lost);
    return lost === null ? null : Lab.count(lost) + " events of the kernel were lost (overrun " +
      Lab.count(Lab.num(events.overrun)) + ", dropped " + Lab.count(Lab.num(events.dropped)) +
      ", not kept " + Lab.count(Lab.num(events.not_kept)) + "), beside " +
      Lab.count(Lab.num(events.read)) + " that were read";
  };
  Lab.machine = function (record) {
    const environment = Lab.obj(record.environment);
    const host = Lab.text(environment.host) || "unknown host";
    return host + ", " + (Lab.text(environment.cpu) || "unknown processor");
  };
  Lab.revision = function (record) {
    const environment = Lab.obj(record.environment);
    const revision = Lab.text(environment.revision);
    if (revision === null) return "unknown revision";
    return Lab.short(revision) + (environment.dirty === true ? " with changes" : "");
  };

  const shares = ["stolen", "foreign"];
  function shown(name, value) {
    if (value === null || value === undefined || value === "") return "not known";
    if (typeof value === "boolean") return value ? "yes" : "no";
    if (Lab.num(value) !== null) {
      return shares.includes(name) ? Lab.percent(value, 2) : Lab.count(value);
    }
    return typeof value === "string" ? value : JSON.stringify(value);
  }
  // A list of name and value, in columns.
  Lab.facts = (pairs) =>
    Lab.el("dl", { class: "facts" }, pairs.map(([name, value]) =>
      Lab.el("div", {}, Lab.el("dt", {}, name), Lab.el("dd", {}, value))));
  Lab.environment = function (record) {
    const noise = Lab.noise(record);
    const clock = Lab.obj(record.clock);
    const stamp = [
      Lab.text(clock.source) || "not known",
      "one reading " + Lab.ns(Lab.num(clock.stamp_ns)),
      "resolution " + Lab.ns(Lab.num(clock.resolution_ns)),
    ].join(", ");
    const pairs = Object.entries(Lab.obj(record.environment))
      .map(([name, value]) => [name.replace(/_/g, " "), shown(name, value)]);
    return Lab.el("details", { class: "environment" },
      Lab.el("summary", {}, "Environment and noise: ", Lab.machine(record), " ",
        Lab.noiseBadge(record)),
      noise.length > 0
        ? Lab.el("ul", { class: "noise" }, noise.map((line) => Lab.el("li", {}, line)))
        : null,
      Lab.facts([["ended", Lab.when(record)], ["clock", stamp], ...pairs]));
  };

  // Tables: `columns` are [heading, class], rows are lists of children.
  Lab.table = function (columns, rows, attributes) {
    const head = columns.map(([name, kind]) => Lab.el("th", { class: kind, scope: "col" }, name));
    const body = rows.map((cells) => Lab.el("tr", {}, cells.map((cell, column) =>
      Lab.el(column === 0 ? "th" : "td",
        { class: columns[column][1], scope: column === 0 ? "row" : null }, cell))));
    return Lab.el("div", { class: "scroll" }, Lab.el("table", attributes,
      Lab.el("thead", {}, Lab.el("tr", {}, head)), Lab.el("tbody", {}, body)));
  };
  Lab.figure = (title, caption, ...children) =>
    Lab.el("figure", {}, Lab.el("figcaption", {}, Lab.el("b", {}, title), " ", caption),
      children);

  // A card that is folded away is made when it is opened or printed: a page of a hundred benchmarks
  // has hundreds of plots, of which a reader opens a few.
  const unmade = new Map();
  function unfold(details) {
    const make = unmade.get(details);
    if (make === undefined) return;
    unmade.delete(details);
    details.append(Lab.part(make));
    Lab.drawPlots();
  }
  Lab.card = function (attributes, summary, open, make) {
    const details = Lab.el("details", { ...attributes, class: "card " + attributes.class,
      open: open ? "" : null }, Lab.el("summary", {}, summary));
    if (open) details.append(Lab.part(make));
    else unmade.set(details, make);
    details.addEventListener("toggle", () => unfold(details));
    return details;
  };
  Lab.unfoldAll = () => document.querySelectorAll("details.card").forEach((details) => {
    unfold(details);
    details.open = true;
  });
  // A link into a folded card opens it.
  document.addEventListener("click", (event) => {
    const link = event.target instanceof Element ? event.target.closest("a[href^='#']") : null;
    const card = link && document.getElementById(link.getAttribute("href").slice(1));
    if (card && card.tagName === "DETAILS") card.open = true;
  });

  // Each part by itself: what fails is reported and the rest of the page is still there.
  Lab.part = function (make) {
    try {
      return Lab.el("div", {}, make());
    } catch (error) {
      Lab.failed(error.stack || error);
      return Lab.el("p", { class: "missing" }, "This part could not be drawn.");
    }
  };

  // Names as they are shown: records of one name are distinguished by revision, then by time.
  Lab.labels = function (records) {
    const names = records.map(Lab.nameOf);
    const once = (all, one) => all.filter((other) => other === one).length === 1;
    const finer = records.map((record, index) => names[index] + " @ " + Lab.revision(record));
    return records.map((record, index) => {
      if (once(names, names[index])) return names[index];
      if (once(finer, finer[index])) return finer[index];
      return names[index] + " @ " + Lab.when(record);
    });
  };

  Lab.records = () => JSON.parse(document.getElementById("records").textContent);
})();
