// The number line: where the threshold lies, and where each hit's value lies beside it.
const SVG = "http://www.w3.org/2000/svg";
const figure = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 4 });

function shape(name, attributes, text) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text) made.textContent = text;
  return made;
}

// Values that span more than two orders of magnitude are only readable on a logarithmic line.
function scaleFor(values, width) {
  const low = Math.min(...values);
  const high = Math.max(...values);
  const logarithmic = low > 0 && high / low > 100;
  const at = logarithmic ? Math.log10 : (value) => value;
  const spread = at(high) - at(low) || Math.abs(at(high)) || 1;
  const start = at(low) - 0.08 * spread;
  const end = at(high) + 0.08 * spread;
  return { logarithmic, x: (value) => ((at(value) - start) / (end - start)) * width };
}

function satisfiedZone(condition, x, width) {
  const { operator, quantity } = condition;
  const at = x(quantity.base_value);
  if (operator === "range") return [x(quantity.base_low ?? quantity.base_value), x(quantity.base_high ?? quantity.base_value)];
  if (operator.startsWith(">")) return [at, width];
  if (operator.startsWith("<")) return [0, at];
  return [at - 3, at + 3];
}

export function drawLine(holder, results, pick) {
  const condition = results.conditions[0];
  const points = [];
  results.hits.forEach((hit, rank) => {
    for (const quantity of hit.quantities) {
      if (condition && quantity.dimension === condition.quantity.dimension) points.push({ rank, hit, quantity });
    }
  });
  holder.hidden = !points.length;
  if (!points.length) return;

  const svg = holder.querySelector("svg");
  const width = Math.max(280, holder.clientWidth || 600);
  const limits = [condition.quantity.base_value, condition.quantity.base_low, condition.quantity.base_high].filter((v) => v !== null);
  const { x, logarithmic } = scaleFor([...limits, ...points.map((point) => point.quantity.base_value)], width);
  const [from, to] = satisfiedZone(condition, x, width);
  svg.setAttribute("viewBox", `0 0 ${width} 92`);
  svg.setAttribute("aria-label", `Number line: ${points.length} values around ${condition.quantity.text}`);
  const parts = [
    shape("rect", { class: "zone", x: from, y: 8, width: Math.max(0, to - from), height: 52, rx: 4 }),
    shape("line", { class: "axis", x1: 0, x2: width, y1: 60, y2: 60 }),
    shape("line", { class: "threshold", x1: x(condition.quantity.base_value), x2: x(condition.quantity.base_value), y1: 4, y2: 66 }),
  ];
  const stacked = new Map();
  for (const { rank, hit, quantity } of points) {
    const column = Math.round(x(quantity.base_value) / 12);
    const level = stacked.get(column) ?? 0;
    stacked.set(column, level + 1);
    const dot = shape("circle", { class: quantity.satisfies ? "yes" : "no", cx: x(quantity.base_value), cy: 50 - 11 * Math.min(level, 4), r: 6 });
    dot.append(shape("title", {}, `${rank + 1}. ${quantity.text}: ${hit.text}`));
    dot.addEventListener("click", () => pick(rank));
    parts.push(dot);
  }
  const values = points.map((point) => point.quantity.base_value);
  const labels = [[Math.min(...values), "start"], [Math.max(...values), "end"], [condition.quantity.base_value, "middle"]];
  labels.forEach(([value, anchor], i) => {
    const label = i === 2 ? condition.quantity.text : figure.format(value);
    const edge = i === 2 ? Math.min(width - 40, Math.max(40, x(value))) : x(value);
    parts.push(shape("text", { x: edge, y: i === 2 ? 90 : 75, "text-anchor": anchor }, label));
  });
  svg.replaceChildren(...parts);
  holder.querySelector("figcaption").textContent =
    `Values of the hits in the base unit${logarithmic ? ", logarithmic" : ""}; the shaded part satisfies the query.`;
}
