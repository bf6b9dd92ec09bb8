"use strict";
(() => {
  const page = JSON.parse(document.getElementById("data").textContent);
  const rows = page.rows;
  const by = (id) => document.getElementById(id);
  const state = { side: "holds", level: page.level };
  const views = new Map();

  // Numbers are put into words by cli/words.py: `row.words` has them.

  // What the switches say about a row: where it stands on the axis, and in words.
  function privacy(row) {
    if (state.side === "claimed") {
      const value = row.claimed.value;
      return { strip: value === null ? "right" : null, value, words: row.words.claimed };
    }
    const entry = row.levels[state.level];
    const strip = { bounded: null, unprotected: "right", "not asked": "left" }[entry.status];
    return { strip, value: entry.value, words: row.words.levels[state.level] };
  }

  // ---- what all charts share ------------------------------------------------------------

  const font = getComputedStyle(document.body).fontFamily;
  const config = {
    background: null,
    axis: {
      labelColor: "var(--soft)", titleColor: "var(--soft)", gridColor: "var(--grid)", domainColor: "var(--line)",
      tickColor: "var(--line)", labelFont: font, titleFont: font, labelFontSize: 12, titleFontSize: 12,
      titleFontWeight: "normal", titlePadding: 8, labelPadding: 6, tickSize: 4,
    },
    legend: { labelColor: "var(--soft)", labelFont: font, labelFontSize: 12 },
    text: { font },
  };
  const colour = { reports: "var(--reports)", owner: "var(--owner)", open: "var(--open)" };
  const shape = { reports: "circle", owner: "diamond", open: "triangle-up" };
  const constant = (value) => ({ value });

  function draw(box, spec) {
    views.get(box)?.finalize();
    box.replaceChildren();
    const mount = box.appendChild(document.createElement("div"));
    const tip = box.appendChild(document.createElement("div"));
    tip.className = "tip";
    tip.hidden = true;
    const show = (text, at) => {
      tip.hidden = !text || !at;
      if (tip.hidden) return;
      tip.textContent = text;
      const frame = box.getBoundingClientRect();
      const left = Math.min(Math.max(at.left + at.width / 2 - frame.left - tip.offsetWidth / 2, 0), frame.width - tip.offsetWidth);
      tip.style.left = Math.max(left, 0) + "px";
      const above = at.top - frame.top - tip.offsetHeight - 8;
      tip.style.top = (above < 0 ? at.bottom - frame.top + 8 : above) + "px";
    };
    // Vega calls this with no event when a chart is taken down.
    const tooltip = (_, event, __, text) => show(text, event?.target?.getBoundingClientRect?.());
    return vegaEmbed(mount, { $schema: "https://vega.github.io/schema/vega/v6.json", ...spec }, {
      mode: "vega", renderer: "svg", actions: false, defaultStyle: false, hover: false, ast: true, config, tooltip,
    }).then((chart) => {
      views.set(box, chart);
      // Marks with a tooltip can be reached with the keyboard, and say the same there.
      for (const mark of mount.querySelectorAll('[aria-roledescription="point"]')) {
        mark.setAttribute("tabindex", "0");
        mark.addEventListener("focus", () => show(mark.getAttribute("aria-label"), mark.getBoundingClientRect()));
        mark.addEventListener("blur", () => show(null));
        mark.addEventListener("keydown", (event) => event.key === "Escape" && show(null));
      }
      box.dataset.drawn = String(Number(box.dataset.drawn ?? 0) + 1);
    });
  }

  function logTicks(low, high, most) {
    const found = [];
    const decades = Math.log10(high / low);
    const steps = decades < 0.9 ? [1, 2, 3, 5, 7] : decades < 2 ? [1, 2, 5] : [1];
    const stride = Math.max(1, Math.ceil(decades / most));
    for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power += 1) {
      if (power % stride) continue;
      for (const step of steps) {
        const tick = Number((step * 10 ** power).toPrecision(1));
        if (tick >= low && tick <= high) found.push(tick);
      }
    }
    return found;
  }

  const tooltip = (what) => ({ tooltip: what, description: what, aria: constant(true), ariaRole: constant("img"), ariaRoleDescription: constant("point") });

  // ---- accuracy against something, on a log axis with strips at its ends -----------------------

  // points: {label, strip: null | "left" | "right", value, row, tip}; strips: titles by side.
  function scatter(width, { points, strips, title, ticksAs, mark, what }) {
    const narrow = width < 560;
    const height = narrow ? 330 : 400;
    const axis = 34;
    const inner = width - axis - 8;
    const has = { left: points.some((p) => p.strip === "left"), right: points.some((p) => p.strip === "right") };
    const band = narrow ? 84 : 130;
    const start = has.left ? band : 0;
    const end = inner - (has.right ? band : 0);
    const values = points.filter((p) => p.strip === null).map((p) => Math.max(p.value, 1e-6));
    let [low, high] = values.length ? [Math.min(...values), Math.max(...values)] : [1, 10];
    const room = Math.max(2, (high / low) ** 0.12);
    [low, high] = [low / room, high * room];
    const best = (row) => (row.best_null === null ? null : 100 * row.nulls[row.best_null].test);
    const accuracies = points.flatMap((p) => [100 * (p.row.test - (p.row.std ?? 0)), 100 * (p.row.test + (p.row.std ?? 0)), best(p.row) ?? 100 * p.row.test]);
    if (page.chance) accuracies.push(100 * page.chance.value);
    const bottom = Math.max(0, Math.floor((Math.min(...accuracies) - 4) / 5) * 5);
    const top = Math.min(100, Math.ceil((Math.max(...accuracies) + 3) / 5) * 5);
    const at = (value) => start + ((end - start) * Math.log(Math.max(value, 1e-6) / low)) / Math.log(high / low);
    // In a strip the horizontal place says nothing: those of like accuracy stand side by side there.
    const spread = { left: 0, right: 0 };
    const placed = [...points].sort((a, b) => b.row.test - a.row.test).map((p) => {
      let x = p.strip === null ? at(p.value) : 0;
      if (p.strip !== null) {
        const offset = [0, 0.24, -0.24][spread[p.strip]++ % 3] * band;
        x = (p.strip === "left" ? band / 2 : end + band / 2) + offset;
      }
      const test = 100 * p.row.test, std = 100 * (p.row.std ?? 0);
      return { x, y: test, best: best(p.row), from: test - std, to: test + std, label: p.label, tip: p.tip, fill: colour[p.row.trust], shape: shape[p.row.trust] };
    });
    const nulls = placed.filter((p) => p.best !== null);
    const strip = (side, x1, x2) => has[side] ? [
      { type: "rect", aria: false, encode: { enter: { x: constant(x1), x2: constant(x2), y: constant(0), y2: constant(height), fill: constant("var(--band)") } } },
      { type: "text", aria: false, encode: { enter: { x: constant((x1 + x2) / 2), y: constant(height + 18), text: constant(strips[side]), align: constant("center"), fill: constant("var(--ink)"), fontSize: constant(12) } } },
    ] : [];
    const raw = points.find((p) => p.row.method === "raw");
    const rule = mark && values.length && mark.value > low && mark.value < high;
    return {
      width: inner, height, padding: { left: axis, right: 8, top: 26, bottom: 46 }, autosize: { type: "none" }, description: what,
      data: [{ name: "rows", values: placed }, { name: "best", values: nulls }],
      scales: [
        { name: "x", type: "log", domain: [low, high], range: [start, end] },
        { name: "y", type: "linear", domain: [bottom, top], range: [height, 0], zero: false },
      ],
      axes: [
        { scale: "y", orient: "left", grid: true, tickCount: narrow ? 5 : 6, domain: false, ticks: false, zindex: 0 },
        ...(values.length ? [{ scale: "x", orient: "bottom", values: logTicks(low, high, narrow ? 4 : 7), title, zindex: 0, grid: true, labelOverlap: "greedy",
          encode: { labels: { update: { text: { signal: ticksAs } } } } }] : []),
      ],
      marks: [
        ...strip("left", 0, start), ...strip("right", end, inner),
        ...(raw ? [{ type: "rule", name: "reference", aria: false, encode: { enter: { x: constant(0), x2: constant(inner), y: { scale: "y", value: 100 * raw.row.test }, stroke: constant("var(--open)"), strokeDash: constant([2, 4]) } } }] : []),
        ...(page.chance ? [
          { type: "rule", aria: false, encode: { enter: { x: constant(0), x2: constant(inner), y: { scale: "y", value: 100 * page.chance.value }, stroke: constant("var(--soft)"), strokeDash: constant([6, 3]) } } },
          { type: "text", name: "chance", aria: false, encode: { enter: { x: constant(inner - 4), y: { scale: "y", value: 100 * page.chance.value, offset: -5 }, align: constant("right"), text: constant(page.chance.words), fill: constant("var(--soft)"), fontSize: constant(11) } } },
        ] : []),
        { type: "rule", name: "nulls", aria: false, from: { data: "best" }, encode: { enter: { x: { field: "x", offset: -9 }, x2: { field: "x", offset: 9 }, y: { scale: "y", field: "best" }, stroke: { field: "fill" }, strokeWidth: constant(3) } } },
        ...(rule ? [
          { type: "rule", aria: false, encode: { enter: { x: { scale: "x", value: mark.value }, y: constant(0), y2: constant(height), stroke: constant("var(--soft)"), strokeDash: constant([4, 3]), strokeWidth: constant(1) } } },
          { type: "text", name: "said", aria: false, encode: { enter: { x: { scale: "x", value: mark.value, offset: at(mark.value) > inner / 2 ? -5 : 5 }, y: constant(12), align: constant(at(mark.value) > inner / 2 ? "right" : "left"), text: constant(mark.text), fill: constant("var(--soft)"), fontSize: constant(11) } } },
        ] : []),
        { type: "rule", aria: false, from: { data: "rows" }, encode: { enter: { x: { field: "x" }, y: { scale: "y", field: "from" }, y2: { scale: "y", field: "to" }, stroke: { field: "fill" }, strokeWidth: constant(1.5), strokeOpacity: constant(0.65) } } },
        { type: "symbol", name: "points", from: { data: "rows" }, encode: { enter: { x: { field: "x" }, y: { scale: "y", field: "y" }, shape: { field: "shape" }, size: constant(narrow ? 85 : 105), fill: { field: "fill" }, stroke: constant("var(--paper)"), strokeWidth: constant(1.2), ...tooltip({ field: "tip" }) } } },
        { type: "text", name: "labels", aria: false, interactive: false, from: { data: "points" }, encode: { enter: { text: { field: "datum.label" }, fill: constant("var(--ink)"), fontSize: constant(narrow ? 12 : 13) } },
          transform: [{ type: "label", size: [inner, height], avoidMarks: [...(nulls.length ? ["nulls"] : []), ...(page.chance ? ["chance"] : []), ...(rule ? ["said"] : []), ...(raw ? ["reference"] : [])], anchor: ["right", "left", "top", "bottom", "top-right", "top-left", "bottom-right", "bottom-left"], offset: [5, 5, 6, 6, 3, 3, 3, 3], padding: 2 }] },
        { type: "text", aria: false, encode: { enter: { x: constant(-axis + 6), y: constant(-8), text: constant("accuracy, %"), fill: constant("var(--soft)"), fontSize: constant(12), align: constant("left"), baseline: constant("bottom") } } },
      ],
    };
  }

  const accuracy = (row) => "accuracy " + row.words.accuracy + (row.words.best_null ? "\n" + row.words.best_null : "");

  function privacyChart(width) {
    const points = rows.map((row) => {
      const found = privacy(row);
      const where = state.side === "claimed" ? "claimed ε " : page.levels[state.level][0] + ": ";
      const tip = row.label + "\n" + accuracy(row) + "\n" + (found.strip === null ? where + "ε " : where).replace("ε ε", "ε") + found.words;
      return { label: row.label, strip: found.strip, value: found.value, row, tip };
    });
    const claimed = state.side === "claimed";
    return scatter(width, {
      points, strips: { left: "not asked", right: claimed ? "nothing claimed" : "unprotected" },
      title: claimed ? "ε as each paper claims it" : width < 560 ? "ε that holds" : "ε that holds when " + page.levels[state.level][1].replace(" changes", " changes"),
      ticksAs: "format(datum.value, ',~r')", mark: claimed ? null : { value: 4.6, text: width < 560 ? "99 % guessed" : "a guess is right 99 times in 100" },
      what: "Test accuracy against epsilon, one point a method; the table At a glance has the same figures",
    });
  }

  function bytesChart(width) {
    const silos = rows.filter((row) => row.silo).map((row) => ({
      label: row.label + ", a silo", strip: null, value: row.silo, row, tip: row.label + "\n" + accuracy(row) + "\n" + row.words.silo,
    }));
    const points = rows.map((row) => ({
      label: row.label + (row.silo && width >= 560 ? ", a member" : ""), strip: row.bytes ? null : "left", value: row.bytes, row,
      tip: row.label + "\n" + accuracy(row) + "\n" + row.words.bytes,
    }));
    return scatter(width, {
      points: [...points, ...silos], strips: { left: "nothing sent" }, title: "bytes a device, down and up",
      ticksAs: "datum.value >= 1e9 ? datum.value / 1e9 + ' GB' : datum.value >= 1e6 ? datum.value / 1e6 + ' MB' : datum.value >= 1e3 ? datum.value / 1e3 + ' kB' : datum.value + ' B'",
      mark: null, what: "Test accuracy against bytes a device sends and receives, one point a method",
    });
  }

  // ---- a line for each method --------------------------------------------------------------

  const widest = (labels) => {
    const pen = document.createElement("canvas").getContext("2d");
    pen.font = "13px " + font;
    return Math.ceil(Math.max(...labels.map((label) => pen.measureText(label).width)));
  };

  function lines(width, values, { scales, axes = [], marks, right, top = 0, what, legends = [] }) {
    const left = Math.min(widest(values.map((v) => v.label)) + 14, Math.round(width * 0.42));
    const height = 30 * values.length;
    return {
      width: width - 4, height, padding: { left: 2, right: 2, top: 4 + top, bottom: axes.length ? 26 : 4 }, autosize: { type: "none" }, description: what,
      data: [{ name: "rows", values }],
      scales: [{ name: "y", type: "band", domain: values.map((v) => v.label), range: [0, height], padding: 0.35 }, ...scales(left, width - right - 4)],
      axes, legends,
      marks: [
        { type: "text", aria: false, from: { data: "rows" }, encode: { enter: { x: constant(left - 12), y: { scale: "y", field: "label", band: 0.5 }, align: constant("right"), baseline: constant("middle"), text: { field: "label" }, limit: constant(left - 12), fill: constant("var(--ink)"), fontSize: constant(13) } } },
        ...marks(left),
      ],
    };
  }
  const middle = { scale: "y", field: "label", band: 0.5 };
  const endText = (x, field) => ({ type: "text", aria: false, from: { data: "rows" }, encode: { enter: { x: { ...x, offset: 7 }, y: middle, baseline: constant("middle"), text: { field }, fill: constant("var(--soft)"), fontSize: constant(12) } } });

  function roundsChart(width) {
    const values = rows.map((row) => ({ label: row.label, rounds: row.rounds, fill: colour[row.trust], words: row.words.rounds, tip: row.label + ": " + row.words.rounds_said }));
    const most = Math.max(10, ...values.map((v) => v.rounds));
    return lines(width, values, {
      right: 46, what: "Rounds by method",
      scales: (from, to) => [{ name: "x", type: "symlog", constant: 1, domain: [0, most], range: [from, to] }],
      marks: (left) => [
        { type: "rule", aria: false, from: { data: "rows" }, encode: { enter: { x: constant(left), x2: { scale: "x", field: "rounds" }, y: middle, stroke: { field: "fill" }, strokeWidth: constant(2) } } },
        { type: "symbol", from: { data: "rows" }, encode: { enter: { x: { scale: "x", field: "rounds" }, y: middle, size: constant(80), fill: { field: "fill" }, ...tooltip({ field: "tip" }) } } },
        endText({ scale: "x", field: "rounds" }, "words"),
      ],
    });
  }

  function secondsChart(width) {
    const values = rows.map((row) => ({ label: row.label, total: row.seconds.total, words: row.words.seconds.total }));
    const phases = ["collect", "reconstruct", "train"];
    const parts = rows.flatMap((row) => {
      let from = 0;
      return phases.map((phase) => {
        const part = { label: row.label, phase, from, to: (from += row.seconds[phase]), tip: row.label + ", " + phase + ": " + row.words.seconds[phase] };
        return part;
      });
    });
    const most = Math.max(1e-3, ...values.map((v) => v.total));
    const made = lines(width, values, {
      right: 58, top: 24, what: "Seconds of one repeat by method and phase",
      scales: (from, to) => [
        { name: "x", type: "linear", domain: [0, most], range: [from, to] },
        { name: "shade", type: "ordinal", domain: phases, range: ["var(--found)", "var(--noisy)", "var(--soft)"] },
      ],
      legends: [{ fill: "shade", orient: "none", legendX: 0, legendY: -26, direction: "horizontal", symbolType: "square", symbolSize: 70, columnPadding: 14 }],
      marks: () => [
        { type: "rect", from: { data: "parts" }, encode: { enter: { x: { scale: "x", field: "from" }, x2: { scale: "x", field: "to" }, y: { scale: "y", field: "label" }, height: { scale: "y", band: 1 }, fill: { scale: "shade", field: "phase" }, ...tooltip({ field: "tip" }) } } },
        endText({ scale: "x", field: "total" }, "words"),
      ],
    });
    made.data.push({ name: "parts", values: parts.filter((p) => p.to > p.from) });
    return made;
  }

  // Edges were found out from reports: neither public nor read from the true graph.
  const rebuilt = rows.filter((row) => row.trust === "reports" && row.levels.relationship.status === "bounded" && row.edges.kept !== null);

  function edgesChart(width) {
    const values = rebuilt.map((row) => {
      const { precision, recall } = row.edges;
      return { label: row.label, words: row.words.edges, precision: precision === null ? null : 100 * precision, recall: recall === null ? null : 100 * recall };
    });
    const marks = values.flatMap((v) => ["precision", "recall"].filter((kind) => v[kind] !== null).map((kind) => ({
      label: v.label, kind, share: v[kind], words: v.words[kind].short, tip: v.label + ", " + kind + ": " + v.words[kind].full,
      right: v[kind] >= (v[kind === "recall" ? "precision" : "recall"] ?? 0) + (kind === "recall" ? 0 : 1e-9) ? 1 : 0,
    })));
    const made = lines(width, values, {
      right: 40, top: 26, what: "Precision and recall of reconstructed edges by method",
      scales: (from, to) => [
        { name: "x", type: "linear", domain: [0, 100], range: [from + 22, to] },
        { name: "inside", type: "ordinal", domain: ["precision", "recall"], range: ["var(--ink)", "var(--paper)"] },
      ],
      axes: [{ scale: "x", orient: "bottom", grid: true, tickCount: 5, domain: false, ticks: false, zindex: 0, format: "~r", offset: 0, encode: { labels: { update: { text: { signal: "datum.value + ' %'" } } } } }],
      legends: [{ fill: "inside", orient: "none", legendX: 0, legendY: -28, direction: "horizontal", symbolType: "circle", symbolStrokeColor: "var(--ink)", symbolStrokeWidth: 2, symbolSize: 90, columnPadding: 14 }],
      marks: () => [
        { type: "rule", aria: false, from: { data: "rows" }, encode: { enter: { x: { scale: "x", field: "precision" }, x2: { scale: "x", field: "recall" }, y: middle, stroke: constant("var(--soft)"), strokeWidth: constant(2), opacity: [{ test: "datum.precision === null || datum.recall === null", value: 0 }, { value: 1 }] } } },
        { type: "symbol", from: { data: "marks" }, encode: { enter: { x: { scale: "x", field: "share" }, y: middle, size: constant(95), fill: { scale: "inside", field: "kind" }, stroke: constant("var(--ink)"), strokeWidth: constant(2), ...tooltip({ field: "tip" }) } } },
        { type: "text", aria: false, from: { data: "marks" }, encode: { enter: { x: { scale: "x", field: "share", offset: { signal: "datum.right ? 9 : -9" } }, y: middle, baseline: constant("middle"), align: { signal: "datum.right ? 'left' : 'right'" }, text: { field: "words" }, fill: constant("var(--soft)"), fontSize: constant(12) } } },
      ],
    });
    made.data.push({ name: "marks", values: marks });
    return made;
  }

  // ---- degrees ---------------------------------------------------------------------------------

  const known = rebuilt.filter((row) => row.degrees !== null);
  const counted = known.slice(0, 12); // a long sweep's are in the CSV
  const curves = [
    { name: "true", stroke: "var(--ink)", dash: [1, 0], thick: 2.2 },
    { name: "noisy", stroke: "var(--noisy)", dash: [6, 3], thick: 2.2 },
    { name: "reconstructed", stroke: "var(--found)", dash: [2, 2], thick: 3 },
  ];

  function degreesChart(width, row) {
    const height = 190;
    const from = row.degrees.from;
    const values = [];
    for (const curve of curves) {
      const people = row.degrees[curve.name];
      if (people === null) continue;
      const all = people.reduce((sum, count) => sum + count, 0);
      let rest = all;
      const line = people.map((count, place) => {
        const point = { name: curve.name, degree: from[place], share: (100 * rest) / all };
        rest -= count;
        return point;
      });
      line.push({ name: curve.name, degree: from.at(-1) + 1, share: 0 });
      const last = line.findLastIndex((point) => point.share > 0);
      values.push(...line.slice(0, last + 2));
    }
    const most = Math.max(...values.map((v) => v.degree));
    const inner = width - 46;
    const ticks = [0, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 1e4, 2e4, 5e4, 1e5].filter((tick) => tick <= most);
    return {
      width: inner, height, padding: { left: 40, right: 6, top: 8, bottom: 42 }, autosize: { type: "none" },
      description: "Degree distributions of " + row.label + ": share of people with at least so many neighbours",
      data: [{ name: "values", values }],
      scales: [
        { name: "x", type: "symlog", constant: 1, domain: [0, most], range: [0, inner] },
        { name: "y", type: "linear", domain: [0, 100], range: [height, 0] },
        { name: "stroke", type: "ordinal", domain: curves.map((c) => c.name), range: curves.map((c) => c.stroke) },
        { name: "dash", type: "ordinal", domain: curves.map((c) => c.name), range: curves.map((c) => c.dash) },
        { name: "thick", type: "ordinal", domain: curves.map((c) => c.name), range: curves.map((c) => c.thick) },
      ],
      axes: [
        { scale: "x", orient: "bottom", values: ticks, title: "neighbours, at least", grid: false, labelOverlap: "greedy", format: ",~r" },
        { scale: "y", orient: "left", grid: true, tickCount: 4, domain: false, ticks: false, encode: { labels: { update: { text: { signal: "datum.value + ' %'" } } } } },
      ],
      marks: [
        { type: "group", from: { facet: { name: "one", data: "values", groupby: "name" } }, marks: [
          { type: "line", aria: false, from: { data: "one" }, encode: { enter: { x: { scale: "x", field: "degree" }, y: { scale: "y", field: "share" }, stroke: { scale: "stroke", field: "name" }, strokeDash: { scale: "dash", field: "name" }, strokeWidth: { scale: "thick", field: "name" }, interpolate: constant("monotone") } } },
        ] },
      ],
    };
  }

  // ---- the page ----------------------------------------------------------------------------------

  const charts = { privacy: privacyChart, bytes: bytesChart, rounds: roundsChart, seconds: secondsChart, edges: edgesChart };

  function drawOne(name) {
    const box = by("chart-" + name);
    if (name === "edges" && !rebuilt.length) return Promise.resolve();
    return draw(box, charts[name](Math.floor(box.clientWidth)));
  }

  function drawAll() {
    const drawn = Object.keys(charts).map(drawOne);
    for (const box of document.querySelectorAll("#degrees .chart")) {
      drawn.push(draw(box, degreesChart(Math.floor(box.clientWidth), counted[Number(box.dataset.row)])));
    }
    return Promise.all(drawn);
  }

  function say() {
    const claimed = state.side === "claimed";
    for (const input of document.querySelectorAll('input[name="level"]')) input.disabled = claimed;
    by("said").textContent = claimed
      ? "Each paper's own figure, in its own sense: a claim is about one thing only, so there is no level to choose."
      : "What any answer can give away when " + page.levels[state.level][1] + ".";
    by("loss-head").textContent = claimed ? "ε claimed" : "ε that holds";
    for (const line of document.querySelectorAll("#glance tr[data-row]")) {
      const cell = line.querySelector(".loss");
      const found = privacy(rows[Number(line.dataset.row)]);
      cell.textContent = found.words;
      cell.dataset.label = claimed ? "ε claimed" : "ε that holds";
      cell.className = "n loss " + (found.strip === "right" && !claimed ? "unprotected" : found.strip === "left" ? "not-asked" : "");
    }
    const placed = rows.map(privacy);
    const bounded = placed.filter((found) => found.strip === null).length;
    const said = bounded + " of " + rows.length + (claimed ? " claim a figure" : " have a bound") + (bounded === rows.length ? "." : "; the others stand in the strip");
    const left = placed.some((found) => found.strip === "left"), right = placed.some((found) => found.strip === "right");
    by("privacy-note").textContent = bounded === rows.length ? said : said + (left && right ? "s at the edges: left, nothing about this is asked; right, it is in clear."
      : left ? " at the left edge: nothing about this is asked." : claimed ? " at the right edge." : " at the right edge: it is in clear.");
  }

  by("switches").addEventListener("change", (event) => {
    state[event.target.name] = event.target.value;
    say();
    drawOne("privacy");
  });
  by("switches").addEventListener("submit", (event) => event.preventDefault());

  for (const button of document.querySelectorAll("button.copy")) {
    button.addEventListener("click", async () => {
      const text = button.dataset.copy;
      const words = button.textContent;
      try {
        await navigator.clipboard.writeText(text);
      } catch {
        const field = document.body.appendChild(document.createElement("textarea"));
        field.value = text;
        field.select();
        document.execCommand("copy");
        field.remove();
        button.focus();
      }
      button.textContent = "Copied";
      by("copied").textContent = "Copied: " + text;
      setTimeout(() => (button.textContent = words), 1500);
    });
  }

  // A form that the browser restores after a reload says what is chosen.
  for (const input of document.querySelectorAll("#switches input:checked")) state[input.name] = input.value;

  const skipped = rows.filter((row) => !rebuilt.includes(row)).map((row) => row.label);
  by("edges-note").textContent = !rebuilt.length ? "No method here reconstructed edges from reports."
    : skipped.length ? "Not drawn, because edges are public to them, read in clear or not used: " + skipped.join(", ") + "." : "";
  by("degrees-more").hidden = known.length === counted.length;
  by("degrees-more").textContent = "The first " + counted.length + " of " + known.length + " are drawn; the data have all.";
  by("degrees-none").hidden = counted.length > 0;
  by("degrees-legend").hidden = counted.length === 0;
  counted.forEach((row, place) => {
    const frame = by("degrees").appendChild(document.createElement("div"));
    frame.appendChild(document.createElement("h3")).textContent = row.label;
    const box = frame.appendChild(document.createElement("div"));
    box.className = "chart";
    box.dataset.row = String(place);
  });

  say();
  let width = document.documentElement.clientWidth;
  drawAll().then(() => {
    document.documentElement.dataset.ready = "yes";
    let waiting;
    addEventListener("resize", () => {
      clearTimeout(waiting);
      waiting = setTimeout(() => {
        if (document.documentElement.clientWidth === width) return;
        width = document.documentElement.clientWidth;
        drawAll();
      }, 120);
    });
  });
})();
