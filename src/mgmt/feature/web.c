// SPDX-License-Identifier: BSD-3-Clause
// web.c - requests by the proxy without a client's name: of the web page, from a browser on this
// host, and of /metrics, by a scraper
//
//     /restconf/data/kamuee:state/…    GET, with the key
//     /restconf/streams/events         GET, with the key
//     /restconf/operations/kamuee:…    POST, with the key, if it changes nothing (may_call)
//     all else                         refused
//
// The proxy serves the page itself, which has no data of the router, and marks requests of the page
// (VIA_WEB). It refuses requests from other hosts and for other host names.
//
// A client bound to a virtual router has its own key, KEY.VR: KEY is a hash of the key and the
// virtual router, and requests with it are bound to that virtual router.
//
// Every local user can reach a loopback address, so data needs a key, which only clients of the
// UNIX socket get (`kamuee web`). It is sent in our own header, which a page of another origin
// cannot send without a preflight request (CORS), and never in a cookie: so no other page can use
// it. The key is new at each start.
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/log.h"
#include "http/http.h"
#include "http/http_listen.h"
#include "http/refuse.h"
#include "http/token.h"
#include "mgmt/feature.h"
#include "restconf/metrics.h"
#include "restconf/operation.h"
#include "restconf/restconf.h"

#define KEY_BYTES 16
_Static_assert(TOKEN_HEX == 2 * KEY_BYTES + 1, "as long as that of a virtual router");

static char key[2 * KEY_BYTES + 1];

static void make_key(void)
{
    uint8_t random[KEY_BYTES];

    bug_on(getrandom(random, sizeof random, 0) != sizeof random);
    for (size_t i = 0; i < sizeof random; i++)
        snprintf(key + 2 * i, 3, "%02x", random[i]);
}

// Key for clients bound to a virtual router, or the general key ("").
static void key_of(const char *vr, char mine[2 * KEY_BYTES + 1])
{
    if (*vr)
        token_of_vr(key, vr, mine);
    else
        strcpy(mine, key);
}

// Compares the key in constant time. *vr: virtual router that the key is bound to, or "".
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

static bool may_call(const char *path)
{
    static const char operations[] = "/restconf/operations/kamuee:";
    static const char *const name[] = {"lookup",        "explain",   "flows",
                                       "route-changes", "acl-rules", "configuration"};

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
    const char *path = http_path(h), *method = http_method(h);

    if (!strcmp(method, "GET") || !strcmp(method, "HEAD"))
        return !strncmp(path, state, sizeof state - 1) || !strcmp(path, "/restconf/streams/events");
    return !strcmp(method, "POST") && may_call(path);
}

static void answer_web(struct http *h)
{
    const char *vr = "";

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

// --- the operation web-address: URL of the page --------------------------------------------------

#define WEB_PAGE "http://127.0.0.1:8080/" // deploy/proxy/proxy.conf

static void run_web_address(struct http *h, const struct lyd_node *op)
{
    char url[160], mine[2 * KEY_BYTES + 1];
    const char *vr = http_vr(h);
    struct jwrite j;

    output_begin(&j, &(struct text){0});
    jwrite_begin(&j, "url", '[');
    if (http_has_proxy()) {
        key_of(vr, mine);
        snprintf(url, sizeof url, WEB_PAGE "#%s%s%s", mine, *vr ? "." : "", vr);
        jwrite_string(&j, NULL, url);
    }
    jwrite_end(&j, ']');
    output_send(h, &j);
}

static void start_web(struct event_base *loop)
{
    make_key();
    http_serve(VIA_WEB, answer_web);
    http_serve(VIA_METRICS, metrics_answer);
}

const struct feature web_feature = {
    "web",
    .operations = (const struct feature_operation[]){{"web-address", .run = run_web_address}, {0}},
    .start = start_web,
};
