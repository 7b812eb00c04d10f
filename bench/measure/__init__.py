# SPDX-License-Identifier: BSD-3-Clause
"""Shared by the experiments: the machine, topologies, routers, results."""
