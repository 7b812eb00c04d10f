# SPDX-License-Identifier: BSD-3-Clause
"""Lets the tests import the packages of the benchmarks and of the command line."""
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "cli")]
