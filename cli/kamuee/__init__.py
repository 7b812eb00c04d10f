# SPDX-License-Identifier: BSD-3-Clause
"""Kamuee's tools: the command line, the live monitor, labs and route feeds.

The daemon holds all state; the tools keep only the last counters that they showed.
"""

import os

__version__ = "0.10.0"

# kamuee.lab has a folder of its own beside cli/. Installed, it is in this one (meson.build).
__path__.append(os.path.dirname(os.path.dirname(__path__[0])))
