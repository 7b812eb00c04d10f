# SPDX-License-Identifier: BSD-3-Clause
"""A machine with Kamuee's packages instead of `make install`."""
import sys
from pathlib import Path

from router import Router
from vm import ROOT, Vm

sys.path.append(str(ROOT / "tests/package"))
from packages import make_packages, newer_version, release_packages               # noqa: E402, F401

# The machine has DPDK's drivers one by one (lab/vm/packages), not all that the packages ask for.
INSTALL = "dpkg --ignore-depends=librte-meta-net,librte-meta-bus,librte-meta-mempool,netbase,python3-matplotlib,python3-numpy -i"


class Packaged(Router):
    """Where Kamuee was never installed, at first."""

    def __init__(self, vm: Vm):
        super().__init__(vm)
        vm.run("systemctl stop kamueed; rm -rf /usr/local/* /etc/kamuee; systemctl daemon-reload; mkdir /debs")

    def install(self, packages: Path, *names: str) -> str:
        """What dpkg said."""
        for name in names:
            self.vm.put(f"/debs/{name}.deb", next(packages.glob(f"{name}_*.deb")).read_bytes())
        return self.vm.run(f"{INSTALL} {' '.join(f'/debs/{name}.deb' for name in names)} 2>&1", timeout_s=300).out

    def active(self) -> bool:
        return self.vm.run("systemctl is-active kamueed", check=False).out.strip() == "active"

    def version(self) -> str:
        """Of the running process."""
        return self.state("system")["version"]
