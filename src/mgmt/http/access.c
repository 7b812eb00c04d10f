// SPDX-License-Identifier: BSD-3-Clause
// access.c - identity and rights of a client
//
// Group names are looked up again every few seconds, so that a new group, or a user added to one,
// takes effect without a reload. The kernel records a user's own groups when the user connects
// (SO_PEERGROUPS).
#include "http/access.h"

#include <errno.h>
#include <grp.h>
#include <openssl/evp.h>
#include <pwd.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/plain.h"
#include "base/text.h"
#include "http/token.h"

#define GROUPS_MAX 256         // groups examined per user
#define LOOKUP_NS (5 * NS_PER_SECOND)

static const struct access_config usual = {.group = {[ACCESS_READ] = {"kamuee-read"},
                                                     [ACCESS_OPERATE] = {"kamuee-oper"},
                                                     [ACCESS_ADMIN] = {"kamuee"}}};
static struct access_config config;
static bool configured;
struct found_group {
    gid_t gid;
    bool exists;
};
static struct {
    struct found_group group[ACCESS_N], vr_group[ACCESS_VR_GROUPS_MAX];
    uint64_t at_ns; // 0 = look again
} found;

const char *const access_name[ACCESS_N] = {"none", "read-only", "operator", "admin"};

int access_of_name(const char *name)
{
    for (int i = 0; i < ACCESS_N; i++)
        if (!strcmp(access_name[i], name))
            return i;
    return -1;
}

static const struct access_config *now(void)
{
    return configured ? &config : &usual;
}

int access_set(const struct access_config *c, char *err, size_t err_size)
{
    int r = token_file(c->tokens, err, err_size);

    if (r)
        return r;
    config = *c;
    configured = true;
    found.at_ns = 0;
    return 0;
}

void access_reset(void)
{
    char err[8];

    configured = false;
    found.at_ns = 0;
    bug_on(token_file("", err, sizeof err));
}

// --- users of the UNIX socket -------------------------------------------------------------------

static struct found_group look_up_group(const char *name)
{
    const struct group *g = getgrnam(name);

    return (struct found_group){g ? g->gr_gid : 0, g};
}

static int compare_names(const void *a, const void *b)
{
    const uint16_t *x = a, *y = b;

    return strcmp(config.vr_group[*x].name, config.vr_group[*y].name);
}

// Up to this number of configured groups, each is looked up by name. For more groups that would
// read the host's group file once for each. It is read once instead; groups missing from it are
// looked up by name only when the configuration changes.
#define ASKED_EACH 64

static void look_up_listed(void)
{
    static uint16_t by_name[ACCESS_VR_GROUPS_MAX];
    unsigned n = now()->n_vr_groups;
    const struct group *g;

    for (unsigned i = 0; i < n; i++) {
        by_name[i] = (uint16_t)i;
        found.vr_group[i] = (struct found_group){0};
    }
    qsort(by_name, n, sizeof *by_name, compare_names);
    setgrent();
    while ((g = getgrent())) {
        unsigned lo = 0, hi = n;

        while (lo < hi) {
            unsigned mid = (lo + hi) / 2;

            if (strcmp(now()->vr_group[by_name[mid]].name, g->gr_name) < 0)
                lo = mid + 1;
            else
                hi = mid;
        }
        for (; lo < n && !strcmp(now()->vr_group[by_name[lo]].name, g->gr_name); lo++)
            found.vr_group[by_name[lo]] = (struct found_group){g->gr_gid, true};
    }
    endgrent();
}

static void look_up_vr_groups(bool configured_now)
{
    unsigned n = now()->n_vr_groups;

    if (n > ASKED_EACH)
        look_up_listed();
    for (unsigned i = 0; i < n; i++)
        if (n <= ASKED_EACH || (configured_now && !found.vr_group[i].exists))
            found.vr_group[i] = look_up_group(now()->vr_group[i].name);
}

static void look_up_groups(void)
{
    bool configured_now = !found.at_ns;
    uint64_t t = clock_now_ns();

    if (found.at_ns && t - found.at_ns < LOOKUP_NS)
        return;
    found.at_ns = t;
    for (int i = ACCESS_READ; i < ACCESS_N; i++)
        found.group[i] = look_up_group(now()->group[i].name);
    look_up_vr_groups(configured_now);
}

unsigned access_gids(gid_t gid[ACCESS_GIDS_MAX])
{
    unsigned n = 0;

    found.at_ns = 0;
    look_up_groups();
    for (int i = ACCESS_READ; i < ACCESS_N; i++)
        if (found.group[i].exists)
            gid[n++] = found.group[i].gid;
    for (unsigned i = 0; i < now()->n_vr_groups; i++)
        if (found.vr_group[i].exists)
            gid[n++] = found.vr_group[i].gid;
    return n;
}

static bool is_in_group(const struct found_group *g, const gid_t *gid, unsigned n)
{
    for (unsigned k = 0; k < n; k++)
        if (g->exists && gid[k] == g->gid)
            return true;
    return false;
}

// The highest role of a user whose groups are bound to a virtual router. A user in groups of two
// virtual routers gets no role, because it is not clear which one is meant.
static enum access_level access_of_vr_groups(const gid_t *gid, unsigned n, char vr[ACCESS_VR_SIZE])
{
    enum access_level best = ACCESS_NONE;

    for (unsigned i = 0; i < now()->n_vr_groups; i++) {
        const struct access_vr_group *g = &now()->vr_group[i];

        if (!is_in_group(&found.vr_group[i], gid, n))
            continue;
        if (*vr && strcmp(vr, g->vr))
            return ACCESS_NONE;
        strcpy(vr, g->vr);
        if (g->access > best)
            best = (enum access_level)g->access;
    }
    return best;
}

