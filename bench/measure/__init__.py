# SPDX-License-Identifier: BSD-3-Clause
"""What the experiments stand on: the machine, topologies, routers, results."""
