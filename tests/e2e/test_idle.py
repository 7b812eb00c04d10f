# SPDX-License-Identifier: BSD-3-Clause
"""Idle forwarders: they sleep until a packet wakes them, and nothing is lost when many come at once."""
import os
import subprocess
import sys
import time

import pytest

from kamuee.lab import measure
from support import LINE, STREAM, assert_no_loss, assert_reaches, eventually, received, receiver, send

LAB = LINE
BURST = 500
AS_FAST_AS_IT_CAN = 10_000_000
LOOK_S = 0.2
POLLS_ASLEEP = 10     # in one look, of one forwarder: woken it polls, then spins; by the clock it would be 200 to 2,000


@pytest.fixture(params=["balanced", "powersave"])
def sleeping(lab, router, request):
    """The lab in an idle mode that sleeps, with its neighbors known."""
    router.configure(f"set forwarding idle {request.param}")
    assert_reaches(lab["h1"], "10.2.0.2")
    return lab


def look(lab) -> list[tuple[bool, int]]:
    """Of each forwarder: whether it slept until woken for the time of a look, and how many packets it received."""
    def counters() -> list[dict]:
        return [thread["statistics"] for thread in measure.client(lab["r"]).entries("thread") if thread["role"] == "forwarder"]
    before = counters()
    time.sleep(LOOK_S)
    return [(now["polls"] - was["polls"] <= POLLS_ASLEEP, now["rx-packets"] - was["rx-packets"])
            for was, now in zip(before, counters(), strict=True)]


def are_asleep(lab) -> bool:
    return all(asleep for asleep, _ in look(lab))


def until_asleep(lab) -> None:
    eventually(lambda: are_asleep(lab), 60, "forwarders sleep until they are woken")


def test_a_burst_after_silence_is_forwarded_whole(sleeping):
    for _ in range(3):
        until_asleep(sleeping)
        receiving = receiver(sleeping["h2"])
        send(sleeping["h1"], ["10.2.0.2"], BURST, per_s=AS_FAST_AS_IT_CAN)
        assert received(receiving, BURST)["distinct"] == BURST


def test_packets_of_the_kernel_wake_a_sleeping_forwarder(sleeping):
    until_asleep(sleeping)
    assert_no_loss(sleeping["r"], "10.1.0.2", 20)


def test_forwarders_still_sleep_after_a_link_went_down_and_up(sleeping):
    sleeping["h1"].ip("link set eth0 down")
    sleeping["h1"].ip("link set eth0 up")
    sleeping["h1"].ip("route replace default via 10.1.0.1")
    assert_reaches(sleeping["h1"], "10.2.0.2")
    until_asleep(sleeping)


def test_in_performance_mode_nobody_sleeps(lab, router):
    router.configure("set forwarding idle performance")
    eventually(lambda: not are_asleep(lab), 60, "forwarders poll")


@pytest.fixture
def two_forwarders(lab, router):
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("two forwarders need two cores")
    cores = sorted(os.sched_getaffinity(0))[:2]
    threads = [f"set thread {core} forwarder port {port} rx-queue {queue}"
               for queue, core in enumerate(cores) for port in ("p0", "p1")]
    queues = [f"set port {port} {kind}-queues 2" for port in ("p0", "p1") for kind in ("rx", "tx")]
    router.configure(*queues, *threads)
    assert_reaches(lab["h1"], "10.2.0.2")
    return lab


def test_a_queue_wakes_its_own_forwarder_and_no_other(two_forwarders):
    until_asleep(two_forwarders)
    receiving = receiver(two_forwarders["h2"])         # or the answers "port unreachable" would wake the other one
    stream = two_forwarders["h1"].popen([sys.executable, str(STREAM), "send", "7000", "3000", "1", "50", "64", "10.2.0.2"],
                                        stdout=subprocess.DEVNULL)

    def one_works_and_one_sleeps() -> bool:
        found = look(two_forwarders)
        return sorted(asleep for asleep, _ in found) == [False, True] and all((n > 0) != asleep for asleep, n in found)
    eventually(one_works_and_one_sleeps, 50, "the flow wakes one forwarder, and the other sleeps on")
    stream.kill()
    stream.wait()
    received(receiving, 1)
