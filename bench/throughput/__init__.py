# SPDX-License-Identifier: BSD-3-Clause
"""RFC 2544 measurements: the tester, the devices it measures, the tests and their report.

    tester.c, trial.c …   the program that sends and receives (bench/throughput/trial.h says what it counts)
    tester.py             that program as an object: one call a trial
    frames.py             sizes, mixes of sizes (RFC 6985), shares of IPv6 (RFC 8219), destinations
    device.py             devices under test: kamueed, testpmd, Linux, a cable, one that the user runs
    tests.py              the tests of RFC 2544 §26
    soak.py               a long trial under route changes and requests
    report.py             HTML, CSV, JSON
"""
