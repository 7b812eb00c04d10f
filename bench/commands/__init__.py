# SPDX-License-Identifier: BSD-3-Clause
"""The commands of `kamuee bench`: each module has IDEA, one sentence, and main(argv) -> exit code."""
