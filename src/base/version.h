// SPDX-License-Identifier: BSD-3-Clause
// version.h - version of this program, its sources and its build
//
// In one object file, so that another version needs only a link (tests/e2e/test_versions.py), and a
// new version recompiles nothing else.
#ifndef BASE_VERSION_H
#define BASE_VERSION_H

extern const char kamuee_version[];
extern const char kamuee_commit[];  // of the sources; "" if unknown (a working tree)
extern const char kamuee_build[];   // for example "release, LTO, gcc 12.2.0"
extern const char kamuee_libyang[]; // libyang version of the build

#endif
