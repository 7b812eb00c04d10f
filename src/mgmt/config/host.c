// SPDX-License-Identifier: BSD-3-Clause
// host.c - looks for devices, namespaces and memory of this host (host.h)
//
// All paths are below a root, which tests set to a directory of their own; without a root (NULL)
// the host is unknown and names are not checked.
#include "config/host.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/plain.h"
#include "base/text.h"

static const char *root = "";

void host_set_root(const char *where)
{
    root = where;
}

bool host_is_known(void)
{
    return root;
}

bool host_has(const char *format, const char *name)
{
    struct text t = {0};

    text_printf(&t, "%s", root);
    text_printf(&t, format, name);
    bool there = !access(t.s, F_OK);
    text_free(&t);
    return there;
}

const char *host_line(const char *path, char *buf, size_t n)
{
    struct text t = {0};
    FILE *f;

    text_printf(&t, "%s%s", root, path);
    f = fopen(t.s, "re");
    text_free(&t);
    if (!f || !fgets(buf, (int)n, f))
        *buf = 0;
    buf[strcspn(buf, "\n")] = 0;
    if (f)
        fclose(f);
    return buf;
}

unsigned long host_memory_mib(const char *what)
{
    struct text t = {0}, path = {0};
    const char *at = NULL;

    text_printf(&path, "%s/proc/meminfo", root);
    if (!file_read(path.s, &t))
        at = strstr(text_str(&t), what);
    unsigned long kib = at ? strtoul(at + strlen(what), NULL, 10) : 0;
    text_free(&t);
    text_free(&path);
    return kib / 1024;
}

void host_each_entry(const char *dir, void (*fn)(void *ctx, const char *name, const char *help),
                     void *ctx)
{
    DIR *d = opendir(dir);

    for (struct dirent *e; d && (e = readdir(d));)
        if (e->d_name[0] != '.' && plain_text(e->d_name, strlen(e->d_name)))
            fn(ctx, e->d_name, "");
    if (d)
        closedir(d);
}

void host_check_netns(const char *kind, const char *name, const char *netns, unsigned line,
                        struct errors *e)
{
    if (netns[0] && host_has("/run/netns", "") && !host_has("/run/netns/%s", netns))
        errors_add(e, line,
                   "%s %s: there is no network namespace '%s', expected one of 'ip netns list'",
                   kind, name, netns);
}
