// SPDX-License-Identifier: BSD-3-Clause
// restconf_condition.c - conditional requests, which depend on an unchanged configuration
//
// There is one tag and one time for the whole configuration (RFC 8040, 3.4.1; RFC 9110, 13). Each
// commit makes a new tag, and so does each start, because a client cannot know what happened
// meanwhile.
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "config/config_running.h"
#include "base/hash.h"
#include "http/refuse.h"
#include "restconf/bound.h"
#include "restconf/restconf_priv.h"
#include "yang/config_tree.h"

// Tag of a part of the configuration: a hash of its content. Commits to other parts do not change
// it.
static const char *tag_of_part(struct http *h, char buf[48])
{
    struct text t = {0};

    config_print(bound_running(h), &t);
    snprintf(buf, 48, "\"%s-%llx\"", "part",
             (unsigned long long)hash_bytes(text_str(&t), t.n, t.n));
    text_free(&t);
    return buf;
}

static const char *entity_tag(struct http *h, char buf[48])
{
    static unsigned long long start;

    if (bound_is(h))
        return tag_of_part(h, buf);
    if (!start) {
        struct timespec now;

        clock_gettime(CLOCK_REALTIME, &now);
        start = (unsigned long long)now.tv_sec * 1000000 + (unsigned long long)now.tv_nsec / 1000;
    }
    snprintf(buf, 48, "\"%llx-%llu\"", start, (unsigned long long)config_version());
    return buf;
}

void condition_tell(struct http *h)
{
    char buf[64];
    time_t t = config_changed_at();
    struct tm tm;

    http_set_header(h, "ETag", entity_tag(h, buf));
    if (bound_is(h)) // times of other owners' changes are hidden from it
        return;
    strftime(buf, sizeof buf, "%a, %d %b %Y %H:%M:%S GMT", gmtime_r(&t, &tm));
    http_set_header(h, "Last-Modified", buf);
}

// Is one of the tags in the header ours? "*" matches if the resource exists.
static bool matches(struct http *h, const char *header, bool exists)
{
    char mine[48];
    const char *at;

    if (!strcmp(header, "*"))
        return exists;
    at = strstr(header, entity_tag(h, mine));
    return at && exists;
}

// 1: changed since, 0: unchanged, -1: the header is missing, or not a date (and so ignored).
static int changed_since(const struct http *h, const char *header)
{
    const char *v = bound_is(h) ? NULL : http_header(h, header);
    struct tm tm = {0};

    if (!v || !strptime(v, "%a, %d %b %Y %H:%M:%S GMT", &tm))
        return -1;
    return config_changed_at() > timegm(&tm);
}

bool condition_read(struct http *h)
{
    const char *none = http_header(h, "If-None-Match");
    bool same = none ? matches(h, none, true) : changed_since(h, "If-Modified-Since") == 0;

    condition_tell(h);
    if (!same)
        return true;
    http_reply(h, 304, HTTP_JSON, NULL);
    return false;
}

bool condition_edit(struct http *h, bool exists)
{
    const char *match = http_header(h, "If-Match"), *none = http_header(h, "If-None-Match");
    bool fails = match ? !matches(h, match, exists) : changed_since(h, "If-Unmodified-Since") == 1;

    if (!fails && none)
        fails = matches(h, none, exists);
    if (!fails)
        return true;
    condition_tell(h);
    http_refuse(
        h, 412, "operation-failed",
        "the configuration does not meet the request's condition (If-Match, If-None-Match or "
        "If-Unmodified-Since): read it again");
    return false;
}
