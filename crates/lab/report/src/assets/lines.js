// Line plots on a canvas. uPlot gives scales, axes, paths, cursor and zoom; marks, intervals and
// their styles are drawn here, because a plot must be readable without colour.
//
// A value becomes a place by our own axes (axis.js) before uPlot sees it: its scales stay linear,
// and one axis serves nanoseconds, logarithms of them and numbers of nines alike.
//
// Options: { height, sync, x, y, series, legend, levels, uprights, marks, labels }. `x` and `y` are
// { title, choices }, a choice being { name, kind, key, fromZero, title }: what the switches above
// the plot offer, the first to begin with; `key` is the field of a point that is drawn, and "time"
// is a kind of x. A series is { name, style, path, band, size, points }, path "line", "stepped" or
// null; a point is { x, y, low, high, hollow, mark, tip }. A band fills from low to high; it and
// the line are interrupted at a point without them. `size` is the radius of its points; `legend`
// false leaves the names of series out. A level is the y of a horizontal line; an upright is { x,
// style, text, above }, a vertical one, whose text is inside or above the plot; a mark is { x, y,
// shape, colour, text, tip }; a label is { x, y, text }, the name of a point, which is left out
// where there is no room.
"use strict";

(function () {
  const plots = [];
  const months = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(" ");
  const two = (number) => String(number).padStart(2, "0");

  // Dates in UTC, as in the records; what a tick shares with the one before it is left out.
  function timeLabels(splits, step) {
    let before = null;
    return splits.map((seconds) => {
      const date = new Date(seconds * 1000);
      const day = date.getUTCDate() + " " + months[date.getUTCMonth()];
      const year = " " + date.getUTCFullYear();
      const clock = two(date.getUTCHours()) + ":" + two(date.getUTCMinutes());
      const coarse = step >= 86400 ? String(date.getUTCFullYear()) : day + year;
      const label = (step >= 86400 ? day : clock) + (coarse === before ? "" : "\n" + coarse.trim());
      before = coarse;
      return label;
    });
  }

  function timeAxis(values) {
    const known = values.filter((value) => Lab.num(value) !== null);
    const low = Math.min(...known);
    const high = Math.max(...known);
    const pad = known.length === 0 ? 43200 : Math.max((high - low) * 0.04, 3600);
    return { kind: "time", to: (value) => value, low: (known.length ? low : 0) - pad,
      high: (known.length ? high : 0) + pad };
  }

  function shape(ctx, name, x, y, r, colour, hollow) {
    const points = Lab.outline(name, x, y, r);
    ctx.beginPath();
    if (points === null) ctx.arc(x, y, r, 0, 2 * Math.PI);
    else points.forEach(([px, py], index) => (index ? ctx.lineTo(px, py) : ctx.moveTo(px, py)));
    ctx.closePath();
    ctx.fillStyle = hollow ? Lab.colour("--paper") : colour;
    ctx.fill();
    ctx.strokeStyle = colour;
    ctx.lineWidth = 1.6 * uPlot.pxRatio;
    ctx.stroke();
  }

  function makePlot(host, options, width) {
    const area = Lab.el("div", { class: "area" });
    const tip = Lab.el("div", { class: "tip", hidden: "" });
    const hidden = new Set();
    const hasRoomAbove = (options.marks || []).length > 0 ||
      (options.uprights || []).some(({ above }) => above);
    const chosen = { x: 0, y: 0 };
    let plot = null;
    let axes = null;

    const choice = (side) => options[side].choices[chosen[side]];
    const shownSeries = () => options.series.filter((series, index) => !hidden.has(index));
    const of = (point, side) => Lab.num(point[choice(side).key || side]);

    function newAxis(side) {
      const { kind, fromZero } = choice(side);
      const values = shownSeries().flatMap((series) => series.points.flatMap((point) =>
        side === "y" && (choice(side).key || "y") === "y"
          ? [point.y, point.low, point.high] : [of(point, side)]));
      for (const mark of options.marks || []) values.push(mark[side]);
      if (side === "y" && !choice(side).key) {
        values.push(...(options.levels || []));
      }
      if (kind === "time") return timeAxis(values);
      const wanted = side === "x" ? Math.max(4, Math.floor(width / 90)) : 6;
      return Lab.axis(kind, values, wanted, fromZero);
    }
    // Points in places, in order of x; null where the axis has no place for them.
    function table(series) {
      const rows = series.points
        .map((point) => [of(point, "x"), of(point, "y")])
        .filter(([x, y]) => x !== null && (y !== null || series.band))
        .map(([x, y]) => [axes.x.to(x), y === null ? null : axes.y.to(y)])
        .filter(([x, y]) => isFinite(x) && (y === null || isFinite(y)))
        .sort((one, other) => one[0] - other[0]);
      const last = rows.filter((row, at) => at + 1 === rows.length || rows[at + 1][0] !== row[0]);
      return [last.map((row) => row[0]), last.map((row) => row[1])];
    }
    function place(u, x, y) {
      const at = [u.valToPos(axes.x.to(x), "x", true), u.valToPos(axes.y.to(y), "y", true)];
      return at.every(isFinite) ? at : null;
    }

    function drawLevels(u) {
      const { ctx, bbox } = u;
      if (choice("y").key) return;
      for (const level of options.levels || []) {
        const y = u.valToPos(axes.y.to(level), "y", true);
        ctx.strokeStyle = Lab.colour("--muted");
        ctx.lineWidth = uPlot.pxRatio;
        ctx.setLineDash([6 * uPlot.pxRatio, 4 * uPlot.pxRatio]);
        ctx.beginPath();
        ctx.moveTo(bbox.left, y);
        ctx.lineTo(bbox.left + bbox.width, y);
        ctx.stroke();
        ctx.setLineDash([]);
      }
    }
    function drawUprights(u) {
      const { ctx, bbox } = u;
      const r = uPlot.pxRatio;
      (options.uprights || []).forEach(({ x, style, text, above }, index) => {
        const at = u.valToPos(axes.x.to(x), "x", true);
        if (!isFinite(at)) return;
        ctx.strokeStyle = ctx.fillStyle = Lab.colour(style.colour);
        ctx.lineWidth = 1.4 * r;
        ctx.setLineDash([6 * r, 4 * r]);
        ctx.beginPath();
        ctx.moveTo(at, bbox.top);
        ctx.lineTo(at, bbox.top + bbox.height);
        ctx.stroke();
        ctx.setLineDash([]);
        ctx.font = 12 * r + "px system-ui, sans-serif";
        const fits = at < bbox.left + 0.8 * bbox.width;
        ctx.textAlign = fits ? "left" : "right";
        if (above) ctx.fillText(text, at, bbox.top - 6 * r);
        else ctx.fillText(text, at + (fits ? 5 : -5) * r, bbox.top + (14 + 15 * index) * r);
      });
    }
    function drawBand(u, series) {
      if (!series.band || choice("y").key) return;
      const { ctx } = u;
      ctx.fillStyle = Lab.colour(series.style.colour);
      ctx.globalAlpha = series.band;
      let run = [];
      for (const point of [...series.points, {}]) {
        const ends = [point.low, point.high].map((end) =>
          Lab.num(end) === null || of(point, "x") === null ? null : place(u, of(point, "x"), end));
        if (ends[0] && ends[1]) {
          run.push(ends);
          continue;
        }
        // A point between two without ends has a width too.
        if (run.length === 1) {
          const shifted = (by) => run[0].map(([x, y]) => [x + by * uPlot.pxRatio, y]);
          run = [shifted(-2), shifted(2)];
        }
        ctx.beginPath();
        run.forEach(([low]) => ctx.lineTo(...low));
        run.reverse().forEach((ends) => ctx.lineTo(...ends[1]));
        ctx.fill();
        run = [];
      }
      ctx.globalAlpha = 1;
    }
    function drawPoint(u, series, point) {
      const at = of(point, "x") === null || of(point, "y") === null
        ? null : place(u, of(point, "x"), of(point, "y"));
      if (at === null) return;
      const { ctx } = u;
      const colour = Lab.colour(series.style.colour);
      const r = uPlot.pxRatio;
      if (!series.band && !choice("y").key && Lab.num(point.low) !== null && Lab.num(point.high) !== null) {
        const ends = [place(u, of(point, "x"), point.low), place(u, of(point, "x"), point.high)];
        if (ends[0] && ends[1]) {
          ctx.strokeStyle = colour;
          ctx.lineWidth = 1.3 * r;
          ctx.beginPath();
          for (const [x, y] of ends) {
            ctx.moveTo(x - 3.5 * r, y);
            ctx.lineTo(x + 3.5 * r, y);
          }
          ctx.moveTo(...ends[0]);
          ctx.lineTo(...ends[1]);
          ctx.stroke();
        }
      }
      if (point.mark !== false) {
        shape(ctx, series.style.shape, at[0], at[1], (series.size || 3.8) * r, colour, point.hollow);
      }
    }
    function drawMark(u, mark) {
      const at = Lab.num(mark.x) === null || Lab.num(mark.y) === null
        ? null : place(u, mark.x, mark.y);
      if (at === null) return;
      const { ctx } = u;
      const r = uPlot.pxRatio;
      const colour = Lab.colour(mark.colour);
      shape(ctx, mark.shape, at[0], at[1], 6 * r, colour, mark.hollow);
      if (!mark.text) return;
      const along = (at[0] - u.bbox.left) / u.bbox.width;
      ctx.font = "600 " + 12 * r + "px system-ui, sans-serif";
      ctx.textAlign = along > 0.9 ? "right" : along < 0.1 ? "left" : "center";
      ctx.lineWidth = 4 * r;
      ctx.strokeStyle = Lab.colour("--paper");
      const [x, y] = [at[0], at[1] + (mark.below ? 22 : -13) * r];
      ctx.strokeText(mark.text, x, y);
      ctx.fillStyle = colour;
      ctx.fillText(mark.text, x, y);
    }
    // Names beside their points, the first ones first: each at the nearest place that is free.
    function drawLabels(u) {
      const { ctx, bbox } = u;
      const r = uPlot.pxRatio;
      const known = (options.labels || []).map((label) => ({ ...label, at: place(u, label.x, label.y) }))
        .filter(({ at }) => at !== null);
      const taken = known.map(({ at: [x, y] }) => [x - 4 * r, y - 4 * r, x + 4 * r, y + 4 * r]);
      const isFree = (box) => box[0] >= bbox.left && box[2] <= bbox.left + bbox.width &&
        box[1] >= bbox.top && box[3] <= bbox.top + bbox.height &&
        !taken.some((other) => box[0] < other[2] && other[0] < box[2] && box[1] < other[3] &&
          other[1] < box[3]);
      ctx.font = 11.5 * r + "px system-ui, sans-serif";
      ctx.textAlign = "left";
      ctx.lineJoin = "round";
      for (const { at: [x, y], text } of known) {
        const [wide, high] = [ctx.measureText(text).width, 13 * r];
        const around = [8, 20, 34, 50, 68].flatMap((far) => [[1, 0], [-1, 0], [0, -1], [0, 1],
          [1, -1], [-1, -1], [1, 1], [-1, 1]].map(([dx, dy]) =>
          [x + dx * far * r - (dx < 0 ? wide : dx === 0 ? wide / 2 : 0),
            y + dy * far * r * 0.9 - high / 2, far]));
        const found = around.map(([left, top, far]) => [left, top, left + wide, top + high, far])
          .find(isFree);
        if (found === undefined) continue;
        const [left, top, right, bottom, far] = found;
        taken.push(found.slice(0, 4));
        ctx.strokeStyle = ctx.fillStyle = Lab.colour("--ink");
        if (far > 8) {
          ctx.lineWidth = 0.7 * r;
          ctx.beginPath();
          ctx.moveTo(x, y);
          ctx.lineTo(Math.min(Math.max(x, left), right), Math.min(Math.max(y, top), bottom));
          ctx.stroke();
        }
        ctx.strokeStyle = Lab.colour("--paper");
        ctx.lineWidth = 3 * r;
        ctx.strokeText(text, left, bottom - 3 * r);
        ctx.fillText(text, left, bottom - 3 * r);
      }
    }
    function drawOver(u) {
      const { ctx, bbox } = u;
      ctx.save();
      ctx.beginPath();
      const more = (hasRoomAbove ? 24 : 7) * uPlot.pxRatio;
      ctx.rect(bbox.left - more, bbox.top - more, bbox.width + 2 * more, bbox.height + 2 * more);
      ctx.clip();
      ctx.setLineDash([]);
      for (const series of shownSeries()) drawBand(u, series);
      drawLevels(u);
      drawUprights(u);
      for (const series of shownSeries()) {
        for (const point of series.points) drawPoint(u, series, point);
      }
      for (const mark of options.marks || []) drawMark(u, mark);
      drawLabels(u);
      ctx.restore();
      host.dataset.drawn = "yes";
    }

    // The nearest point or mark to the pointer, if it is near at all.
    function showTip(u) {
      const { left, top, event } = u.cursor;
      tip.hidden = true;
      if (!event || left < 0) return;
      let best = null;
      const consider = (x, y, lines) => {
        if (!lines || Lab.num(x) === null || Lab.num(y) === null) return;
        const [px, py] = [u.valToPos(axes.x.to(x), "x"), u.valToPos(axes.y.to(y), "y")];
        const distance = Math.hypot(px - left, (py - top) / 2);
        if (distance < 40 && (best === null || distance < best.distance)) {
          best = { distance, px, py, lines };
        }
      };
      for (const series of shownSeries()) {
        for (const point of series.points) consider(of(point, "x"), of(point, "y"), point.tip);
      }
      for (const mark of options.marks || []) consider(mark.x, mark.y, mark.tip);
      if (best === null) return;
      tip.replaceChildren(...best.lines.map((line, index) =>
        Lab.el(index === 0 ? "b" : "span", {}, line)));
      tip.hidden = false;
      const x = best.px + u.over.offsetLeft;
      const fits = x + tip.offsetWidth + 16 < host.clientWidth;
      tip.style.left = (fits ? x + 12 : Math.max(0, x - tip.offsetWidth - 12)) + "px";
      tip.style.top = area.offsetTop + best.py + 16 + "px";
    }

    function uplotAxis(side) {
      const axis = axes[side];
      const own = axis.kind === "time" ? {
        values: (u, splits, index, space, step) => timeLabels(splits, step),
      } : {
        splits: (u, index, low, high) => Lab.axisOver(axis.kind, low, high,
          side === "x" ? Math.floor(width / 90) : 6).ticks.map(axis.to),
        values: (u, splits) => splits.map((at) => axis.kind === "words"
          ? choice(side).words[at] || "" : axis.label(Number(axis.from(at).toPrecision(12)))),
        filter: (u, splits) => splits,
      };
      return {
        stroke: () => Lab.colour("--ink"), font: "12px system-ui, sans-serif",
        grid: { stroke: () => Lab.colour("--line"), width: 1 },
        ticks: { stroke: () => Lab.colour("--line"), width: 1, size: 5 },
        label: choice(side).title || options[side].title,
        labelFont: "12px system-ui, sans-serif", labelSize: 22,
        size: side === "y" ? 72 : axis.kind === "time" ? 46 : 34, gap: 4, ...own,
      };
    }
    function draw() {
      if (plot !== null) plot.destroy();
      axes = { x: newAxis("x"), y: newAxis("y") };
      // uPlot draws later than this; a plot that was replaced meanwhile must not see other axes.
      const own = axes;
      const tables = options.series.map(table);
      const data = uPlot.join(tables.length ? tables : [[[], []]]);
      const extremes = [data[0][0], data[0][data[0].length - 1]];
      const paths = { line: uPlot.paths.linear(), stepped: uPlot.paths.stepped({ align: 1 }) };
      const none = () => null;
      plot = new uPlot({
        width, height: options.height || 300, legend: { show: false },
        padding: [hasRoomAbove ? 24 : 12, 16, 0, 0],
        tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), "Etc/UTC"),
        scales: {
          // Everything, unless a part was dragged out.
          x: { time: axes.x.kind === "time", range: (u, low, high) =>
            low === null || low === high || (low <= extremes[0] && high >= extremes[1])
              ? [own.x.low, own.x.high] : [low, high] },
          y: { range: () => [own.y.low, own.y.high] },
        },
        axes: [uplotAxis("x"), uplotAxis("y")],
        series: [{}, ...(options.series.length ? options.series : [null]).map((series, index) => ({
          show: series !== null && !hidden.has(index), width: 1.8,
          stroke: series === null ? null : () => Lab.colour(series.style.colour),
          dash: series === null ? [] : series.style.dash,
          paths: (series && paths[series.path]) || none, points: { show: false },
        }))],
        cursor: { y: false, points: { show: false }, drag: { x: true, y: false },
          sync: options.sync ? { key: options.sync } : undefined },
        hooks: { draw: [(u) => own === axes && drawOver(u)],
          setCursor: [(u) => own === axes && showTip(u)] },
      }, data, area);
    }

    function switches(side) {
      if (options[side].choices.length < 2) return null;
      const buttons = options[side].choices.map((one, index) => {
        const button = Lab.el("button", { type: "button", "aria-pressed": String(index === 0) },
          one.name);
        button.addEventListener("click", () => {
          chosen[side] = index;
          buttons.forEach((other, at) => other.setAttribute("aria-pressed", String(at === index)));
          draw();
        });
        return button;
      });
      return Lab.el("span", { class: "switch", role: "group" }, options[side].name, ": ", buttons);
    }
    function legend() {
      if (options.series.length === 0 || options.legend === false) return null;
      return Lab.el("div", { class: "legend" }, options.series.map((series, index) => {
        const button = Lab.el("button", { type: "button", "aria-pressed": "true" },
          Lab.swatch(series.style, series.path !== null, series.hollow), series.name);
        button.addEventListener("click", () => {
          if (!hidden.delete(index)) hidden.add(index);
          button.setAttribute("aria-pressed", String(!hidden.has(index)));
          draw();
        });
        return button;
      }));
    }
    host.append(Lab.el("div", { class: "controls" }, switches("y"), switches("x")));
    host.append(legend() || "", area, tip);
    function resize(wide) {
      if (wide === width) return;
      width = wide;
      plot.setSize({ width, height: options.height || 300 });
    }
    return { draw, resize, redraw: () => plot.redraw(false, true) };
  }

  // A place for a plot; it is drawn by Lab.drawPlots, when the page has a width.
  Lab.lines = function (options) {
    const host = Lab.el("div", { class: "plot" });
    plots.push({ host, options, made: null });
    return host;
  };
  Lab.drawPlots = function () {
    const fresh = plots.filter((plot) => plot.made === null && plot.host.isConnected);
    // All widths before the first plot: reading one between two plots would lay the page out again.
    const widths = fresh.map(widthOf);
    fresh.forEach((plot, index) => {
      plot.made = makePlot(plot.host, plot.options, widths[index]);
      plot.made.draw();
    });
  };
  // What is folded away has no width yet and gets that of the page.
  function widthOf(plot) {
    const page = document.querySelector("main").clientWidth - 40;
    return plot.host.clientWidth || Math.max(280, page - 38);
  }
  const made = () => plots.filter((plot) => plot.made !== null && plot.host.isConnected);
  function resize() {
    const all = made();
    const widths = all.map(widthOf);
    all.forEach((plot, index) => plot.made.resize(widths[index]));
  }
  function redraw() {
    Lab.forgetColours();
    made().forEach((plot) => plot.made.redraw());
  }
  let waiting = 0;
  window.addEventListener("resize", () => {
    clearTimeout(waiting);
    waiting = setTimeout(resize, 120);
  });
  document.addEventListener("toggle", resize, true);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  // Paper is white and shows what was folded away.
  window.addEventListener("beforeprint", () => {
    document.documentElement.classList.add("on-paper");
    Lab.unfoldAll();
    redraw();
  });
  window.addEventListener("afterprint", () => {
    document.documentElement.classList.remove("on-paper");
    redraw();
  });
})();
