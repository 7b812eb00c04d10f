# SPDX-License-Identifier: BSD-3-Clause
"""program-signer: kamueed loads only packet programs signed by a known signer, and runs exactly the checked bytes."""
import os
import subprocess
from pathlib import Path

import pytest

from kamuee.errors import DaemonError

from conftest import ROOT
from test_program import arrived, build, counter, lab, load, program, reachable  # noqa: F401

PROGRAM = Path(os.environ.get("KAMUEED", ROOT / "build/kamueed")).resolve().parent / "compiler/kamuee-program"


@pytest.fixture
def sign(tmp_path):
    """sign(file, "build") signs with the key of that name, which is made; .key("build") is the file of its public half."""
    def key(name: str) -> str:
        private, public = tmp_path / f"{name}.pem", tmp_path / f"{name}.pub"
        if not private.exists():
            subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", private], check=True)
            subprocess.run(["openssl", "pkey", "-in", private, "-pubout", "-out", public], check=True)
        return str(public)

    def make(file: str, name: str) -> str:
        key(name)
        subprocess.run([PROGRAM, "sign", file, "--key", tmp_path / f"{name}.pem"], check=True)
        return file
    make.key = key
    return make


def trust(router, sign, *names: str) -> None:
    router.configure(*(f"set program-signer {name} key {sign.key(name)}" for name in names))


def test_only_what_a_signer_has_signed_is_loaded(lab, router, build, sign):  # noqa: F811
    trust(router, sign, "build", "lab")
    with pytest.raises(DaemonError, match=r"plain.so' is not signed, expected .*build \(.*build.pub\), lab \(.*lab.pub\) \('kamuee program sign'"):
        load(router, build("return 0;", name="plain"))
    with pytest.raises(DaemonError, match="other.so' has no signature of a configured signer"):
        load(router, sign(build("return 0;", name="other"), "stranger"))
    load(router, sign(build("count(0, 1); return 0;", "counter seen"), "lab"))
    assert program(router)["signer"] == "lab"
    assert arrived(lab, "10.2.0.2") == 50 <= counter(router, "seen")


def test_a_changed_byte_is_refused_and_the_old_program_runs_on(lab, router, build, sign):  # noqa: F811
    trust(router, sign, "build")
    file = Path(sign(build("count(0, 1); return 0;", "counter seen"), "build"))
    load(router, str(file))
    whole = file.read_bytes()
    for at in (100, len(whole) // 2, len(whole) - 90, len(whole) - 40, len(whole) - 3):
        file.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1:])
        with pytest.raises(DaemonError, match="is not signed|no signature of a configured signer"):
            router.call("program-replace", name="red:x")
    assert program(router)["loads"] == 1 and arrived(lab, "10.2.0.2") == 50 <= counter(router, "seen")
    file.write_bytes(whole)
    router.call("program-replace", name="red:x")
    assert program(router)["loads"] == 2 and program(router)["signer"] == "build"


def test_what_runs_unsigned_is_named_before_anything_changes(lab, router, build, sign):  # noqa: F811
    """A first signer: unsigned programs that stay are refused, also when another one is exchanged for a signed one in the same commit."""
    load(router, build("count(0, 1); return 0;", "counter seen"))
    load(router, build("return 0;", name="y"), name="red:y")
    assert "signer" not in program(router)
    signed = sign(build("return 0;", name="z"), "build")
    with pytest.raises(DaemonError, match="program red:x: file '.*' is not signed.*; it runs and must be signed or go first"):
        router.configure(f"set program-signer build key {sign.key('build')}", f"set program red:y file {signed}")
    assert {p["name"]: (p["status"], p["loads"]) for p in router.entries("program")} == {"red:x": ("running", 1), "red:y": ("running", 1)}
    router.configure("delete program red:x", f"set program-signer build key {sign.key('build')}", f"set program red:y file {signed}")
    assert [(p["name"], p["signer"]) for p in router.entries("program")] == [("red:y", "build")]
    with pytest.raises(DaemonError, match="red:y.*no signature of a configured signer"):       # the signer changes, the program's goes
        router.configure("delete program-signer build", f"set program-signer lab key {sign.key('lab')}")
    router.configure("delete program-signer build")
    load(router, build("return 0;"))


def test_a_key_that_is_none_or_others_may_change_is_refused(lab, router, sign, tmp_path):  # noqa: F811
    (tmp_path / "text.pub").write_text("no key\n")
    rsa = tmp_path / "rsa.pub"
    subprocess.run(["openssl", "genpkey", "-algorithm", "rsa", "-out", tmp_path / "rsa.pem"], check=True, capture_output=True)
    subprocess.run(["openssl", "pkey", "-in", tmp_path / "rsa.pem", "-pubout", "-out", rsa], check=True)
    for file in (tmp_path / "text.pub", rsa):
        with pytest.raises(DaemonError, match="program-signer bad: key '.*' has no public Ed25519 key, expected .*openssl pkey"):
            router.configure(f"set program-signer bad key {file}")
    with pytest.raises(DaemonError, match="cannot be read: No such file"):
        router.configure(f"set program-signer bad key {tmp_path}/none.pub")
    key = sign.key("open")
    os.chmod(key, 0o666)
    with pytest.raises(DaemonError, match="others than root and kamueed's user may change it"):
        router.configure(f"set program-signer bad key {key}")
