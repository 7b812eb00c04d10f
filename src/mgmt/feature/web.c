// SPDX-License-Identifier: BSD-3-Clause
// web.c - the page that shows the router live, for a browser on this host
//
//     /                                the page and its files, to everybody: they hold nothing
//                                      of the router
//     /restconf/data/kamuee:state/…    GET, with the key
//     /restconf/streams/events         GET, with the key
//     /restconf/operations/kamuee:…    POST, with the key, of those that change nothing (may_call)
//     all else                         refused
//
// A client that is bound to a virtual router has its own key, KEY.VR: KEY is a hash of the key and
// the virtual router, and requests with it are bound to that one, too.
//
// Every local user reaches a loopback address, so data needs a key, which only clients of the UNIX
// socket get (`kamuee web`). It comes in a header of our own, which a page of another origin cannot
// send without being asked about first (CORS), and never in a cookie: so no other page can use it.
// Host is checked before (listen.c). The key is new at each start.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/text.h"
#include "config/feature_config.h"
#include "core/thread.h"
#include "feature/listener.h"
#include "http/http.h"
#include "http/listen.h"
#include "http/refuse.h"
#include "http/token.h"
#include "mgmt/feature.h"
#include "restconf/operation.h"
#include "restconf/restconf.h"

static void read_listener(struct model *m, const struct lyd_node *entry)
{
    listener_read(m->part[FEATURE_web], entry, LISTEN_WEB);
}

static void read_listeners(struct model *m, const struct lyd_node *tree,
                           const struct model *known, struct errors *e)
{
    model_read_list(m, tree, "web", "listen", read_listener);
}

static void free_listeners(struct model *m)
{
    vec_free(&((struct model_listeners *)m->part[FEATURE_web])->listener);
}

static void plan_remove(struct change *c)
{
    listener_plan_remove(c, FEATURE_web);
}

static void plan_add(struct change *c)
{
    listener_plan_add(c, FEATURE_web);
}

static const struct feature_config web_config = {
    .part_size = sizeof(struct model_listeners),
    .read = read_listeners,
    .free = free_listeners,
    .phases = (const struct feature_phase[]){{PHASE_REMOVE_LISTENERS, plan_remove},
                                             {PHASE_ADD_LISTENERS, plan_add},
                                             {0}},
};

// --- state ---------------------------------------------------------------------------------------

#define KEY_BYTES 16
_Static_assert(TOKEN_HEX == 2 * KEY_BYTES + 1, "as long as that of a virtual router");

#define POLICY                                                                                     \
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; " \
    "base-uri 'none'; "                                                                            \
    "form-action 'none'; frame-ancestors 'none'"

static struct {
    const char *path, *name, *type;
    struct text content;
} files[] = {
    {"/", "index.html", "text/html; charset=utf-8", {0}},
    {"/web.css", "web.css", "text/css; charset=utf-8", {0}},
    {"/web.js", "web.js", "text/javascript; charset=utf-8", {0}},
    {"/graph.js", "graph.js", "text/javascript; charset=utf-8", {0}},
    {"/pages.js", "pages.js", "text/javascript; charset=utf-8", {0}},
};
#define N_FILES (sizeof files / sizeof *files)

static char key[2 * KEY_BYTES + 1];

// --- start --------------------------------------------------------------------------------------

static const char *web_folder(void)
{
    const char *dir = getenv("KAMUEE_WEB_DIR");

    if (dir && *dir)
        return dir;
    return access(KAMUEE_SOURCE_WEB_DIR "/index.html", R_OK) ? KAMUEE_INSTALLED_WEB_DIR
                                                             : KAMUEE_SOURCE_WEB_DIR;
}

static int read_page_file(const char *dir, const char *name, struct text *t, char *err,
                          size_t err_size)
{
    char path[512];

    snprintf(path, sizeof path, "%s/%s", dir, name);
    text_clear(t);
    int e = file_read(path, t);
    if (e)
        snprintf(err, err_size,
                 "%s cannot be read: %s; set KAMUEE_WEB_DIR to the directory of the page's files",
                 path, strerror(-e));
    return e;
}

static int open_web(char *err, size_t err_size)
{
    uint8_t random[KEY_BYTES];

    thread_must_be(ROLE_CONTROL);
    for (size_t i = 0; i < N_FILES; i++) {
        int r = read_page_file(web_folder(), files[i].name, &files[i].content, err, err_size);
        if (r)
            return r;
    }
    if (key[0])
        return 0;
    bug_on(getrandom(random, sizeof random, 0) != sizeof random);
    for (size_t i = 0; i < sizeof random; i++)
        snprintf(key + 2 * i, 3, "%02x", random[i]);
    return 0;
}

static void close_web(void)
{
    thread_must_be(ROLE_CONTROL);
    for (size_t i = 0; i < N_FILES; i++)
        text_free(&files[i].content);
    key[0] = 0;
}

// --- requests -----------------------------------------------------------------------------------

