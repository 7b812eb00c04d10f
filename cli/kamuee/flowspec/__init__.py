# SPDX-License-Identifier: BSD-3-Clause
"""Flow specifications of BGP (RFC 8955, 8956, 9117) as rules of access lists: docs/features/flowspec.md."""
