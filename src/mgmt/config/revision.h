// SPDX-License-Identifier: BSD-3-Clause
// revision.h - committed configurations, kept on disk: the last REVISIONS_MAX of them
//
// Each is a file of the state directory: a few lines of comment, the configuration as text, and a
// checksum. A truncated or damaged revision is logged and ignored. A revision that waits to be
// confirmed is `revision-N.unconfirmed`; the rename to `revision-N.conf` confirms it. So the
// confirmed revision with the largest number was in force last, whenever the process or the machine
// stopped. Control role.
#ifndef CONFIG_REVISION_H
#define CONFIG_REVISION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

#define REVISIONS_MAX 50

struct revision {
    uint64_t id; // counts up forever
    uint64_t time_ns; // of the wall clock
    uint64_t file_digest; // of the configuration file at the commit
    unsigned n_changes;
    bool confirmed;
    char by[64];
    char comment[256];
    char first_change[128]; // first of the changed lines, or as much as fits; "": unknown
};

// Reads the directory, and makes it if it is missing. NULL: nothing is stored. Unreadable files are
// logged.
void revision_open(const char *dir);
void revision_close(void);
const char *revision_dir(void); // or NULL

// The newest is 0. NULL: there are fewer.
const struct revision *revision_at(unsigned i);
const struct revision *revision_confirmed(void); // the newest confirmed one, or NULL
// Appends the configuration as text, behind its header. 0 or -errno with a sentence.
int revision_read(const struct revision *r, struct text *t, char *err, size_t err_size);
const char *revision_config(const struct text *t); // the configuration after the header; or NULL
#define REVISION_PATH_MAX 4096
const char *revision_path(const struct revision *r, char path[REVISION_PATH_MAX]); // returns path

// A new revision in two steps. prepare() writes it aside and gives it a number and the time: 0, or
// -errno with a sentence. Then keep() makes it valid (0, or -errno with a sentence and it is
// removed), or drop() discards it.
int revision_prepare(struct revision *r, const struct text *config, char *err, size_t err_size);
int revision_keep(const struct revision *r, char *err, size_t err_size);
void revision_drop(const struct revision *r);

int revision_confirm(uint64_t id, char *err, size_t err_size);

#endif
