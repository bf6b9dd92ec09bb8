// ---- a line for each row --------------------------------------------------------------

const widest = (labels) => Math.max(...labels.map((label) => widthOf(label, 13)));

function lines(width, values, { scales, axes, marks, right, top = 0, what, legends = [] }) {
  const left = Math.min(widest(values.map((v) => v.label)) + 14, Math.round(width * 0.42));
  const height = 30 * values.length;
  return {
    width: width - 4, height, padding: { left: 2, right: 2, top: 4 + top, bottom: 46 }, autosize: { type: "none" }, description: what,
    data: [{ name: "rows", values }],
    scales: [{ name: "y", type: "band", domain: values.map((v) => v.label), range: [0, height], padding: 0.35 }, ...scales(left, width - right - 4)],
    axes: axes.map((axis) => ({ scale: "x", orient: "bottom", domain: false, ticks: false, zindex: 0, titleX: (left + width - right - 4) / 2, titleAlign: "center", ...axis })), legends,
    marks: [
      { type: "text", aria: false, from: { data: "rows" }, encode: { enter: { x: constant(left - 12), y: { scale: "y", field: "label", band: 0.5 }, align: constant("right"), baseline: constant("middle"), text: { field: "label" }, limit: constant(left - 12), fill: constant("var(--ink)"), fontSize: constant(13) } } },
      ...marks(left),
    ],
  };
}
const middle = { scale: "y", field: "label", band: 0.5 };
const endText = (x, field) => ({ type: "text", name: "ends", aria: false, from: { data: "rows" }, encode: { enter: { x: { ...x, offset: 7 }, y: middle, baseline: constant("middle"), text: { field }, fill: constant("var(--soft)"), fontSize: constant(12) } } });

function roundsChart(width) {
  const values = drawnRows.map((row) => ({ label: row.label, rounds: row.rounds, fill: fillOf(row), words: row.words.rounds, tip: row.label + ": " + row.words.rounds_said }));
  const most = Math.max(10, ...values.map((v) => v.rounds));
  return lines(width, values, {
    right: 46, what: "Rounds by method",
    axes: [{ title: "rounds (log scale)", values: [0, 1, 10, 100, 1000, 1e4].filter((tick) => tick <= most), grid: true, labelOverlap: "greedy", format: ",~r" }],
    scales: (from, to) => [{ name: "x", type: "symlog", constant: 1, domain: [0, most], range: [from, to] }],
    marks: (left) => [
      { type: "rule", aria: false, from: { data: "rows" }, encode: { enter: { x: constant(left), x2: { scale: "x", field: "rounds" }, y: middle, stroke: { field: "fill" }, strokeWidth: constant(2) } } },
      { type: "symbol", from: { data: "rows" }, encode: { enter: { x: { scale: "x", field: "rounds" }, y: middle, size: constant(80), fill: { field: "fill" }, ...tooltip({ field: "tip" }) } } },
      endText({ scale: "x", field: "rounds" }, "words"),
    ],
  });
}

function secondsChart(width) {
  const values = drawnRows.map((row) => ({ label: row.label, total: row.seconds.total, words: row.words.seconds.total }));
  const phases = ["collect", "reconstruct", "train"];
  const parts = drawnRows.flatMap((row) => {
    let from = 0;
    return phases.map((phase) => {
      const part = { label: row.label, phase, from, to: (from += row.seconds[phase]), tip: row.label + ", " + phase + ": " + row.words.seconds[phase] };
      return part;
    });
  });
  const most = Math.max(1e-3, ...values.map((v) => v.total));
  const made = lines(width, values, {
    right: 58, top: 24, what: "Seconds of one repeat by method and phase",
    axes: [{ title: "seconds of one repeat", tickCount: 4, grid: true, labelOverlap: "greedy" }],
    scales: (from, to) => [
      { name: "x", type: "linear", domain: [0, most], range: [from, to] },
      { name: "shade", type: "ordinal", domain: phases, range: ["var(--line-0)", "var(--line-1)", "var(--line-2)"] },
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
const rebuilt = rows.filter((row) => row.edges !== null);

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
    axes: [{ title: "share of the edges (%)", grid: true, tickCount: 5, format: "~r" }],
    legends: [{ fill: "inside", orient: "none", legendX: 0, legendY: -28, direction: "horizontal", symbolType: "circle", symbolStrokeColor: "var(--ink)", symbolStrokeWidth: 2, symbolSize: 90, columnPadding: 14 }],
    marks: () => [
      { type: "rule", aria: false, from: { data: "rows" }, encode: { enter: { x: { scale: "x", field: "precision" }, x2: { scale: "x", field: "recall" }, y: middle, stroke: constant("var(--soft)"), strokeWidth: constant(2), opacity: [{ test: "datum.precision === null || datum.recall === null", value: 0 }, { value: 1 }] } } },
      { type: "symbol", from: { data: "marks" }, encode: { enter: { x: { scale: "x", field: "share" }, y: middle, size: constant(95), fill: { scale: "inside", field: "kind" }, stroke: constant("var(--ink)"), strokeWidth: constant(2), ...tooltip({ field: "tip" }) } } },
      { type: "text", name: "ends", aria: false, from: { data: "marks" }, encode: { enter: { x: { scale: "x", field: "share", offset: { signal: "datum.right ? 9 : -9" } }, y: middle, baseline: constant("middle"), align: { signal: "datum.right ? 'left' : 'right'" }, text: { field: "words" }, fill: constant("var(--soft)"), fontSize: constant(12) } } },
    ],
  });
  made.data.push({ name: "marks", values: marks });
  return made;
}

