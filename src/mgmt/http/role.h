// SPDX-License-Identifier: BSD-3-Clause
// role.h - rights of a client, and the names of the roles
#ifndef HTTP_ROLE_H
#define HTTP_ROLE_H

// Each role includes the rights of those before it.
enum access_level {
    ACCESS_NONE,
    ACCESS_READ,    // "read-only": read everything
    ACCESS_OPERATE, // "operator": operations that do not change the configuration
    ACCESS_ADMIN    // "admin": everything
};
#define ACCESS_N 4
extern const char *const access_name[ACCESS_N]; // "none", "read-only", …
int access_of_name(const char *name);           // or -1

#endif