enum access_level access_of_user(uid_t uid, const gid_t *gid, unsigned n, char vr[ACCESS_VR_SIZE])
{
    *vr = 0;
    if (!uid || uid == geteuid())
        return ACCESS_ADMIN;
    look_up_groups();
    for (int i = ACCESS_ADMIN; i > ACCESS_NONE; i--)
        if (is_in_group(&found.group[i], gid, n))
            return (enum access_level)i;
    return access_of_vr_groups(gid, n, vr);
}

static void name_user(uid_t uid, char *name, size_t n)
{
    static uid_t last = (uid_t)-1;
    static char last_name[33];
    const struct passwd *p;

    if (uid != last) {
        p = getpwuid(uid);
        last = uid;
        plain_copy(last_name, sizeof last_name, p ? p->pw_name : "");
    }
    if (*last_name)
        snprintf(name, n, "%s", last_name);
    else
        snprintf(name, n, "uid %u", (unsigned)uid);
}

// User names as Linux's tools and directories make them.
static bool is_user_name(const char *s)
{
    size_t n = strlen(s);

    return n && n <= 32 &&
           strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.@-") == n;
}

void access_by_socket(int fd, const char *sudo_user, struct who *w)
{
    gid_t gid[GROUPS_MAX + 1];
    struct ucred peer;
    socklen_t n = sizeof peer, groups = GROUPS_MAX * sizeof *gid;

    *w = (struct who){.name = "unknown"};
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n))
        return;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, gid + 1, &groups))
        groups = 0;
    gid[0] = peer.gid;
    w->known = true;
    w->access = access_of_user(peer.uid, gid, 1 + groups / sizeof *gid, w->vr);
    name_user(peer.uid, w->name, sizeof w->name);
    if (!peer.uid && sudo_user && is_user_name(sudo_user) && strcmp(sudo_user, w->name)) {
        size_t used = strlen(w->name);
        snprintf(w->name + used, sizeof w->name - used, " (%s)", sudo_user);
    }
}

// --- clients of the proxy ------------------------------------------------------------------------

static void take_name(const char *name, struct who *w)
{
    for (unsigned i = 0; i < now()->n_clients; i++) {
        const struct access_client *c = &now()->client[i];

        if (!strcmp(name, c->name) && c->access > w->access) {
            w->access = c->access;
            strcpy(w->vr, c->vr);
            snprintf(w->name, sizeof w->name, "certificate %s", c->name);
        }
    }
    if (!*w->name) {
        char shown[sizeof now()->client->name];
        snprintf(w->name, sizeof w->name, "certificate %s", plain_copy(shown, sizeof shown, name));
    }
}

// Reads one character of a value, of *n bytes; -1: not allowed in a name.
static int read_character(const char *s, size_t left, size_t *n)
{
    int high = left > 2 ? text_hex_digit(s[1]) : -1, low = left > 2 ? text_hex_digit(s[2]) : -1;

    *n = 1;
    if (*s != '\\')
        return (unsigned char)*s;
    if (left < 2)
        return -1;
    *n = 2;
    if (high < 0 || low < 0)
        return (unsigned char)s[1];
    *n = 3;
    return high << 4 | low;
}

// Reads a value up to an unescaped ',' or '+'; returns its length in bytes. `name`: "" if the value
// cannot be a configured name.
static size_t read_value(const char *s, size_t left, char name[ACCESS_CLIENT_SIZE])
{
    size_t at = 0, used = 0, n;
    bool good = left && *s != '#'; // '#' begins a value in hexadecimal digits

    for (; at < left && s[at] != ',' && s[at] != '+'; at += n) {
        int c = read_character(s + at, left - at, &n);

        good = good && c >= ' ' && c != 127 && used < ACCESS_CLIENT_SIZE - 1;
        if (good)
            name[used++] = (char)c;
    }
    name[good ? used : 0] = 0;
    return at;
}

void access_by_certificate(const char *subject, size_t n, struct who *w)
{
    char name[ACCESS_CLIENT_SIZE];

    *w = (struct who){.known = true};
    for (size_t at = 0; at < n; at++) { // skips the separator
        bool is_common_name = n - at > 3 && !memcmp(subject + at, "CN=", 3);

        at += is_common_name ? 3 : 0;
        at += read_value(subject + at, n - at, name);
        if (is_common_name && *name)
            take_name(name, w);
    }
    if (!*w->name)
        snprintf(w->name, sizeof w->name, "certificate without a name");
}

// Decodes "NAME:PASSWORD" in base64 to the password and the name; NULL: not well-formed.
static const char *password(const char *base64, char *buf, size_t size, const char **name)
{
    size_t n = strlen(base64);

    if (n % 4 || n / 4 * 3 >= size ||
        EVP_DecodeBlock((uint8_t *)buf, (const uint8_t *)base64, (int)n) < 0)
        return NULL;
    buf[n / 4 * 3] = 0;
    char *colon = strchr(buf, ':');
    if (!colon)
        return NULL;
    *colon = 0;
    *name = buf;
    return colon + 1;
}

void access_by_token(const char *authorization, struct who *w)
{
    const char *space = strchr(authorization, ' '),
               *given = space ? space + strspn(space, " ") : "", *name = NULL;
    char buf[512];

    *w = (struct who){.name = "unknown"};
    if (!strncasecmp(authorization, "Basic ", 6))
        given = password(given, buf, sizeof buf, &name);
    else if (strncasecmp(authorization, "Bearer ", 7))
        given = NULL;
    const struct token *t = given ? token_find(given) : NULL;
    if (t && name && strcmp(t->name, name))
        t = NULL;
    if (!t)
        return;
    w->known = true;
    w->access = t->access;
    strcpy(w->vr, t->vr);
    snprintf(w->name, sizeof w->name, "token %s", t->name);
}
