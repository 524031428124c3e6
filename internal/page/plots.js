// Draws the plots of the page. Data and words come from the element #plots; colours are those of the style.
"use strict";
(() => {
  const plots = JSON.parse(document.getElementById("plots").textContent) || [];
  plots.forEach((plot) => { plot.curves ||= []; });
  const root = document.documentElement;
  const colour = (name) => getComputedStyle(root).getPropertyValue("--" + name).trim();

  // Three significant digits, as everywhere on the page.
  function significant(x) {
    if (x === 0) return "0";
    const rounded = Number(x.toPrecision(3));
    const decimals = Math.max(0, 2 - Math.floor(Math.log10(Math.abs(rounded))));
    return rounded.toLocaleString("en-US", { minimumFractionDigits: decimals > 20 ? 0 : decimals, maximumFractionDigits: Math.min(20, decimals) });
  }
  function duration(s) {
    const size = Math.abs(s);
    const [unit, name] = size >= 0.9995 ? [1, "s"] : size >= 0.9995e-3 || s === 0 ? [1e-3, "ms"]
      : size >= 0.9995e-6 ? [1e-6, "µs"] : [1e-9, "ns"];
    return significant(s / unit) + " " + name;
  }
  function clock(s) {
    if (s < 0) return "";
    const tenths = Math.round(s * 10), whole = Math.floor(tenths / 10), two = (n) => String(n).padStart(2, "0");
    const part = tenths % 10 ? "." + (tenths % 10) : "";
    if (whole >= 3600) return Math.floor(whole / 3600) + ":" + two(Math.floor(whole / 60) % 60) + ":" + two(whole % 60) + part;
    return Math.floor(whole / 60) + ":" + two(whole % 60) + part;
  }
  const formats = {
    "": significant, seconds: duration, clock: clock,
    share: (x) => significant(100 * x) + " %", usd: (x) => "$" + (Math.abs(x) >= 0.9995 ? x.toFixed(2) : significant(x)),
  };
  const format = (axis) => formats[axis.kind || ""];
  // Labels of ticks are round: they need no trailing zeros.
  const tick = (axis) => (u, splits) => splits.map((x) => x == null ? null : format(axis)(x).replace(/(\.\d*?)0+(?= |$)/, "$1").replace(/\.(?= |$)/, ""));

  // The next number of one digit below or above.
  function round(x, to) {
    const power = Math.pow(10, Math.floor(Math.log10(x)));
    return to(x / power) * power;
  }

  // The range of an axis that nobody has zoomed: of the values and the limits.
  function range(axis, limits, log, fromZero) {
    let full = null;
    return (u, low, high) => {
      if (low == null) return [log ? 1 : 0, log ? 10 : 1];
      if (!fromZero) {
        full = full || [low, high];
        if (low !== full[0] || high !== full[1]) return [low, high];
      }
      for (const at of limits) { low = Math.min(low, at); high = Math.max(high, at); }
      if (log) return [round(axis.min || low / 1.05, Math.floor), axis.max || round(high * 1.05, Math.ceil)];
      if (fromZero) [low, high] = uPlot.rangeNum(Math.min(0, low), high, 0.08, true);
      if (low === high) high = low + 1;
      return [axis.min ?? low, axis.max ?? high];
    };
  }

  // The ticks of a log axis that have labels: as many of the first digits as leave room between two. The library
  // reckons with axes that grow upwards, and would label powers of ten alone on one that grows to the right.
  function roomy(space) {
    return (u, splits, axis) => {
      const scale = u.axes[axis].scale;
      for (const digits of ["123456789", "12357", "125", "13", "1"]) {
        const labelled = splits.map((x) => x != null && digits.includes(x.toExponential()[0]) ? x : null);
        const at = labelled.filter((x) => x != null).map((x) => u.valToPos(x, scale));
        if (digits === "1" || at.every((x, i) => i === 0 || Math.abs(x - at[i - 1]) >= space)) return labelled;
      }
    };
  }

  // The point of a curve that belongs to the cursor: the last one before it where a value lasts, or else the nearest.
  function nearest(step) {
    return (u, series, at) => {
      const values = u.data[series];
      if (series === 0 || values[at] != null) return at;
      let left = at, right = at;
      while (left >= 0 && values[left] == null) left--;
      while (right < values.length && values[right] == null) right++;
      if (left < 0) return step[series] || right === values.length ? null : right;
      if (step[series] || right === values.length) return left;
      const x = u.data[0];
      return x[at] - x[left] <= x[right] - x[at] ? left : right;
    };
  }

  function drawBands(plot, ground) {
    return (u) => {
      u.ctx.fillStyle = ground;
      for (const band of plot.bands || []) {
        const from = Math.max(u.bbox.left, u.valToPos(band.from, "x", true));
        const to = Math.min(u.bbox.left + u.bbox.width, u.valToPos(band.to, "x", true));
        if (to > from) u.ctx.fillRect(from, u.bbox.top, to - from, u.bbox.height);
      }
    };
  }

  function drawLimits(plot, line, marks) {
    return (u) => {
      const { left, top, width, height } = u.bbox, c = u.ctx, dots = devicePixelRatio;
      c.save();
      c.beginPath();
      c.rect(left, top, width, height);
      c.clip();
      c.font = 11.5 * dots + "px system-ui, sans-serif";
      c.strokeStyle = c.fillStyle = line;
      c.lineWidth = dots;
      c.setLineDash([5 * dots, 4 * dots]);
      (plot.limits || []).forEach((limit, i) => {
        const at = u.valToPos(limit.at, limit.on, true), wide = c.measureText(limit.label).width, gap = 5 * dots;
        c.beginPath();
        if (limit.on === "x") {
          c.moveTo(at, top);
          c.lineTo(at, top + height);
          const fits = at + gap + wide < left + width;
          c.textAlign = fits ? "left" : "right";
          c.fillText(limit.label, fits ? at + gap : at - gap, top + height - (8 + 15 * i) * dots);
        } else {
          c.moveTo(left, at);
          c.lineTo(left + width, at);
          c.textAlign = "right";
          c.fillText(limit.label, left + width - gap, at - gap);
        }
        c.stroke();
      });
      c.setLineDash([]);
      for (const [series, point, fill] of marks) {
        c.beginPath();
        c.arc(u.valToPos(u.data[0][point], "x", true), u.valToPos(u.data[series][point], "y", true), 6 * dots, 0, 2 * Math.PI);
        c.lineWidth = 2 * dots;
        c.strokeStyle = fill;
        c.stroke();
      }
      c.restore();
    };
  }

  // Curves on one x axis, as the library wants them.
  function table(plot, logX, logY) {
    const tables = plot.curves.map((curve) => {
      const x = [], y = [], keep = curve.x.map((v, i) => i).filter((i) => (!logX || curve.x[i] > 0) && (!logY || curve.y[i] == null || curve.y[i] > 0));
      for (const i of keep) { // the library has one point for each x
        const last = x[x.length - 1];
        x.push(x.length && curve.x[i] <= last ? last + Math.max(1e-12, Math.abs(last) * 1e-9) : curve.x[i]);
        y.push(curve.y[i]);
      }
      return { rows: [x, y], keep };
    });
    const data = tables.length ? uPlot.join(tables.map((t) => t.rows)) : [[]];
    if (!data[0].length) return { data: [[], ...plot.curves.map(() => [])], tables };
    return { data, tables };
  }

  // Ticks of a clock are where people look at one.
  const clockSteps = [.001, .01, .1, 1].flatMap((s) => [s, 2 * s, 5 * s]).concat(
    [10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200],
    [1, 10, 100, 1000].flatMap((days) => [86400 * days, 2 * 86400 * days, 5 * 86400 * days]));

  function draw(plot, mount, logX, logY) {
    const ink = colour("soft"), grid = colour("line"), ground = colour("ground");
    const { data, tables } = table(plot, logX, logY);
    const step = [false].concat(plot.curves.map((c) => !!c.step)), marks = [];
    const series = [{ label: plot.x.name, value: (u, x) => x == null ? "" : format(plot.x)(x) }];
    plot.curves.forEach((curve, i) => {
      const shade = colour("c" + (i % 8 + 1)), at = new Map();
      tables[i].keep.forEach((from, j) => at.set(tables[i].rows[0][j], from));
      if (curve.mark) marks.push([i + 1, data[0].indexOf(curve.x[curve.mark - 1]), shade]);
      series.push({
        label: curve.name, stroke: shade, width: curve.dots ? 0 : 1.6, spanGaps: !curve.step,
        dash: curve.dash || i >= 8 ? [6, 3] : undefined, fill: curve.tint ? shade + "22" : undefined,
        paths: curve.dots ? () => null : curve.step ? uPlot.paths.stepped({ align: 1 }) : uPlot.paths.linear(),
        points: { show: curve.dots || curve.labels != null || curve.x.length > 2 && curve.x.length < 24 && !curve.step, size: curve.dots ? 7 : 5, fill: curve.dots ? shade : ground, stroke: shade },
        value: (u, y, s, j) => {
          if (y == null) return "";
          const label = curve.labels && curve.labels[at.get(u.data[0][j])];
          return format(plot.y)(y) + (label ? " · " + label : "");
        },
      });
    });
    const axis = (of, more) => Object.assign({
      stroke: ink, font: "12px system-ui, sans-serif", labelFont: "12px system-ui, sans-serif", values: tick(of),
      grid: { stroke: grid, width: 1 }, ticks: { stroke: grid, width: 1, size: 5 }, gap: 4,
    }, more);
    const limitsOn = (on) => (plot.limits || []).filter((l) => l.on === on).map((l) => l.at);
    const cursor = { dataIdx: nearest(step), points: { size: 7 }, focus: { prox: plot.curves.length > 2 ? 24 : -1 } };
    if (plot.sync) cursor.sync = { key: plot.sync, scales: ["x", null] };
    return new uPlot({
      width: mount.clientWidth, height: plot.low ? 150 : 260, padding: [8, plot.x.kind === "clock" || logX ? 30 : 12, 0, 0], focus: { alpha: 0.35 }, cursor, series,
      legend: { markers: { width: 0, fill: (u, i) => colour("c" + ((i - 1) % 8 + 1)) } },
      scales: {
        x: { time: false, distr: logX ? 3 : 1, range: range(plot.x, limitsOn("x"), logX, false) },
        y: { distr: logY ? 3 : 1, range: range(plot.y, limitsOn("y"), logY, true) },
      },
      axes: [axis(plot.x, { space: 62, filter: logX ? roomy(62) : undefined, incrs: plot.x.kind === "clock" ? clockSteps : undefined, label: plot.low ? undefined : plot.x.name, labelSize: 20, size: 26 }),
        axis(plot.y, { space: 32, size: (u, values) => 16 + 6.6 * Math.max(3, ...(values || []).map((v) => v ? v.length : 0)) })],
      hooks: { drawClear: [drawBands(plot, colour("band"))], draw: [drawLimits(plot, colour("bad"), marks)] },
    }, data, mount);
  }

  window.drawPlot = draw; // for pages whose plots come later
  // A picture says nothing to who does not see it: its name and its curves' ends do.
  function words(p) {
    const ends = p.curves.map((c) => {
      const at = (i) => format(p.x)(c.x[i]) + ", " + format(p.y)(c.y[i]);
      const known = c.x.map((_, i) => i).filter((i) => c.x[i] != null && c.y[i] != null);
      const marked = c.mark ? ", marked at " + at(c.mark - 1) : "";
      if (!known.length) return c.name + ": nothing";
      return (c.name + " from ").trimStart() + at(known[0]) + " to " + at(known[known.length - 1]) + marked;
    });
    return [p.title, p.note, ...ends].filter(Boolean).join("; ") + ".";
  }
  window.plotWords = words;

  // A plot in its place, with switches for axes that begin as log axes.
  const drawn = plots.map((plot, i) => {
    const mount = document.querySelector('[data-plot="' + i + '"]');
    let logX = !!plot.x.log, logY = !!plot.y.log, chart = null;
    mount.setAttribute("role", "img");
    mount.setAttribute("aria-label", words(plot));
    const redraw = () => {
      if (chart) chart.destroy();
      chart = draw(plot, mount, logX, logY);
    };
    const switches = document.createElement("div");
    switches.className = "switch";
    for (const on of ["x", "y"].filter((on) => plot[on].log)) {
      const button = document.createElement("button"), say = (log) => {
        button.textContent = on + ": " + (log ? "log" : "linear");
        button.setAttribute("aria-label", button.textContent + ", " + plot.title);
      };
      button.type = "button";
      say(true);
      button.addEventListener("click", () => {
        if (on === "x") logX = !logX; else logY = !logY;
        say(on === "x" ? logX : logY);
        redraw();
      });
      switches.append(button);
    }
    if (switches.childElementCount) mount.parentElement.append(switches);
    redraw();
    new ResizeObserver(() => {
      if (chart.width !== mount.clientWidth && mount.clientWidth > 0) chart.setSize({ width: mount.clientWidth, height: chart.height });
    }).observe(mount);
    return redraw;
  });

  const redrawAll = () => drawn.forEach((redraw) => redraw());
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redrawAll);
  let closed = [];
  addEventListener("beforeprint", () => { // paper is light, and nothing on it can be opened
    closed = [...document.querySelectorAll("details:not([open])")];
    closed.forEach((fold) => { fold.open = true; });
    root.classList.add("paper");
    redrawAll();
  });
  addEventListener("afterprint", () => {
    closed.forEach((fold) => { fold.open = false; });
    root.classList.remove("paper");
    redrawAll();
  });
})();
