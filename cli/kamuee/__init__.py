# SPDX-License-Identifier: BSD-3-Clause
"""Kamuee's tools: the command line, the live monitor, labs and route feeds.

The daemon holds all state; the tools keep only the last counters that they showed.
"""

__version__ = "0.9.1"
