# SPDX-License-Identifier: BSD-3-Clause
"""The Debian packages under systemd: install, start, upgrade, purge, in the order of this file."""
from pathlib import Path

import pytest

from packaged import INSTALL, Packaged, make_packages, newer_version
from router import eventually
from vm import BUILD

CARDS = ["e1000e"]


@pytest.fixture(scope="module")
def packages() -> Path:
    return make_packages("--built", BUILD)


@pytest.fixture(scope="module")
def up(vm):
    router = Packaged(vm)
    yield router
    router.close()


def test_installed_it_runs_without_ports(up: Packaged, packages: Path):
    assert "kamuee" not in up.vm.out("ls /usr/bin /usr/sbin /etc").split()
    up.install(packages, "kamuee", "kamuee-tools")
    eventually(up.active, 60, up.told)
    assert up.vm.out("systemctl is-enabled kamueed").strip() == "enabled"
    assert up.vm.out(f"stat -c %U /proc/{up.pid()}").strip() == "kamuee"
    assert up.vm.out("systemctl show -P FragmentPath kamueed").strip() in ("/lib/systemd/system/kamueed.service", "/usr/lib/systemd/system/kamueed.service")
    up.vm.run("test -d /sys/module/vfio")       # its unit has loaded it
    assert up.entries("port") == []


def test_it_has_a_card(up: Packaged):
    up.bind(0)
    up.start([0], "set vr blue description kept")


def test_snmpd_and_nginx_serve_it_under_their_units(up: Packaged, packages: Path):
    """As docs/features/snmp.md and proxy.md say."""
    beside = ("kamuee-snmp", "kamuee-proxy")
    scrape = "python3 -c 'import urllib.request as u; print(u.urlopen(\"http://127.0.0.1:9108/metrics\").read().decode())'"
    up.install(packages, *beside)
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


def test_without_the_tools_an_upgrade_restarts_it_and_keeps_all(up: Packaged, packages: Path, tmp_path: Path):
    before, interface, configuration = up.pid(), up.vm.out("cat /sys/class/net/p0/ifindex"), up.vm.out("cat /etc/kamuee/kamuee.conf")
    up.vm.put("/debs/next.deb", newer_version(packages, "kamuee", tmp_path).read_bytes())
    up.vm.run(f"mv /usr/bin/kamuee /kamuee && {INSTALL} /debs/next.deb && mv /kamuee /usr/bin/kamuee", timeout_s=300)
    eventually(lambda: up.active() and up.pid() not in (0, before), 60, up.told)
    assert up.vm.out("dpkg-query -W -f='${Version}' kamuee").endswith("+next")
    assert up.vm.out("cat /etc/kamuee/kamuee.conf") == configuration
    assert "set vr blue description kept" in up.vm.out("kamuee show configuration")
    assert up.vm.out("cat /sys/class/net/p0/ifindex") == interface         # the TAP has outlived it, with all that the kernel knows of it
    eventually(lambda: up.pings(0, "10.0.0.1"), 60, up.told)


def test_removed_it_stops_and_its_configuration_stays(up: Packaged):
    up.vm.run("dpkg -r kamuee kamuee-tools", timeout_s=300)
    assert not up.active()
    assert "description kept" in up.vm.out("cat /etc/kamuee/kamuee.conf")


def test_purged_it_leaves_nothing(up: Packaged):
    up.vm.run("dpkg -P kamuee kamuee-tools", timeout_s=300)
    assert up.vm.run("systemctl cat kamueed", check=False).rc != 0
    assert up.vm.out("find / -xdev -name '*kamuee*' -not -path '/proc/*' -not -path '/sys/*' -not -path '/debs/*'") == ""
