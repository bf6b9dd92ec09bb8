// ---- places of labels: off every line, mark and other label ------------------------------------

const pen = document.createElement("canvas").getContext("2d");
const widthOf = (text, size) => {
  pen.font = size + "px " + font;
  return Math.ceil(pen.measureText(text).width);
};
const box = (x1, y1, x2, y2) => ({ x1: Math.min(x1, x2), y1: Math.min(y1, y2), x2: Math.max(x1, x2), y2: Math.max(y1, y2) });
const around = (x, y, reach) => box(x - reach, y - reach, x + reach, y + reach);
const shared = (a, b) => Math.max(0, Math.min(a.x2, b.x2) - Math.max(a.x1, b.x1)) * Math.max(0, Math.min(a.y2, b.y2) - Math.max(a.y1, b.y1));

// Small boxes along a line between two points.
function along(one, other) {
  const steps = Math.max(1, Math.ceil(Math.hypot(other.x - one.x, other.y - one.y) / 4));
  return Array.from({ length: steps + 1 }, (_, step) => around(one.x + ((other.x - one.x) * step) / steps, one.y + ((other.y - one.y) * step) / steps, 1.5));
}

const WAYS = [[1, 0], [-1, 0], [0, -1], [0, 1], [0.8, -0.8], [-0.8, -0.8], [0.8, 0.8], [-0.8, 0.8], [0.9, -0.4], [-0.9, -0.4], [0.9, 0.4], [-0.9, 0.4]];
const REACHES = [9, 16, 26, 38, 52, 70, 92, 120, 150];

// Returns where each text stands: its left edge, its middle, and a leader to its point if it is far from it.
// texts: {x, y, text, size} in pixels; taken: boxes that are kept free; frame: the box in which a text may stand.
function placed(texts, taken, frame) {
  const orders = [(a, b) => a.x - b.x, (a, b) => b.x - a.x, (a, b) => a.y - b.y, (a, b) => b.y - a.y];
  let best = null;
  for (const order of orders) {
    const found = placedInOrder([...texts].sort(order), taken, frame);
    const cost = found.reduce((sum, each) => sum + each.cost, 0);
    if (!best || cost < best.cost) best = { cost, found };
    if (cost < 1) break;
  }
  return best.found;
}

function placedInOrder(texts, taken, frame) {
  const busy = [...taken], words = [];
  return texts.map(({ x, y, text, size }) => {
    const wide = widthOf(text, size), high = size + 4;
    let best = null;
    for (const [ring, reach] of REACHES.entries()) {
      for (const [right, down] of WAYS) {
        const left = x + right * reach + (right > 0 ? 0 : right < 0 ? -wide : -wide / 2);
        const middle = y + down * (reach + high / 2);
        const own = box(left - 2, middle - high / 2, left + wide + 2, middle + high / 2);
        const end = { x: Math.min(Math.max(x, own.x1), own.x2), y: Math.min(Math.max(y, own.y1), own.y2) };
        const leader = ring > 1 ? along({ x, y }, end).slice(2, -1) : [];
        const outside = own.x1 < frame.x1 || own.x2 > frame.x2 || own.y1 < frame.y1 || own.y2 > frame.y2;
        const crossed = (boxes) => leader.reduce((sum, part) => sum + boxes.reduce((all, other) => all + shared(part, other), 0), 0);
        const hits = busy.reduce((sum, other) => sum + shared(own, other), 0) + crossed(busy) / 2 + 100 * crossed(words);
        const cost = (outside ? 1e6 : 0) + hits + ring / 1e3;
        if (!best || cost < best.cost) best = { cost, left, middle, own, end, leader, far: ring > 1 };
      }
      if (best.cost < 1) break;
    }
    busy.push(best.own, ...best.leader);
    words.push(best.own);
    return { cost: best.cost, left: best.left, y: best.middle, said: text, size, from: { x, y }, end: best.end, far: best.far };
  });
}

// The words of a rule that crosses the chart, at the first of some places that meets nothing.
function besideRule(spots, text, size, taken) {
  const wide = widthOf(text, size);
  const found = spots.map(({ left, y }) => ({ left: left(wide), y, own: box(left(wide) - 2, y - size / 2 - 2, left(wide) + wide + 2, y + size / 2 + 2) }));
  const hits = (spot) => taken.reduce((sum, other) => sum + shared(spot.own, other), 0);
  return found.reduce((best, spot) => (hits(spot) < hits(best) ? spot : best));
}
