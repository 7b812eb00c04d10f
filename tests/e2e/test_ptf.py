# SPDX-License-Identifier: BSD-3-Clause
"""PTF (the Packet Testing Framework of the P4 world) runs against Linux and against us.

Our own tests are tests/ptf/router.py. Others' are pointed at us by `make ptf PTF_DIR=DIR PTF_ARGS='...'`: same lab, PTF's ports
0 to 3 are the router's; tests/ptf/README.md has addresses and test parameters.
"""
import os
import shlex
import sys
from pathlib import Path

import pytest

from support import eventually

ROOT = Path(__file__).resolve().parents[2]
PTF = Path(os.environ.get("PTF", ROOT / ".ptf"))       # `make deps` puts it there
DIRECTORY = Path(os.environ.get("PTF_DIR", ROOT / "tests" / "ptf")).resolve()
N_PORTS = 4

SWITCH = """
nodes:
  ptf: {kind: host}
  r:
    kind: $ROUTER
    interfaces:
""" + "".join(f'      p{i}: [10.{i}.0.1/24, "fd00:{i}::1/64"]\n' for i in range(N_PORTS)) + "links:\n" + \
    "".join(f"  - [ptf:eth{i}, r:p{i}]\n" for i in range(N_PORTS))
ROUTES = ["-4 route add 198.51.100.0/24 nexthop via 10.2.0.2 nexthop via 10.3.0.2",
          "-6 route add 2001:db8:100::/48 nexthop via fd00:2::2 nexthop via fd00:3::2"]


@pytest.fixture(scope="module")
def lab(labs, kind):
    if not (PTF / "bin" / "ptf").exists():
        if os.environ.get("CI"):
            pytest.fail(f"PTF is not in {PTF}: make deps")
        pytest.skip(f"PTF is not in {PTF}: make deps")
    lab = labs(SWITCH, kind)
    router, hosts = lab["r"], lab["ptf"]
    for i in range(N_PORTS):
        hosts.namespace.sysctl({f"net.ipv6.conf.eth{i}.disable_ipv6": "1"})   # the tests alone speak there
        for address in (f"10.{i}.0.2", f"fd00:{i}::2"):
            router.ip(f"neigh replace {address} lladdr 02:00:00:00:0{i}:02 dev p{i} nud permanent")
    for route in ROUTES:
        router.ip(route)
    return lab


def run_ptf(lab) -> str:
    router = lab["r"]
    macs = ",".join(router.ip_json(f"link show dev p{i}")[0]["address"] for i in range(N_PORTS))
    ports = [word for i in range(N_PORTS) for word in ("-i", f"{i}@eth{i}")]
    log = lab["ptf"].run_dir / "ptf.log"
    return lab["ptf"].run(["env", f"PYTHONPATH={PTF}", "PYTHONDONTWRITEBYTECODE=1", sys.executable, str(PTF / "bin" / "ptf"),
                           "--test-dir", str(DIRECTORY), "--log-file", str(log), *ports,
                           "--test-params", f"macs='{macs}';router_mac='{macs.split(',')[0]}'",
                           *shlex.split(os.environ.get("PTF_ARGS", ""))], timeout_s=600)


def test_ptf(lab):
    eventually(lambda: len(lab["r"].ip_json("-6 route show table local")) >= 2 * N_PORTS, what="the router's addresses")
    print(run_ptf(lab))                                       # it fails unless all tests passed
