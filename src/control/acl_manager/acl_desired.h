// SPDX-License-Identifier: BSD-3-Clause
// acl_desired.h - access lists and address sets of the configuration
//
// Control makes it from the configuration and never changes it afterwards; control and acl_manager
// share it by reference count. Each list and set has its canonical text: equal text means equal
// content.
#ifndef ACL_MANAGER_ACL_DESIRED_H
#define ACL_MANAGER_ACL_DESIRED_H

#include <stdbool.h>
#include <stdint.h>

#include "acl_manager/acl_file.h"
#include "acl_manager/acl_line.h"

#define ACL_PATH_MAX 256

struct acl_desired_set {
    char name[ACL_NAME_MAX], file[ACL_PATH_MAX]; // file "" = none
    char owner[16];                              // virtual router, "" = none
    struct acl_members member;                   // without the members from the file
    struct text text;
    unsigned line;
};

struct acl_desired_list {
    char name[ACL_NAME_MAX], file[ACL_PATH_MAX];
    char owner[16];         // virtual router, "" = none
    uint8_t otherwise;      // enum acl_verb
    struct acl_lines rules; // without the rules from the file
    struct text text;
    unsigned line;
};

struct acl_desired_mirror { // a session that rules may name
    char name[ACL_NAME_MAX];
};

struct acl_desired {
    unsigned refs;
    VEC(struct acl_desired_mirror) mirror; // sorted by name, as set and list
    VEC(struct acl_desired_set) set;
    VEC(struct acl_desired_list) list;
    uint64_t memory_bytes, build_ns; // limits
};

struct acl_desired *acl_desired_new(void); // empty, with one reference
struct acl_desired *acl_desired_get(const struct acl_desired *w);
void acl_desired_put(struct acl_desired *w); // NULL is fine
const struct acl_desired_set *acl_desired_set_find(const struct acl_desired *w, const char *name);
const struct acl_desired_list *acl_desired_list_find(const struct acl_desired *w, const char *name);
bool acl_desired_has_mirror(const struct acl_desired *w, const char *name);
bool acl_desired_equal(const struct acl_desired *a, const struct acl_desired *b);

#endif
