// SPDX-License-Identifier: BSD-3-Clause
// program_trust.c - decides whether a program's file may be loaded: its owner, its signer
// (program_load.h)
//
// Keys are read when the configuration is set, not when a program is loaded; all of them are read
// before the first takes effect. A file is trusted if one of the keys verifies its signature.
// Without signers the file must belong to root or kamueed's user, and nobody else may be able to
// write it; key files always must. A refusal names the signers and the command that signs.
#include "program_manager/program_load.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "core/thread.h"
#include "program/signature.h"

#define KEY_BYTES_MAX 4096u

static struct program_signers signers;
static struct signature_key keys[PROGRAM_SIGNERS];

int program_trust_owner(const char *file, const struct stat *st, char *err, size_t n)
{
    if ((st->st_uid && st->st_uid != geteuid()) || st->st_mode & (S_IWGRP | S_IWOTH)) {
        snprintf(err, n,
                 "file '%s': others than root and kamueed's user may change it, expected a file "
                 "that belongs to one of them, mode 0644 or less (chown root, chmod 0644)",
                 file);
        return -EPERM;
    }
    return 0;
}

static int read_key(const char *file, struct signature_key *key, char *err, size_t n)
{
    char pem[KEY_BYTES_MAX], why[256];
    struct stat st;
    int fd = file_open_named(file, sizeof pem, &st), r = fd < 0 ? fd : 0;

    if (r) {
        file_why(r, why, sizeof why);
        snprintf(err, n, "key '%s': %s", file, why);
        return r;
    }
    r = program_trust_owner(file, &st, err, n);
    ssize_t size = r ? 0 : read(fd, pem, sizeof pem);
    close(fd);
    if (!r && (size < 0 || !signature_read_key(pem, (size_t)size, key))) {
        snprintf(err, n,
                 "key '%s' has no public Ed25519 key, expected a file as 'openssl pkey -in KEY "
                 "-pubout -out FILE' writes it",
                 file);
        r = -EINVAL;
    }
    return r;
}

int program_trust_set(const struct program_signers *s, char *err, size_t n)
{
    struct signature_key read[PROGRAM_SIGNERS];

    thread_must_be(ROLE_CONTROL);
    for (unsigned i = 0; i < s->n; i++) {
        char why[512];
        int r = read_key(s->signer[i].key, &read[i], why, sizeof why);
        if (r) {
            snprintf(err, n, "program-signer %s: %s", s->signer[i].name, why);
            return r;
        }
    }
    signers = *s;
    memcpy(keys, read, s->n * sizeof *keys);
    return 0;
}

// "build (/etc/kamuee/build.pub), lab (/etc/kamuee/lab.pub)"
static const char *list_signers(char *buf, size_t n)
{
    size_t at = 0;

    *buf = 0;
    for (unsigned i = 0; i < signers.n && at < n; i++)
        at += (size_t)snprintf(buf + at, n - at, "%s%s (%s)", i ? ", " : "", signers.signer[i].name,
                               signers.signer[i].key);
    return buf;
}

static int refuse_signature(const char *file, bool is_signed, char *err, size_t n)
{
    char list[512];

    snprintf(err, n,
             "file '%s' %s, expected a signature of one of the program-signers: %s ('kamuee "
             "program sign' with the private key of one of them)",
             file,
             is_signed ? "has no signature of a configured signer, or was changed after signing"
                       : "is not signed",
             list_signers(list, sizeof list));
    return -EPERM;
}

int program_trust_check(int fd, const char *file, char signer[PROGRAM_SIGNER_NAME], char *err,
                        size_t n)
{
    *signer = 0;
    if (!signers.n)
        return 0;
    off_t size = lseek(fd, 0, SEEK_END);
    void *map = size > 0 ? mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
    if (map == MAP_FAILED)
        return refuse_signature(file, false, err, n);
    unsigned i = 0;
    while (i < signers.n && !signature_is_of(map, (size_t)size, &keys[i]))
        i++;
    if (i < signers.n)
        snprintf(signer, PROGRAM_SIGNER_NAME, "%s", signers.signer[i].name);
    bool is_signed = signature_is_there(map, (size_t)size);
    munmap(map, (size_t)size);
    return i < signers.n ? 0 : refuse_signature(file, is_signed, err, n);
}
