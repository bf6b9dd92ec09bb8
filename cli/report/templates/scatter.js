// ---- accuracy against something, on a log axis with strips at its ends ---------------------

const axisTicks = (low, high, most) => {
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
};

const deviation = (row) => 100 * (row.std ?? 0);
const best = (row) => (row.best === null ? null : 100 * row.best);

// Domains of both axes over the points of all data sets, so that small multiples can be compared.
function domains(points) {
  const values = points.filter((p) => p.strip === null).map((p) => Math.max(p.value, 1e-6));
  let [low, high] = values.length ? [Math.min(...values), Math.max(...values)] : [1, 10];
  const room = Math.max(page.curves ? 1.3 : 2, (high / low) ** 0.12);
  [low, high] = [low / room, high * room];
  const accuracies = points.flatMap(({ row }) => [100 * row.test - deviation(row), 100 * row.test + deviation(row), best(row) ?? 100 * row.test]);
  accuracies.push(...page.panels.filter((panel) => panel.chance).map((panel) => 100 * panel.chance.value));
  const bottom = Math.max(0, Math.floor((Math.min(...accuracies) - 4) / 5) * 5);
  const top = Math.min(100, Math.ceil((Math.max(...accuracies) + 3) / 5) * 5);
  return { low, high, bottom, top, any: values.length > 0 };
}

// Points of one line in the order of the axis, where there are two or more.
function linesOf(placed) {
  const bySeries = Map.groupBy ? Map.groupBy(placed.filter((p) => p.strip === null), (p) => p.series)
    : placed.filter((p) => p.strip === null).reduce((map, p) => map.set(p.series, [...(map.get(p.series) ?? []), p]), new Map());
  return [...bySeries.values()].filter((line) => line.length > 1).map((line) => line.sort((a, b) => a.x - b.x));
}

// One label a line, at its right end; a line in a strip has it at its best point.
function labelled(placed) {
  const chosen = new Map();
  for (const p of placed) {
    const before = chosen.get(p.series);
    const further = before && (p.strip === null ? before.strip !== null || p.x > before.x : before.strip !== null && p.y > before.y);
    if (!before || further) chosen.set(p.series, p);
  }
  return new Set(chosen.values());
}

// Words of an axis in one line or in two.
function lineBreak(text, room) {
  if (widthOf(text, 12) <= room || !text.includes(" ")) return text;
  const words = text.split(" ");
  const cut = words.findIndex((_, count) => widthOf(words.slice(0, count + 1).join(" "), 12) > room);
  return [words.slice(0, Math.max(cut, 1)).join(" "), words.slice(Math.max(cut, 1)).join(" ")];
}