// The key of clients bound to a virtual router, or the one of all others ("").
static void key_of(const char *vr, char mine[2 * KEY_BYTES + 1])
{
    if (*vr)
        token_of_vr(key, vr, mine);
    else
        strcpy(mine, key);
}

// Takes as long whatever is wrong with it. *vr: what the key is bound to.
static bool has_key(const struct http *h, const char **vr)
{
    const char *given = http_header(h, "X-Kamuee-Key");
    char mine[2 * KEY_BYTES + 1];
    unsigned char differs = 0;

    if (!given || !key[0] || strlen(given) < 2 * KEY_BYTES)
        return false;
    const char *behind = given + 2 * KEY_BYTES;
    *vr = *behind == '.' ? behind + 1 : "";
    if ((*behind && !**vr) || strlen(*vr) >= ACCESS_VR_SIZE)
        return false;
    key_of(*vr, mine);
    for (size_t i = 0; i < 2 * KEY_BYTES; i++)
        differs |= (unsigned char)(given[i] ^ mine[i]);
    return !differs;
}

static bool is_read(const struct http *h)
{
    return !strcmp(http_method(h), "GET") || !strcmp(http_method(h), "HEAD");
}

// What a browser that follows the standards will not let other pages do with ours.
static void set_guards(struct http *h)
{
    http_set_header(h, "Content-Security-Policy", POLICY);
    http_set_header(h, "X-Content-Type-Options", "nosniff");
    http_set_header(h, "X-Frame-Options", "DENY");
    http_set_header(h, "Referrer-Policy", "no-referrer");
    http_set_header(h, "Cross-Origin-Opener-Policy", "same-origin");
    http_set_header(h, "Cross-Origin-Resource-Policy", "same-origin");
}

static bool page_answer(struct http *h)
{
    for (size_t i = 0; i < N_FILES; i++) {
        struct text copy = {0};

        if (strcmp(http_path(h), files[i].path))
            continue;
        if (!is_read(h)) {
            http_refuse_method(h, "GET, HEAD");
            return true;
        }
        text_append(&copy, files[i].content.s, files[i].content.n);
        http_reply(h, 200, files[i].type, &copy);
        return true;
    }
    return false;
}

static bool may_call(const char *path)
{
    static const char operations[] = "/restconf/operations/kamuee:";
    static const char *const name[] = {"lookup", "explain", "route-changes", "configuration"};

    if (strncmp(path, operations, sizeof operations - 1))
        return false;
    for (size_t i = 0; i < sizeof name / sizeof *name; i++)
        if (!strcmp(path + sizeof operations - 1, name[i]))
            return true;
    return false;
}

static bool may_be_asked(const struct http *h)
{
    static const char state[] = "/restconf/data/kamuee:state/";
    const char *path = http_path(h);

    if (is_read(h))
        return !strncmp(path, state, sizeof state - 1) || !strcmp(path, "/restconf/streams/events");
    return !strcmp(http_method(h), "POST") && may_call(path);
}

static void answer_web(struct http *h)
{
    const char *vr = "";

    if (listen_refused(h))
        return;
    set_guards(h);
    if (page_answer(h))
        return;
    if (!may_be_asked(h)) {
        http_refuse(h, 403, "access-denied",
                    "the web page may only read state, events and the configuration");
    } else if (!has_key(h, &vr)) {
        http_refuse(h, 401, "access-denied", "expected the key printed by `kamuee web`");
    } else {
        http_admit(h, ACCESS_OPERATE, "the web page", vr);
        restconf_answer(h);
    }
}

// --- the operation web-address: where the page is ------------------------------------------------

struct urls {
    struct jwrite j;
    const char *vr;
};

static void write_url(void *ctx, const struct listen *l)
{
    char url[160], mine[2 * KEY_BYTES + 1];
    struct urls *u = ctx;

    if (l->what != LISTEN_WEB)
        return;
    key_of(u->vr, mine);
    snprintf(url, sizeof url,
             strchr(l->address, ':') ? "http://[%s]:%u/#%s%s%s" : "http://%s:%u/#%s%s%s",
             l->address, l->port, mine, *u->vr ? "." : "", u->vr);
    jwrite_string(&u->j, NULL, url);
}

static void run_web_address(struct http *h, const struct lyd_node *op)
{
    struct text t = {0};
    struct urls u = {.vr = http_vr(h)};

    output_begin(&u.j, &t);
    jwrite_begin(&u.j, "url", '[');
    listen_each(write_url, &u);
    jwrite_end(&u.j, ']');
    output_send(h, &u.j);
}

static void start_web(struct event_base *loop)
{
    listen_serve(LISTEN_WEB, &(struct listen_server){
                                 .start = open_web, .stop = close_web, .answer = answer_web});
}

const struct feature web_feature = {
    "web",
    .config = &web_config,
    .operations = (const struct feature_operation[]){{"web-address", .run = run_web_address}, {0}},
    .start = start_web,
};
