// The page's behaviour. Drawing lives in view.js, the number line in line.js.
import { call } from "./api.js";
import { drawLine } from "./line.js";
import { explanationView, hitView, problemView, understoodView } from "./view.js";

const $ = (id) => document.getElementById(id);
const state = { query: "", hits: [], latest: 0 };

function showProblem(error) {
  $("problem").replaceChildren(...(error ? problemView(error) : []));
  $("problem").hidden = !error;
}

// Answers may overtake one another while a person types and switches; only the last question counts.
async function search() {
  const query = $("query").value.trim();
  if (!query) return;
  const turn = ++state.latest;
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
    render(shown, other, gate);
    history.replaceState(null, "", `#${encodeURIComponent(query)}`);
  } catch (error) {
    if (turn === state.latest) showProblem(error);
  } finally {
    $("hits").removeAttribute("aria-busy");
  }
}

function render(shown, other, gate) {
  state.query = shown.query;
  state.hits = shown.hits;
  const otherRank = new Map(other.hits.map((hit, rank) => [hit.id, rank + 1]));
  $("understood").replaceChildren(...understoodView(shown));
  $("understood").hidden = false;
  $("hits").replaceChildren(
    ...shown.hits.map((hit, rank) => hitView(hit, rank + 1, otherRank.get(hit.id), gate, () => toggleWhy(rank))),
  );
  if (!shown.hits.length) {
    const empty = document.createElement("li");
    empty.className = "empty";
    empty.textContent = "Nothing found. Loosen the filter, or switch off “only satisfying passages”.";
    $("hits").append(empty);
  }
  drawLine($("line"), shown, (rank) => focusHit(rank));
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
    showProblem(null);
    search();
  } catch (error) {
    showProblem(error);
  }
}

function onKey(event) {
  const typing = event.target.matches("input, textarea");
  if (event.key === "/" && !typing) {
    event.preventDefault();
    $("query").focus();
    $("query").select();
  } else if (event.key === "Escape" && typing) {
    event.target.blur();
  } else if ((event.key === "ArrowDown" || event.key === "ArrowUp") && !event.target.matches("textarea")) {
    const ranks = [...$("hits").querySelectorAll(".hit")];
    const here = ranks.indexOf(document.activeElement);
    const next = event.key === "ArrowDown" ? here + 1 : here - 1;
    if (next >= 0 && next < ranks.length) {
      event.preventDefault();
      ranks[next].focus();
    } else if (next === -1) {
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
  for (const id of ["ungated", "verify", "where"]) $(id).addEventListener("change", search);
  $("add").querySelector("form").addEventListener("submit", addTexts);
  document.addEventListener("keydown", onKey);
  try {
    const info = await call("index");
    $("about").textContent = `Search that understands numbers. ${info.documents.toLocaleString()} passages.`;
    $("add").hidden = info.read_only;
    $("examples").replaceChildren(
      ...info.examples.map((query) => {
        const chip = document.createElement("button");
        chip.type = "button";
        chip.textContent = query;
        chip.addEventListener("click", () => {
          $("query").value = query;
          search();
        });
        return chip;
      }),
    );
    $("query").value = decodeURIComponent(location.hash.slice(1)) || info.examples[0] || "";
    search();
  } catch (error) {
    showProblem(error);
  }
}

start();