// points: {label, strip: null | "left" | "right", value, row, tip} of one data set; all: of every one.
function scatter(width, { points, all, panel, strips, title, ticksAs, mark, what, joined = true }) {
  const narrow = width < 560;
  const height = narrow ? 330 : 400;
  const axis = 34, size = narrow ? 12 : 13, stripWords = height + 18;
  const inner = width - axis - 8;
  const { low, high, bottom, top, any } = domains(all);
  const has = { left: all.some((p) => p.strip === "left"), right: all.some((p) => p.strip === "right") };
  const band = narrow ? 84 : 130;
  const start = has.left ? band : 0;
  const end = inner - (has.right ? band : 0);
  const at = (value) => start + ((end - start) * Math.log(Math.max(value, 1e-6) / low)) / Math.log(high / low);
  // In a strip the horizontal place says nothing: those of like accuracy stand side by side there.
  const slots = { left: new Map(), right: new Map() };
  const shown = [...points].sort((a, b) => b.row.test - a.row.test).map((p) => {
    let x = p.strip === null ? at(p.value) : 0;
    if (p.strip !== null) {
      const key = page.curves ? p.row.series : p;
      const taken = slots[p.strip];
      if (!taken.has(key)) taken.set(key, [0, 0.24, -0.24][taken.size % 3] * band);
      x = (p.strip === "left" ? band / 2 : end + band / 2) + taken.get(key);
    }
    const test = 100 * p.row.test, std = deviation(p.row);
    return { x, y: test, best: best(p.row), from: Math.max(test - std, 0), to: Math.min(test + std, 100), label: p.label, tip: p.tip, fill: fillOf(p.row), shape: shape[p.row.trust],
      strip: p.strip, series: p.line, clear: p.row.badge !== "", dash: p.row.series < LINES ? [1, 0] : [8, 3], value: p.value };
  });
  const named = page.curves ? labelled(shown) : new Set(shown);
  const lines = joined ? linesOf(shown) : [];
  const onLine = new Set(lines.flat());
  const nulls = shown.filter((p) => p.best !== null && !onLine.has(p));
  const alone = shown.filter((p) => !onLine.has(p));
  const { chance } = page.panels[panel];
  const strip = (side, x1, x2) => has[side] ? [
    { type: "rect", aria: false, encode: { enter: { x: constant(x1), x2: constant(x2), y: constant(0), y2: constant(height), fill: constant("var(--band)") } } },
    { type: "text", aria: false, encode: { enter: { x: constant((x1 + x2) / 2), y: constant(stripWords), text: constant(strips[side]), align: constant("center"), fill: constant("var(--ink)"), fontSize: constant(12) } } },
  ] : [];
  const raw = page.curves ? null : points.find((p) => p.row.raw);
  const rule = mark && any && mark.value > low && mark.value < high;
  const ofLine = (type, channels) => ({
    type: "group", from: { facet: { name: "one", data: "lines", groupby: "series" } },
    marks: [{ type, aria: false, from: { data: "one" }, encode: { enter: { x: { field: "x" }, ...channels } } }],
  });
  const y = (field) => ({ scale: "y", field });

  // What labels keep clear of, in pixels.
  const up = (percent) => (height * (top - percent)) / (top - bottom);
  const reach = page.curves ? 8 : 10;
  const across = (percent) => box(0, up(percent) - 1.5, inner, up(percent) + 1.5);
  const taken = [
    ...shown.map((p) => around(p.x, up(p.y), p.clear ? reach : 6)),
    ...alone.map((p) => box(p.x - 1, up(p.from), p.x + 1, up(p.to))),
    ...nulls.map((p) => box(p.x - 9, up(p.best) - 2, p.x + 9, up(p.best) + 2)),
    ...lines.flatMap((line) => line.slice(1).flatMap((p, before) => {
      const q = line[before];
      return [...along({ x: q.x, y: up(q.y) }, { x: p.x, y: up(p.y) }),
        ...(q.best === null || p.best === null ? [] : along({ x: q.x, y: up(q.best) }, { x: p.x, y: up(p.best) }))];
    })),
    ...(raw ? [across(100 * raw.row.test)] : []), ...(chance ? [across(100 * chance.value)] : []),
    ...(rule ? [box(at(mark.value) - 1, 0, at(mark.value) + 1, height)] : []),
  ];
  const chanceAt = chance && besideRule([0, 1].flatMap((below) => [(wide) => inner - 4 - wide, () => 4, (wide) => start + (end - start - wide) / 2].map((left) => (
    { left, y: up(100 * chance.value) + (below ? 10 : -9) }))), chance.words, 11, taken.filter((each) => each.x2 - each.x1 < inner));
  if (chance) taken.push(chanceAt.own);
  const marked = rule ? (narrow ? mark.narrow : mark.wide) : "";
  const markAt = rule && besideRule([12, height - 10, height / 2].flatMap((y) => [() => at(mark.value) + 6, (wide) => at(mark.value) - 6 - wide].map((left) => ({ left, y })))
    .filter((spot) => spot.left(widthOf(marked, 11)) >= 0 && spot.left(widthOf(marked, 11)) + widthOf(marked, 11) <= inner), marked, 11, taken);
  if (rule) taken.push(markAt.own);
  const labels = placed([...named].map((p) => ({ x: p.x, y: up(p.y), text: p.label, size })), taken, box(0, 0, inner, height));
  const stripsFrom = ["left", "right"].filter((side) => has[side]).map((side) => {
    const centre = side === "left" ? start / 2 : (end + inner) / 2, half = widthOf(strips[side], 12) / 2 + 6;
    return [centre - half, centre + half];
  });
  const ticks = axisTicks(low, high, narrow ? 4 : 7).filter((tick) => {
    const half = widthOf(ticksAs(tick), 12) / 2;
    return stripsFrom.every(([from, to]) => at(tick) + half < from || at(tick) - half > to);
  });
  const heading = lineBreak(title, inner);
  return {
    width: inner, height, padding: { left: axis, right: 8, top: 26, bottom: Array.isArray(heading) ? 62 : 46 }, autosize: { type: "none" }, description: what,
    data: [{ name: "rows", values: shown }, { name: "alone", values: alone }, { name: "best", values: nulls }, { name: "clear", values: shown.filter((p) => p.clear) },
      { name: "lines", values: lines.flat() }, { name: "texts", values: labels }],
    signals: [{ name: "words", value: Object.fromEntries(ticks.map((tick) => [tick, ticksAs(tick)])) }],
    scales: [
      { name: "x", type: "log", domain: [low, high], range: [start, end] },
      { name: "y", type: "linear", domain: [bottom, top], range: [height, 0], zero: false },
    ],
    axes: [
      { scale: "y", orient: "left", grid: true, tickCount: narrow ? 5 : 6, domain: false, ticks: false, zindex: 0, ...overAxis("test accuracy (%)", axis) },
      ...(any ? [{ scale: "x", orient: "bottom", values: ticks, title: heading, titleX: inner / 2, titleAlign: "center", zindex: 0, grid: true, labelOverlap: "greedy",
        encode: { labels: { update: { text: { signal: "words[datum.value]" } } } } }] : []),
    ],
    marks: [
      ...strip("left", 0, start), ...strip("right", end, inner),
      ...(any ? [] : [{ type: "text", aria: false, encode: { enter: { x: constant((start + end) / 2), y: constant(height + 38), text: constant(heading), align: constant("center"), fill: constant("var(--soft)"), fontSize: constant(12) } } }]),
      ...(raw ? [{ type: "rule", name: "reference", aria: false, encode: { enter: { x: constant(0), x2: constant(inner), y: { scale: "y", value: 100 * raw.row.test }, stroke: constant("var(--open)"), strokeDash: constant([2, 4]) } } }] : []),
      ...(chance ? [
        { type: "rule", aria: false, encode: { enter: { x: constant(0), x2: constant(inner), y: { scale: "y", value: 100 * chance.value }, stroke: constant("var(--soft)"), strokeDash: constant([6, 3]) } } },
        { type: "text", name: "chance", aria: false, encode: { enter: { x: constant(chanceAt.left), y: constant(chanceAt.y), baseline: constant("middle"), text: constant(chance.words), fill: constant("var(--soft)"), fontSize: constant(11) } } },
      ] : []),
      ofLine("area", { y: y("from"), y2: y("to"), fill: { field: "fill" }, fillOpacity: constant(0.14) }),
      ofLine("line", { y: y("best"), stroke: { field: "fill" }, strokeWidth: constant(1.6), strokeDash: constant([2, 3]), defined: { signal: "datum.best !== null" } }),
      ofLine("line", { y: y("y"), stroke: { field: "fill" }, strokeWidth: constant(2.2), strokeDash: { field: "dash" } }),
      { type: "rule", name: "nulls", aria: false, from: { data: "best" }, encode: { enter: { x: { field: "x", offset: -9 }, x2: { field: "x", offset: 9 }, y: y("best"), stroke: { field: "fill" }, strokeWidth: constant(3) } } },
      ...(rule ? [
        { type: "rule", aria: false, encode: { enter: { x: { scale: "x", value: mark.value }, y: constant(0), y2: constant(height), stroke: constant("var(--soft)"), strokeDash: constant([4, 3]), strokeWidth: constant(1) } } },
        { type: "text", name: "said", aria: false, encode: { enter: { x: constant(markAt.left), y: constant(markAt.y), baseline: constant("middle"), text: constant(marked), fill: constant("var(--soft)"), fontSize: constant(11) } } },
      ] : []),
      { type: "rule", name: "spread", aria: false, from: { data: "alone" }, encode: { enter: { x: { field: "x" }, y: y("from"), y2: y("to"), stroke: { field: "fill" }, strokeWidth: constant(1.5), strokeOpacity: constant(0.65) } } },
      { type: "symbol", aria: false, from: { data: "clear" }, encode: { enter: { x: { field: "x" }, y: y("y"), shape: constant("circle"), size: constant(page.curves ? 190 : narrow ? 240 : 290), fill: constant("transparent"), stroke: constant("var(--ink)"), strokeWidth: constant(1.2) } } },
      { type: "symbol", name: "points", from: { data: "rows" }, encode: { enter: { x: { field: "x" }, y: y("y"), shape: { field: "shape" }, size: constant(page.curves ? 60 : narrow ? 85 : 105), fill: { field: "fill" }, stroke: constant("var(--paper)"), strokeWidth: constant(1.2), ...tooltip({ field: "tip" }) } } },
      { type: "rule", name: "leaders", aria: false, from: { data: "texts" }, encode: { enter: { x: { field: "from.x" }, y: { field: "from.y" }, x2: { field: "end.x" }, y2: { field: "end.y" }, stroke: constant("var(--soft)"), strokeWidth: constant(0.8), opacity: { signal: "datum.far ? 1 : 0" } } } },
      { type: "text", name: "labels", aria: false, interactive: false, from: { data: "texts" }, encode: { enter: { x: { field: "left" }, y: { field: "y" }, baseline: constant("middle"), text: { field: "said" }, fill: constant("var(--ink)"), fontSize: { field: "size" } } } },
    ],
  };
}

