# SPDX-License-Identifier: BSD-3-Clause
"""`kamuee flowspec run`: takes what the speaker tells, decides which routes become rules, and keeps these in force.

One loop, nothing waits but for kamueed's answers. The rules have a lease in kamueed (`hold`): if this process, the
speaker or the host's Python dies, they stay for that time and then go, with the alarm acl-lease.
"""
from __future__ import annotations

import gc
import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable
from functools import lru_cache, partial

from kamuee import __version__
from kamuee.client import Client
from kamuee.errors import EXIT_ERROR, EXIT_OK, KamueeError
from kamuee.flowspec import guard, state
from kamuee.flowspec.event import Announce, Attributes, Complete, Event, Session, Unreadable, Withdraw
from kamuee.flowspec.flow import MEMORY, Flow, Invalid
from kamuee.flowspec.install import Installer
from kamuee.flowspec.lines import action, lines
from kamuee.flowspec.rules import Full, Rules
from kamuee.flowspec.setup import Peer, Protected, Setup
from kamuee.flowspec.source import Source, source_of
from kamuee.flowspec.state import Route
from kamuee.flowspec.validate import Validator, first_as

BGP, TCP = 179, 6
GATHER_S = 0.2          # while events come, changes wait so long, or twice as long as the last ones took
RENEW_S = 5
WARN_PERCENT = 80
LOGGED_EACH_S = 20
GARBAGE_AFTER = 100_000     # objects more: routes are many and have no cycles, so looking for these is in vain


class Log:
    """Lines on standard error, for the journal; a flood of them is counted."""

    def __init__(self) -> None:
        self.second, self.lines, self.lost = 0, 0, 0

    def __call__(self, message: str) -> None:
        now = int(time.monotonic())
        if now != self.second:
            if self.lost:
                print(f"flowspec: {self.lost} more lines were not written", file=sys.stderr, flush=True)
            self.second, self.lines, self.lost = now, 0, 0
        self.lines += 1
        if self.lines <= LOGGED_EACH_S:
            print(f"flowspec: {message}", file=sys.stderr, flush=True)
        else:
            self.lost += 1


class PeerState:
    def __init__(self, of: Peer) -> None:
        self.of = of
        self.session: Session | None = None
        self.local = of.local               # "": not known
        self.routes: dict[Flow, Route] = {}
        self.round = 0                      # grows with each session
        self.deadline: float | None = None  # then routes of earlier rounds go
        self.warned = False


