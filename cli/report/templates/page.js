"use strict";
// The page's own script: it unpacks the library and draws the charts.
(async () => {
  const packed = Uint8Array.from(atob(document.getElementById("library").textContent), (sign) => sign.charCodeAt(0));
  const script = document.createElement("script"); // the page's policy allows its text by its digest
  script.textContent = await new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"))).text();
  document.head.append(script);
  const config = {
    background: null, font: getComputedStyle(document.body).fontFamily,
    view: { stroke: null },
    axis: {
      labelColor: "var(--soft)", titleColor: "var(--soft)", gridColor: "var(--grid)", domainColor: "var(--line)",
      tickColor: "var(--line)", labelFontSize: 12, titleFontSize: 12, titleFontWeight: "normal",
    },
    legend: { labelColor: "var(--soft)", labelFontSize: 12, labelLimit: 260, title: null, orient: "bottom", columns: innerWidth < 600 ? 1 : 3 },
  };
  const options = { renderer: "svg", actions: false, ast: true, config, logLevel: 1, defaultStyle: false, tooltip: { theme: "custom" } };
  const charts = JSON.parse(document.getElementById("charts").textContent);
  const draw = (chart, place) => window.vegaEmbed(`#chart-${place}`, chart, options);
  await Promise.all(charts.map((chart, place) => {
    const folded = document.getElementById(`chart-${place}`).closest("details"); // it has no width yet
    if (!folded) return draw(chart, place);
    folded.addEventListener("toggle", () => draw(chart, place), { once: true });
  }));
  document.documentElement.dataset.ready = "yes";
})();
