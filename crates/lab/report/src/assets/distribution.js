// Violin and box plots of latency, one row a benchmark, in SVG.
//
// The violin is the share of runs over the axis that is shown, smoothed with a Gaussian kernel in
// the units of that axis; the box and its marks are the record's own quantiles, never computed
// from the picture.
"use strict";

(function () {
  const rowHeight = 100;
  const left = 190;
  const right = 925;

  Lab.latency = function (record) {
    const latency = Lab.obj(record.latency);
    const quantiles = {};
    for (const [name, value] of Object.entries(Lab.obj(latency.quantiles))) {
      if (/^p[0-9.]+$/.test(name) && Lab.num(value) !== null) quantiles[name] = value;
    }
    const buckets = Lab.list(latency.distribution)
      .filter((bucket) => Array.isArray(bucket) && Lab.num(bucket[0]) !== null &&
        Lab.positive(bucket[1]) !== null)
      .map(([ns, count]) => [ns, count])
      .sort((one, other) => one[0] - other[0]);
    const runs = buckets.reduce((sum, bucket) => sum + bucket[1], 0);
    return { quantiles, buckets, runs, rate: Lab.num(latency.arrivals_per_second),
      intervals: Lab.obj(latency.intervals), unit: Lab.text(latency.unit) || "ns a run" };
  };
  Lab.hasLatency = function (record) {
    const { quantiles, buckets } = Lab.latency(record);
    return Object.keys(quantiles).length > 0 || buckets.length > 0;
  };
  Lab.quantileNames = (names) =>
    [...new Set(names)].sort((one, other) => Number(one.slice(1)) - Number(other.slice(1)));

  // The place below which `share` of the runs are.
  function placeAt(buckets, places, runs, share) {
    let below = 0;
    for (let index = 0; index < buckets.length; index++) {
      below += buckets[index][1];
      if (below >= share * runs) return places[index];
    }
    return places[places.length - 1];
  }
  // Density at `steps` places from the first to the last bucket, the highest being 1.
  function density(latency, axis) {
    const buckets = latency.buckets.filter(([ns]) => isFinite(axis.to(ns)));
    if (buckets.length < 2) return null;
    const places = buckets.map(([ns]) => axis.to(ns));
    const low = places[0];
    const high = places[places.length - 1];
    // Silverman's rule with the quartiles, which a long tail does not widen; no narrower than
    // what a pixel or two shows and than the buckets are apart where most runs are.
    const [p25, p50, p75] = [0.25, 0.5, 0.75]
      .map((share) => placeAt(buckets, places, latency.runs, share));
    const middle = Math.max(1, places.indexOf(p50));
    const apart = places[middle] - places[middle - 1];
    const rule = 0.9 * ((p75 - p25) / 1.34) * Math.pow(latency.runs, -0.2);
    const width = Math.max(rule, apart * 0.8, (axis.high - axis.low) / 450);
    const steps = 500;
    const heights = new Float64Array(steps + 1);
    const step = (high - low) / steps;
    buckets.forEach(([, count], index) => {
      const at = places[index];
      const first = Math.max(0, Math.floor((at - 4 * width - low) / step));
      const last = Math.min(steps, Math.ceil((at + 4 * width - low) / step));
      for (let place = first; place <= last; place++) {
        const z = (low + place * step - at) / width;
        heights[place] += count * Math.exp(-z * z / 2);
      }
    });
    const most = heights.reduce((one, other) => Math.max(one, other), 0);
    return Array.from(heights, (height, place) => [low + place * step, height / most]);
  }

  function violin(latency, axis, frame, y, style, noisy) {
    const whole = density(latency, axis);
    if (whole === null) return null;
    const shape = whole.filter(([at]) => at <= axis.high);
    const half = 33;
    const side = (sign) => shape.map(([at, height]) =>
      frame.place(axis.from(at)).toFixed(1) + "," + (y + sign * height * half).toFixed(1));
    return Lab.svg("polygon", { class: "violin" + (noisy ? " noisy" : ""),
      points: [...side(-1), ...side(1).reverse()].join(" "),
      style: "stroke:var(" + style.colour + ");fill:var(" + style.colour + ")" });
  }
  function box(latency, frame, y, style) {
    const { quantiles } = latency;
    const at = (name) => (frame.inside(quantiles[name]) ? frame.place(quantiles[name]) : null);
    const stroke = "stroke:var(" + style.colour + ")";
    const line = (x1, y1, x2, y2, width) =>
      Lab.svg("line", { x1, y1, x2, y2, style: stroke + ";stroke-width:" + width });
    const parts = [];
    const [p0, p25, p50, p75, p99] = ["p0", "p25", "p50", "p75", "p99"].map(at);
    const whisker = (from, to, tall) =>
      parts.push(line(from, y, to, y, 1.5), line(to, y - tall, to, y + tall, 1.5));
    if (p0 !== null && p25 !== null) whisker(p25, p0, 5);
    if (p75 !== null && p99 !== null) whisker(p75, p99, 7);
    if (p25 !== null && p75 !== null) {
      parts.push(Lab.svg("rect", { class: "box", x: p25, y: y - 9, width: Math.max(1, p75 - p25),
        height: 18, style: stroke }));
    }
    if (p50 !== null) parts.push(line(p50, y - 9, p50, y + 9, 3.5));
    for (const [name, tall] of [["p99.9", 5], ["p99.99", 3.5]]) {
      if (at(name) !== null) parts.push(line(at(name), y - tall, at(name), y + tall, 1.5));
    }
    if (at("p100") !== null) parts.push(Lab.mark("circle", at("p100"), y, 3, style.colour, true));
    // Names of the marks, from the left, where there is room for one.
    let free = -Infinity;
    for (const name of ["p50", "p99", "p99.9", "p99.99", "p100"]) {
      if (at(name) === null || at(name) < free) continue;
      parts.push(Lab.svg("text", { class: "small", x: at(name), y: y + 46,
        "text-anchor": "middle" }, name === "p100" ? "max" : name));
      free = at(name) + 40;
    }
    return parts;
  }

  // `rows` are { name, record, style }; rows without a distribution say why they have none.
  function drawRows(rows, kind, body) {
    const values = rows.flatMap(({ record }) => {
      const { quantiles, buckets } = Lab.latency(record);
      if (body && Lab.num(quantiles.p99) !== null) {
        return ["p0", "p25", "p99"].map((name) => quantiles[name]);
      }
      const all = [...Object.values(quantiles), ...buckets.map(([ns]) => ns)];
      return kind === "logNs" ? all.filter((ns) => ns > 0) : all;
    });
    const axis = Lab.axis(kind, values, 9);
    const bottom = 10 + rows.length * rowHeight;
    const frame = Lab.frame(axis, left, right, 10, bottom,
      "latency of one run, " + (kind === "logNs" ? "logarithmic" : "linear") +
      (body ? "; the slowest 1% of runs are not shown" : ""));
    const drawn = rows.map(({ name, record, style }, index) => {
      const y = 10 + (index + 0.5) * rowHeight;
      const latency = Lab.latency(record);
      const noisy = Lab.isNoisy(record);
      const how = !Lab.hasLatency(record) ? "" : latency.rate === null ? "one run after the other"
        : Lab.count(latency.rate) + " arrivals a second";
      const head = [
        Lab.label(name, left - 14, y - 4, 20, { class: "name", "text-anchor": "end" }),
        Lab.svg("text", { class: "small", x: left - 14, y: y + 12, "text-anchor": "end" }, how),
        noisy ? Lab.svg("text", { class: "small noisy", x: left - 14, y: y + 27,
          "text-anchor": "end" }, "noisy run: dashed outline") : null,
      ];
      if (values.length === 0 || !Lab.hasLatency(record)) {
        return Lab.svg("g", { class: "row" }, head, Lab.svg("text", { class: "small",
          x: left + 14, y: y + 4 }, "no distribution: a run is too short to be timed alone"));
      }
      const lines = Object.entries(latency.quantiles)
        .map(([quantile, ns]) => quantile + " " + Lab.ns(ns)).join("\n");
      return Lab.svg("g", { class: "row" }, head, Lab.svg("title", {}, name + "\n" + lines),
        violin(latency, axis, frame, y, style, noisy), box(latency, frame, y, style));
    });
    return Lab.svg("svg", { class: "shape distribution", viewBox: "0 0 940 " + (bottom + 46),
      role: "img", "aria-label": "Violin and box plot of latency" }, frame.node, drawn);
  }

  Lab.distribution = function (rows) {
    const holder = Lab.el("div", { class: "holder" }, drawRows(rows, "logNs"));
    const choices = [["logarithmic", "logNs"], ["linear", "ns"], ["linear, to p99", "ns", true]];
    const buttons = choices.map(([name, kind, body], index) => {
      const button = Lab.el("button", { type: "button", "aria-pressed": String(index === 0) },
        name);
      button.addEventListener("click", () => {
        buttons.forEach((other) => other.setAttribute("aria-pressed", String(other === button)));
        holder.replaceChildren(drawRows(rows, kind, body));
      });
      return button;
    });
    return [Lab.el("div", { class: "controls" },
      Lab.el("span", { class: "switch", role: "group" }, "Latency: ", buttons)), holder];
  };
  Lab.distributionCaption = "The shape is the share of runs, smoothed, each scaled to its own " +
    "highest point. Box: p25 to p75, thick line: median; whiskers: p0 and p99; short strokes: " +
    "p99.9 and p99.99; ring: maximum.";

  // Cumulative curves of the same rows.
  Lab.cumulative = function (rows) {
    const series = rows.map(({ name, record, style }) => {
      const { buckets, runs, quantiles } = Lab.latency(record);
      const marked = new Set(["p50", "p90", "p99", "p99.9", "p99.99"].map((quantile) => {
        const share = Number(quantile.slice(1)) / 100;
        let below = 0;
        return buckets.findIndex(([, count]) => (below += count) >= share * runs - 1e-9);
      }));
      marked.add(buckets.length - 1);
      let below = 0;
      const points = buckets.map(([ns, count], index) => {
        below += count;
        // The last run has no finite number of nines; it is drawn where all but one are.
        const share = Math.min(below / runs, runs > 1 ? 1 - 1 / runs : 0.5);
        return { x: ns, y: share, mark: marked.has(index), hollow: Lab.isNoisy(record),
          tip: [name, Lab.plain(Number((share * 100).toPrecision(6))) + "% of runs take at most",
            Lab.ns(ns) + (index + 1 === buckets.length ? " (maximum)" : "")] };
      });
      if (points.length > 0 && Lab.positive(quantiles.p0) !== null &&
        quantiles.p0 < points[0].x) {
        points.unshift({ x: quantiles.p0, y: 0, mark: false });
      }
      return { name, style, path: "stepped", hollow: Lab.isNoisy(record), points };
    });
    return Lab.lines({
      height: 320, series,
      x: { name: "Latency", title: "latency of one run", choices: [
        { name: "logarithmic", kind: "logNs", title: "latency of one run, logarithmic" },
        { name: "linear", kind: "ns", title: "latency of one run, linear" }] },
      y: { name: "Share", title: "share of runs", choices: [
        { name: "number of nines", kind: "nines", title: "share of runs that take at most" },
        { name: "plain", kind: "share", title: "share of runs that take at most" }] },
    });
  };
})();
