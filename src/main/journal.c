// SPDX-License-Identifier: BSD-3-Clause
// journal.c - sends log lines to systemd's journal as fields (modules.h, docs/features/log.md)
//
// Only if stderr is the journal's own stream: $JOURNAL_STREAM has its device and inode. A line is
// sent whole as MESSAGE, and its parts again as KAMUEE_… fields. A field without room is left out,
// so nothing is allocated.
#define SD_JOURNAL_SUPPRESS_LOCATION // the message id identifies the line
#include "main/modules.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <systemd/sd-journal.h>
#include <unistd.h>

#include "base/log.h"
#include "base/log_field.h"

#define ENTRY_BYTES 4096 // the line twice, and the names of its fields

struct entry {
    char buf[ENTRY_BYTES];
    size_t used;
    struct iovec field[LOG_FIELDS_MAX + 8];
    int n;
};

// Omits a field that does not fit. MESSAGE comes first and contains the whole line.
static void add_field(struct entry *e, const char *name, const char *value, size_t n)
{
    size_t head = strlen(name);

    if (e->used + head + 1 + n > sizeof e->buf)
        return;
    char *at = e->buf + e->used;
    memcpy(at, name, head);
    at[head] = '=';
    memcpy(at + head + 1, value, n);
    e->field[e->n++] = (struct iovec){at, head + 1 + n};
    e->used += head + 1 + n;
}

// "rx-offloads" -> "KAMUEE_RX_OFFLOADS"
static void add_log_field(struct entry *e, const struct log_piece *key,
                          const struct log_piece *value)
{
    char name[64] = "KAMUEE_";
    size_t n = strlen(name);

    for (size_t i = 0; i < key->n && n < sizeof name - 1; i++)
        name[n++] = (char)(key->s[i] == '-' ? '_' : toupper((unsigned char)key->s[i]));
    name[n] = '\0';
    add_field(e, name, value->s, value->n);
}

static bool send_to_journal(enum log_level level, const char *text)
{
    const char priority[] = {(char)('0' + level)};
    struct log_fields f;
    struct entry e;

    e.used = 0;
    e.n = 0;
    log_fields_read(text, &f);
    add_field(&e, "MESSAGE", text, strlen(text));
    add_field(&e, "PRIORITY", priority, 1); // our levels are syslog's
    add_field(&e, "SYSLOG_IDENTIFIER", "kamueed", strlen("kamueed"));
    if (f.id)
        add_field(&e, "MESSAGE_ID", f.id, strlen(f.id));
    add_field(&e, "KAMUEE_MODULE", f.module.s, f.module.n);
    if (f.what.n)
        add_field(&e, "KAMUEE_WHAT", f.what.s, f.what.n);
    for (unsigned i = 0; i < f.n; i++)
        add_log_field(&e, &f.key[i], &f.value[i]);
    return sd_journal_sendv(e.field, e.n) >= 0;
}

// $JOURNAL_STREAM has device and inode of the stderr from systemd, which may have been redirected
// since.
void journal_start(void)
{
    const char *stream = getenv("JOURNAL_STREAM");
    unsigned long dev, ino;
    struct stat s;

    if (stream && sscanf(stream, "%lu:%lu", &dev, &ino) == 2 && !fstat(STDERR_FILENO, &s) &&
        s.st_dev == dev && s.st_ino == ino)
        log_set_sink(send_to_journal);
}
