#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Makes the pictures of docs/features/web.md again: the web page of the demo's router, which has a full table and an hour of traffic.

    tests/e2e/pictures.py FOLDER [MINUTES] [-- DEMO OPTION…]     64 minutes: the demo's own traffic is no longer in the last hour

The customer sends to addresses of the whole table, at a rate that rises and falls; each packet gets three larger ones back. Needs root,
Chromium, nginx (make deps), and as much memory as `kamuee demo`.
"""
import argparse
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "cli"), str(ROOT / "tests/e2e"), str(ROOT / "tests")]

import conftest   # noqa: E402
from browser import Browser   # noqa: E402
from kamuee.feed import table as feed_table   # noqa: E402
from kamuee.lab import demo   # noqa: E402
from kamuee.lab.demoplan import sample_addresses   # noqa: E402
from kamuee.lab.lab import Lab   # noqa: E402
from kamuee.lab.netns import stop_processes   # noqa: E402
from proxy import Proxy   # noqa: E402
from support import Router, eventually   # noqa: E402
from test_web import WIDTHS, column, go   # noqa: E402

NAME = "pictures"
PICTURES = (("light", "desktop", "overview"), ("dark", "desktop", "overview"), ("light", "tablet", "interfaces"),
            ("light", "phone", "interfaces"), ("light", "desktop", "routes"), ("light", "desktop", "configuration"))
ROWS = {"overview": "ports", "configuration": "revisions"}      # tables of pages whose name differs
SPARKLINE_S = 90
ANSWER = """
import socket
s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_RECVPKTINFO, 1)
s.bind(('::', 7007))
while True:
    _, told, _, client = s.recvmsg(2048, 128)
    for size in (1400, 1400, 900):
        s.sendmsg([bytes(size)], told, 0, client)       # from the address that was asked
"""
ASK = """
import math, random, socket, sys, time
targets = ['::ffff:' + a if '.' in a else a for a in sys.stdin.read().split()]
s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
begun = time.monotonic()
while True:
    t = time.monotonic() - begun
    for _ in range(int(random.uniform(0.8, 1.2) * (15 + 6 * math.sin(t / 400) + 3 * math.sin(t / 70)))):
        s.sendto(bytes(random.randrange(40, 400)), (random.choice(targets), 7007))
    time.sleep(0.01)
"""


class Edge:
    """The demo's router as proxy.py wants a daemon."""

    def __init__(self, node):
        self.node, self.name, self.dir, self.client = node, node.namespace.name, node.run_dir, Router(node)

    def run(self, command: str) -> str:
        return self.node.run(command)


def main() -> int:
    top = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    top.add_argument("folder", type=Path)
    top.add_argument("minutes", type=float, nargs="?", default=64)
    top.add_argument("options", nargs="*")
    given = top.parse_args()
    given.folder = given.folder.resolve()
    given.folder.mkdir(parents=True, exist_ok=True)
    conftest.isolate()
    if code := demo.main(["start", "--name", NAME, *given.options]):
        demo.main(["stop", "--name", NAME])     # nobody else sees this mount namespace
        return code
    lab = Lab.attach(NAME)
    try:
        photograph(lab, given.folder, given.minutes, given.options)
    finally:
        lab.stop()
    return 0


def photograph(lab: Lab, folder: Path, minutes: float, options: list[str]) -> None:
    edge = Edge(lab["edge"])
    edge.client.configure("set forwarding latency-sample 61", "set port p2 queue rate 1G", "set port p2 queue vr default guarantee 100M",
                          "set api proxy www-data")
    edge.dir.chmod(0o755)
    proxy = Proxy(edge).start()
    [url] = edge.client.call("web-address")["url"]
    table = demo.parser().parse_args(options)
    targets = sample_addresses(feed_table.load(table.prefixes, table.mrt, table.routes), 2000)
    answers = lab["internet"].popen([sys.executable, "-c", ANSWER])
    asks = lab["customer"].popen([sys.executable, "-c", ASK], stdin=subprocess.PIPE)
    asks.stdin.write("\n".join(targets).encode())
    asks.stdin.close()
    time.sleep(minutes * 60)
    browser = Browser(edge.name)
    try:
        for scheme, size, page in PICTURES:
            browser.open(url, width=WIDTHS[size], scheme=scheme)
            go(browser, page)
            eventually(lambda page=page: column(browser, ROWS.get(page, page), 0), 60)
            if page == "configuration":
                browser.run("document.querySelector('#revisions tbody button').click()")
            time.sleep(SPARKLINE_S if page in ("overview", "interfaces") else 3)
            browser.screenshot(folder / f"web-{page}-{size}{'-dark' if scheme == 'dark' else ''}.png")
    finally:
        browser.close()
        proxy.stop()
        stop_processes([asks.pid, answers.pid])


if __name__ == "__main__":
    sys.exit(main())
