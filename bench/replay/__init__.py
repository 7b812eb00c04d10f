# SPDX-License-Identifier: BSD-3-Clause
"""The replay driver (C), what builds and reads it, and the programs that are measured with it (measure/replay.py)."""
