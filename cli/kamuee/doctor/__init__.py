# SPDX-License-Identifier: BSD-3-Clause
"""kamuee doctor: is this machine as a fast router needs it, and what to do where it is not?

The necessary conditions of the papers, and those that operation has added, each looked at in the kernel's own files;
nothing is changed but by --fix.
"""
from __future__ import annotations
