// SPDX-License-Identifier: BSD-3-Clause
// config.c - the running configuration and its transactions
//
//     lines, file or JSON --> candidate --check--> model --apply--> running
//                                 |                    |
//                              errors               errors, everything undone
//
// The configuration file is read at the start and at SIGHUP and written only
// when an operator asks (save-configuration): canonical text under a header,
// by a temporary file that is synced and renamed, so that a crash leaves the
// old file or the new one.
#include "mgmt/config.h"

#include <errno.h>
#include <fcntl.h>
#include <libyang/libyang.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "core/thread.h"
#include "mgmt/apply.h"
#include "mgmt/config_tree.h"
#include "mgmt/event.h"
#include "mgmt/model_make.h"
#include "mgmt/yang.h"

#define CONFIG_FILE_MAX (64u << 20) // bytes

static struct {
    char *path;
    struct lyd_node *tree;
    struct model *model;
} running;

const struct lyd_node *config_running(void)
{
    return running.tree;
}

const struct model *config_model(void)
{
    return running.model;
}

const char *config_file(void)
{
    return running.path;
}

void config_init(const char *path)
{
    struct errors none = {0};

    thread_must_be(ROLE_CONTROL);
    config_fini();
    running.path = strdup(path);
    bug_on(!running.path);
    running.model = config_model_of(&running.tree, &none);
    bug_on(none.n); // the empty configuration is valid
}

void config_fini(void)
{
    lyd_free_all(running.tree);
    model_free(running.model);
    free(running.path);
    memset(&running, 0, sizeof running);
}

struct model *config_model_of(struct lyd_node **candidate, struct errors *e)
{
    struct model *m;

    config_check(candidate, e);
    m = model_make(*candidate, e);
    if (!e->n)
        config_validate(candidate, e);
    return m;
}

// --- the file -----------------------------------------------------------------------------------

static int read_whole(const char *path, struct text *t)
{
    char buf[65536];
    FILE *f = fopen(path, "re");
    size_t n;
    int r = 0;

    if (!f)
        return -errno;
    while ((n = fread(buf, 1, sizeof buf, f)) && t->n <= CONFIG_FILE_MAX)
        text_append(t, buf, n);
    if (ferror(f))
        r = -errno;
    else if (t->n > CONFIG_FILE_MAX)
        r = -EFBIG;
    fclose(f);
    return r;
}

int config_read_file(bool may_be_missing, struct lyd_node **candidate, struct errors *e)
{
    struct text t = {0};
    int r = read_whole(running.path, &t);

    *candidate = NULL;
    if (r == -ENOENT && may_be_missing)
        r = 0;
    else if (r)
        errors_add(e, 0, "cannot be read: %s; expected a file of 'set' lines", strerror(-r));
    else if (memchr(text_str(&t), 0, t.n))
        errors_add(e, 0, "holds a NUL byte; expected a text file of 'set' lines");
    else
        config_read_text(candidate, text_str(&t), e);
    text_free(&t);
    return r ? r : e->n ? -EINVAL : 0;
}

static int write_all(int fd, const char *p, size_t n)
{
    while (n) {
        ssize_t w = write(fd, p, n);

        if (w < 0 && errno == EINTR)
            continue;
        if (w < 0)
            return -errno;
        p += w;
        n -= (size_t)w;
    }
    return 0;
}

static void sync_directory(const char *path)
{
    char *dir = strdup(path), *slash = dir ? strrchr(dir, '/') : NULL;

    if (slash)
        slash[slash == dir] = 0;
    int fd = dir ? open(slash ? dir : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (fd >= 0) {
        fsync(fd); // the rename reaches the disk; a failure costs only durability
        close(fd);
    }
    free(dir);
}

// Mode and owner of the old file, or 0640: the file may name devices, not secrets, but its
// neighbours in /etc are not public either.
static void keep_mode(int fd, const char *path)
{
    struct stat s;

    if (stat(path, &s))
        return;
    if (fchmod(fd, s.st_mode & 07777) || fchown(fd, s.st_uid, s.st_gid))
        log_warning("config: mode or owner of the file not kept: file=%s error=\"%s\"", path,
                    strerror(errno));
}

static int write_file(const char *path, const struct text *t)
{
    struct text tmp = {0};
    int r, fd;

    text_printf(&tmp, "%s.new", path);
    fd = open(tmp.s, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0640);
    r = fd < 0 ? -errno : 0;
    if (!r) {
        keep_mode(fd, path);
        r = write_all(fd, t->s, t->n);
        if (!r && fsync(fd))
            r = -errno;
        close(fd);
        if (!r && rename(tmp.s, path))
            r = -errno;
        if (r)
            unlink(tmp.s);
    }
    if (!r)
        sync_directory(path);
    text_free(&tmp);
    return r;
}

int config_save(char *err, size_t err_size)
{
    struct text t = {0};

    thread_must_be(ROLE_CONTROL);
    text_printf(&t, "# Kamuee configuration, written by save-configuration. One value a line; "
                    "order does not matter.\n");
    config_print(running.tree, &t);
    int r = write_file(running.path, &t);
    if (r)
        snprintf(err, err_size,
                 "%s: cannot be written: %s; check the directory and its permissions", running.path,
                 strerror(-r));
    text_free(&t);
    return r;
}

// --- transactions -------------------------------------------------------------------------------

void config_result_free(struct config_result *r)
{
    text_free(&r->change);
    errors_free(&r->notes);
    memset(r, 0, sizeof *r);
}

static void take_over(struct lyd_node *tree, struct model *m)
{
    lyd_free_all(running.tree);
    model_free(running.model);
    running.tree = tree;
    running.model = m;
}

#define CHANGE_LINES 100 // told in an event

static void tell_change(const struct config_result *result, const char *by)
{
    json_t *lines = json_array();
    const char *line = text_str(&result->change);

    log_notice("config: changed: by=%s lines=%u", by, result->n_changes);
    for (unsigned i = 0; *line && i < CHANGE_LINES; i++) {
        size_t n = strcspn(line, "\n");

        json_array_append_new(lines, json_stringn(line, n));
        line += n + (line[n] == '\n');
    }
    event_publish("configuration-change", json_pack("{s:s, s:i, s:o}", "by", by, "lines", result->n_changes, "change", lines));
}

int config_commit(struct lyd_node *candidate, bool check_only, const char *by,
                  struct config_result *result, struct errors *e)
{
    struct model *m;
    int r = 0;

    thread_must_be(ROLE_CONTROL);
    m = config_model_of(&candidate, e);
    if (e->n)
        r = -EINVAL;
    if (!r)
        result->n_changes = config_diff(running.tree, candidate, &result->change);
    if (!r && !check_only)
        r = apply_change(running.model, m, e, &result->notes);
    if (r || check_only) {
        lyd_free_all(candidate);
        model_free(m);
        return r;
    }
    take_over(candidate, m);
    if (result->n_changes)
        tell_change(result, by);
    return 0;
}

int config_commit_lines(const char *const *line, unsigned n, bool check_only, const char *by,
                        struct config_result *result, struct errors *e)
{
    struct lyd_node *candidate = config_dup(running.tree);

    for (unsigned i = 0; i < n; i++)
        config_read_line(&candidate, line[i], i + 1, e);
    if (e->n) {
        lyd_free_all(candidate);
        return -EINVAL;
    }
    return config_commit(candidate, check_only, by, result, e);
}
