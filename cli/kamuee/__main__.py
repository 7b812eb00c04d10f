# SPDX-License-Identifier: BSD-3-Clause
"""`python3 -m kamuee` is the same as `kamuee`."""
import sys

from kamuee.cli import main

sys.exit(main(sys.argv[1:]))
