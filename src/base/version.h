// SPDX-License-Identifier: BSD-3-Clause
// version.h - the version of this program, and what it was built from and with
//
// One object of it, so that another version is a link (tests/e2e/test_versions.py), and a new
// version compiles nothing else again.
#ifndef BASE_VERSION_H
#define BASE_VERSION_H

extern const char kamuee_version[];
extern const char kamuee_commit[];  // of the sources; "" where nothing says it (a working tree)
extern const char kamuee_build[];   // how: "release, LTO, gcc 12.2.0"
extern const char kamuee_libyang[]; // version of libyang it was built with

#endif
