// SPDX-License-Identifier: BSD-3-Clause
// acl_file.h - files of rules and of address sets, plain or gzip
//
// Rules: one a line as in acl_line.h, '#' begins a comment; or, if the name ends in .csv or
// .csv.gz, columns named by the first line. Sets: one prefix or address a line; anything behind a
// blank, ',' or ';' is ignored. Any thread.
#ifndef ACL_MANAGER_ACL_FILE_H
#define ACL_MANAGER_ACL_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "acl/set.h"
#include "acl_manager/acl_line.h"

// per set, from a file; the schema allows as many in the configuration
#define ACL_MEMBERS_MAX (1u << 22)

struct acl_members {
    VEC(struct prefix) item;
};

// Append the file's content. 0, or -errno with "FILE:LINE: error" in why; then discard the appended
// part.
int acl_file_rules(const char *path, struct acl_lines *l, char *why, size_t why_size);
// The same lines from memory.
int acl_file_text(const char *text, struct acl_lines *l, char *why, size_t why_size);
int acl_file_members(const char *path, struct acl_members *m, char *why, size_t why_size);

// Signature that tells whether a file has changed; all zero = unknown. A file that changed a moment
// ago is unknown: it may change again without a new time.
struct acl_file_sign {
    uint64_t device, inode, bytes, changed_ns, modified_ns;
};
struct acl_file_sign acl_file_sign(const char *path); // "" = none
// known, and equal
bool acl_file_same(const struct acl_file_sign *a, const struct acl_file_sign *b);

void acl_members_sort(struct acl_members *m); // and removes duplicates

#endif
