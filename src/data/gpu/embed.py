#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes a text file as the C string gpu_kernel_text; without one, NULL.

    embed.py OUT.c [PTX]
"""
import json
import pathlib
import sys

text = pathlib.Path(sys.argv[2]).read_text() if len(sys.argv) > 2 else None
value = "0" if text is None else "\n    ".join(json.dumps(line + "\n") for line in text.splitlines())
pathlib.Path(sys.argv[1]).write_text(f'#include "gpu/kernel_text.h"\n\nconst char *const gpu_kernel_text =\n    {value};\n')
