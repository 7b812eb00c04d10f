# SPDX-License-Identifier: BSD-3-Clause
"""The tests that fail by QEMU's user mode, where that runs the tests (tools/matrix): lines `NAME REASON` of the file tests/by-qemu.

A name is a test of meson, a test in its program (`fib_share:a_name`), or the beginning of one of pytest. Each must fail, so that the file names no other.
"""
import os
from pathlib import Path

BY_QEMU = os.environ.get("KAMUEE_FOREIGN") == "qemu"
FAILING: dict[str, str] = {}
if BY_QEMU:
    lines = Path(__file__).with_name("by-qemu").read_text().splitlines()
    FAILING = dict(line.split(maxsplit=1) for line in lines if line and not line.startswith("#"))


def mark(items: list) -> None:
    """Of pytest's items."""
    import pytest
    for item in items:
        for name, why in FAILING.items():
            if item.nodeid.startswith(name):
                item.add_marker(pytest.mark.xfail(reason=why, strict=True))
