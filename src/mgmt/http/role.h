// SPDX-License-Identifier: BSD-3-Clause
// role.h - what a client may do, and how each role is called
#ifndef HTTP_ROLE_H
#define HTTP_ROLE_H

// Each may do what those before it may.
enum access_level {
    ACCESS_NONE,
    ACCESS_READ,    // "read-only": read everything
    ACCESS_OPERATE, // "operator": run what does not change the configuration
    ACCESS_ADMIN    // "admin": everything
};
#define ACCESS_N 4
extern const char *const access_name[ACCESS_N]; // "none", "read-only", …
int access_of_name(const char *name);           // or -1

#endif
