# SPDX-License-Identifier: BSD-3-Clause
"""The replay driver (C), its build and its reader, and the programs that are measured with it (measure/replay.py)."""
