// SPDX-License-Identifier: BSD-3-Clause
// socket_guard.c - sets the access rights of a UNIX socket
//
// It writes the access control list as Linux keeps it, in the extended attribute
// system.posix_acl_access, with the entries in the order that Linux demands. Without support in the
// file system it gives the socket to the first group, or, for a single user, lets all connect, and
// http_listen.c turns others away.
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/log.h"
#include "http/access.h"
#include "http/http_priv.h"

struct acl_entry { // Linux' form of an access control list in an extended attribute
    uint16_t tag, perm;
    uint32_t id;
} __attribute__((packed));

enum {
    ACL_USER_OBJ = 1,
    ACL_USER = 2,
    ACL_GROUP_OBJ = 4,
    ACL_GROUP = 8,
    ACL_MASK = 16,
    ACL_OTHER = 32,
    ACL_NO_ID = ~0u
};

// Lets only these connect (ACL_USER or ACL_GROUP), and the owner. Linux requires the entries in the
// order of their tags.
static int set_acl(const char *path, uint16_t tag, const uint32_t *id, unsigned n)
{
    struct {
        uint32_t version;
        struct acl_entry e[ACCESS_GIDS_MAX + 4];
    } __attribute__((packed)) acl = {.version = htole32(2)};
    unsigned at = 0;

    acl.e[at++] = (struct acl_entry){htole16(ACL_USER_OBJ), htole16(6), ACL_NO_ID};
    if (tag == ACL_GROUP)
        acl.e[at++] = (struct acl_entry){htole16(ACL_GROUP_OBJ), 0, ACL_NO_ID};
    for (unsigned i = 0; i < n; i++)
        acl.e[at++] = (struct acl_entry){htole16(tag), htole16(6), htole32(id[i])};
    if (tag == ACL_USER)
        acl.e[at++] = (struct acl_entry){htole16(ACL_GROUP_OBJ), 0, ACL_NO_ID};
    acl.e[at++] = (struct acl_entry){htole16(ACL_MASK), htole16(6), ACL_NO_ID};
    acl.e[at++] = (struct acl_entry){htole16(ACL_OTHER), 0, ACL_NO_ID};
    return setxattr(path, "system.posix_acl_access", &acl, 4 + at * sizeof acl.e[0], 0) ? -errno
                                                                                        : 0;
}

static int compare_gid(const void *a, const void *b)
{
    const gid_t *x = a, *y = b;

    return *x < *y ? -1 : *x > *y;
}

void socket_guard(const char *path)
{
    gid_t gid[ACCESS_GIDS_MAX];
    unsigned n = access_gids(gid), kept = 0;

    if (chmod(path, 0660))
        log_warning("api: socket: mode not set: path=%s error=\"%s\"", LOG_VALUE(path),
                    strerror(errno));
    if (!n)
        log_notice("api: socket: none of the role groups exist, so only root and kamueed's own "
                   "user may connect; create those you need: "
                   "groupadd --system kamuee: path=%s",
                   LOG_VALUE(path));
    qsort(gid, n, sizeof *gid, compare_gid);
    for (unsigned i = 0; i < n; i++)
        if (!i || gid[i] != gid[i - 1])
            gid[kept++] = gid[i];
    int r = kept ? set_acl(path, ACL_GROUP, gid, kept) : 0;
    if (r == -EOPNOTSUPP && chown(path, (uid_t)-1, gid[0]))
        r = -errno;
    if (r == -EOPNOTSUPP)
        log_notice("api: socket: the file system does not support access control lists, so only "
                   "one group may connect: path=%s gid=%u",
                   path, gid[0]);
    else if (r)
        log_warning("api: socket: groups not set: path=%s error=\"%s\"", path, strerror(-r));
}

// If the file system has no access control lists, any user may connect; http_listen.c turns others
// away.
void socket_guard_user(const char *path, uid_t uid)
{
    int r = chmod(path, 0660) ? -errno : set_acl(path, ACL_USER, &uid, 1);

    if (r == -EOPNOTSUPP)
        r = chmod(path, 0666) ? -errno : 0;
    if (r)
        log_warning("api: socket: user not set: path=%s error=\"%s\"", path, strerror(-r));
}
