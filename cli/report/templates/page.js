// The page's own script: it unpacks the library, draws the charts, and shows the level that is chosen.

const page = JSON.parse(document.getElementById("data").textContent);
const by = (id) => document.getElementById(id);
const state = { side: "holds", level: page.level };
const view = () => (state.side === "claimed" ? "claimed" : state.level);

// The library is packed. Its text becomes a script element, which the page's policy allows by its digest.
async function unpackLibrary() {
  const packed = Uint8Array.from(atob(by("library").textContent), (sign) => sign.charCodeAt(0));
  const script = document.createElement("script");
  script.textContent = await new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"))).text();
  document.head.append(script);
}

const font = getComputedStyle(document.body).fontFamily;
const config = {
  background: null, font,
  view: { stroke: null },
  axis: {
    labelColor: "var(--soft)", titleColor: "var(--soft)", gridColor: "var(--grid)", domainColor: "var(--line)",
    tickColor: "var(--line)", labelFontSize: 12, titleFontSize: 12, titleFontWeight: "normal",
  },
  legend: { labelColor: "var(--soft)", labelFontSize: 12, labelLimit: 260, title: null, orient: "bottom", columns: innerWidth < 600 ? 1 : 3 },
};

function draw(name) {
  return Promise.all([...document.querySelectorAll(`[data-chart="${name}"]`)].map(async (box) => {
    const spec = page.charts[name === "bytes" ? "bytes" : view()][Number(box.dataset.panel)];
    await window.vegaEmbed(box, spec, { renderer: "svg", actions: false, ast: true, config, logLevel: 1, defaultStyle: false, tooltip: { theme: "custom" } });
    box.dataset.drawn = String(Number(box.dataset.drawn ?? 0) + 1);
  }));
}

function say() {
  const words = page.views[view()];
  for (const input of document.querySelectorAll('input[name="level"]')) input.disabled = state.side === "claimed";
  by("said").textContent = words.said;
  by("loss-head").textContent = words.head;
  for (const line of document.querySelectorAll("#glance tr[data-row]")) {
    const cell = line.querySelector(".loss");
    const found = page.words[Number(line.dataset.row)][view()];
    cell.textContent = found.words;
    cell.dataset.label = words.head;
    cell.className = "n loss " + found.status.replace(" ", "-");
  }
}

by("switches").addEventListener("change", (event) => {
  state[event.target.name] = event.target.value;
  say();
  draw("privacy");
});
by("switches").addEventListener("submit", (event) => event.preventDefault());

for (const button of document.querySelectorAll("button.copy")) {
  button.addEventListener("click", async () => {
    const text = by(button.dataset.copy).textContent;
    const words = button.textContent;
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      getSelection().selectAllChildren(by(button.dataset.copy));
      document.execCommand("copy");
    }
    button.textContent = "Copied";
    by("copied").textContent = "Copied: " + text;
    setTimeout(() => (button.textContent = words), 1500);
  });
}

// A form that the browser restores after a reload says what is chosen.
for (const input of document.querySelectorAll("#switches input:checked")) state[input.name] = input.value;
say();
unpackLibrary().then(() => Promise.all([draw("privacy"), draw("bytes")])).then(() => (document.documentElement.dataset.ready = "yes"));
