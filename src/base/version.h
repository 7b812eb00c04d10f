// SPDX-License-Identifier: BSD-3-Clause
// version.h - the version of this program, which meson.build has
//
// One object of it, so that another version is a link (tests/e2e/test_versions.py), and a new
// version compiles nothing else again.
#ifndef BASE_VERSION_H
#define BASE_VERSION_H

extern const char kamuee_version[];

#endif
