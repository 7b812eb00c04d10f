# SPDX-License-Identifier: BSD-3-Clause
"""A program, or a shell, inside a router: where `vtysh`, `birdc` and `kamuee` mean that router.

    KAMUEE_SOCKET, KAMUEE_VR      what kamuee obeys
    KAMUEE_PATHSPACE, KAMUEE_BIRD what the wrappers of this folder, first in PATH, give vtysh and birdc
"""
from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from kamuee.errors import KamueeError

WRAPPERS = Path(__file__).parent


def environment(socket: str | None = None, name: str | None = None, vr: str | None = None,
                pathspace: str | None = None, bird: str | None = None) -> dict[str, str]:
    """Ours, changed; None: does not apply, so that nothing of a router around it is left."""
    found = dict(os.environ)
    given = {"KAMUEE_SOCKET": socket, "KAMUEE_NAME": name, "KAMUEE_VR": vr, "KAMUEE_PATHSPACE": pathspace, "KAMUEE_BIRD": bird}
    for word, value in given.items():
        found.pop(word, None)
        if value is not None:
            found[word] = value
    places = [place for place in found.get("PATH", os.defpath).split(":") if place != str(WRAPPERS)]
    found["PATH"] = ":".join([str(WRAPPERS), str(Path(sys.argv[0]).resolve().parent), *places])  # this same kamuee
    return found


def become(prefix: Sequence[str], argv: Sequence[str], changed: dict[str, str]) -> int:
    """Become the command, or a shell: its input, output, signals and status are its own. `prefix` enters the place."""
    full = [*prefix, *(argv or [os.environ.get("SHELL", "/bin/bash")])]
    sys.stdout.flush()
    try:
        os.execvpe(full[0], full, changed)
    except OSError as error:
        raise KamueeError(f"{full[0]}: {error.strerror}") from None
