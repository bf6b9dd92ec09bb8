// ---- degrees ---------------------------------------------------------------------------------

const counted = rows.filter((row) => row.degrees !== null);
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
    width: inner, height, padding: { left: 40, right: 6, top: 24, bottom: 42 }, autosize: { type: "none" },
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
      { scale: "x", orient: "bottom", values: ticks, title: "neighbours, at least (log scale)", grid: false, labelOverlap: "greedy", format: ",~r" },
      { scale: "y", orient: "left", grid: true, tickCount: 4, domain: false, ticks: false, ...overAxis("people (%)", 40) },
    ],
    marks: [
      { type: "group", from: { facet: { name: "one", data: "values", groupby: "name" } }, marks: [
        { type: "line", aria: false, from: { data: "one" }, encode: { enter: { x: { scale: "x", field: "degree" }, y: { scale: "y", field: "share" }, stroke: { scale: "stroke", field: "name" }, strokeDash: { scale: "dash", field: "name" }, strokeWidth: { scale: "thick", field: "name" }, interpolate: constant("monotone") } } },
      ] },
    ],
  };
}

