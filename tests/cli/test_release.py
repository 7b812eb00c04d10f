# SPDX-License-Identifier: BSD-3-Clause
"""tools/release in a repository of its own: the tag, what refuses one, sums, provenance, signature. Packages are made by tests/package."""
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FILES = ("meson.build", "cli/kamuee/__init__.py", "debian/changelog", "deploy/rpm/kamuee.spec", "deploy/kubernetes/router.yaml", "CHANGELOG.md",
         "docs/quickstart/container.md", "tools/release")
BUILDINFO = "Format: 1.0\nInstalled-Build-Depends:\n gcc-12 (= 12.2.0-14),\n libdpdk-dev (= 22.11.4-1)\nEnvironment:\n LANG=\"C\"\n"


class Tree:
    def __init__(self, folder: Path):
        self.folder = folder
        for name in FILES:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
        self.git("init", "-q")
        self.git("config", "user.name", "T")
        self.git("config", "user.email", "t@localhost")
        self.commit()

    def git(self, *words: str) -> str:
        return subprocess.run(["git", *words], cwd=self.folder, check=True, capture_output=True, text=True).stdout

    def commit(self) -> None:
        self.git("add", "-A")
        self.git("commit", "-qm", "a tree")

    def release(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([self.folder / "tools/release", *words], capture_output=True, text=True)


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    (tmp_path / "tree").mkdir()
    return Tree(tmp_path / "tree")


@pytest.fixture
def released(tree: Tree, tmp_path: Path) -> Path:
    """What `tools/release build` would leave, in small."""
    assert tree.release("tag", "9.8.7").returncode == 0
    folder = tmp_path / "released"
    folder.mkdir()
    (folder / "kamuee_9.8.7-1_amd64.deb").write_text("a package")
    (folder / "kamuee_9.8.7-1_amd64.buildinfo").write_text(BUILDINFO)
    return folder


def test_all_places_have_one_version():
    done = subprocess.run([ROOT / "tools/release", "check"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_tag_is_the_version_of_all_files(tree: Tree):
    assert tree.release("tag", "9.8.7").returncode == 0
    assert tree.release("check").returncode == 0
    assert tree.git("tag", "--points-at", "HEAD").split() == ["v9.8.7"] and tree.git("status", "--porcelain") == ""
    assert "version: '9.8.7'" in (tree.folder / "meson.build").read_text()
    assert "image: kamuee:9.8.7" in (tree.folder / "deploy/kubernetes/router.yaml").read_text()
    assert re.search(r"(?m)^\* .* 9\.8\.7-1$", (tree.folder / "deploy/rpm/kamuee.spec").read_text())
    changes = (tree.folder / "CHANGELOG.md").read_text()
    assert re.search(r"## Unreleased\n\n## 9\.8\.7 - \d{4}-\d\d-\d\d\n\n### Upgrading\n", changes)


def test_what_is_no_release_is_refused(tree: Tree):
    def refused(version: str) -> str:
        done = tree.release("tag", version)
        assert done.returncode == 1 and tree.git("tag") == ""
        return done.stderr

    assert "expected X.Y.Z" in refused("9.8")
    assert "is not newer" in refused("0.0.1")
    (tree.folder / "meson.build").write_text((tree.folder / "meson.build").read_text().replace("version: '", "version: '1"))
    assert "not committed" in refused("9.8.7")
    tree.commit()
    assert "the versions differ: meson.build 1" in refused("9.8.7")
    tree.git("reset", "-q", "--hard", "HEAD~1")
    changes = tree.folder / "CHANGELOG.md"
    changes.write_text(changes.read_text().replace("### Upgrading\n", "### Else\n", 1))
    tree.commit()
    assert "must begin with '### Upgrading'" in refused("9.8.7")
    assert tree.release("build", str(tree.folder / "out")).returncode == 1          # HEAD has no tag


def test_signed_sums_are_verified(tree: Tree, released: Path, tmp_path: Path):
    key, keys = tmp_path / "key", tmp_path / "allowed_signers"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
    keys.write_text(f'release@kamuee namespaces="kamuee-release" {(tmp_path / "key.pub").read_text()}')
    assert tree.release("sign", str(released), str(key)).returncode == 0
    assert "signed by release@kamuee" in tree.release("verify", str(released), str(keys)).stdout
    statement = json.loads((released / "provenance.json").read_text())
    dependencies = statement["predicate"]["buildDefinition"]["resolvedDependencies"]
    assert dependencies[0]["digest"]["gitCommit"] == tree.git("rev-parse", "HEAD").strip()
    assert {"uri": "pkg:deb/debian/libdpdk-dev@22.11.4-1"} in dependencies

    (released / "kamuee_9.8.7-1_amd64.deb").write_text("another")
    assert "not what SHA256SUMS says: kamuee_9.8.7-1_amd64.deb" in tree.release("verify", str(released), str(keys)).stderr
    assert "NOT signed" in tree.release("sign", str(released)).stdout                # sums of what is there now, by nobody
    assert tree.release("verify", str(released)).returncode == 0
    assert "the signature is not of release@kamuee" in tree.release("verify", str(released), str(keys)).stderr
