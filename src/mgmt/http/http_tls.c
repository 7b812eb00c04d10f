// SPDX-License-Identifier: BSD-3-Clause
// http_tls.c - see http_tls.h
#include "http/http_tls.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "http/http_remote.h"

#define PEM_MAX (4u << 20) // bytes

struct tls {
    bool there, must;
    int file[REMOTE_FILES]; // in memory; -1: none
};
static struct tls tried, in_force;
static const char *const word_of[REMOTE_FILES] = {"certificate", "key", "client-ca"};

static void close_files(struct tls *t)
{
    for (unsigned i = 0; t->there && i < REMOTE_FILES; i++)
        if (t->file[i] >= 0)
            close(t->file[i]);
    *t = (struct tls){0};
}

// A copy that nobody changes any more. -1 with errno.
static int copy_to_memory(int from)
{
    int to = memfd_create("pem", MFD_CLOEXEC);
    char bytes[4096];
    ssize_t n = -1;

    while (to >= 0 && (n = read(from, bytes, sizeof bytes)) > 0)
        if (write(to, bytes, (size_t)n) != n) {
            n = -1;
            break;
        }
    explicit_bzero(bytes, sizeof bytes);
    if (to >= 0 && n < 0) {
        int e = errno;
        close(to);
        errno = e;
        return -1;
    }
    return to;
}

static int read_file(const char *what, const char *file, char *err, size_t err_size)
{
    struct stat st;
    char why[700];
    int fd = file_open_named(file, PEM_MAX, &st);

    if (fd < 0) {
        file_why(fd, why, sizeof why);
        snprintf(err, err_size, "%s '%s': %s; expected a PEM file", what, file, why);
        return -1;
    }
    int copy = copy_to_memory(fd);
    if (copy < 0)
        snprintf(err, err_size, "%s '%s' cannot be read: %s", what, file, strerror(errno));
    close(fd);
    return copy;
}

static bool send_files(const struct tls *t)
{
    bool sent = true;

    for (unsigned i = 0; i < REMOTE_FILES; i++)
        if (t->file[i] >= 0)
            sent = sent && http_remote_send((enum remote_word)(REMOTE_CERTIFICATE + i), false,
                                            t->file[i]);
    return sent && http_remote_send(REMOTE_TRY, t->must, -1);
}

// True: kamuee-http can use them.
static bool have_tried(const struct tls *t, const char *const file[REMOTE_FILES], char *err,
                       size_t err_size)
{
    struct remote_answer a = {0};
    char why[LOG_VALUE_MAX];

    if (!send_files(t) || !http_remote_answer(&a)) {
        snprintf(err, err_size, "kamuee-http does not answer; try again");
        return false;
    }
    unsigned i = (unsigned)(a.word - REMOTE_CERTIFICATE);
    if (!a.word)
        return true;
    snprintf(why, sizeof why, "%s", a.why);
    snprintf(err, err_size, "%s '%s' cannot be used: %s; expected a PEM file",
             i < REMOTE_FILES ? word_of[i] : "TLS", i < REMOTE_FILES ? file[i] : "", why);
    return false;
}

int http_tls_try(const struct tls_files *f, bool must, char *err, size_t err_size)
{
    const char *const file[REMOTE_FILES] = {f->certificate, f->key, f->client_ca};

    http_tls_drop();
    tried = (struct tls){true, must, {-1, -1, -1}};
    for (unsigned i = 0; i < REMOTE_FILES; i++) {
        if (i == REMOTE_CLIENT_CA - REMOTE_CERTIFICATE && !*file[i])
            continue;
        tried.file[i] = read_file(word_of[i], file[i], err, err_size);
        if (tried.file[i] < 0) {
            http_tls_drop();
            return -EBADMSG;
        }
    }
    if (http_remote_start(err, err_size) || !have_tried(&tried, file, err, err_size)) {
        http_tls_drop();
        return -EBADMSG;
    }
    return 0;
}

void http_tls_drop(void)
{
    close_files(&tried);
}

void http_tls_take(void)
{
    close_files(&in_force);
    in_force = tried;
    tried = (struct tls){0};
    if (in_force.there)
        http_remote_send(REMOTE_USE, false, -1);
}

void http_tls_give(void)
{
    const char *const file[REMOTE_FILES] = {"", "", ""};
    char err[400];

    if (!in_force.there)
        return;
    if (have_tried(&in_force, file, err, sizeof err))
        http_remote_send(REMOTE_USE, false, -1);
    else
        log_error("api: nobody is served over TLS: %s", err);
}

bool http_tls_asks(void)
{
    return in_force.there && in_force.file[REMOTE_CLIENT_CA - REMOTE_CERTIFICATE] >= 0;
}
