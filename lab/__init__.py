# SPDX-License-Identifier: BSD-3-Clause
"""Labs: topologies of network namespaces with hosts, routers, kamuee routers and route feeds."""
