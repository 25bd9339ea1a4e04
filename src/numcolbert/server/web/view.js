// Turns answers into elements. Text from documents only ever becomes text nodes.
function element(name, attributes = {}, ...children) {
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
const figure = new Intl.NumberFormat("en", { maximumSignificantDigits: 6 });
const WORDS = { "=": "equal to", ">": "more than", "<": "less than", ">=": "at least", "<=": "at most", range: "between" };

// The server counts characters as Unicode code points, JavaScript as UTF-16 units.
function slices(text, quantities) {
  const characters = [...text];
  const pieces = [];
  let at = 0;
  for (const quantity of quantities) {
    const [start, end] = quantity.span;
    pieces.push(characters.slice(at, start).join(""));
    const title = `${figure.format(quantity.base_value)} (${quantity.dimension})`;
    pieces.push(element("mark", { class: mood(quantity.satisfies), title }, characters.slice(start, end).join("")));
    at = end;
  }
  pieces.push(characters.slice(at).join(""));
  return pieces;
}

export function problemView(error) {
  return [error.message ?? "Something went wrong.", element("span", { class: "hint" }, `hint: ${error.hint ?? "try again"}`)];
}

export function conditionText(condition) {
  const { operator, quantity } = condition;
  return operator === "range" ? quantity.text : `${WORDS[operator]} ${quantity.text}`;
}

export function understoodView(results) {
  const time = `${(1000 * results.seconds).toFixed(0)} ms`;
  const dropped = results.dropped ? ` · ${results.dropped} better-ranked passages left out` : "";
  if (!results.conditions.length) {
    return [element("span", { class: "quiet" }, `No number in this query: ranked by words alone · ${time}${dropped}`)];
  }
  const parts = results.conditions.flatMap((condition, i) => [i ? " and " : "", element("strong", {}, conditionText(condition))]);
  return ["Looking for ", ...parts, element("span", { class: "quiet" }, ` · ${time}${dropped}`)];
}

function movement(rank, otherRank, gate) {
  const other = gate ? "without the gate" : "with the gate";
  if (otherRank === rank) return null;
  if (otherRank === undefined) return element("span", { class: "moved up" }, `beyond 100 ${other}`);
  return element("span", { class: `moved ${otherRank > rank ? "up" : "down"}` }, `${otherRank > rank ? "▲" : "▼"} ${otherRank} ${other}`);
}

export function hitView(hit, rank, otherRank, gate, why) {
  const badge = { yes: "satisfies", no: "does not satisfy" }[mood(hit.satisfies)];
  return element(
    "li", { class: `hit ${mood(hit.satisfies)}`, tabindex: "0", "data-id": hit.id },
    element("p", {}, ...slices(hit.text, hit.quantities)),
    element(
      "div", { class: "meta" },
      element("span", {}, `${rank}`),
      badge ? element("span", { class: `badge ${mood(hit.satisfies)}` }, badge) : null,
      element("span", { class: "bar", title: `relevance ${hit.relevance.toFixed(3)}: the score over the highest possible` },
        Object.assign(element("span"), { style: `width:${Math.round(100 * Math.max(0, hit.relevance))}%` })),
      element("span", {}, hit.relevance.toFixed(2)),
      movement(rank, otherRank, gate),
      element("button", { class: "why", type: "button", "aria-expanded": "false", onclick: why }, "why?"),
    ),
  );
}

export function explanationView(explanation) {
  const strongest = Math.max(...explanation.tokens.map((token) => token.contribution));
  const strip = explanation.tokens.map((token) => {
    const heat = Math.max(0, token.contribution / strongest);
    const made = element(
      "span", { class: `token${token.gate !== 1 ? " gated" : ""}`, title: `matches “${token.matched_token}”` },
      token.token, element("small", {}, token.gate !== 1 ? `×${token.gate.toFixed(1)}` : `${(100 * token.share).toFixed(0)} %`),
    );
    made.style.background = `rgba(var(--heat), ${(0.45 * heat).toFixed(2)})`;
    return made;
  });
  const rows = explanation.tokens.map((token) =>
    element("tr", {},
      element("td", {}, token.token), element("td", { class: "n" }, token.probability.toFixed(2)),
      element("td", { class: "n" }, token.gate.toFixed(2)), element("td", {}, token.matched_token),
      element("td", { class: "n" }, token.similarity.toFixed(3)), element("td", { class: "n" }, `${(100 * token.share).toFixed(1)} %`)));
  const head = [["token", ""], ["number?", "n"], ["gate", "n"], ["matched", ""], ["similarity", "n"], ["share", "n"]];
  return element(
    "div", { class: "explanation" },
    element("div", {}, `score ${explanation.score.toFixed(2)}, of which ${explanation.score_without_gate.toFixed(2)} without the gate · relevance ${explanation.relevance.toFixed(3)}`),
    element("div", { class: "strip" }, ...strip),
    element("div", { class: "scroll" }, element("table", {},
      element("thead", {}, element("tr", {}, ...head.map(([name, kind]) => element("th", { class: kind }, name)))),
      element("tbody", {}, ...rows))),
  );
}
