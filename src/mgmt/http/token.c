// SPDX-License-Identifier: BSD-3-Clause
// token.c - bearer tokens by their hashes
//
// All hashes are compared, each in constant time, so that the duration reveals nothing about any of
// them.
#include "http/token.h"

#include <errno.h>
#include <openssl/crypto.h>
#include <openssl/sha.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"

struct list {
    struct token item[TOKENS_MAX];
    unsigned n;
    struct stat as; // of the file when it was read
};

static struct list *list;
static char path[256];

static bool parse_hash(const char *s, uint8_t hash[32])
{
    static const char hex[] = "0123456789abcdef";

    if (strncmp(s, "sha256:", 7) || strlen(s) != 7 + 64)
        return false;
    for (unsigned i = 0; i < 64; i++) {
        const char *digit = strchr(hex, s[7 + i]);

        if (!digit)
            return false;
        hash[i / 2] = (uint8_t)(hash[i / 2] << 4 | (digit - hex));
    }
    return true;
}

#define WORDS 5 // NAME ROLE vr VR sha256:HASH

// False: the line is wrong.
static bool parse_line(char *line, struct list *l)
{
    char *word[WORDS + 1], *save = NULL;
    int n = 0;

    while (n <= WORDS && (word[n] = strtok_r(n ? NULL : line, " \t\r\n", &save)))
        n++;
    if (!n || *word[0] == '#')
        return true;
    bool bound = n == WORDS && !strcmp(word[2], "vr");
    int access = n >= 2 ? access_of_name(word[1]) : -1;
    if ((n != 3 && !bound) || access < ACCESS_READ || l->n == TOKENS_MAX)
        return false;
    struct token *t = &l->item[l->n];
    if (strlen(word[0]) >= sizeof t->name || (bound && strlen(word[3]) >= sizeof t->vr) ||
        !parse_hash(word[n - 1], t->hash))
        return false;
    strcpy(t->name, word[0]);
    strcpy(t->vr, bound ? word[3] : "");
    t->access = (uint8_t)access;
    l->n++;
    return true;
}

#define TOKEN_FILE_MAX (1u << 20) // bytes
#define TOKEN_LINE_MAX 511

static int read_lines(FILE *f, const char *file, struct list *l, char *err, size_t err_size)
{
    char line[TOKEN_LINE_MAX + 2];

    for (unsigned number = 1; fgets(line, sizeof line, f); number++) {
        if (!strchr(line, '\n') && !feof(f)) {
            snprintf(err, err_size, "%s:%u: the line is longer than %u bytes", file, number,
                     TOKEN_LINE_MAX);
            return -EBADMSG;
        }
        if (!parse_line(line, l)) {
            snprintf(
                err, err_size,
                "%s:%u: expected 'NAME read-only|operator|admin [vr VR] sha256:HASH', at most %u "
                "lines",
                file, number, TOKENS_MAX);
            return -EBADMSG;
        }
    }
    return ferror(f) ? -EIO : 0;
}

static int read_open(int fd, const char *file, struct list *l, char *err, size_t err_size)
{
    FILE *f = fdopen(fd, "r");
    int r = f ? read_lines(f, file, l, err, err_size) : -errno;

    if (f)
        fclose(f);
    else
        close(fd);
    return r;
}

static struct list *read_file(const char *file, char *err, size_t err_size, int *result)
{
    struct list *l = calloc(1, sizeof *l);
    char why[700];

    bug_on(!l);
    int fd = file_open_named(file, TOKEN_FILE_MAX, &l->as);
    if (fd < 0) {
        file_why(fd, why, sizeof why);
        snprintf(err, err_size,
                 "tokens: %s: %s; expected a file of tokens (docs/features/restconf.md)", file,
                 why);
        *result = -EBADMSG;
    } else if (l->as.st_mode & (S_IWGRP | S_IWOTH)) {
        close(fd);
        *result = -EPERM;
        snprintf(err, err_size, "tokens: %s: writable by others; chmod go-w", file);
    } else {
        *result = read_open(fd, file, l, err, err_size);
    }
    if (!*result)
        return l;
    free(l);
    return NULL;
}

int token_file(const char *file, char *err, size_t err_size)
{
    struct list *l = NULL;
    int r = 0;

    if (*file) {
        l = read_file(file, err, err_size, &r);
        if (!l)
            return r;
    }
    free(list);
    list = l;
    snprintf(path, sizeof path, "%s", file);
    return 0;
}

// Follows changes of the file: an invalid file leaves the tokens unchanged, a removed file leaves
// none.
static void follow_file(void)
{
    char err[512], same[sizeof path];
    struct stat now;

    if (stat(path, &now)) {
        list->n = 0;
        list->as = (struct stat){0};
        return;
    }
    if (now.st_mtim.tv_sec == list->as.st_mtim.tv_sec &&
        now.st_mtim.tv_nsec == list->as.st_mtim.tv_nsec && now.st_ino == list->as.st_ino &&
        now.st_size == list->as.st_size)
        return;
    memcpy(same, path, sizeof same);
    if (token_file(same, err, sizeof err)) {
        log_warning("api: tokens not reloaded, keeping the old ones: %s", err);
        list->as = now; // logged once
    }
}

const struct token *token_find(const char *token)
{
    const struct token *found = NULL;
    uint8_t hash[SHA256_DIGEST_LENGTH];

    if (!list)
        return NULL;
    follow_file();
    SHA256((const uint8_t *)token, strlen(token), hash);
    for (unsigned i = 0; i < list->n; i++)
        if (!CRYPTO_memcmp(hash, list->item[i].hash, sizeof hash))
            found = &list->item[i];
    return found;
}

void token_of_vr(const char *secret, const char *vr, char hex[TOKEN_HEX])
{
    uint8_t hash[SHA256_DIGEST_LENGTH];
    char text[128];
    int n = snprintf(text, sizeof text, "%s.%s", secret, vr);

    bug_on(n < 0 || (size_t)n >= sizeof text);
    SHA256((const uint8_t *)text, (size_t)n, hash);
    for (size_t i = 0; i < TOKEN_HEX / 2; i++)
        snprintf(hex + 2 * i, 3, "%02x", hash[i]);
}

const struct token *token_of(const char *vr)
{
    if (!list)
        return NULL;
    follow_file();
    for (unsigned i = 0; i < list->n; i++)
        if (!strcmp(list->item[i].vr, vr))
            return &list->item[i];
    return NULL;
}
