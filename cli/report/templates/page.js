// ---- the page ----------------------------------------------------------------------------------

const charts = { privacy: privacyChart, bytes: bytesChart, rounds: roundsChart, seconds: secondsChart, edges: edgesChart };

function drawOne(name) {
  if (name === "edges" && !rebuilt.length) return [];
  return [...document.querySelectorAll('[data-chart="' + name + '"]')].map((box) => draw(box, charts[name](Math.floor(box.clientWidth), Number(box.dataset.panel ?? 0))));
}

function drawAll() {
  const drawn = Object.keys(charts).flatMap(drawOne);
  for (const box of document.querySelectorAll("#degrees .chart")) {
    drawn.push(draw(box, degreesChart(Math.floor(box.clientWidth), counted[Number(box.dataset.row)])));
  }
  return Promise.all(drawn);
}

function say() {
  const words = page.views[view()];
  for (const input of document.querySelectorAll('input[name="level"]')) input.disabled = state.side === "claimed";
  by("said").textContent = words.said;
  by("privacy-note").textContent = words.note;
  (by("loss-head").querySelector("button") ?? by("loss-head")).textContent = words.head;
  for (const line of document.querySelectorAll("#glance tr[data-row]")) {
    const cell = line.querySelector(".loss");
    const found = place(rows[Number(line.dataset.row)]);
    cell.textContent = found.words;
    cell.dataset.label = words.head;
    cell.className = "n loss " + (found.strip === "right" && state.side !== "claimed" ? "unprotected" : found.strip === "left" ? "not-asked" : "");
  }
}

by("switches").addEventListener("change", (event) => {
  state[event.target.name] = event.target.value;
  say();
  drawOne("privacy");
  resort();
});
by("switches").addEventListener("submit", (event) => event.preventDefault());

for (const button of document.querySelectorAll("button.copy")) {
  button.addEventListener("click", async () => {
    const text = by(button.dataset.copy).textContent;
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

by("degrees-legend").hidden = counted.length === 0;
counted.forEach((row, place) => {
  const frame = by("degrees").appendChild(document.createElement("div"));
  frame.appendChild(document.createElement("h3")).textContent = row.label;
  const box = frame.appendChild(document.createElement("div"));
  box.className = "chart";
  box.dataset.row = String(place);
});

// ---- the table At a glance, sorted by a column ---------------------------------------------

const unknown = (side) => (side === "right" ? Infinity : side === "left" ? -1 : 0);
const figures = {
  name: (row) => row.label, test: (row) => -row.test, best: (row) => -(row.best ?? -1), bytes: (row) => row.bytes, rounds: (row) => row.rounds,
  seconds: (row) => row.seconds.total, loss: (row) => place(row).value ?? unknown(place(row).strip),
};
let sorted = null;

function resort() {
  if (!sorted) return;
  const order = (a, b) => (a === b ? 0 : a < b ? -1 : 1);
  const figure = figures[sorted.column];
  for (const body of document.querySelectorAll("#glance tbody")) {
    const lines = [...body.querySelectorAll("tr[data-row]")];
    lines.sort((a, b) => sorted.way * order(figure(rows[a.dataset.row]), figure(rows[b.dataset.row])) || a.dataset.row - b.dataset.row);
    body.append(...lines);
  }
}

for (const head of document.querySelectorAll("#glance th[data-sort]")) {
  if (rows.length < 3) break;
  const button = document.createElement("button");
  button.type = "button";
  button.className = "sort";
  button.append(...head.childNodes);
  head.append(button);
  button.addEventListener("click", () => {
    const again = sorted?.column === head.dataset.sort;
    sorted = { column: head.dataset.sort, way: again ? -sorted.way : 1 };
    for (const other of document.querySelectorAll("#glance th[data-sort]")) other.removeAttribute("aria-sort");
    const falls = ["test", "best"].includes(sorted.column);
    head.setAttribute("aria-sort", (sorted.way === 1) === falls ? "descending" : "ascending");
    resort();
  });
}

say();
let width = document.documentElement.clientWidth;
unpackLibrary().then(drawAll).then(() => {
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
