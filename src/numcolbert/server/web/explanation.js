// Why a hit has its score: the token strip, the passage's quantities, and every number behind them.
import { figure, toUnit, withUnit } from "./units.js";
import { element } from "./view.js";

// The markers of queries and documents take the place of two words the vocabulary never used.
const MARKERS = { "[unused0]": "[Q]", "[unused1]": "[D]" };
const shown = (token) => MARKERS[token] ?? token;
const percent = (share, digits = 0) => `${(100 * share).toFixed(digits)} %`;
const acts = (token) => Math.abs(token.gate - 1) > 0.005;

function strip(tokens) {
  const strongest = Math.max(...tokens.map((token) => token.contribution), 1e-9);
  return tokens.map((token) => {
    const made = element(
      "li", { class: acts(token) ? "token gated" : "token" },
      element("span", { class: "gate" }, acts(token) ? `×${token.gate.toFixed(1)}` : ""),
      element("b", {}, shown(token.token)), element("span", {}, shown(token.matched_token)), element("small", {}, percent(token.share)),
    );
    made.style.setProperty("--heat", Math.max(0, 0.35 * (token.contribution / strongest)).toFixed(2));
    return made;
  });
}

function quantityLines(explanation) {
  return explanation.quantities.map((quantity) => {
    const condition = explanation.conditions.find((one) => one.quantity.dimension === quantity.dimension);
    const verdict = { true: "✓ satisfies", false: "✗ does not satisfy" }[quantity.satisfies] ?? "not asked about";
    const asked = condition && condition.quantity.unit !== quantity.unit
      ? ` = ${withUnit(toUnit(condition, quantity.base_value), condition.quantity.unit)}` : "";
    return element("li", { class: { true: "yes", false: "no" }[quantity.satisfies] ?? "" },
      element("b", {}, quantity.text), asked,
      element("span", { class: "quiet" }, ` · ${figure(quantity.base_value)} ${quantity.base_unit}`.trimEnd()), ` · ${verdict}`);
  });
}

function table(tokens) {
  const head = [["token", ""], ["number?", "n"], ["gate", "n"], ["matched", ""], ["similarity", "n"], ["share", "n"]];
  const rows = tokens.map((token) =>
    element("tr", {},
      element("td", {}, shown(token.token)), element("td", { class: "n" }, token.probability.toFixed(2)),
      element("td", { class: "n" }, token.gate.toFixed(2)), element("td", {}, shown(token.matched_token)),
      element("td", { class: "n" }, token.similarity.toFixed(3)), element("td", { class: "n" }, percent(token.share, 1))));
  return element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Every number behind the score" },
    element("table", {},
      element("thead", {}, element("tr", {}, ...head.map(([name, kind]) => element("th", { class: kind, scope: "col" }, name)))),
      element("tbody", {}, ...rows)));
}

export function explanationView(explanation) {
  const { score, score_without_gate: plain, relevance, relevance_without_gate: plainRelevance } = explanation;
  return element(
    "div", { class: "explanation" },
    element("div", {}, element("b", {}, `Score ${score.toFixed(2)}`), `, ${plain.toFixed(2)} without the gate. `,
      element("span", { class: "quiet" }, `Of the highest possible: ${relevance.toFixed(2)}, ${plainRelevance.toFixed(2)} without.`)),
    element("ol", { class: "strip", "aria-label": "Query tokens, what each matched, and its share of the score" }, ...strip(explanation.tokens)),
    element("p", { class: "quiet key" }, "Each query token stands above the passage token it matched; the stronger the colour, the more it gave. × is the gate."),
    explanation.quantities.length ? element("ul", { class: "quantities" }, ...quantityLines(explanation)) : null,
    element("details", {}, element("summary", {}, "every number"), table(explanation.tokens)),
    element("p", { class: "quiet key" }, `document ${explanation.id}`),
  );
}
