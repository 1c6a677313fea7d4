// Comparisons in SVG: changes with their intervals against the band of the smallest effect of
// interest, the medians of the replicates, and ratios of quantiles.
"use strict";

(function () {
  const left = 230;
  const right = 690;

  Lab.verdicts = {
    faster: { shape: "down", colour: "--good", word: "faster" },
    slower: { shape: "up", colour: "--bad", word: "slower" },
    same: { shape: "diamond", colour: "--muted", word: "same" },
    "not enough power": { shape: "circle", colour: "--muted", word: "not enough power" },
    void: { shape: "cross", colour: "--warn", word: "void" },
    unknown: { shape: "circle", colour: "--muted", word: "no verdict" },
  };
  // A run whose control differed from itself says nothing, whatever its verdict.
  Lab.verdict = function (record) {
    if (Lab.obj(record.control).rejected === true) return Lab.verdicts.void;
    const verdict = Lab.text(record.verdict);
    return Object.hasOwn(Lab.verdicts, verdict || "") ? Lab.verdicts[verdict]
      : Lab.verdicts.unknown;
  };
  Lab.verdictBadge = function (record) {
    const { word, colour } = Lab.verdict(record);
    return Lab.el("span", { class: "badge verdict", style: "border-color:var(" + colour +
      ");color:var(" + colour + ")" }, word);
  };

  Lab.verdictWords = function (record) {
    const change = Lab.obj(record.change);
    const level = Lab.num(change.confidence) === null ? ""
      : Lab.percent(change.confidence, 2) + " ";
    const interval = " (" + level + "interval " + Lab.changeRange(change.low, change.high) + ")";
    const smallest = Lab.num(record.smallest_effect) === null
      ? "the smallest effect of interest"
      : "the smallest effect of interest of " + Lab.percent(record.smallest_effect);
    const takes = Lab.num(change.ratio) === null ? "takes another time"
      : change.ratio >= 2 || change.ratio <= 0.5
        ? "takes " + Lab.change(change.ratio) + " the time of the base"
        : "takes " + Lab.percent(Math.abs(change.ratio - 1), 2) +
          (change.ratio > 1 ? " more time" : " less time");
    const estimate = "the change is " + Lab.change(change.ratio) + interval;
    const control = Lab.obj(record.control);
    const words = {
      void: "Void: the base, measured against itself in the same run, differs (" +
        Lab.change(control.ratio) + "), so the comparison says nothing.",
      faster: "Faster: the candidate " + takes + interval + ", beyond " +
        smallest + ".",
      slower: "Slower: the candidate " + takes + interval + ", beyond " +
        smallest + ".",
      same: "The same: " + estimate + ", within " + smallest + ".",
      "not enough power": "Not enough power: " + estimate + ". This run would have found a " +
        "change of " + Lab.percent(record.detectable) + " with a probability of " +
        Lab.percent(record.power, 0) + ".",
      "no verdict": "No verdict: " + estimate + ".",
    };
    return [words[Lab.verdict(record).word], Lab.text(record.reason)].filter(Boolean).join(" ");
  };

  const ratioOf = (object) => [object.ratio, object.low, object.high]
    .filter((value) => Lab.positive(value) !== null);

  // One estimate with its interval at height y.
  function estimate(frame, object, y, shape, r, colour, hollow) {
    const { ratio, low, high } = object;
    const parts = [];
    if (Lab.positive(low) !== null && Lab.positive(high) !== null) {
      const [x1, x2] = [frame.place(low), frame.place(high)];
      const style = "stroke:var(" + colour + ");stroke-width:" + (r > 4 ? 2.2 : 1.3);
      parts.push(Lab.svg("line", { x1, x2, y1: y, y2: y, style }));
      for (const x of [x1, x2]) {
        parts.push(Lab.svg("line", { x1: x, x2: x, y1: y - r * 0.7, y2: y + r * 0.7, style }));
      }
    }
    if (Lab.positive(ratio) !== null) {
      parts.push(Lab.mark(shape, frame.place(ratio), y, r, colour, hollow));
    }
    return parts;
  }
  function noChange(frame, top, bottom) {
    return frame.inside(1) ? Lab.svg("line", { class: "nochange", x1: frame.place(1),
      x2: frame.place(1), y1: top, y2: bottom }) : null;
  }
  function band(axis, frame, smallest, top, height) {
    if (Lab.positive(smallest) === null || smallest >= 1) return null;
    const clamp = (ratio) => frame.place(axis.from(
      Math.min(axis.high, Math.max(axis.low, axis.to(ratio)))));
    const [x1, x2] = [clamp(1 - smallest), clamp(1 + smallest)];
    return Lab.svg("rect", { class: "band", x: x1, y: top, width: Math.max(0, x2 - x1), height });
  }

  // Rows are { name, record }.
  Lab.forest = function (rows) {
    const height = 58;
    const bottom = 34 + rows.length * height;
    const values = rows.flatMap(({ record }) => [
      ...ratioOf(Lab.obj(record.change)), ...ratioOf(Lab.obj(record.control)), 1,
      ...(Lab.positive(record.smallest_effect) !== null && record.smallest_effect < 1
        ? [1 - record.smallest_effect, 1 + record.smallest_effect] : []),
    ]);
    const axis = Lab.axis("ratio", values, 6);
    const frame = Lab.frame(axis, left, right, 24, bottom,
      "time of the candidate against the base");
    const head = (x, text, anchor) =>
      Lab.svg("text", { class: "small", x, y: 14, "text-anchor": anchor }, text);
    const drawn = rows.map(({ name, record }, index) => {
      const top = 28 + index * height;
      const style = Lab.verdict(record);
      const change = Lab.obj(record.change);
      const noisy = Lab.isNoisy(record);
      return Lab.svg("g", { class: "row" },
        Lab.svg("title", {}, name + "\n" + Lab.verdictWords(record)),
        band(axis, frame, record.smallest_effect, top, height - 4),
        Lab.label(name, left - 14, top + 22, 24, { class: "name", "text-anchor": "end" }),
        Lab.svg("text", { class: noisy ? "small noisy" : "small", x: left - 14, y: top + 41,
          "text-anchor": "end" }, noisy ? "noisy run, control below" : "control below"),
        noChange(frame, top, top + height - 4),
        estimate(frame, change, top + 18, style.shape, 6, style.colour, noisy),
        estimate(frame, Lab.obj(record.control), top + 38, "circle", 3, "--muted", true),
        Lab.svg("text", { class: "name", x: right + 16, y: top + 22,
          style: "fill:var(" + style.colour + ")" }, style.word),
        Lab.svg("text", { class: "small", x: right + 16, y: top + 41 },
          Lab.change(change.ratio) + "  (" + Lab.changeRange(change.low, change.high) + ")"));
    });
    return Lab.svg("svg", { class: "shape forest", viewBox: "0 0 940 " + (bottom + 46),
      role: "img", "aria-label": "Changes with their intervals" },
    head(left, "\u2190 candidate faster", "start"), head(right, "candidate slower \u2192", "end"),
    frame.node, drawn);
  };
  Lab.forestCaption = "Large mark: the change with its interval (up: slower, down: faster, " +
    "diamond: same, circle: not enough power, cross: void). Small ring: the base against itself " +
    "in the same run. Shaded: changes smaller than the smallest effect of interest.";

  // The medians of the replicates, in order: pairs of processes stand above each other.
  Lab.replicates = function (record) {
    const sides = [["base", "circle", "--series-5", true], ["candidate", "square", "--series-0",
      false]];
    const of = (side) => Lab.obj(record[side]);
    const values = sides.map(([side]) => Lab.list(of(side).replicate_ns).map(Lab.num));
    const all = [...values.flat(), ...sides.map(([side]) => Lab.num(of(side).median_ns))];
    const axis = Lab.axis("ns", all, 7);
    const [start, end] = [left - 60, 925];
    const frame = Lab.frame(axis, start, end, 8, 120, "median of one replicate, for one operation");
    const rows = sides.map(([side, shape, colour, hollow], row) => {
      const y = 36 + row * 54;
      const median = Lab.num(of(side).median_ns);
      const many = Math.max(1, values[row].length - 1);
      const marks = values[row].map((ns, index) => {
        if (ns === null) return null;
        const mark = Lab.mark(shape, frame.place(ns), y + 18 * (index / many - 0.5), 3.4, colour,
          hollow);
        mark.append(Lab.svg("title", {}, side + ", replicate " + (index + 1) + ": " + Lab.ns(ns)));
        return mark;
      });
      return Lab.svg("g", { class: "row" },
        Lab.svg("text", { class: "name", x: start - 14, y: y - 5, "text-anchor": "end" }, side),
        Lab.label(Lab.text(of(side).label) || "no label", start - 14, y + 10, 20,
          { class: "small", "text-anchor": "end" }),
        Lab.svg("text", { class: "small", x: start - 14, y: y + 24, "text-anchor": "end" },
          Lab.ns(median)),
        median === null ? null : Lab.svg("line", { x1: frame.place(median), x2: frame.place(median),
          y1: y - 22, y2: y + 22, style: "stroke:var(" + colour + ");stroke-width:2.5" }),
        marks);
    });
    return Lab.svg("svg", { class: "shape replicates", viewBox: "0 0 940 166", role: "img",
      "aria-label": "Medians of the replicates" }, frame.node, rows);
  };

  // Ratios of quantiles of latency, one row a quantile.
  Lab.quantileRatios = function (record) {
    const quantiles = Lab.obj(record.quantiles);
    const named = Object.keys(quantiles).filter((name) => /^p[0-9.]+$/.test(name));
    const names = Lab.quantileNames(named);
    if (names.length === 0) return null;
    const bottom = 14 + names.length * 26;
    const values = names.flatMap((name) => ratioOf(Lab.obj(quantiles[name])));
    const axis = Lab.axis("ratio", [...values, 1], 6);
    const frame = Lab.frame(axis, 100, right - 90, 8, bottom, "candidate against base");
    const rows = names.map((name, index) => {
      const y = 22 + index * 26;
      const one = Lab.obj(quantiles[name]);
      return Lab.svg("g", { class: "row" },
        Lab.svg("text", { class: "name", x: 84, y: y + 4, "text-anchor": "end" }, name),
        estimate(frame, one, y, "square", 4.5, "--series-0", Lab.isNoisy(record)),
        Lab.svg("text", { class: "small", x: right - 76, y: y + 4 },
          Lab.change(one.ratio) + "  (" + Lab.changeRange(one.low, one.high) + "), " +
          Lab.ns(one.base_ns) + " \u2192 " + Lab.ns(one.candidate_ns)));
    });
    return Lab.svg("svg", { class: "shape quantiles", viewBox: "0 0 940 " + (bottom + 46),
      role: "img", "aria-label": "Ratios of quantiles" }, frame.node,
    noChange(frame, 8, bottom), rows);
  };
})();
