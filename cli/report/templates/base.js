// Data of the page, and what all charts share. Words come from Python (cli/report/charts.py).

const page = JSON.parse(document.getElementById("data").textContent);
const rows = page.rows;
const by = (id) => document.getElementById(id);
const state = { side: "holds", level: page.level };
const views = new Map();
const LINES = page.colours; // of lines: --line-0 and so on; further lines are dashed

// What the switches show: the words of the view, and where a row stands in it.
const view = () => (state.side === "claimed" ? "claimed" : state.level);
const place = (row) => row.places[view()];
const drawnRows = rows.slice(0, page.drawn);

// Vega is packed. Its text becomes a script element, which the page's policy allows by its digest.
async function unpackLibrary() {
  const packed = Uint8Array.from(atob(by("library").textContent), (sign) => sign.charCodeAt(0));
  const script = document.createElement("script");
  script.textContent = await new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"))).text();
  document.head.append(script);
}

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
const fillOf = (row) => (page.curves ? "var(--line-" + (row.series % LINES) + ")" : colour[row.trust]);
const shape = { reports: "circle", owner: "diamond", open: "triangle-up" };
const constant = (value) => ({ value });
const plainNumber = new Intl.NumberFormat("en", { maximumSignificantDigits: 6 });
const grouped = (value) => plainNumber.format(value);
// The title of a vertical axis lies above it, from the left edge of the chart on.
const overAxis = (title, left) => ({ title, titleAngle: 0, titleAlign: "left", titleBaseline: "bottom", titleX: 6 - left, titleY: -8 });

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

const tooltip = (what) => ({ tooltip: what, description: what, aria: constant(true), ariaRole: constant("img"), ariaRoleDescription: constant("point") });

