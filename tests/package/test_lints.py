# SPDX-License-Identifier: BSD-3-Clause
"""External lints: licenses, shell scripts, the RPM spec, Kubernetes' schema. Lints from PyPI are skipped only if they cannot be installed."""
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from conftest import ROOT
from container import Image, run


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Programs of the package index."""
    folder = tmp_path_factory.mktemp("lints")
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    done = subprocess.run([folder / "bin/pip", "install", "-q", "--disable-pip-version-check", "reuse", "kubernetes-validate"], capture_output=True,
                          text=True)
    if done.returncode:
        pytest.skip(f"the lints cannot be had: {done.stderr.strip().splitlines()[-1]}")
    return folder / "bin"


def scripts() -> list[Path]:
    named = run("git", "-C", ROOT, "ls-files", "-co", "--exclude-standard").stdout.splitlines()
    first = {path: path.open("rb").readline() for name in named if (path := ROOT / name).is_file()}
    return [path for path, line in first.items() if re.match(rb"#!.*\b(ba)?sh\b", line)]


def test_shellcheck():
    found = scripts()
    assert len(found) > 8
    run("shellcheck", "--severity=warning", *found)
    run("shellcheck", "--severity=warning", "--shell=bash", ROOT / "deploy/completion/kamuee.bash")


def test_every_file_has_a_license(index: Path):
    run(index / "reuse", "--root", ROOT, "lint", "--quiet")


def test_the_rpm_spec():
    said = run("rpmlint", "-c", ROOT / "deploy/rpm/rpmlint.toml", ROOT / "deploy/rpm/kamuee.spec").stdout
    assert "0 errors, 0 warnings" in said


def documents(name: str) -> list[dict]:
    return list(yaml.safe_load_all((ROOT / "deploy/kubernetes" / name).read_text()))


def test_kubernetes_takes_the_manifests(index: Path):
    run(index / "kubernetes-validate", "--strict", ROOT / "deploy/kubernetes/router.yaml")


def test_manifests_fit_the_image(image: Image):
    """What a manifest names is there: networks, ports, programs, mount points, and the configuration is valid."""
    config, _, router = documents("router.yaml")
    template = router["spec"]["template"]
    (container,) = template["spec"]["containers"]
    networks = {network["metadata"]["name"]: json.loads(network["spec"]["config"]) for network in documents("networks.yaml")}
    asked = dict(reversed(item.split("@")) for item in template["metadata"]["annotations"]["k8s.v1.cni.cncf.io/networks"].split(","))
    assert set(asked.values()) == set(networks) and all(re.fullmatch(r"eth[1-9]\d*", name) for name in asked)
    ports = {port["containerPort"] for port in container["ports"]}
    assert {f"{port}/tcp" for port in ports} == set(image.config["ExposedPorts"])
    assert int(template["metadata"]["annotations"]["prometheus.io/port"]) in ports
    for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
        assert container[probe]["exec"]["command"] == image.config["Healthcheck"]["Test"][1:]
    assert (image.root / "usr/bin/kamuee").exists() and (image.root / "etc/frr").is_dir()
    lines = config["data"]["kamuee.conf"]
    assert set(re.findall(r"kernel-interface wire(\d)", lines)) == {name.removeprefix("eth") for name in asked}
    assert f"listen {template['metadata']['annotations']['prometheus.io/port']} ssl" in config["data"]["proxy.conf"]
    checked = image.root / "tmp/checked.conf"
    checked.write_text("".join(line + "\n" for line in lines.splitlines() if " api " not in line))      # whose files are a Secret's
    said = run("chroot", image.root, "kamueed", "--check", "--config", "/tmp/checked.conf").stdout
    checked.unlink()
    assert "the configuration is valid" in said
