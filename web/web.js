// SPDX-License-Identifier: BSD-3-Clause
// The page of a running router: asks for its state every two seconds and makes rates of two answers.
"use strict";

const EVERY_MS = 2000, HISTORY = 90;
const at = id => document.getElementById(id);
const trail = new Map();          // "p0 rx" -> rates, the newest last
let before = null, key = "";

// --- talking to kamueed ---

async function ask(path, body) {
  const options = {headers: {"X-Kamuee-Key": key, "Accept": "application/yang-data+json"}, cache: "no-store"};
  if (body !== undefined) {
    options.method = "POST";
    options.headers["Content-Type"] = "application/yang-data+json";
    options.body = JSON.stringify({"kamuee:input": body});
  }
  const answer = await fetch(path, options);
  const said = await answer.json();
  if (answer.status === 401) throw new Locked();
  if (!answer.ok) throw new Error(said["ietf-restconf:errors"]?.error?.[0]?.["error-message"] ?? `HTTP status ${answer.status}`);
  return Object.values(said)[0];
}
class Locked extends Error {}
const state = path => ask("/restconf/data/kamuee:state/" + path);

async function look() {
  const names = ["port", "thread", "drop", "punt", "alarm", "ledger", "vr", "latency"];
  const answers = await Promise.all(names.map(state));
  return Object.fromEntries([["at", performance.now()], ...names.map((name, i) => [name, answers[i]])]);
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
const fill = (id, rows) => at(id).tBodies[0].replaceChildren(...rows.map(cells => node("tr", {}, ...cells)));

function sparkline(name, value, what) {
  const seen = trail.get(name) ?? [];
  if (value !== null) seen.push(value);
  if (seen.length > HISTORY) seen.shift();
  trail.set(name, seen);
  const top = Math.max(...seen, 1), svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", `0 0 ${HISTORY} 100`);
  svg.setAttribute("preserveAspectRatio", "none");
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", `${what}: ${short(value)} packets a second, at most ${short(top)} lately`);
  const points = seen.map((v, i) => `${HISTORY - seen.length + i},${98 - 94 * v / top}`);
  for (const [shape, path] of [["polygon", [`${HISTORY - seen.length},100`, ...points, `${HISTORY - 1},100`]], ["polyline", points]]) {
    const e = document.createElementNS("http://www.w3.org/2000/svg", shape);
    e.setAttribute("points", path.join(" "));
    svg.append(e);
  }
  return svg;
}

function ports(now, then, s) {
  let rx = 0, tx = 0;
  fill("ports", now.port.map(port => {
    const is = port.statistics, was = then?.port.find(p => p.name === port.name)?.statistics;
    const per = what => rate(is[what], was?.[what], s);
    rx += per("rx-packets") ?? 0;
    tx += per("tx-packets") ?? 0;
    const missed = per("rx-missed"), speed = port.status === "up" && port.speed ? ` ${short(port.speed * 1e6)}` : "";
    return [first(port.name), node("td", {class: port.status}, port.status + speed),
            cell(sparkline(`${port.name} rx`, per("rx-packets"), `${port.name} received`)), number(short(per("rx-packets"))),
            number(short(8 * per("rx-bytes"))), cell(sparkline(`${port.name} tx`, per("tx-packets"), `${port.name} sent`)),
            number(short(per("tx-packets"))), number(short(8 * per("tx-bytes"))),
            node("td", {class: missed ? "n bad" : "n"}, short(missed))];
  }));
  at("rx").textContent = then ? short(rx) : "–";
  at("tx").textContent = then ? short(tx) : "–";
}

function threads(now, then, s) {
  fill("threads", now.thread.map(thread => {
    const is = thread.statistics ?? {}, old = then?.thread.find(t => t.name === thread.name), was = old?.statistics;
    const busy = rate(is["busy-cycles"], was?.["busy-cycles"], 1), idle = rate(is["idle-cycles"], was?.["idle-cycles"], 1);
    const load = thread.role === "forwarder" ? (busy === null || busy + idle === 0 ? null : busy / (busy + idle))
      : old ? Math.min(1, rate(thread["cpu-time"], old["cpu-time"], s) / 1e9) : null;
    const packets = rate(is["rx-packets"], was?.["rx-packets"], s), bursts = rate(is.bursts, was?.bursts, s);
    return [first(thread.name), number(thread.core < 0 ? "any" : thread.core),
            cell(node("progress", {max: 1, value: load ?? 0, "aria-label": `load of ${thread.name}`})),
            number(load === null ? "–" : Math.round(100 * load)), number(thread.role === "forwarder" ? short(packets) : ""),
            number(bursts ? (packets / bursts).toFixed(1) : "")];
  }));
}

function drops(now, then, s) {
  const rows = now.drop.map(drop => ({...drop, rate: rate(drop.packets, then?.drop.find(d => d.name === drop.name)?.packets, s)}))
    .filter(drop => n(drop.packets)).sort((a, b) => b.rate - a.rate || n(b.packets) - n(a.packets)).slice(0, 12);
  fill("drops", rows.map(drop => [node("th", {scope: "row", class: drop.rate ? drop.severity : undefined}, drop.name),
                                  number(short(drop.rate)), number(count(drop.packets)), node("td", {class: "wide"}, drop.sentence)]));
  if (!rows.length) fill("drops", [[node("td", {colspan: 4}, "no packet has been dropped")]]);
  at("dropped").textContent = then ? short(now.drop.reduce((sum, d, i) => sum + Math.max(0, n(d.packets) - n(then.drop[i]?.packets)), 0) / s) : "–";
}

function rest(now, then, s) {
  fill("punt", now.punt.map(one => {
    const was = then?.punt.find(p => p.class === one.class);
    const lost = was ? rate(n(one.policed) + n(one["queue-full"]), n(was.policed) + n(was["queue-full"]), s) : null;
    return [first(one.class), number(short(rate(one.passed, was?.passed, s))), node("td", {class: lost ? "n bad" : "n"}, short(lost)),
            number(one.queued)];
  }));
  fill("tables", now.vr.flatMap(vr => vr.fib.map(fib => [first(vr.name), cell(fib.family), number(count(fib.routes)),
    number(bytes(n(fib.bytes))), number(short(rate(fib.updates, then?.vr.find(v => v.name === vr.name)?.fib
      .find(f => f.family === fib.family)?.updates, s)))])));
  at("routes").textContent = short(now.vr.reduce((sum, vr) => sum + vr.fib.reduce((t, fib) => t + n(fib.routes), 0), 0));
  at("imbalance").textContent = count(now.ledger.imbalance);
  at("latency-section").hidden = !now.latency.length;
  fill("latency", now.latency.map(l => [first(l.input), first(l.output), ...["median", "p99", "p999", "max"].map(q => number(span(n(l[q]))))]));
  const said = now.alarm.map(a => `${a.name} ${a.subject}`).join();
  if (at("alarms").dataset.said === said) return;   // a live region is spoken when it changes
  at("alarms").dataset.said = said;
  at("alarms").replaceChildren(...(now.alarm.length ? now.alarm.map(a => node("p", {class: `alarm ${a.severity}`},
    node("strong", {}, `${a.severity}: ${a.name} `), a.message)) : [node("p", {class: "calm"}, "Nothing is wrong.")]));
}

function choices(id, names) {
  const select = at(id), is = [...select.options].map(o => o.value).join();
  if (is !== names.join()) select.replaceChildren(...names.map(name => node("option", {value: name}, name)));
}

// --- questions ---

const answered = (id, ...nodes) => at(id).replaceChildren(...nodes);
const failed = (id, error) => answered(id, node("p", {class: "bad"}, error.message));
const via = hop => [hop.gateway && `via ${hop.gateway}`, hop.interface && `by ${hop.interface}`].filter(Boolean).join(" ") || "nowhere";

at("lookup").addEventListener("submit", async event => {
  event.preventDefault();
  try {
    const [r] = (await ask("/restconf/operations/kamuee:lookup", {vr: at("vr").value, address: [at("address").value.trim()]})).result;
    const hops = r.hop?.length > 1 ? node("ul", {}, ...r.hop.map(h => node("li", {}, `${via(h)}, weight ${h.weight}`))) : "";
    answered("found", node("p", {}, r.prefix ? node("strong", {}, r.prefix) : "No route to ", r.prefix ? `: ${r.kind} ${via(r)}` : r.address), hops);
  } catch (error) { failed("found", error); }
});

function told(step) {
  const parts = [];
  if (step.lookup) parts.push(`${step.lookup.destination ?? ""} matches ${step.lookup.prefix ?? "nothing"}` +
                              (step.lookup.prefix ? `: ${step.lookup.kind} ${via({gateway: step.lookup.neighbor, interface: step.lookup.interface})}` : ""));
  const error = step["icmp-error"];
  if (error) parts.push(error.result === "sent" ? `ICMP error type ${error.type} code ${error.code} is sent` : `an ICMP error is ${error.result}`);
  if (step.result && step.result !== "on") parts.push(step.result + (step.reason ? `: ${step.reason}` : "") + (step.class ? `, class ${step.class}` : ""));
  if (step.sentence) parts.push(step.sentence + (step.source ? ` (${step.source})` : ""));
  for (const frame of step.frame ?? []) parts.push(`a frame of ${frame.length} bytes leaves by ${frame.port ?? frame.interface}`);
  return parts.length ? parts.join("; ") : "goes on";
}

at("explain").addEventListener("submit", async event => {
  event.preventDefault();
  const given = {};
  for (const [name, value] of new FormData(event.target)) if (value !== "") given[name] = /^(ttl|size|destination-port)$/.test(name) ? Number(value) : value.trim();
  if (given.protocol === "icmp") delete given["destination-port"];
  try {
    const passage = await ask("/restconf/operations/kamuee:explain", given);
    answered("explained", node("ol", {class: "steps"}, ...passage.step.map(step => node("li",
      {class: step.result === "dropped" ? "bad" : step.result === "sent" ? "good" : undefined}, node("strong", {}, step.stage), " ", told(step)))));
  } catch (error) { failed("explained", error); }
});

at("unlock").addEventListener("submit", event => { event.preventDefault(); keep(at("key").value.trim()); turn(); });

// --- once more and again ---

function keep(given) {
  key = given;
  sessionStorage.setItem("key", key);
}

async function turn() {
  try {
    const now = await look(), s = before ? (now.at - before.at) / 1000 : 1;
    at("locked").hidden = true;
    at("board").hidden = false;
    for (const draw of [ports, threads, drops, rest]) draw(now, before, s);
    choices("vr", now.vr.map(vr => vr.name));
    if (!before) {
      const [system, interfaces] = await Promise.all([state("system"), state("interface")]);
      at("about").textContent = `version ${system.version}, ${system["dpdk-version"]}, lookups by ${system["lookup-kernel"]}`;
      choices("in", interfaces.map(i => i.name));
    }
    before = now;
    at("live").textContent = "live";
    at("live").className = "good";
  } catch (error) {
    before = null;
    at("live").className = "bad";
    at("live").textContent = error instanceof Locked ? "locked" : `no answer: ${error.message}`;
    if (error instanceof Locked) { at("locked").hidden = false; at("board").hidden = true; return; }
  }
  clearTimeout(turn.next);
  turn.next = setTimeout(turn, document.hidden ? 5 * EVERY_MS : EVERY_MS);
}

if (location.hash.length > 1) {
  keep(location.hash.slice(1));
  history.replaceState(null, "", location.pathname);  // the key does not stay in sight
} else {
  key = sessionStorage.getItem("key") ?? "";
}
turn();
