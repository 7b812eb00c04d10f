# SPDX-License-Identifier: BSD-3-Clause
"""The table of `make proofs` fits the tree. The proofs themselves take minutes: tests/proofs/run."""
import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests/proofs"))
from table import PROOFS  # noqa: E402


def test_each_harness_is_in_the_table():
    harnesses = {f"tests/proofs/{path.name}" for path in (ROOT / "tests/proofs").glob("*.c")}
    assert harnesses <= {proof.harness or f"tests/proofs/{proof.name}.c" for proof in PROOFS}


@pytest.mark.parametrize("proof", PROOFS, ids=lambda proof: proof.name)
def test_a_proof_has_planted_mistakes_and_a_row(proof):
    assert proof.mistakes
    for name, text, other in [*proof.mistakes, *proof.edits]:
        assert (ROOT / name).read_text().count(text) == 1, f"{name}: {text!r}"
        assert text != other
    assert f"| `{proof.name}` |" in (ROOT / "docs/proofs.md").read_text()
