# SPDX-License-Identifier: BSD-3-Clause
"""Builds, checks, tries and signs packet programs of virtual routers.

    kamuee program build x.c -o x.so      x.wasm as well
    kamuee program check x.c              whether it would be built, and what a packet costs at most
    kamuee program test x.so --pcap in.pcap [--hook HOOK] [--table NAME:KEY=VALUE]... [--json]
    kamuee program sign x.so --key key.pem        who has built it: an Ed25519 key of openssl
    kamuee program verify x.so --key key.pub

The program kamuee-program does it, a part of package kamuee. Needs wabt, clang, lld and a C compiler.
"""
from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from kamuee.context import Context
from kamuee.errors import KamueeError
from kamuee.grammar import Match

ROOT = Path(__file__).resolve().parents[2]
PLACES = (ROOT / "build/compiler/kamuee-program", ROOT.parents[1] / "libexec/kamuee-program",
          Path("/usr/libexec/kamuee-program"), Path("/usr/local/libexec/kamuee-program"))


def find_program() -> Path | None:
    return next((path for path in PLACES if os.access(path, os.X_OK)), None)


def run(context: Context, match: Match) -> int:
    path = find_program()
    if not path:
        raise KamueeError(f"no kamuee-program at {' or '.join(map(str, PLACES))}: apt install kamuee, or make build")
    sys.stdout.flush()
    return subprocess.run([path, match.command.pattern.split()[1], *match.rest]).returncode
