# SPDX-License-Identifier: BSD-3-Clause
"""The Debian packages under systemd: install, start, upgrade, purge, in the order of this file."""
import sys
from pathlib import Path

import pytest

from router import Router, eventually
from vm import BUILD, ROOT

sys.path.append(str(ROOT / "tests/package"))
from packages import make_packages, newer_version                               # noqa: E402

CARDS = ["e1000e"]
# The machine has DPDK's drivers one by one (lab/vm/packages), not all that the package asks for.
INSTALL = "dpkg --ignore-depends=librte-meta-net,librte-meta-bus,librte-meta-mempool,netbase -i"


@pytest.fixture(scope="module")
def packages() -> Path:
    return make_packages("--built", BUILD)


@pytest.fixture(scope="module")
def up(vm, packages: Path):
    """A machine where Kamuee was never installed, and the packages in it."""
    vm.run("systemctl stop kamueed; rm -rf /usr/local/* /etc/kamuee; systemctl daemon-reload; mkdir /debs")
    for name in ("kamuee", "kamuee-tools"):
        file = next(packages.glob(f"{name}_*.deb"))
        vm.put(f"/debs/{name}.deb", file.read_bytes())
    router = Router(vm)
    yield router
    router.close()


def active(up: Router) -> bool:
    return up.vm.run("systemctl is-active kamueed", check=False).out.strip() == "active"


def test_installed_it_runs_without_ports(up: Router):
    assert "kamuee" not in up.vm.out("ls /usr/bin /usr/sbin /etc").split()
    up.vm.run(f"{INSTALL} /debs/kamuee.deb /debs/kamuee-tools.deb", timeout_s=300)
    eventually(lambda: active(up), 60, up.told)
    assert up.vm.out("systemctl is-enabled kamueed").strip() == "enabled"
    assert up.vm.out(f"stat -c %U /proc/{up.pid()}").strip() == "kamuee"
    assert up.vm.out("systemctl show -P FragmentPath kamueed").strip() in ("/lib/systemd/system/kamueed.service", "/usr/lib/systemd/system/kamueed.service")
    up.vm.run("test -d /sys/module/vfio")       # its unit has loaded it
    assert up.entries("port") == []


def test_it_has_a_card(up: Router):
    up.bind(0)
    up.start([0], "set vr blue description kept")


def test_snmpd_and_nginx_serve_it_under_their_units(up: Router, packages: Path):
    """As docs/features/snmp.md and proxy.md say."""
    beside = ("kamuee-snmp", "kamuee-proxy")
    scrape = "python3 -c 'import urllib.request as u; print(u.urlopen(\"http://127.0.0.1:9108/metrics\").read().decode())'"
    for name in beside:
        up.vm.put(f"/debs/{name}.deb", next(packages.glob(f"{name}_*.deb")).read_bytes())
    up.vm.run(f"{INSTALL} {' '.join(f'/debs/{name}.deb' for name in beside)}", timeout_s=300)
    for name in beside:
        said = up.vm.run(f"systemctl is-enabled {name}; systemd-analyze verify --man=no {name}.service", check=False)
        assert said.out.split() == ["disabled"], said.out
    up.vm.run("sed -i '/^rocommunity/d' /etc/snmp/snmpd.conf && echo 'rocommunity public 127.0.0.1' >>/etc/snmp/snmpd.conf")
    up.vm.run("systemctl restart snmpd && systemctl enable --now kamuee-snmp", timeout_s=120)
    up.vm.run("kamuee set api proxy kamuee-proxy && kamuee save && systemctl enable --now kamuee-proxy", timeout_s=120)
    routes = "snmpget -v2c -c public 127.0.0.1 1.3.6.1.2.1.4.24.6.0"          # inetCidrRouteNumber, which kamuee-snmp alone has
    for command in ("true", "systemctl restart kamueed"):
        up.vm.run(command, timeout_s=120)
        eventually(lambda: "Gauge32: " in up.vm.run(routes, check=False).out, 60, up.told)
        eventually(lambda: 'interface="p0"' in up.vm.run(scrape, check=False).out, 60, up.told)
        for name in beside:
            assert up.vm.out(f"stat -c %U /proc/$(systemctl show -P MainPID {name})").strip() == name
    up.vm.run("kamuee delete api proxy && kamuee save")
    up.vm.run(f"dpkg -P {' '.join(beside)}", timeout_s=300)
    for name in beside:
        assert up.vm.run(f"systemctl is-active {name}", check=False).rc != 0


def test_upgrade_restarts_it_and_keeps_all(up: Router, packages: Path, tmp_path: Path):
    before, interface, configuration = up.pid(), up.vm.out("cat /sys/class/net/p0/ifindex"), up.vm.out("cat /etc/kamuee/kamuee.conf")
    up.vm.put("/debs/next.deb", newer_version(packages, "kamuee", tmp_path).read_bytes())
    up.vm.run(f"{INSTALL} /debs/next.deb", timeout_s=300)
    eventually(lambda: active(up) and up.pid() not in (0, before), 60, up.told)
    assert up.vm.out("dpkg-query -W -f='${Version}' kamuee").endswith("+next")
    assert up.vm.out("cat /etc/kamuee/kamuee.conf") == configuration
    assert "set vr blue description kept" in up.vm.out("kamuee show configuration")
    assert up.vm.out("cat /sys/class/net/p0/ifindex") == interface         # the TAP has outlived it, with all that the kernel knows of it
    eventually(lambda: up.pings(0, "10.0.0.1"), 60, up.told)


def test_removed_it_stops_and_its_configuration_stays(up: Router):
    up.vm.run("dpkg -r kamuee kamuee-tools", timeout_s=300)
    assert not active(up)
    assert "description kept" in up.vm.out("cat /etc/kamuee/kamuee.conf")


def test_purged_it_leaves_nothing(up: Router):
    up.vm.run("dpkg -P kamuee kamuee-tools", timeout_s=300)
    assert up.vm.run("systemctl cat kamueed", check=False).rc != 0
    assert up.vm.out("find / -xdev -name '*kamuee*' -not -path '/proc/*' -not -path '/sys/*' -not -path '/debs/*'") == ""
