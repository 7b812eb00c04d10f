# SPDX-License-Identifier: BSD-3-Clause
"""kamuee doctor: is this host set up as a fast router needs it, and if not, what to do?

Checks the conditions of the papers and those that operation has added, each in the kernel's own files; only --fix
changes anything.
"""
from __future__ import annotations
