// Axes and marks, once for plots on a canvas and for plots in SVG: how a value becomes a place,
// where the ticks are, and how the series of a plot differ without colour.
"use strict";

(function () {
  // Linear ticks: steps of 1, 2 or 5 times a power of ten, about `wanted` of them.
  function linearTicks(low, high, wanted) {
    const raw = (high - low) / wanted;
    const power = Math.pow(10, Math.floor(Math.log10(raw)));
    const step = [1, 2, 5, 10].map((times) => times * power).find((size) => size >= raw);
    const ticks = [];
    for (let index = Math.ceil(low / step - 1e-9); index * step <= high + step * 1e-9; index++) {
      ticks.push(Number((index * step).toPrecision(12)));
    }
    return ticks;
  }

  // Logarithmic ticks: 1, 2 and 5 in each decade, fewer over many decades, more in less than one.
  function logTicks(low, high, wanted) {
    const decades = Math.log10(high / low);
    if (decades < 0.5) return linearTicks(low, high, wanted).filter((value) => value > 0);
    const within = decades * 3 <= wanted * 1.4 ? [1, 2, 5] : [1];
    const stride = Math.max(1, Math.ceil(decades / wanted));
    const ticks = [];
    for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power++) {
      if (power % stride !== 0) continue;
      for (const times of within) {
        const value = Number((times * Math.pow(10, power)).toPrecision(12));
        if (value >= low * 0.999 && value <= high * 1.001) ticks.push(value);
      }
    }
    return ticks;
  }

  // Ratios: ticks in per cent while the range is narrow, factors otherwise.
  function ratioTicks(low, high, wanted) {
    if (high / low < 2.2) {
      return linearTicks((low - 1) * 100, (high - 1) * 100, wanted)
        .map((percent) => 1 + percent / 100);
    }
    const all = [];
    for (let power = -30; power <= 30; power++) all.push(Math.pow(2, power));
    const inside = all.filter((value) => value >= low && value <= high);
    const stride = Math.max(1, Math.ceil(inside.length / wanted));
    return inside.filter((value) => Math.round(Math.log2(value)) % stride === 0);
  }
  function ratioLabel(ratio) {
    if (Math.abs(ratio - 1) < 1e-9) return "no change";
    if (ratio >= 2 || ratio <= 0.5) return "\u00d7" + Lab.plain(ratio);
    return (ratio > 1 ? "+" : "\u2212") + Lab.plain(Math.abs(ratio - 1) * 100) + "%";
  }

  // Times of day in seconds: ticks at whole seconds, minutes and hours.
  const steps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200];
  function clockTicks(low, high, wanted) {
    const raw = (high - low) / wanted;
    const step = steps.find((size) => size >= raw);
    if (raw < 1 || step === undefined) return linearTicks(low, high, wanted);
    const ticks = [];
    for (let at = Math.ceil(low / step) * step; at <= high; at += step) ticks.push(at);
    return ticks;
  }
  Lab.clock = function (seconds, places) {
    const text = new Date((((seconds % 86400) + 86400) % 86400) * 1000).toISOString();
    return text.slice(11, places ? 20 + places : 19);
  };
  function clockLabel(seconds) {
    if (seconds % 1 !== 0) return Lab.clock(seconds, 3);
    return seconds % 60 === 0 ? Lab.clock(seconds).slice(0, 5) : Lab.clock(seconds);
  }

  const ratio = { to: Math.log, from: Math.exp, ticks: ratioTicks, label: ratioLabel, pad: 0.06,
    empty: [-0.1, 0.1], spread: 0.01 };

  // Each kind: place of a value, value of a place, ticks between two places, text of a value.
  const same = (value) => value;
  const kinds = {
    linear: { to: same, from: same, ticks: linearTicks, label: Lab.plain, pad: 0.05 },
    whole: { to: same, from: same, label: Lab.plain, pad: 0.03,
      ticks: (low, high, wanted) => linearTicks(low, high, wanted)
        .filter((value) => Number.isInteger(value)) },
    ns: { to: same, from: same, ticks: linearTicks, label: Lab.nsTick, pad: 0.05 },
    logNs: { to: Math.log10, from: (at) => 10 ** at, ticks: logTicks, label: Lab.nsTick,
      pad: 0.04, empty: [0, 3], spread: 0.05 },
    logCount: { to: Math.log10, from: (at) => 10 ** at, ticks: logTicks, label: Lab.plain,
      pad: 0.04, empty: [0, 3], spread: 0.05 },
    clock: { to: same, from: same, ticks: clockTicks, label: clockLabel, pad: 0.02 },
    // Numbers of words: the words are those of the choice.
    words: { to: same, from: same, label: Lab.plain, pad: 0.12,
      ticks: (low, high, wanted) => linearTicks(low, high, Math.max(wanted, high - low))
        .filter((value) => Number.isInteger(value)) },
    ratio,
    relative: { ...ratio,
      label: (value) => (Math.abs(value - 1) < 1e-9 ? "0%" : ratioLabel(value)) },
    share: { to: same, from: same, ticks: () => [0, 0.25, 0.5, 0.75, 0.9, 1],
      label: (share) => Lab.plain(share * 100) + "%", pad: 0.03 },
    // The number of nines: 90% is one, 99% two. A share of 1 has no place on it.
    nines: {
      to: (share) => -Math.log10(1 - Math.min(share, 1 - 1e-12)),
      from: (at) => 1 - 10 ** -at,
      ticks: (low, high) => [0, 0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999, 0.999999, 0.9999999]
        .filter((share) => share <= high + 1e-12),
      label: (share) => Number((share * 100).toPrecision(10)) + "%",
      pad: 0.03,
    },
  };

  // An axis over `values`: {to, from, low, high (places), ticks, label}; `null` values are
  // skipped. Something is always returned, so that a plot of nothing is an empty plot.
  Lab.axis = function (kind, values, wanted, fromZero) {
    const of = kinds[kind];
    let low = Infinity;
    let high = -Infinity;
    for (const value of values) {
      const place = Lab.num(value) === null ? NaN : of.to(value);
      if (!isFinite(place)) continue;
      low = Math.min(low, place);
      high = Math.max(high, place);
    }
    if (low > high) [low, high] = of.empty || [0, 1];
    if (fromZero) low = Math.min(low, 0);
    if (high - low < 1e-9 * Math.max(1, Math.abs(high))) {
      const spread = of.spread || Math.abs(high) * 0.1 || 1;
      [low, high] = [low - spread, high + spread];
    }
    const pad = (high - low) * of.pad;
    const bottom = low >= 0 && kind === "ns" ? Math.max(0, low - pad) : low - pad;
    return Lab.axisOver(kind, fromZero && low === 0 ? 0 : bottom, high + pad, wanted);
  };
  // An axis from one place to another.
  Lab.axisOver = function (kind, low, high, wanted) {
    const of = kinds[kind];
    const [first, last] = [of.from(low), of.from(high)];
    // Steps that vanish against the values, or an end that is not finite, would never end.
    const sound = isFinite(first) && isFinite(last) &&
      high - low > 1e-12 * Math.max(Math.abs(high), Math.abs(low));
    const ticks = (sound ? of.ticks(first, last, wanted || 7) : [])
      .filter((value) => of.to(value) >= low - 1e-9 && of.to(value) <= high + 1e-9);
    return { kind, to: of.to, from: of.from, label: of.label, low, high, ticks };
  };

  // The style of series number `index`: colour, dash and shape all differ between neighbours.
  const dashes = [[], [8, 4], [2, 3], [10, 3, 2, 3], [5, 2], [14, 4]];
  const shapes = ["circle", "square", "up", "diamond", "down", "cross"];
  Lab.style = (index) => ({
    colour: "--series-" + (index % 6),
    dash: dashes[index % 6],
    shape: shapes[(index + Math.floor(index / 6)) % 6],
  });
  // A canvas needs colours as values. They are kept, because a read makes the browser lay the whole
  // page out, and forgotten where the scheme changes.
  const colours = new Map();
  Lab.forgetColours = () => colours.clear();
  Lab.colour = function (name) {
    if (!colours.has(name)) {
      const style = getComputedStyle(document.documentElement);
      colours.set(name, style.getPropertyValue(name).trim() || "#777");
    }
    return colours.get(name);
  };

  // The outline of a mark of radius r around (x, y), as points; null is a circle.
  Lab.outline = function (shape, x, y, r) {
    const at = (pairs) => pairs.map(([dx, dy]) => [x + dx * r, y + dy * r]);
    switch (shape) {
      case "square": return at([[-0.9, -0.9], [0.9, -0.9], [0.9, 0.9], [-0.9, 0.9]]);
      case "up": return at([[0, -1.15], [1.05, 0.8], [-1.05, 0.8]]);
      case "down": return at([[0, 1.15], [1.05, -0.8], [-1.05, -0.8]]);
      case "diamond": return at([[0, -1.25], [1.25, 0], [0, 1.25], [-1.25, 0]]);
      case "cross": {
        const [o, i] = [1.1, 0.35];
        return at([[-i, -o], [i, -o], [i, -i], [o, -i], [o, i], [i, i], [i, o], [-i, o], [-i, i],
          [-o, i], [-o, -i], [-i, -i]]);
      }
      default: return null;
    }
  };
  // A mark in SVG; hollow marks are those of noisy runs and of controls.
  Lab.mark = function (shape, x, y, r, colour, hollow) {
    const style = "stroke:var(" + colour + ");stroke-width:1.6;fill:" +
      (hollow ? "var(--paper)" : "var(" + colour + ")");
    const points = Lab.outline(shape, x, y, r);
    return points === null
      ? Lab.svg("circle", { cx: x, cy: y, r, style })
      : Lab.svg("polygon", { points: points.map((point) => point.join(",")).join(" "), style });
  };
  Lab.swatch = function (style, line, hollow) {
    const dash = style.dash.join(" ");
    return Lab.svg("svg", { class: "swatch", width: 34, height: 14, "aria-hidden": "true" },
      line ? Lab.svg("line", { x1: 0, y1: 7, x2: 34, y2: 7, "stroke-dasharray": dash,
        style: "stroke:var(" + style.colour + ");stroke-width:2" }) : null,
      Lab.mark(style.shape, 17, 7, 4, style.colour, hollow));
  };

  // An SVG plot's frame: the axis below, grid lines, title of the axis.
  // `place` maps a value to x; rows are the caller's.
  Lab.frame = function (axis, left, right, top, bottom, title) {
    const scale = (right - left) / (axis.high - axis.low);
    const place = (value) => left + (axis.to(value) - axis.low) * scale;
    const parts = axis.ticks.map((tick) => [
      Lab.svg("line", { class: "grid", x1: place(tick), x2: place(tick), y1: top, y2: bottom }),
      Lab.svg("text", { class: "tick", x: place(tick), y: bottom + 16, "text-anchor": "middle" },
        axis.label(tick)),
    ]);
    parts.push(
      Lab.svg("line", { class: "edge", x1: left, x2: right, y1: bottom, y2: bottom }),
      Lab.svg("text", { class: "axis", x: (left + right) / 2, y: bottom + 36,
        "text-anchor": "middle" }, title));
    return { place, node: Lab.svg("g", {}, parts), inside: (value) =>
      Lab.num(value) !== null && axis.to(value) >= axis.low && axis.to(value) <= axis.high };
  };
  // Text that must fit: the end is cut, the whole stays as a tooltip.
  Lab.label = function (text, x, y, most, attributes) {
    const cut = text.length > most ? text.slice(0, most - 1) + "\u2026" : text;
    return Lab.svg("text", { x, y, ...attributes }, cut, Lab.svg("title", {}, text));
  };
})();
