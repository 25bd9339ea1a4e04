// Turns answers into elements. Text from documents only ever becomes text nodes.
import { toUnit, withUnit } from "./units.js";

export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === "class") made.className = value;
    else if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value !== null && value !== undefined) made.setAttribute(key, value);
  }
  made.append(...children.filter((child) => child !== null));
  return made;
}

const mood = (satisfies) => (satisfies === true ? "yes" : satisfies === false ? "no" : "");
const MARKS = { yes: "✓", no: "✗" };
const WORDS = { "=": "equal to", ">": "more than", "<": "less than", ">=": "at least", "<=": "at most" };
const comparable = (quantity, conditions) => conditions.find((one) => one.quantity.dimension === quantity.dimension);

// What a quantity is in the unit of the query, where it is written in another one.
function converted(quantity, conditions) {
  const condition = comparable(quantity, conditions);
  if (!condition || quantity.unit === condition.quantity.unit) return null;
  return withUnit(toUnit(condition, quantity.base_value), condition.quantity.unit);
}

// The server counts characters as Unicode code points, JavaScript as UTF-16 units.
function slices(text, quantities, conditions) {
  const characters = [...text];
  const pieces = [];
  let at = 0;
  for (const quantity of quantities) {
    const [start, end] = quantity.span;
    if (start < at) continue;
    pieces.push(characters.slice(at, start).join(""));
    const kind = mood(quantity.satisfies);
    const other = converted(quantity, conditions);
    const verdict = { yes: "satisfies the query", no: "does not satisfy the query" }[kind] ?? "not asked about";
    pieces.push(element("mark", { class: kind, title: other ? `${verdict}: ${other}` : verdict },
      characters.slice(start, end).join(""),
      other ? element("small", { class: "converted" }, ` ${other}`) : null));
    at = end;
  }
  pieces.push(characters.slice(at).join(""));
  return pieces;
}

export function problemView(error) {
  const hint = error.hint ?? "try again";
  return [
    element("span", {}, error.message ?? "Something went wrong."),
    element("span", { class: hint.includes("\n") ? "hint drawn" : "hint" }, `hint: ${hint}`),
  ];
}

export function conditionText(condition) {
  const { operator, quantity, text } = condition;
  return operator === "range" ? text : `${WORDS[operator]} ${quantity.text}`;
}

const right = (hits) => hits.filter((hit) => hit.satisfies === true).length;

export function understoodView(shown, other, gate) {
  const quiet = (text) => element("span", { class: "quiet" }, text);
  const left = shown.dropped ? `${shown.dropped} ${shown.dropped === 1 ? "passage" : "passages"} left out · ` : "";
  const time = `${left}${(1000 * shown.seconds).toFixed(0)} ms`;
  if (!shown.conditions.length) return [quiet(`No number to compare with in this query: ranked by meaning alone · ${time}`)];
  const parts = shown.conditions.flatMap((condition, i) => [i ? " and " : "", element("strong", {}, conditionText(condition))]);
  const count = shown.hits.length;
  const others = other.hits.slice(0, count);
  const score = count && !shown.dropped
    ? [element("span", { class: "tally" }, element("b", {}, `${right(shown.hits)} of ${count}`), ` satisfy it${gate ? "" : " without the gate"}, ${right(others)} of ${others.length} ${gate ? "without" : "with"} the gate`)]
    : [];
  return [element("span", {}, "Looking for ", ...parts), ...score, quiet(time)];
}

function movement(rank, otherRank, gate) {
  if (otherRank === rank) return null;
  const where = otherRank === undefined ? "below 100" : `rank ${otherRank}`;
  const kind = otherRank === undefined || otherRank > rank ? "up" : "down";
  return element("span", { class: `moved ${kind}` }, `${kind === "up" ? "▲" : "▼"} ${where} ${gate ? "without" : "with"} the gate`);
}

function facts(metadata, choose) {
  const short = Object.entries(metadata).filter(([, value]) => ["string", "number"].includes(typeof value) && value !== "" && String(value).length <= 40);
  return short.slice(0, 3).map(([name, value]) =>
    element("button", { class: "fact", type: "button", title: `only where ${name} is ${value}`, onclick: () => choose(name, value) }, String(value)));
}

export function hitView(hit, rank, { conditions, otherRank, gate, why, choose }) {
  const kind = mood(hit.satisfies);
  const badge = { yes: "satisfies", no: "does not satisfy" }[kind];
  const bar = element("span");
  bar.style.width = `${Math.round(100 * Math.max(0, hit.relevance))}%`;
  return element(
    "li", { class: `hit ${kind}`, tabindex: "0", "data-id": hit.id, "aria-label": `Hit ${rank}${badge ? `, ${badge}` : ""}` },
    element("span", { class: "rank", "aria-hidden": "true" }, `${rank}`),
    element("p", { class: "passage" }, ...slices(hit.text, hit.quantities, conditions)),
    element(
      "div", { class: "meta" },
      badge ? element("span", { class: `badge ${kind}` }, `${MARKS[kind]} ${badge}`) : null,
      element("span", { class: "relevance", title: "relevance: the score as a share of the highest possible" },
        element("span", { class: "bar" }, bar), hit.relevance.toFixed(2)),
      movement(rank, otherRank, gate),
      ...facts(hit.metadata, choose),
      element("button", { class: "why", type: "button", "aria-expanded": "false", onclick: why }, "why?"),
    ),
  );
}
