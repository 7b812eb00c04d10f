# SPDX-License-Identifier: BSD-3-Clause
"""A virtual machine with Debian's kernel, systemd and kamueed, whose ports are PCI cards behind an IOMMU: for labs and
for tests."""
