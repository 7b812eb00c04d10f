# SPDX-License-Identifier: BSD-3-Clause
"""A GPU looks up for a virtual router: an emulated one, which can be had everywhere. Its speed says nothing of a GPU's."""
import re
import subprocess
import sys

import pytest

from kamuee.errors import DaemonError
from support import STREAM, eventually, received, receiver, two_hosts

LAB = two_hosts()
TARGETS = ["10.2.0.2", "fd00:2::2"]
MEASURED = "set gpu g device emulated vr default max-latency 1000000 timeout 5000"
ON = MEASURED + " offload always"


def gpu(router):
    return router.entries("gpu")[0]


def by_cpu(router, cause):
    return next(int(entry["lookups"]) for entry in gpu(router)["by-cpu"] if entry["cause"] == cause)


def alarms(router):
    return [alarm["subject"] for alarm in router.entries("alarm") if alarm["name"] == "gpu"]


class Traffic:
    """Numbered packets through the router, 1,000 a second, while a test does something else."""

    def __init__(self, lab, n):
        self.n, self.sink = n, receiver(lab["h2"])
        self.sender = lab["h1"].popen([sys.executable, str(STREAM), "send", "7000", str(n), "5", "1000", "200", *TARGETS],
                                      stdout=subprocess.DEVNULL)

    def all_arrive(self):
        assert self.sender.wait(120) == 0
        assert received(self.sink, self.n)["distinct"] == self.n


def test_its_answers_forward_traffic(lab, router):
    router.configure(ON)
    Traffic(lab, 2000).all_arrive()
    seen = gpu(router)
    assert seen["status"] == "on" and seen["activity"] == "looks up" and seen["tables"] == 2 and int(seen["memory"]) > 0, seen
    assert int(seen["lookups"]) > 0 and int(seen["batches"]) > 0 and seen["age-p99"] >= seen["age-p50"] > 0, seen
    assert int(seen["wrong"]) == 0, seen
    print({name: seen[name] for name in ("lookups", "batches", "by-cpu", "age-p50", "age-p99")})
    router.configure("set gpu g max-latency 900000")
    again = int(gpu(router)["lookups"])                # those for neighbor discovery come at any time
    assert again >= int(seen["lookups"]), "the device stays open: it goes on counting"
    assert int(re.search(r'^kamuee_gpu_lookup_packets_total{gpu="g"} (\d+)$', router.metrics(), re.MULTILINE)[1]) >= again


def test_where_it_does_not_pay_the_cpu_looks_up(lab, router):
    router.configure(MEASURED)
    Traffic(lab, 3000).all_arrive()
    assert by_cpu(router, "split") > 0, gpu(router)
    print(gpu(router)["activity"], gpu(router).get("forwarder"))


@pytest.mark.parametrize("fault, why", [("lost", "the emulated device was told to be lost"), ("silent", "a batch was not answered in time")])
def test_it_fails_under_traffic_and_no_packet_is_lost(lab, router, fault, why):
    router.configure(ON.replace("timeout 5000", "timeout 2000"))       # a busy machine answers a batch after 300 ms
    traffic = Traffic(lab, 5000)          # enough to flow still when it has failed
    eventually(lambda: int(gpu(router)["lookups"]) > 0, 20, lambda: str(gpu(router)))
    router.configure(f"set gpu g emulated-fault {fault}")
    eventually(lambda: gpu(router)["status"] == "failed", 10, lambda: str(gpu(router)))
    traffic.all_arrive()
    assert gpu(router)["why"] == why and by_cpu(router, "failure") > 0, gpu(router)
    eventually(lambda: alarms(router) == ["g"], 10, lambda: str(router.entries("alarm")))
    # It does not come back by itself, but when an operator says so.
    router.configure("set gpu g emulated-fault none")
    assert gpu(router)["status"] == "failed"
    router.call("gpu-reopen", name="g")
    assert gpu(router)["status"] == "on"
    Traffic(lab, 500).all_arrive()
    assert int(gpu(router)["lookups"]) > 0
    eventually(lambda: not alarms(router), 10, lambda: str(router.entries("alarm")))


def test_it_comes_and_goes_under_traffic(lab, router):
    traffic = Traffic(lab, 8000)
    for rounds in range(5):          # a busy machine may not have time for all of them
        router.configure(ON)
        eventually(lambda: int(gpu(router)["lookups"]) > 0 or traffic.sender.poll() is not None, 20, lambda: str(gpu(router)))
        router.configure("delete gpu g")
        if traffic.sender.poll() is not None:
            break
    assert rounds > 0, "all was sent before the second change"
    traffic.all_arrive()
    assert router.entries("gpu") == []


def test_routes_change_meanwhile(lab, router):
    router.configure(ON)
    traffic = Traffic(lab, 3000)
    for k in range(60):
        lab["r"].run(f"ip route replace 198.51.{k}.0/24 via 10.2.0.2")
    traffic.all_arrive()
    assert gpu(router)["status"] == "on" and int(gpu(router)["lookups"]) > 0, gpu(router)
    for k in range(60):
        lab["r"].run(f"ip route del 198.51.{k}.0/24")


def test_a_virtual_router_goes_while_it_uses_the_gpu(lab, router):
    router.configure("set vr red table 100", ON + " vr red")
    assert gpu(router)["tables"] == 4
    traffic = Traffic(lab, 1500)
    router.configure("delete gpu g vr red", "delete vr red")
    assert gpu(router)["tables"] == 2
    traffic.all_arrive()


@pytest.mark.parametrize("lines, said", [
    (["set gpu g device 0 vr default"], "install NVIDIA's driver"),
    (["set gpu g device 0 vr default emulated-fault lost"], "'emulated-fault' is for 'device emulated' only"),
    (["set gpu g device emulated vr nobody"], "nobody"), (["set gpu g device emulated access-list l"], "the CPU matches access lists")])
def test_errors_have_remedies(lab, router, lines, said):
    with pytest.raises(DaemonError) as refused:
        router.configure(*lines)
    assert said in str(refused.value)
    assert router.entries("gpu") == []
