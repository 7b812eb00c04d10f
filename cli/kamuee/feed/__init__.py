# SPDX-License-Identifier: BSD-3-Clause
"""Route feeds: tables (files, MRT dumps, generated) and the BGP speaker that announces them."""
