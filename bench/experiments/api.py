# SPDX-License-Identifier: BSD-3-Clause
"""What requests to the management interface cost forwarding, and how many there can be.

kamueed on replay ports forwards all it can. Beside it a client asks for the state of ports, 1,000 times a second on
connections that stay open, then as often as it can. Client and control thread share the cores that do not forward.
"""
import socket
import statistics
import threading
import time

from measure.replay import CASES, Bench, kamueed

NAME = "api"
IDEA = "1,000 requests a second and as many as there can be: what is left of forwarding."
NEEDS = ("kamueed",)
RATE = 1000
REQUEST = b"GET /restconf/data/kamuee:state/ledger HTTP/1.1\r\nHost: k\r\n\r\n"


def run(ctx) -> None:
    case, seconds = CASES["ipv4-full"], 1.0 if ctx.quick else 3.0
    bench = Bench(ctx.build, ctx.kamueed, prefixes=ctx.prefixes(), force=True, say=ctx.say)
    with bench, bench.start(kamueed(), case) as router:
        for _ in ctx.each_round():
            alone = statistics.median(router.measure(seconds))
            with Asking(router.live, RATE) as asking:
                asked = statistics.median(router.measure(seconds))
            with Asking(router.live, None) as most:
                flooded = statistics.median(router.measure(seconds))
            ctx.add("forwarded", "no requests", "Mpps", alone)
            ctx.add("forwarded", f"{RATE:,} requests/s", "Mpps", asked)
            ctx.add("forwarded", "as many as there can be", "Mpps", flooded)
            ctx.add("throughput that is left", f"{RATE:,} requests/s", "%", 100 * asked / alone, goal=">= 99")
            ctx.add("throughput that is left", "as many as there can be", "%", 100 * flooded / alone)
            ctx.add("requests answered", f"{RATE:,} requests/s", "requests/s", asking.per_second, goal=f">= {0.95 * RATE:.0f}")
            ctx.add("requests answered", "as many as there can be", "requests/s", most.per_second)


class Asking:
    """Asks from here on, on one connection, at a rate or one after the other."""

    def __init__(self, live, rate: int | None):
        self.live, self.rate = live, rate
        self.n, self.stopped, self.began, self.last = 0, False, 0.0, 0.0
        self.thread = threading.Thread(target=self._ask)

    def __enter__(self) -> "Asking":
        self.began = time.monotonic()
        self.thread.start()
        return self

    def __exit__(self, *_) -> None:
        self.stopped = True
        self.live.thaw()  # outside measuring kamueed stands still, and owes an answer
        self.thread.join()
        self.live.freeze()

    @property
    def per_second(self) -> float:
        return self.n / (self.last - self.began)

    def _ask(self) -> None:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(str(self.live.daemon.socket))
            while not self.stopped:
                connection.sendall(REQUEST)
                self._read(connection)
                if self.stopped:
                    return
                self.n, self.last = self.n + 1, time.monotonic()
                if self.rate and (early := self.began + self.n / self.rate - time.monotonic()) > 0:
                    time.sleep(early)

    @staticmethod
    def _read(connection: socket.socket) -> None:
        answer = b""
        while b"\r\n\r\n" not in answer:
            answer += connection.recv(65536)
        head, _, body = answer.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200"), head
        length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
        while len(body) < length:
            body += connection.recv(65536)
