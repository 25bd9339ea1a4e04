// The number line: where the threshold lies, and where each hit's value lies beside it.
import { threshold, toBase, toUnit, withUnit } from "./units.js";

const SVG = "http://www.w3.org/2000/svg";
const HEIGHT = 104;
const AXIS = 76;
const LETTER = 6.4; // width of a letter of a label, roughly

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
  const back = logarithmic ? (place) => 10 ** place : (place) => place;
  const spread = at(high) - at(low) || Math.abs(at(high)) * 0.2 || 1;
  const start = at(low) - 0.1 * spread;
  const end = at(high) + 0.1 * spread;
  return { logarithmic, x: (value) => ((at(value) - start) / (end - start)) * width, from: back(start), to: back(end) };
}

// Round values in the unit of the threshold, from one end of the line to the other.
function ticks({ logarithmic, from, to }, condition) {
  const [low, high] = [toUnit(condition, from), toUnit(condition, to)].sort((a, b) => a - b);
  const found = [];
  if (logarithmic) {
    const decades = Math.ceil((Math.log10(high) - Math.log10(low)) / 7);
    for (let power = Math.ceil(Math.log10(low)); power <= Math.log10(high); power += decades) found.push(10 ** power);
    return found;
  }
  const rough = (high - low) / 5;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((times) => times * power).find((size) => size >= rough);
  for (let value = Math.ceil(low / step) * step; value <= high; value += step) found.push(Number(value.toPrecision(10)));
  return found;
}

function limits(condition) {
  const { quantity, operator } = condition;
  if (operator === "range") return [quantity.base_low, quantity.base_high];
  if (operator.startsWith(">")) return [quantity.base_value, Infinity];
  if (operator.startsWith("<")) return [-Infinity, quantity.base_value];
  return [quantity.base_low ?? quantity.base_value, quantity.base_high ?? quantity.base_value];
}

// A label in the middle of `at`, moved inwards at the ends; null where it would touch one that is there.
function place(label, at, width, taken) {
  const half = (label.length * LETTER) / 2;
  const middle = Math.min(width - half, Math.max(half, at));
  if (taken.some(([from, to]) => middle - half < to + 8 && middle + half > from - 8)) return null;
  taken.push([middle - half, middle + half]);
  return middle;
}

// One line for each dimension the query asks about, with the values that can be compared on it.
export function drawLines(holder, results, pick) {
  const dimensions = [...new Set(results.conditions.map((condition) => condition.quantity.dimension))];
  const figures = dimensions.map((dimension) => drawLine(holder, results, dimension, pick)).filter(Boolean);
  holder.replaceChildren(...figures);
  holder.hidden = !figures.length;
}

function drawLine(holder, results, dimension, pick) {
  const conditions = results.conditions.filter((condition) => condition.quantity.dimension === dimension);
  const points = results.hits.flatMap((hit, rank) =>
    hit.quantities.filter((quantity) => quantity.dimension === dimension).map((quantity) => ({ rank, hit, quantity })));
  if (!points.length) return null;

  const condition = conditions[0];
  const width = Math.max(280, holder.parentElement.clientWidth);
  const bounds = conditions.map(limits);
  const from = Math.max(...bounds.map(([low]) => low));
  const to = Math.min(...bounds.map(([, high]) => high));
  const stops = bounds.flat().filter(Number.isFinite);
  const scale = scaleFor([...stops, ...points.map((point) => point.quantity.base_value)], width);
  const clamp = (value) => Math.min(width, Math.max(0, value === -Infinity ? 0 : value === Infinity ? width : scale.x(value)));

  const parts = [shape("line", { class: "axis", x1: 0, x2: width, y1: AXIS, y2: AXIS })];
  if (from <= to) {
    const thin = from === to ? 4 : 0;
    parts.unshift(shape("rect", { class: "zone", x: clamp(from) - thin, y: 20, width: clamp(to) - clamp(from) + 2 * thin, height: AXIS - 20 }));
  }
  const unit = condition.quantity.unit;
  const above = [];
  for (const stop of [...new Set(stops)]) {
    const label = threshold(toUnit(condition, stop), unit);
    const middle = place(label, scale.x(stop), width, above);
    parts.push(shape("line", { class: "threshold", x1: scale.x(stop), x2: scale.x(stop), y1: 18, y2: AXIS + 4 }));
    if (middle !== null) parts.push(shape("text", { class: "limit", x: middle, y: 12, "text-anchor": "middle" }, label));
  }
  const below = [];
  for (const value of ticks(scale, condition)) {
    const at = scale.x(toBase(condition, value));
    const label = withUnit(value, unit);
    const middle = place(label, at, width, below);
    if (middle === null) continue;
    parts.push(shape("line", { class: "axis", x1: at, x2: at, y1: AXIS, y2: AXIS + 5 }));
    parts.push(shape("text", { x: middle, y: AXIS + 20, "text-anchor": "middle" }, label));
  }
  parts.push(...dots(points, scale, condition, pick));

  const figure = document.createElement("figure");
  const caption = document.createElement("figcaption");
  caption.textContent = `${points.length === 1 ? "One value" : `${points.length} values`} of the hits${scale.logarithmic ? " on a logarithmic line" : ""}; the shaded part satisfies the query.`;
  const svg = shape("svg", { role: "group", viewBox: `0 0 ${width} ${HEIGHT}`, width, height: HEIGHT, "aria-label": `Number line, ${conditions.map((one) => one.text).join(" and ")}` });
  svg.append(...parts);
  figure.append(svg, caption);
  return figure;
}

function dots(points, scale, condition, pick) {
  const stacked = new Map();
  return points.map(({ rank, hit, quantity }) => {
    const at = scale.x(quantity.base_value);
    const column = Math.round(at / 13);
    const level = stacked.get(column) ?? 0;
    stacked.set(column, level + 1);
    const shown = withUnit(toUnit(condition, quantity.base_value), condition.quantity.unit);
    const own = quantity.text.includes(shown) ? "" : ` (${quantity.text})`;
    const verdict = quantity.satisfies ? "satisfies" : "does not satisfy";
    const label = `Hit ${rank + 1}: ${shown}${own}, ${verdict}`;
    const dot = shape("circle", {
      class: `dot ${quantity.satisfies ? "yes" : "no"}`, cx: at, cy: AXIS - 9 - 12 * Math.min(level, 3), r: 6, role: "img",
    });
    dot.append(shape("title", {}, `${label}\n${hit.text}`));
    dot.addEventListener("click", () => pick(rank));
    return dot;
  });
}