const ofPanel = (points, panel) => points.filter((p) => p.row.panel === panel);
const nameOf = (row) => (page.curves ? row.line : row.name);

function privacyChart(width, panel) {
  const words = page.views[view()];
  const all = rows.map((row) => {
    const found = place(row);
    return { label: nameOf(row) + row.sign, line: String(row.series), strip: found.strip, value: found.value, row, tip: row.tip + "\n" + words.tip + (found.strip === null ? "ε " : "") + found.words };
  });
  return scatter(width, {
    points: ofPanel(all, panel), all, panel, strips: words.strips, title: words.title, ticksAs: grouped,
    mark: state.side === "claimed" ? null : page.mark, what: `Test accuracy against epsilon; the table At a glance has the same figures`,
  });
}

function bytesChart(width, panel) {
  const silos = rows.filter((row) => row.silo).map((row) => ({
    label: row.words.a_silo, line: row.series + " silo", strip: null, value: row.silo, row, tip: row.tip + "\n" + row.words.silo,
  }));
  const points = rows.map((row) => ({
    label: (row.silo && width >= 560 ? row.words.a_member : nameOf(row)) + row.sign, line: String(row.series), strip: row.bytes ? null : "left", value: row.bytes, row,
    tip: row.tip + "\n" + row.words.bytes,
  }));
  const all = [...points, ...silos];
  return scatter(width, {
    points: ofPanel(all, panel), all, panel, strips: { left: "nothing sent" }, title: "bytes a device, down and up (log scale)",
    ticksAs: (value) => (value >= 1e9 ? value / 1e9 + " GB" : value >= 1e6 ? value / 1e6 + " MB" : value >= 1e3 ? value / 1e3 + " kB" : value + " B"),
    mark: null, joined: false, what: `Test accuracy against the bytes that a device sends and receives; the table At a glance has the same figures`,
  });
}
