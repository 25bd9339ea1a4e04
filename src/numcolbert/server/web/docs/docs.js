// The API as a page, made from openapi.json: nothing to keep in step, nothing loaded from elsewhere.
import { element } from "../view.js";

function exampleOf(schema, schemas) {
  if (schema.$ref) return exampleOf(schemas[schema.$ref.split("/").pop()], schemas);
  if (schema.examples) return schema.examples[0];
  if ("default" in schema) return schema.default;
  if (schema.anyOf) return exampleOf(schema.anyOf[0], schemas);
  if (schema.type === "array") return [exampleOf(schema.items, schemas)];
  if (schema.type === "object") {
    const wanted = Object.entries(schema.properties ?? {}).filter(([name, facts]) => schema.required?.includes(name) || facts.examples);
    return Object.fromEntries(wanted.map(([name, facts]) => [name, exampleOf(facts, schemas)]));
  }
  return { string: "", integer: 1, number: 1, boolean: false }[schema.type] ?? null;
}

async function send(method, path, body, output) {
  output.hidden = false;
  try {
    const options = body === null ? { method } : { method, body, headers: { "content-type": "application/json" } };
    const response = await fetch(`..${path}`, options);
    const text = await response.text();
    let shown = text;
    try {
      shown = JSON.stringify(JSON.parse(text), null, 2);
    } catch { /* plain text, as /metrics answers */ }
    output.textContent = `${response.status}\n${shown.slice(0, 20000)}`;
  } catch {
    output.textContent = "The server does not answer.";
  }
}

function routeView(method, path, operation, schemas) {
  const schema = operation.requestBody?.content["application/json"].schema;
  const name = `${method.toUpperCase()} ${path}`;
  const address = element("input", { type: "text", value: path, "aria-label": `address of ${name}` });
  const area = schema ? element("textarea", { rows: "6", spellcheck: "false", "aria-label": `body of ${name}` }) : null;
  if (area) area.value = JSON.stringify(exampleOf(schema, schemas), null, 2);
  const output = element("pre", { class: "scroll", tabindex: "0", hidden: "" });
  const go = element("button", { type: "submit" }, "Send");
  const form = element("form", { onsubmit: (event) => {
    event.preventDefault();
    send(method.toUpperCase(), address.value, area ? area.value : null, output);
  } }, address, area, go);
  return element("details", { class: "route" },
    element("summary", {}, element("b", {}, method.toUpperCase()), ` ${path} `, element("span", { class: "quiet" }, operation.description ?? operation.summary)),
    form, output);
}

async function start() {
  const { paths, components } = await (await fetch("../openapi.json")).json();
  const views = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => routeView(method, path, operation, components.schemas)));
  document.getElementById("routes").replaceChildren(...views);
}

start();
