// SPDX-License-Identifier: BSD-3-Clause
// The pages: each asks for what it shows, every few seconds while it is in sight, and makes rates of two answers. A reader's form is asked for once.
"use strict";

const EVERY_MS = 2000, ROWS = 500, EVENTS = 200;
const seen = {};                  // per page: the answers before, and when they came

// What a page of state asks: [answers now, answers before or null, seconds between].
async function look(page, ...names) {
  const answers = await Promise.all(names.map(state)), now = Object.fromEntries(names.map((name, i) => [name.split("?")[0], answers[i]]));
  now.at = performance.now();
  const then = seen[page] ?? null;
  seen[page] = now;
  return [now, then, then ? (now.at - then.at) / 1000 : 1];
}

// --- overview ---

function ports(now, then, s) {
  let rx = 0, tx = 0;
  fill("ports", now.port.map(port => {
    const is = port.statistics, was = then?.port.find(p => p.name === port.name)?.statistics;
    const per = what => rate(is[what], was?.[what], s);
    if (port.driver !== "lag") {     // its packets are those of its members, which count
      rx += per("rx-packets") ?? 0;
      tx += per("tx-packets") ?? 0;
    }
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
  fill_or("drops", rows.map(drop => [node("th", {scope: "row", class: drop.rate ? drop.severity : undefined}, drop.name),
                                     number(short(drop.rate)), number(count(drop.packets)), node("td", {class: "wide"}, drop.sentence)]),
          "No drops.");
  at("dropped").textContent = then ? short(now.drop.reduce((sum, d, i) => sum + Math.max(0, n(d.packets) - n(then.drop[i]?.packets)), 0) / s) : "–";
}

function tables(now, then, s) {
  fill("punt", now.punt.map(one => {
    const was = then?.punt.find(p => p.class === one.class);
    const lost = was ? rate(n(one.policed) + n(one["queue-full"]), n(was.policed) + n(was["queue-full"]), s) : null;
    return [first(one.class), number(short(rate(one.passed, was?.passed, s))), node("td", {class: lost ? "n bad" : "n"}, short(lost)),
            number(one.queued)];
  }));
  fill("tables", now.vr.flatMap(vr => vr.fib.map(fib => [first(vr.name), cell(fib.family), number(count(fib.routes)),
    number(bytes(n(fib.bytes))), number(short(rate(fib.updates, then?.vr.find(v => v.name === vr.name)?.fib
      .find(f => f.family === fib.family)?.updates, s)))])));
  at("prefixes").textContent = short(now.vr.reduce((sum, vr) => sum + vr.fib.reduce((t, fib) => t + n(fib.routes), 0), 0));
  at("imbalance").textContent = count(now.ledger.imbalance);
  at("latency-section").hidden = !now.latency.length;
  fill("latency", now.latency.map(l => [first(l.input), first(l.output), ...["median", "p99", "p999", "max"].map(q => number(span(n(l[q]))))]));
}

const clients_of = queue => ["vr", "vport"].flatMap(kind => (queue[kind] ?? []).map(one => ({...one, kind, port: queue.port, rate_of_port: n(queue.rate)})));
const dropped_by = client => client.class.reduce((sum, one) => sum + Object.values(one.dropped).reduce((all, packets) => all + n(packets), 0), 0);

function queues(now, then, s) {
  const old = then?.queue.flatMap(clients_of) ?? [];
  at("queues-section").hidden = !now.queue.length;
  fill_or("queues", now.queue.flatMap(clients_of).map(one => {
    const was = old.find(o => o.port === one.port && o.kind === one.kind && o.name === one.name);
    const most = Math.min(n(one.maximum) || one.rate_of_port, one.rate_of_port), lost = rate(dropped_by(one), was && dropped_by(was), s);
    const p99 = Math.max(0, ...one.class.map(k => n(k["delay-p99"])));
    return [first(one.port), first(`${one.kind} ${one.name}`), cell(share_bar(n(one.rate), n(one.guarantee), most, `${one.kind} ${one.name}`)),
            number(short(n(one.rate))), number(one.guarantee ? short(n(one.guarantee)) : ""), number(count(one["waiting-packets"])),
            number(p99 ? span(p99) : "–"), node("td", {class: lost ? "n bad" : "n"}, short(lost))];
  }), "Nobody has sent yet.");
}

// The hour changes every ten seconds and is long: it is asked for as often as that, and when another port or unit is chosen.
async function draw_hour() {
  const all = at("hour-port").options[0].text, port = at("hour-port").value;
  const histories = await state(port === all ? "port-history" : `port-history=${encodeURIComponent(port)}`);
  draw_hour.at = performance.now();
  answered("hour-graph", ...hour_graph(histories, at("hour-unit").value, port));
}
at("hour").addEventListener("change", () => draw_hour().catch(error => failed("hour-graph", error)));

async function overview() {
  const [now, then, s] = await look("overview", "port", "thread", "drop", "punt", "ledger", "vr", "latency", "queue");
  for (const draw of [ports, threads, drops, tables, queues]) draw(now, then, s);
  choices("hour-port", ["all ports", ...now.port.map(port => port.name)]);
  if (!(performance.now() - draw_hour.at < 10000)) await draw_hour();
}

// --- interfaces, neighbors ---

function kind_of(iface) {
  if (iface.kind === "port") return "port";
  if (iface.kind === "metalink") return `metalink to ${iface.peer ?? "?"}`;
  if (iface.kind === "tunnel") return "tunnel";
  const tags = [iface["outer-vlan"], iface.vlan].filter(Boolean).join("/");
  return `VLAN ${tags}` + (iface.port ? ` on ${iface.port}` : "");
}

// Packets per second, now and in the last minutes.
function packet_rate(name, what, pps) {
  return node("td", {class: "n"}, short(pps), sparkline(`interface ${name} ${what}`, pps, `${name} ${what}`));
}

function bits(is, was, s) {
  const bytes_a_second = rate(is, was, s);
  return bytes_a_second === null ? null : 8 * bytes_a_second;
}

async function interfaces() {
  const [now, then, s] = await look("interfaces", "interface");
  fill_or("interfaces", now.interface.map(iface => {
    const is = iface.statistics, was = then?.interface.find(i => i.name === iface.name)?.statistics;
    const addresses = (iface.address ?? []).map(a => node("div", {}, `${a.ip}/${a["prefix-length"]}${a.status === "tentative" ? " (tentative)" : ""}`));
    return [first(iface.name), cell(kind_of(iface)), cell(iface.vr), node("td", {class: iface.status}, iface.status),
            node("td", {class: "list"}, ...(addresses.length ? addresses : ["none"])), node("td", {class: "code"}, iface.mac), number(iface.mtu),
            ...[["rx", "received"], ["tx", "sent"]].flatMap(([way, what]) =>
              [packet_rate(iface.name, what, rate(is[`${way}-packets`], was?.[`${way}-packets`], s)),
               number(short(bits(is[`${way}-bytes`], was?.[`${way}-bytes`], s)))]),
            node("td", {class: "wide"}, iface.description ?? "")];
  }), "No interfaces. Create one with: set port NAME …");
  return 2 * EVERY_MS;
}

async function neighbors() {
  const all = await state("neighbor?limit=5000"), wanted = at("neighbors-filter").value.trim().toLowerCase();
  const found = all.filter(one => `${one.address} ${one.mac ?? ""} ${one.interface} ${one.vr}`.toLowerCase().includes(wanted));
  at("neighbors-count").textContent = `${count(found.length)} of ${count(all.length)}${found.length > ROWS ? `; the first ${ROWS}` : ""}`;
  fill_or("neighbors", found.slice(0, ROWS).map(one => [node("th", {scope: "row", class: "code"}, one.address), cell(one.interface), cell(one.vr),
    node("td", {class: "code"}, one.mac ?? ""), node("td", {class: one.status === "failed" ? "bad" : undefined}, one.status),
    cell(one.gateway ? "yes" : ""), number(one.held || "")]), wanted ? "No matching neighbors." : "No neighbors.");
  return 2 * EVERY_MS;
}
at("neighbors-form").addEventListener("input", () => turn());
at("neighbors-form").addEventListener("submit", event => event.preventDefault());

// --- routes ---

const via = hop => [hop.gateway && `via ${hop.gateway}`, hop.interface].filter(Boolean).join(", ");
const way = to => !to ? "no route" : (to.hop ?? []).map(via).filter(Boolean).join(", ") || to.kind;

function query(text) {
  const given = new URLSearchParams({limit: String(ROWS)});
  if (text) given.set("prefix", text);
  if (text) given.set("match", at("routes-longer").checked ? "longer" : text.includes("/") ? "exact" : "longest");
  if (at("routes-protocol").value.trim()) given.set("protocol", at("routes-protocol").value.trim());
  return given;
}

async function search() {
  const number_of = search.number = (search.number ?? 0) + 1;
  const text = at("routes-prefix").value.trim(), vr = encodeURIComponent(at("routes-vr").value);
  const families = !text ? ["ipv4", "ipv6"] : [text.includes(":") ? "ipv6" : "ipv4"];
  const answers = await Promise.all(families.map(family => state(`routes=${vr},${family}?${query(text)}`)));
  if (number_of !== search.number) return;            // another search began meanwhile
  const rows = answers.flatMap(answer => (Array.isArray(answer) ? answer[0]?.route : answer.route) ?? []);
  at("routes-count").className = "";
  at("routes-count").textContent = rows.length ? `${count(rows.length)} shown` + (rows.length >= ROWS ? `; there may be more: enter a prefix` : "")
    : text ? `no route for ${text}` : "no routes";
  fill("routes", rows.map(route => [node("th", {scope: "row", class: "code"}, route.prefix),
    node("td", {class: "list"}, ...route.hop.length ? route.hop.map(hop => node("div", {class: hop.alive === false ? "bad" : undefined},
      via(hop) + (route.hop.length > 1 ? `, weight ${hop.weight}` : ""))) : [route.kind ?? route.type]),
    cell(route.protocol), cell(route.type), number(route.metric), node("td", {class: route.active ? "good" : ""}, route.active ? "yes" : "no")]));
  await changes(rows.length === 1 ? rows[0].prefix : text.includes("/") ? text : undefined);
}

async function changes(prefix) {
  const {change = []} = await call("route-changes", {limit: 50, ...(prefix ? {prefix, longer: true} : {})});
  fill_or("changes", change.map(one => [first(clock(one.time)), node("td", {class: "code"}, one.prefix ?? "paths of a next hop"), cell(way(one.from)),
                                        cell(way(one.to)), cell(one.vr)]), "No changes in the journal.");
}

const search_again = () => search().catch(error => { fill("routes", []); at("routes-count").className = "bad"; at("routes-count").textContent = error.message; });
at("routes-form").addEventListener("submit", event => { event.preventDefault(); search_again(); });

async function routes() {
  const vrs = await state("vr");
  choices("routes-vr", vrs.map(vr => vr.name));
  at("protocols").replaceChildren(...[...new Set(vrs.flatMap(vr => vr.fib.flatMap(fib => (fib.protocol ?? []).map(p => p.name))))]
    .map(name => node("option", {value: name})));
  if (!seen.routes) {
    seen.routes = true;
    await search();
  }
  return 10 * EVERY_MS;
}

// --- access lists ---

// The busiest of the first rules from a number on; those of flow specifications are temporary ones.
async function rules(s) {
  const name = at("rules-list").value, from = n(at("rules-from").value) || 1, what = `${name} ${from}`;
  const {rule = [], next} = name ? await call("acl-rules", {name, from, limit: ROWS}) : {};
  const was = rules.what === what ? rules.was : null;
  rules.was = Object.fromEntries(rule.map(one => [one.number, one.packets]));
  rules.what = what;
  at("rules-count").textContent = `${count(rule.length)} shown` + (next ? `; more from number ${next} on` : "");
  fill_or("rules", rule.map(one => ({...one, rate: rate(one.packets, was?.[one.number], s)})).sort((a, b) => b.rate - a.rate)
    .map(one => [node("th", {scope: "row", class: "n"}, one.number), node("td", {class: "code"}, one.line), number(count(one.packets)),
                 number(bytes(n(one.bytes))), number(short(one.rate))]), "No rules.");
}

async function lists() {
  const [now, then, s] = await look("lists", "acl");
  fill_or("lists", now.acl.map(list => {
    const was = then?.acl.find(l => l.name === list.name);
    return [first(list.name), number(count(list.rules)), number(count(list["temporary-rules"])),
            number(short(rate(list["matched-packets"], was?.["matched-packets"], s))),
            number(short(rate(list["unmatched-packets"], was?.["unmatched-packets"], s))), cell(list.default)];
  }), "No access lists.");
  choices("rules-list", now.acl.map(list => list.name));
  await rules(s);
  return 2 * EVERY_MS;
}
for (const id of ["rules-list", "rules-from"]) at(id).addEventListener("change", () => turn());
at("rules-form").addEventListener("submit", event => event.preventDefault());

// --- configuration ---

const lines_of = async input => (await call("configuration", input)).text.split("\n").filter(Boolean);

// What a commit changed: the lines of its revision beside those of the one before.
async function differ(revision, before) {
  const is = await lines_of({revision}), was = before === undefined ? [] : await lines_of({revision: before});
  const gone = was.filter(line => !is.includes(line)), came = is.filter(line => !was.includes(line));
  at("difference-title").textContent = before === undefined ? `Revision ${revision}, the oldest` : `Changes in revision ${revision}`;
  answered("difference", node("pre", {tabindex: "0"}, ...gone.map(line => node("span", {class: "gone"}, `- ${line}\n`)),
    ...came.map(line => node("span", {class: "came"}, `+ ${line}\n`)), gone.length + came.length ? "" : "no changes\n"));
  at("difference-section").hidden = false;
  at("difference-section").scrollIntoView({block: "nearest"});
}

async function configuration() {
  const now = {revision: [], session: [], ...await state("configuration")}, kept = now.revision.filter(r => r.back !== undefined).map(r => r.back), said = JSON.stringify(now.revision);
  const waiting = now.unconfirmed;
  answered("waiting", ...waiting ? [node("p", {class: "alarm minor"}, `The commit by ${waiting.by} is undone in ${waiting.seconds} s unless it is confirmed.`)] : [],
    ...now.session.map(one => node("p", {}, `${one.by} is editing: ${one.changes} uncommitted lines.`)));
  if (seen.configuration === said) return 2 * EVERY_MS;   // buttons keep the focus
  seen.configuration = said;
  fill_or("revisions", now.revision.map(r => {
    if (r.back === undefined)
      return [node("th", {scope: "row", class: "n"}, ""), cell(when(r.time)), cell(r.by), node("td", {class: "wide"}, r.comment ?? ""), number(r.changes),
              node("td", {class: "warn"}, "rolled back"), cell("")];
    const button = node("button", {type: "button", class: "small", "aria-label": `changes in revision ${r.back}`}, "changes");
    button.addEventListener("click", () => differ(r.back, kept[kept.indexOf(r.back) + 1]).catch(error => { at("difference-section").hidden = false; failed("difference", error); }));
    return [node("th", {scope: "row", class: "n"}, r.back), cell(when(r.time)), cell(r.by), node("td", {class: "wide"}, r.comment ?? ""), number(r.changes),
            node("td", {class: r.confirmed ? "" : "warn"}, r.confirmed ? "yes" : "no"), cell(button)];
  }), "No revisions yet.");
  at("running").textContent = (await lines_of({})).join("\n");
  return 2 * EVERY_MS;
}

// --- events ---

const heard = [];                 // [time, name, sentence], the newest first
const sentences = {
  "link-change": e => `${e.port} is ${e.status}`,
  "lag-member-change": e => `${e.port} of ${e.lag} is ${e.status}${e.reason ? `: ${e.reason}` : ""}`,
  "neighbor-change": e => `${e.address} on ${e.interface} (${e.vr}): ${e.status}${e.mac ? ` ${e.mac}` : ""}`,
  "route-change": e => `${e.prefix ?? "routes of a next hop"} (${e.vr}, ${e.cause}): ${way(e.from)} → ${way(e.to)}`,
  "configuration-change": e => `${e.by} changed ${e.lines} line${n(e.lines) === 1 ? "" : "s"}${e.comment ? `: ${e.comment}` : ""}`,
  "alarm-change": e => `${e.name} ${e.subject ?? ""}: ${e.status}${e.message ? `; ${e.message}` : ""}`,
  "acl-match": e => `${e.acl} rule ${e.rule} ${e.action} ${e.direction} ${e.interface}: ${e.source} > ${e.destination}`,
  "events-missed": e => `${e.count} events were missed: too many at once`,
};

function draw_events() {
  const kind = at("events-kind").value, rows = heard.filter(([, name]) => !kind || name === kind);
  fill_or("events", rows.map(([time, name, sentence]) => [first(clock(time)), cell(name), node("td", {class: "wide"}, sentence)]), "No events yet.");
}
at("events-kind").addEventListener("change", draw_events);

function hear(notification) {
  const member = Object.keys(notification).find(name => name.startsWith("kamuee:")), name = member?.slice(7);
  if (!name) return;
  heard.unshift([notification.eventTime, name, sentences[name]?.(notification[member]) ?? JSON.stringify(notification[member])]);
  heard.length = Math.min(heard.length, EVENTS);
  if (!hear.later) hear.later = setTimeout(() => { hear.later = 0; if (shown() === "events") draw_events(); }, 200);
}

// Listens for as long as the page is seen; a connection that ended is made again. A browser gives all pages of a router six connections
// together, so one that nobody sees, or that was left and is kept for "back", gives its own up.
async function keep_listening() {
  for (;;) {
    if (document.hidden) await new Promise(seen => document.addEventListener("visibilitychange", seen, {once: true}));
    keep_listening.stop = new AbortController();
    try { await listen(keep_listening.stop.signal, hear); } catch (error) { if (error instanceof Locked) return; }
    await new Promise(later => setTimeout(later, 2 * EVERY_MS));
  }
}
document.addEventListener("visibilitychange", () => { if (document.hidden) keep_listening.stop?.abort(); });
addEventListener("pagehide", () => keep_listening.stop?.abort());

async function events() {
  draw_events();
  const past = await state("alarm-history");
  fill_or("past", past.map(a => [first(when(a.since)), cell(when(a.until)), cell(`${a.name} ${a.subject ?? ""}`),
                                 node("td", {class: "wide"}, a.message)]), "No alarms since kamueed started.");
  return 5 * EVERY_MS;
}

// --- packet ---

function told(step) {
  const parts = [];
  if (step.lookup) parts.push(`${step.lookup.destination ?? ""} matches ${step.lookup.prefix ?? "nothing"}` +
    (step.lookup.prefix ? `: ${step.lookup.kind} ${via({gateway: step.lookup.neighbor, interface: step.lookup.interface})}` : ""));
  const error = step["icmp-error"];
  if (error) parts.push(error.result === "sent" ? `ICMP error type ${error.type} code ${error.code} sent` : `no ICMP error (${error.result})`);
  if (step.result && step.result !== "on") parts.push(step.result + (step.reason ? `: ${step.reason}` : "") + (step.class ? `, class ${step.class}` : ""));
  if (step.sentence) parts.push(step.sentence + (step.source ? ` (${step.source})` : ""));
  for (const frame of step.frame ?? []) parts.push(`a ${frame.length}-byte frame is sent on ${frame.port ?? frame.interface}`);
  return parts.length ? parts.join("; ") : "continues";
}

at("explain").addEventListener("submit", async event => {
  event.preventDefault();
  const given = {};
  for (const [name, value] of new FormData(event.target)) if (value !== "") given[name] = /^(ttl|size|destination-port)$/.test(name) ? Number(value) : value.trim();
  if (given.protocol === "icmp") delete given["destination-port"];
  try {
    const passage = await call("explain", given);
    answered("explained", node("ol", {class: "steps"}, ...passage.step.map(step => node("li",
      {class: step.result === "dropped" ? "bad" : step.result === "sent" ? "good" : undefined}, node("strong", {}, step.stage), " ", told(step)))));
  } catch (error) { failed("explained", error); }
});

const PROTOCOLS = {1: "ICMP", 6: "TCP", 17: "UDP", 58: "ICMPv6"};
const end_of = (flow, side) => !flow[`${side}-port`] ? flow[side] : `${flow[side].includes(":") ? `[${flow[side]}]` : flow[side]}:${flow[`${side}-port`]}`;

async function packet() {
  choices("in", (await state("interface?fields=name")).map(i => i.name));
  at("flows-section").hidden = own_vr() !== "";   // a client of one virtual router may not ask
  if (!own_vr()) {
    const sampled = await call("flows", {limit: 20});
    fill_or("flows", (sampled.flow ?? []).map(flow => [first(flow.interface), cell(flow.vr), cell(end_of(flow, "source")), cell(end_of(flow, "destination")),
      cell(PROTOCOLS[flow.protocol] ?? flow.protocol), number(count(flow.packets)), number(bytes(n(flow.bytes))),
      number(`${(100 * n(flow.bytes) / n(sampled.bytes)).toFixed(1)} %`)]), "No flows in the last ten minutes.");
  }
  return 10 * EVERY_MS;
}

// --- once more and again ---

const pages = {overview, interfaces, neighbors, routes, lists, configuration, events, packet};
const shown = () => location.hash.slice(2) in pages ? location.hash.slice(2) : "overview";

function show_page() {
  for (const part of document.querySelectorAll("[data-page]")) part.hidden = part.dataset.page !== shown();
  for (const link of document.querySelectorAll("#pages a"))
    link.hash === `#/${shown()}` ? link.setAttribute("aria-current", "page") : link.removeAttribute("aria-current");
  document.title = `${at("router").textContent}: ${shown()}`;
}

async function alarms() {
  const now = await state("alarm"), said = now.map(a => `${a.name} ${a.subject} ${a.message}`).join();
  if (at("alarms").dataset.said === said) return;   // a live region is spoken when it changes
  at("alarms").dataset.said = said;
  at("alarms").replaceChildren(...(now.length ? now.map(a => node("p", {class: `alarm ${a.severity}`},
    node("strong", {}, `${a.severity}: ${a.name} `), a.message)) : [node("p", {class: "calm"}, "No active alarms.")]));
}

async function greet() {
  const system = await state("system");
  at("router").textContent = system.name || own_vr() || "Kamuee";
  at("about").textContent = own_vr() ? `virtual router ${own_vr()}` : `Kamuee ${system.version}, ${system["dpdk-version"]}, FIB lookup ${system["lookup-kernel"]}`;
  show_page();
  greet.done = true;
  keep_listening();
}

async function turn() {
  const page = shown(), number = turn.number = (turn.number ?? 0) + 1;
  clearTimeout(turn.next);
  let again = EVERY_MS;
  try {
    const [, wanted] = await Promise.all([alarms(), pages[page](), greet.done || greet()]);
    at("locked").hidden = true;
    at("board").hidden = false;
    at("live").textContent = "live";
    at("live").className = "good";
    again = wanted ?? EVERY_MS;
  } catch (error) {
    seen.overview = seen.interfaces = null;
    at("live").className = "bad";
    at("live").textContent = error instanceof Locked ? "locked" : `no answer: ${error.message}`;
    if (error instanceof Locked) { at("locked").hidden = false; at("board").hidden = true; return; }
  }
  if (number === turn.number) turn.next = setTimeout(turn, document.hidden ? 5 * again : again);
}

at("unlock").addEventListener("submit", event => { event.preventDefault(); keep(at("key").value.trim()); turn(); });
addEventListener("hashchange", () => { show_page(); turn(); });

if (location.hash.length > 1 && !location.hash.startsWith("#/")) {
  keep(location.hash.slice(1));
  history.replaceState(null, "", location.pathname);  // the key does not stay in sight
} else {
  key = sessionStorage.getItem("key") ?? "";
}
show_page();
turn();
