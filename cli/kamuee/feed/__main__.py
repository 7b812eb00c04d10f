# SPDX-License-Identifier: BSD-3-Clause
import sys

from kamuee.feed.command import main

sys.exit(main())
