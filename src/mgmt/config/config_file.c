// SPDX-License-Identifier: BSD-3-Clause
// config_file.c - the configuration file: lines of 'set', for people and for the first start
//
// Reading ignores retired settings, because a router must start after its software has been
// replaced. Saving writes the canonical text to a new file and renames it, so a crash leaves the
// old file or the new one.
#include "config/config_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/log.h"
#include "core/aside.h"
#include "core/thread.h"
#include "yang/config_tree.h"

static char *path;

void config_file_init(const char *where)
{
    config_file_fini();
    path = strdup(where);
    bug_on(!path);
}

void config_file_fini(void)
{
    free(path);
    path = NULL;
}

const char *config_file(void)
{
    return path;
}

// Is the file /dev/null? That is an empty configuration, for kamueed started by hand.
static bool is_null_device(void)
{
    struct stat s;

    return !stat(path, &s) && S_ISCHR(s.st_mode) && s.st_rdev == makedev(1, 3);
}

uint64_t config_file_digest(void)
{
    struct text t = {0};
    uint64_t digest = file_read(path, &t) ? 0 : hash_bytes(text_str(&t), t.n, 1);

    text_free(&t);
    return digest;
}

int config_read_file(bool may_be_missing, bool silent, struct lyd_node **candidate,
                     struct errors *e)
{
    struct text t = {0};
    int r = is_null_device() ? 0 : file_read(path, &t);

    *candidate = NULL;
    if (r == -ENOENT && may_be_missing)
        r = 0;
    else if (r)
        errors_add(e, 0, "cannot be read: %s; expected a file of 'set' lines", strerror(-r));
    else if (memchr(text_str(&t), 0, t.n))
        errors_add(e, 0, "contains a NUL byte; expected a text file of 'set' lines");
    else
        config_read_kept(candidate, text_str(&t), silent ? NULL : path, e);
    text_free(&t);
    return r ? r : e->n ? -EINVAL : 0;
}

struct saving {
    const struct lyd_node *tree;
    int result;
};

static void save(void *arg)
{
    struct saving *s = arg;
    struct text t = {0};

    text_printf(&t, "# Kamuee configuration, written by save-configuration. One value per line, in "
                    "any order.\n");
    config_print(s->tree, &t);
    s->result = file_prepare(path, &t);
    s->result = s->result ? s->result : file_keep(path);
    text_free(&t);
}

int config_save(const struct lyd_node *tree, char *err, size_t err_size)
{
    struct saving s = {.tree = tree};

    thread_must_be(ROLE_CONTROL);
    if (is_null_device()) { // a rename would replace the device
        snprintf(err, err_size, "kamueed was started without a configuration file; expected a "
                                "file to save to, as in 'save FILE'");
        return -EINVAL;
    }
    aside(save, &s);
    if (s.result)
        snprintf(err, err_size, "%s: cannot write: %s; check the directory and its permissions",
                 path, strerror(-s.result));
    return s.result;
}
