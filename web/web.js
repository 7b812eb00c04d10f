// SPDX-License-Identifier: BSD-3-Clause
// The page of a running router, first part: how it talks to kamueed, and what all pages draw with. graph.js draws the hour, pages.js is the
// pages themselves.
"use strict";

const at = id => document.getElementById(id);
let key = "";

// --- talking to kamueed ---

class Locked extends Error {}

async function request(path, options = {}) {
  const headers = {"X-Kamuee-Key": key, "Accept": "application/yang-data+json", ...options.headers};
  const answer = await fetch(path, {cache: "no-store", ...options, headers});
  if (answer.status === 401) throw new Locked();
  if (answer.ok) return answer;
  const said = await answer.json().catch(() => ({}));
  throw Object.assign(new Error(said["ietf-restconf:errors"]?.error?.[0]?.["error-message"] ?? `HTTP status ${answer.status}`), {status: answer.status});
}

const inner = async answer => Object.values(await (await answer).json())[0];
// A key of one virtual router ends in its name. What is not that one's is not there: an empty list, or 404.
const own_vr = () => key.slice(33);
const state = path => inner(request("/restconf/data/kamuee:state/" + path)).catch(error => {
  if (own_vr() && error.status === 404) return {};
  throw error;
});
const call = (name, input) => inner(request("/restconf/operations/kamuee:" + name, {
  method: "POST", headers: {"Content-Type": "application/yang-data+json"}, body: JSON.stringify({"kamuee:input": input})}));

function keep(given) {
  key = given;
  sessionStorage.setItem("key", key);
}

// Calls back with each notification until the connection ends. Not by EventSource, which cannot send the key.
async function listen(signal, heard) {
  const answer = await request("/restconf/streams/events", {headers: {"Accept": "text/event-stream"}, signal});
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    const events = (text + part.value).split("\n\n");
    text = events.pop();
    for (const event of events) {
      const data = event.split("\n").filter(line => line.startsWith("data: ")).map(line => line.slice(6)).join("");
      if (data) heard(JSON.parse(data)["ietf-restconf:notification"]);
    }
  }
}

// --- numbers ---

const n = value => Number(value ?? 0);
function short(x, step = 1000, units = ["", "k", "M", "G", "T"]) {
  if (x === null || Number.isNaN(x)) return "–";
  let i = 0;
  while (Math.abs(x) >= step * 0.9995 && i < units.length - 1) { x /= step; i++; }
  return (i && x < 9.995 ? x.toFixed(2) : i && x < 99.95 ? x.toFixed(1) : Math.round(x)) + units[i];
}
const bytes = x => short(x, 1024, [" B", " KiB", " MiB", " GiB"]);
const span = ns => short(ns, 1000, [" ns", " µs", " ms", " s"]);
const count = x => n(x).toLocaleString("en");
const clock = text => text ? new Date(text).toLocaleTimeString("en-GB") : "";
const when = text => text ? new Date(text).toLocaleString("en-GB") : "";
function rate(now, then, seconds) { return then === undefined ? null : Math.max(0, n(now) - n(then)) / seconds; }

// --- drawing ---

function node(name, options = {}, ...inside) {
  const e = document.createElement(name);
  for (const [what, value] of Object.entries(options)) if (value !== undefined) e.setAttribute(what, value);
  e.append(...inside.map(x => x instanceof Node ? x : String(x ?? "–")));
  return e;
}
const cell = x => node("td", {}, x), number = x => node("td", {class: "n"}, x);
const first = x => node("th", {scope: "row"}, x);

// In a window too narrow for a table its rows are cards; a tight table has room in a narrower one.
const NARROW = [["table:not(.tight)", matchMedia("(max-width: 60rem)")], ["table.tight", matchMedia("(max-width: 44rem)")]];
for (const [tables, media] of NARROW) {
  const fit = () => document.querySelectorAll(tables).forEach(table => table.classList.toggle("cards", media.matches));
  media.addEventListener("change", fit);
  fit();
}

// Rows of cells. Each cell is given its column's heading, which a narrow window shows beside it.
function fill(id, rows) {
  const heads = [...at(id).tHead.rows[0].cells].map(head => head.innerText);
  at(id).tBodies[0].replaceChildren(...rows.map(cells => {
    cells.forEach((one, i) => { if (one.colSpan === 1) one.dataset.head = heads[i]; });
    return node("tr", {}, ...cells);
  }));
}
const fill_or = (id, rows, nothing) => fill(id, rows.length ? rows
  : [[node("td", {colspan: at(id).tHead.rows[0].cells.length, class: "wide"}, nothing)]]);

function choices(id, names) {
  const select = at(id), is = [...select.options].map(o => o.value).join();
  if (is === names.join()) return;
  const chosen = select.value;
  select.replaceChildren(...names.map(name => node("option", {value: name}, name)));
  if (names.includes(chosen)) select.value = chosen;
}

const answered = (id, ...nodes) => at(id).replaceChildren(...nodes);
const failed = (id, error) => answered(id, node("p", {class: "bad"}, error.message));

function shape(name, options, ...inside) {
  const e = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [what, value] of Object.entries(options)) e.setAttribute(what, value);
  e.append(...inside);
  return e;
}
