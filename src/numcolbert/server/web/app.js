// The page's behaviour. Drawing lives in view.js, the number line in line.js.
import { call } from "./api.js";
import { explanationView } from "./explanation.js";
import { drawLines } from "./line.js";
import { element, hitView, problemView, understoodView } from "./view.js";

const $ = (id) => document.getElementById(id);
const state = { query: "", hits: [], latest: 0, drawn: () => {} };

function showProblem(error) {
  $("problem").replaceChildren(...(error ? problemView(error) : []));
  $("problem").hidden = !error;
}

// Answers may overtake one another while a person types and switches; only the last question counts.
async function search() {
  const query = $("query").value.trim();
  const turn = ++state.latest;
  if (!query) return showFailure({ message: "The query is empty.", hint: "write what you are looking for, for instance “lakes deeper than 1,000 feet”" });
  const body = { query, k: 10, where: $("where").value.trim() || null, verify: $("verify").checked };
  const gate = !$("ungated").checked;
  $("hits").setAttribute("aria-busy", "true");
  try {
    const [shown, other] = await Promise.all([
      call("search", { ...body, gate }),
      call("search", { ...body, gate: !gate, k: 100 }),
    ]);
    if (turn !== state.latest) return;
    showProblem(null);
    document.body.classList.remove("stale");
    render(shown, other, gate);
    history.replaceState(null, "", `#${encodeURIComponent(query)}`);
  } catch (error) {
    if (turn === state.latest) showFailure(error);
  } finally {
    if (turn === state.latest) $("hits").removeAttribute("aria-busy");
  }
}

// What is still shown answers an earlier question: it stays readable, and steps back.
function showFailure(error) {
  $("hits").removeAttribute("aria-busy");
  document.body.classList.add("stale");
  showProblem(error);
}

function render(shown, other, gate) {
  const before = places();
  const same = state.query === shown.query;
  state.query = shown.query;
  state.hits = shown.hits;
  state.drawn = () => drawLines($("lines"), shown, focusHit);
  const otherRank = new Map(other.hits.map((hit, rank) => [hit.id, rank + 1]));
  $("understood").replaceChildren(...understoodView(shown, other, gate));
  $("understood").hidden = false;
  $("hits").replaceChildren(...shown.hits.map((hit, rank) => hitView(hit, rank + 1, {
    conditions: shown.conditions, otherRank: otherRank.get(hit.id), gate, why: () => toggleWhy(rank), choose: narrow,
  })));
  if (!shown.hits.length) $("hits").append(element("li", { class: "empty" }, emptyReason(shown)));
  state.drawn();
  if (same) slide(before);
}

function emptyReason(shown) {
  if (shown.dropped) return "No passage is known to satisfy this. Switch off “only satisfying passages” to see the nearest.";
  return $("where").value.trim() ? "No passage fits the filter. Loosen it, or clear it." : "This index holds no passages yet. Add some below.";
}

// Where each hit stands, so that a switch of the gate can be seen as movement.
function places() {
  return new Map([...$("hits").querySelectorAll(".hit")].map((item) => [item.dataset.id, item.getBoundingClientRect().top]));
}

function slide(before) {
  if (matchMedia("(prefers-reduced-motion: reduce)").matches) return;
  for (const item of $("hits").querySelectorAll(".hit")) {
    const from = before.get(item.dataset.id);
    const distance = from === undefined ? null : from - item.getBoundingClientRect().top;
    if (distance === 0) continue;
    item.animate(
      distance === null ? [{ opacity: 0 }, { opacity: 1 }] : [{ transform: `translateY(${distance}px)` }, { transform: "none" }],
      { duration: 350, easing: "ease-out" },
    );
  }
}

// A click on a fact of a hit filters by it.
function narrow(name, value) {
  const field = /^[A-Za-z_]\w*$/.test(name) ? name : `\`${name}\``;
  $("where").value = `${field} = ${typeof value === "number" ? value : `'${value.replaceAll("'", "''")}'`}`;
  search();
}

async function toggleWhy(rank) {
  const item = $("hits").children[rank];
  const open = item.querySelector(".explanation");
  const button = item.querySelector(".why");
  if (open) {
    open.remove();
    button.setAttribute("aria-expanded", "false");
    return;
  }
  try {
    const explanation = await call("explain", { query: state.query, id: state.hits[rank].id });
    if (!item.isConnected || item.querySelector(".explanation")) return; // another search, or a double click
    item.append(explanationView(explanation));
    button.setAttribute("aria-expanded", "true");
    showProblem(null);
  } catch (error) {
    showProblem(error);
  }
}

function focusHit(rank) {
  const item = $("hits").children[rank];
  if (item?.classList.contains("hit")) item.focus();
}

async function addTexts(event) {
  event.preventDefault();
  const documents = $("text").value.split("\n").map((line) => line.trim()).filter(Boolean).map((text) => ({ text }));
  if (!documents.length) return;
  try {
    const { added } = await call("documents", { documents });
    $("added").textContent = added === 1 ? "1 passage added." : `${added} passages added.`;
    $("text").value = "";
    showAbout();
    showProblem(null);
    if (state.query) search();
  } catch (error) {
    showProblem(error);
  }
}

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const typing = event.target.matches("input:not([type=checkbox]), textarea");
  if (event.key === "/" && !typing) {
    event.preventDefault();
    $("query").focus();
    $("query").select();
  } else if (event.key === "Escape" && typing) {
    event.target.blur();
  } else if ((event.key === "ArrowDown" || event.key === "ArrowUp") && !event.target.matches("textarea")) {
    const ranks = [...$("hits").querySelectorAll(".hit")];
    const here = ranks.indexOf(document.activeElement.closest(".hit"));
    const next = event.key === "ArrowDown" ? here + 1 : here - 1;
    if (next >= 0 && next < ranks.length) {
      event.preventDefault();
      ranks[next].focus();
    } else if (next === -1) {
      event.preventDefault();
      $("query").focus();
    }
  } else if (event.key === "Enter" && event.target.classList?.contains("hit")) {
    toggleWhy([...$("hits").children].indexOf(event.target));
  }
}

function switchTheme() {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  localStorage.setItem("theme", root.dataset.theme);
}

async function start() {
  const theme = localStorage.getItem("theme");
  if (theme) document.documentElement.dataset.theme = theme;
  $("theme").addEventListener("click", switchTheme);
  $("search").addEventListener("submit", (event) => {
    event.preventDefault();
    search();
  });
  for (const id of ["ungated", "verify", "where"]) $(id).addEventListener("change", () => state.query && search());
  $("add").querySelector("form").addEventListener("submit", addTexts);
  document.addEventListener("keydown", onKey);
  addEventListener("resize", () => state.drawn());
  addEventListener("hashchange", () => {
    const query = asked();
    if (query && query !== state.query) ask(query);
  });
  try {
    const info = await showAbout();
    $("add").hidden = info.read_only;
    $("examples").replaceChildren(
      ...info.examples.map((query) => element("button", { type: "button", onclick: () => ask(query) }, query)),
    );
    const first = asked() || info.examples[0];
    if (first) ask(first);
  } catch (error) {
    showProblem(error);
  }
}

async function showAbout() {
  const info = await call("index");
  $("about").textContent = `Search that understands numbers. ${info.documents.toLocaleString("en")} passages.`;
  return info;
}

function asked() {
  try {
    return decodeURIComponent(location.hash.slice(1));
  } catch {
    return ""; // a hand-made address with a stray %
  }
}

function ask(query) {
  $("query").value = query;
  search();
}

start();
