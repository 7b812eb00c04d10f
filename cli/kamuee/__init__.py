# SPDX-License-Identifier: BSD-3-Clause
"""Kamuee's tools: the command line, the live monitor, labs and route feeds.

The daemon holds all truth; nothing here remembers more than the last counters it showed.
"""

__version__ = "0.1.0"