class Adapter:
    def __init__(self, setup: Setup, client: Client) -> None:
        self.setup, self.client, self.log = setup, client, Log()
        self.peers = {address: PeerState(peer) for address, peer in setup.peers.items()}
        self.rules = {vr: Rules(min(t.last - t.first + 1 for t in targets)) for vr, targets in setup.targets.items()}
        self.installers = {vr: [Installer(client, target, self.rules[vr], setup.hold_s, partial(self.near_limit, vr)) for target in targets]
                           for vr, targets in setup.targets.items()}
        self.dirty: dict[str, set[Flow]] = {vr: set() for vr in setup.targets}
        self.dirty_since: float | None = None
        self.policed: dict[Flow, int] = {}
        self.policers = 0               # the sum of these
        self.action = lru_cache(MEMORY)(lambda attributes, family: action(attributes, family, setup))
        self.sessions: list[Protected] | None = None    # sessions to protect; None: make the list again
        self.validator = Validator(client)
        self.refused: Counter[tuple[str, str]] = Counter()      # since the start, by peer and reason
        self.source: Source | None = None
        self.stop = False
        self.saver = 0                  # the child that writes the state now
        self.save_after, self.changed = 0.0, True
        self.due: dict[str, float] = {}
        self.gather_s = GATHER_S

    # --- what the speaker tells ---

    def take(self, event: Event) -> None:
        peer = self.peers.get(event.peer)
        if not peer:
            if not isinstance(event, Session):
                self.refuse(event.peer, "unknown-peer", f"there is no line 'peer {event.peer}' in {self.setup.path}", "")
            return
        if isinstance(event, Session):
            self.take_session(peer, event)
        elif isinstance(event, Announce):
            if peer.session and not peer.session.up:    # a route is news of its session, too, and may come first
                self.take_session(peer, peer.session._replace(up=True))
            self.take_route(peer, event.flow, event.attributes)
        elif isinstance(event, Withdraw):
            self.forget(peer, [event.flow])
        elif isinstance(event, Complete):
            self.forget(peer, [flow for flow, route in peer.routes.items() if route.round < peer.round and flow.family == event.family])
        elif isinstance(event, Unreadable):
            self.refuse(event.peer, "unreadable", event.reason, event.text)

    def take_session(self, peer: PeerState, told: Session) -> None:
        if peer.session and peer.session.up == told.up and not told.again:
            return
        peer.session = told
        if told.local and told.local != peer.local:
            peer.local = told.local
            self.judge_all()
        peer.round += told.up
        seconds = self.setup.restart_s if told.up else self.setup.hold_s
        peer.deadline = time.monotonic() + seconds
        self.changed = True
        self.log(f"session {'up' if told.up else 'down'}: peer={peer.of.address} routes={len(peer.routes)}"
                 + ("" if told.up else f"; its rules go in {seconds} s"))

    def take_route(self, peer: PeerState, flow: Flow, attributes: Attributes) -> None:
        known = peer.routes.get(flow)
        if known and known.attributes == attributes:
            known.round = peer.round
            return
        if not known and len(peer.routes) >= peer.of.limit:
            self.refuse(peer.of.address, "limit", f"more than {peer.of.limit} routes: raise 'limit', or ask the peer for fewer", str(flow))
            return
        peer.routes[flow] = route = Route(attributes, time.time(), peer.round)
        if len(peer.routes) * 100 >= peer.of.limit * WARN_PERCENT and not peer.warned:
            peer.warned = True
            self.log(f"warning: peer={peer.of.address} has {len(peer.routes)} routes, {WARN_PERCENT} % of its limit of {peer.of.limit}")
        self.judge(peer, flow, route)
        self.touch(peer, flow)

    def judge(self, peer: PeerState, flow: Flow, route: Route) -> None:
        """What can be decided without kamueed."""
        route.why = route.reason = ""
        try:
            does = self.action(route.attributes, flow.family)
            if extra := does.kinds - set(peer.of.actions):
                self.reject(peer, flow, route, "action", f"the peer may not {', '.join(sorted(extra))}")
                return
            route.lines = lines(flow, does, self.setup.rules_each)
        except Invalid as error:
            self.reject(peer, flow, route, "unsupported", str(error))
            return
        if does.kinds & {"drop", "rate", "redirect"} and (session := guard.touched(flow, self.protected())):
            self.reject(peer, flow, route, "own-session", f"it would match packets of {session.why}")
        elif peer.of.validate and (why := first_as(peer.session, route.attributes)):
            self.reject(peer, flow, route, "not-valid", why)
        else:
            route.unchecked = peer.of.validate

    def judge_all(self) -> None:
        """Again, because an address of ours is another one."""
        self.sessions = None
        for peer in self.peers.values():
            for flow, route in peer.routes.items():
                self.judge(peer, flow, route)
                self.touch(peer, flow)

    def protected(self) -> list[Protected]:
        if self.sessions is None:
            self.sessions = list(self.setup.protected)
            for address, peer in self.peers.items():
                why = f"the BGP session with {address}" + ("" if peer.local else ", whose address of ours is not known: add 'local' to its line")
                self.sessions.append(Protected(TCP, peer.local or None, BGP, address, why))
        return self.sessions

    def reject(self, peer: PeerState, flow: Flow, route: Route, why: str, reason: str) -> None:
        route.why, route.reason, route.unchecked = why, reason, False
        self.refuse(peer.of.address, why, reason, str(flow))

    def refuse(self, peer: str, why: str, reason: str, what: str) -> None:
        self.refused[peer, why] += 1
        self.changed = True
        self.log(f"refused: peer={peer} reason={why}: {reason}: {what}")

    def touch(self, peer: PeerState, flow: Flow) -> None:
        self.dirty[peer.of.vr].add(flow)
        self.dirty_since = self.dirty_since or time.monotonic()
        self.changed = True

    def near_limit(self, vr: str) -> list[dict]:
        """For kamueed's alarm flowspec-limit, which has limits of its own."""
        used = {address: len(peer.routes) * 100 // peer.of.limit for address, peer in self.peers.items() if peer.of.vr == vr}
        return [{"address": address, "limit-used": percent} for address, percent in used.items() if percent]

    def forget(self, peer: PeerState, flows: Iterable[Flow]) -> None:
        for flow in list(flows):
            if peer.routes.pop(flow, None):
                self.touch(peer, flow)
        if len(peer.routes) * 100 < peer.of.limit * WARN_PERCENT:
            peer.warned = False

    # --- rules ---

    def validate(self, only_new: bool) -> None:
        """Looks up the unicast routes of new flows, or of all again."""
        for vr in self.rules:
            asked = [(peer, flow, route) for peer in self.peers.values() if peer.of.vr == vr and peer.of.validate
                     for flow in (self.dirty[vr] if only_new else peer.routes)
                     if (route := peer.routes.get(flow)) and (route.unchecked if only_new else route.why in ("", "not-valid") and route.lines)]
            if not asked:
                continue
            found = self.validator.check(vr, ((peer.of, flow, route.attributes) for peer, flow, route in asked))
            for peer, flow, route in asked:
                reason = first_as(peer.session, route.attributes) or found[peer.of.address, flow]
                route.unchecked = False
                if reason and reason != route.reason:
                    self.reject(peer, flow, route, "not-valid", reason)
                    self.touch(peer, flow)
                elif not reason and route.why:
                    route.why = route.reason = ""
                    self.touch(peer, flow)

    def winner(self, vr: str, flow: Flow) -> tuple[PeerState, Route] | None:
        """Of peers with the same flow, the first in the file decides."""
        for peer in self.peers.values():
            route = peer.routes.get(flow) if peer.of.vr == vr else None
            if route and not route.why and route.lines and not route.unchecked:
                return peer, route
        return None

    def wanted(self, vr: str, flow: Flow) -> list[str] | None:
        while found := self.winner(vr, flow):
            peer, route = found
            policed = " police " in (route.lines or [""])[0]
            self.policers -= self.policed.pop(flow, 0)
            if policed and self.policers >= self.setup.policers:
                self.reject(peer, flow, route, "policers", f"more than {self.setup.policers} routes with a rate: see 'policers'")
                continue
            if policed:
                self.policed[flow] = len(self.setup.targets[vr])
                self.policers += self.policed[flow]
            return route.lines
        self.policers -= self.policed.pop(flow, 0)
        return None

    def flush(self) -> None:
        try:
            self.validate(only_new=True)
        except KamueeError as error:
            self.log(f"routes not validated, trying again: {error}")
            return
        for vr, flows in self.dirty.items():
            if flows:
                self.change(vr, {flow: self.wanted(vr, flow) for flow in flows})
                flows.clear()
        self.dirty_since = None

    def change(self, vr: str, wanted: dict[Flow, list[str] | None]) -> None:
        try:
            self.rules[vr].change(wanted)
        except Full:
            for flow in [flow for flow, found in wanted.items() if found and flow not in self.rules[vr].entries]:
                if winner := self.winner(vr, flow):
                    self.reject(*winner[:1], flow, winner[1], "numbers", "the list's range of rule numbers is used up: see 'list'")
                    wanted[flow] = None
            self.rules[vr].change(wanted)
        fresh, gone = self.rules[vr].take()
        if fresh or gone:
            self.install(vr, lambda installer: installer.change(fresh, gone))

    def install(self, vr: str, do: Callable[[Installer], None]) -> None:
        for installer in self.installers[vr]:
            before = installer.error
            do(installer)
            if installer.error and installer.error != before:
                self.log(f"acl {installer.target.acl}: not changed, trying again: {installer.error}")
            elif before and not installer.error:
                self.log(f"acl {installer.target.acl}: changed: rules={self.rules[vr].count}")

    # --- time ---

    def every(self, name: str, seconds: float) -> bool:
        now = time.monotonic()
        if now < self.due.get(name, 0):
            return False
        self.due[name] = now + seconds
        return True

    def tick(self) -> None:
        now = time.monotonic()
        for peer in self.peers.values():
            if peer.deadline is not None and now >= peer.deadline:
                peer.deadline = None
                up = not peer.session or peer.session.up
                old = [flow for flow, route in peer.routes.items() if not up or route.round < peer.round]
                if old:
                    self.log(f"routes ended: peer={peer.of.address} routes={len(old)}: " + ("not sent again" if up else "no session"))
                self.forget(peer, old)
        if self.every("expiry", 1):
            self.expire()
        if self.every("renew", min(RENEW_S, self.setup.hold_s / 5)):
            for vr in self.rules:
                self.install(vr, Installer.renew)
        if self.every("revalidate", self.setup.revalidate_s):
            began = time.monotonic()
            try:
                self.validate(only_new=False)
            except KamueeError as error:
                self.log(f"routes not validated again: {error}")
            self.due["revalidate"] += 20 * (time.monotonic() - began)
        if self.changed and not self.dirty_since and now >= self.save_after:
            self.save()

    def expire(self) -> None:
        now = time.time()
        for peer in self.peers.values():
            for flow, route in peer.routes.items() if peer.of.expire_s else ():
                if not route.why and now - route.since > peer.of.expire_s:
                    self.reject(peer, flow, route, "expired", f"older than {peer.of.expire_s} s")
                    self.touch(peer, flow)

    # --- memory ---

    def head(self) -> dict:
        return {"version": __version__, "pid": os.getpid(), "speaker": self.setup.speaker,
                "rules": {vr: rules.count for vr, rules in self.rules.items()},
                "lists": {vr: [[*installer.target, installer.error] for installer in installers] for vr, installers in self.installers.items()},
                "peers": [{"peer": address, "vr": peer.of.vr, "up": bool(peer.session and peer.session.up), "local": peer.local, "routes": len(peer.routes),
                           "limit": peer.of.limit, "refused": {why: n for (of, why), n in self.refused.items() if of == address}}
                          for address, peer in self.peers.items()]}

    def lines_of_state(self) -> Iterable[str]:
        for address, peer in self.peers.items():
            entries = self.rules[peer.of.vr].entries
            for flow, route in peer.routes.items():
                won = self.winner(peer.of.vr, flow) if flow in entries else None
                yield state.dump(address, peer.of.vr, flow, route, entries[flow].first if won and won[0] is peer else None)

    def save(self) -> None:
        self.changed = False
        self.save_after = time.monotonic() + 1
        if self.saver:
            self.changed = True
            return
        if sum(len(peer.routes) for peer in self.peers.values()) <= state.FEW:
            self.write_files()
            return
        child = os.fork()
        if not child:
            try:
                self.write_files()
            finally:
                os._exit(0)
        self.saver = child

    def reap(self) -> None:
        if self.saver and os.waitpid(self.saver, os.WNOHANG)[0]:
            self.saver = 0

    def write_files(self) -> None:
        try:
            state.write(self.setup.state, self.head(), self.lines_of_state())
            if self.setup.metrics:
                from kamuee.flowspec.metrics import write
                write(self.setup.metrics, self.head())
        except OSError as error:
            self.log(f"state not written: {error}")

    def remember(self) -> None:
        """The routes that the last process knew, until the speaker tells them again; with their numbers."""
        if not os.path.exists(self.setup.state):
            return
        placed: dict[str, list[tuple[int, Flow]]] = {vr: [] for vr in self.rules}
        told = state.read(self.setup.state)
        for known in next(told, {}).get("peers", ()):
            if peer := self.peers.get(known["peer"]):
                peer.local = peer.local or known["local"]
        self.sessions = None
        for row in told:
            peer = self.peers.get(row["peer"])
            if not peer or peer.of.vr != row["vr"]:
                continue
            flow, attributes = state.parse(row)
            peer.routes[flow] = route = Route(attributes, row["since"])
            self.judge(peer, flow, route)
            if row["first"] is None or route.why or route.lines is None or len(route.lines) != row["rules"]:
                self.touch(peer, flow)
            else:
                route.unchecked = False     # valid a moment ago; looked up again soon
                placed[peer.of.vr].append((row["first"], flow))
        for vr, numbered in placed.items():
            known = {flow: (self.wanted(vr, flow), first) for first, flow in numbered}
            self.rules[vr].restore({flow: (found, first) for flow, (found, first) in known.items() if found})
        for peer in self.peers.values():
            peer.deadline = time.monotonic() + max(self.setup.hold_s, self.setup.restart_s)
            peer.round = 1
        self.log(f"{sum(len(peer.routes) for peer in self.peers.values())} routes known from {self.setup.state}")

    # --- the loop ---

    def run(self) -> int:
        gc.set_threshold(GARBAGE_AFTER)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self.on_signal)
        try:
            self.remember()
        except (KamueeError, KeyError, ValueError, TypeError, Invalid) as error:
            self.log(f"starting without memory: {error}")
        self.source = source_of(self.setup, self.log)
        for vr in self.rules:
            self.rules[vr].take()
            self.install(vr, Installer.restore)
        while not self.stop and not self.source.ended:
            for event in self.source.events(0.0 if self.dirty_since else 0.25):
                self.take(event)
            if self.dirty_since and (self.source.quiet or time.monotonic() - self.dirty_since > self.gather_s):
                began = time.monotonic()
                self.flush()
                self.gather_s = max(GATHER_S, 2 * (time.monotonic() - began))
            self.reap()
            self.tick()
        return self.end()

    def end(self) -> int:
        """The rules stay until their lease is over, which begins now."""
        if self.source and self.source.ended and not self.stop:
            self.log(f"the speaker has ended; the rules stay for {self.setup.hold_s} s")
        if self.dirty_since:
            self.flush()
        if self.source:
            self.source.close()
        if self.saver:
            os.waitpid(self.saver, 0)
        self.write_files()
        return EXIT_OK if self.stop else EXIT_ERROR

    def on_signal(self, _number: int, _frame: object) -> None:
        self.stop = True
