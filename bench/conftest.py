# SPDX-License-Identifier: BSD-3-Clause
"""The tests import the benchmarks' packages, and those of the command line."""
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "cli")]
