// SPDX-License-Identifier: BSD-3-Clause
// Graphs: a small line beside a number, and the last hour with a time axis. The hour comes from kamueed (state/port-history).
"use strict";

const SPARK = 90, HOUR_S = 3600;
const trail = new Map();          // "p0 rx" -> rates, the newest last

function sparkline(name, value, what) {
  const seen = trail.get(name) ?? [];
  if (value !== null) seen.push(value);
  if (seen.length > SPARK) seen.shift();
  trail.set(name, seen);
  const top = Math.max(...seen, 1), start = SPARK - seen.length;
  const points = seen.map((v, i) => `${start + i},${98 - 94 * v / top}`);
  return shape("svg", {viewBox: `0 0 ${SPARK} 100`, preserveAspectRatio: "none", role: "img", class: "spark",
                       "aria-label": `${what}: ${short(value)} packets/s, recent maximum ${short(top)}`},
    shape("polygon", {points: [`${start},100`, ...points, `${SPARK - 1},100`].join(" ")}), shape("polyline", {points: points.join(" ")}));
}

// The rate of a client of a queue between nothing and the most it may have, and its guarantee as a line.
function share_bar(rate, guarantee, most, whose) {
  const x = value => 100 * Math.min(value / (most || 1), 1), said = guarantee ? `, guarantee ${short(guarantee)}` : "";
  return shape("svg", {viewBox: "0 0 100 10", preserveAspectRatio: "none", role: "img", class: "share",
                       "aria-label": `${whose}: ${short(rate)} bit/s of at most ${short(most)}${said}`},
    shape("rect", {width: 100, height: 10, class: "most"}), shape("rect", {width: x(rate), height: 10}),
    ...guarantee ? [shape("line", {x1: x(guarantee), x2: x(guarantee), y1: 0, y2: 10})] : []);
}

// --- the hour ---

// Rates between the points of one port: [{at: seconds before now, rx, tx}]. A counter that fell began anew: no rate there.
function rates(points, unit, now) {
  const found = [];
  for (let i = 1; i < points.length; i++) {
    const [was, is] = [points[i - 1], points[i]], s = (Date.parse(is.time) - Date.parse(was.time)) / 1000;
    const grown = what => (n(is[what]) - n(was[what])) * (unit === "bytes" ? 8 : 1) / s;
    const [rx, tx] = [grown(`rx-${unit}`), grown(`tx-${unit}`)];
    if (s > 0 && rx >= 0 && tx >= 0) found.push({at: (now - Date.parse(is.time)) / 1000, rx, tx});
  }
  return found;
}

// Ports are noted at the same moments: their rates add up by the time.
function together(histories, unit) {
  const now = Date.now(), sum = new Map();
  for (const history of histories)
    for (const one of rates(history.point, unit, now)) {
      const moment = Math.round(one.at / history.interval), all = sum.get(moment) ?? {at: one.at, rx: 0, tx: 0};
      all.rx += one.rx;
      all.tx += one.tx;
      sum.set(moment, all);
    }
  return [...sum.values()].filter(one => one.at <= HOUR_S).sort((a, b) => b.at - a.at);
}

// The next number of 1, 2 or 5 times a power of ten.
function round_up(x) {
  const power = 10 ** Math.floor(Math.log10(x));
  return power * [1, 2, 5, 10].find(step => step * power >= x);
}

const W = 900, H = 240, LEFT = 84, RIGHT = 8, TOP = 10, BOTTOM = 26;
const x_of = seconds => W - RIGHT - (W - LEFT - RIGHT) * seconds / HOUR_S;

function axes(top, words) {
  const parts = [], now = new Date(), y_of = v => H - BOTTOM - (H - TOP - BOTTOM) * v / top;
  for (let i = 0; i <= 4; i++) {
    const y = y_of(top * i / 4);
    parts.push(shape("line", {x1: LEFT, x2: W - RIGHT, y1: y, y2: y, class: "grid"}),
               shape("text", {x: LEFT - 8, y: y + 4, class: "y"}, short(top * i / 4)));
  }
  const past = now.getMinutes() % 10 * 60 + now.getSeconds();   // since the last full ten minutes
  for (let s = past; s < HOUR_S; s += 600) {
    const tick = new Date(now.getTime() - s * 1000).toLocaleTimeString("en-GB", {hour: "2-digit", minute: "2-digit"});
    parts.push(shape("line", {x1: x_of(s), x2: x_of(s), y1: TOP, y2: H - BOTTOM, class: "grid"}));
    if (x_of(s) > LEFT + 20 && x_of(s) < W - 30) parts.push(shape("text", {x: x_of(s), y: H - 8, class: "x"}, tick));
  }
  parts.push(shape("text", {x: LEFT + 4, y: TOP + 12, class: "unit"}, words));
  return [parts, y_of];
}

function hour_graph(histories, unit, whose) {
  const seen = together(histories, unit), words = unit === "bytes" ? "bit/s" : "packets/s";
  const most = Math.max(...seen.map(one => Math.max(one.rx, one.tx)), 0), [parts, y_of] = axes(round_up(Math.max(most, 1)), words);
  for (const way of ["rx", "tx"])
    parts.push(shape("polyline", {class: way, points: seen.map(one => `${x_of(one.at).toFixed(1)},${y_of(one[way]).toFixed(1)}`).join(" ")}));
  const last = seen.at(-1) ?? {rx: null, tx: null};
  const told = `${whose}: received ${short(last.rx)} ${words}, sent ${short(last.tx)} ${words} now; maximum ${short(most)} ${words} in the last hour`;
  return [shape("svg", {viewBox: `0 0 ${W} ${H}`, role: "img", class: "hour", "aria-label": told}, ...parts),
          node("p", {class: "legend"}, node("span", {class: "key rx"}, "received"), node("span", {class: "key tx"}, "sent"),
               node("span", {}, seen.length ? told : "The first point appears 20 seconds after kamueed starts. One hour is kept."))];
}
