// SPDX-License-Identifier: BSD-3-Clause
// http_page.c - error answers that evhttp makes itself, as RFC 8040 JSON
//
// A request that is not HTTP, is too large or has an unknown method never reaches a handler: evhttp
// answers with an HTML page and closes the connection. libevent 2.1 has no hook for that page, but
// it lets us make the connections' bufferevents, and nothing is written before the loop has turned
// once. So a callback on the output buffer notices an answer that begins with a 4xx or 5xx status,
// and activates an event that examines the complete answer before any of it can be written. If it
// is text/html, which our own handlers never send, the event replaces it by JSON.
#include "http/http_page.h"

#include <errno.h>
#include <event2/buffer.h>
#include <stdlib.h>
#include <string.h>

#include "http/error_body.h"
#include "http/http_priv.h"

static struct event *look;              // examines the answers begun in this turn of the loop
static VEC(struct bufferevent *) begun; // each with a reference of ours

static void output_changed(struct evbuffer *b, const struct evbuffer_cb_info *info, void *arg)
{
    char start[10];

    if (info->orig_size || info->n_added < sizeof start ||
        evbuffer_copyout(b, start, sizeof start) != sizeof start)
        return;
    if (memcmp(start, "HTTP/1.", 7) || (start[9] != '4' && start[9] != '5'))
        return;
    bufferevent_incref(arg);
    *vec_push(&begun) = arg;
    event_active(look, EV_TIMEOUT, 0);
}

// Status of the answer if it is a page of evhttp's, 0 otherwise.
static int html_status(struct evbuffer *b)
{
    static const char mark[] = "Content-Type: text/html";
    struct evbuffer_ptr end = evbuffer_search(b, "\r\n\r\n", 4, NULL);
    char status[4] = "";

    if (end.pos < 0 || evbuffer_search_range(b, mark, sizeof mark - 1, NULL, &end).pos < 0)
        return 0;
    struct evbuffer_ptr at;
    evbuffer_ptr_set(b, &at, 9, EVBUFFER_PTR_SET);
    evbuffer_copyout_from(b, &at, status, 3);
    return atoi(status);
}

static void replace(struct evbuffer *b, int status)
{
    struct text body = {0};

    error_body_http(status, &body);
    evbuffer_unfreeze(b, 1); // a bufferevent keeps the front of its output from other code
    evbuffer_drain(b, evbuffer_get_length(b));
    evbuffer_add_printf(b,
                        "HTTP/1.1 %d Refused\r\nContent-Type: " HTTP_JSON
                        "\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n%s",
                        status, body.n, text_str(&body));
    evbuffer_freeze(b, 1);
    text_free(&body);
}

static void look_at_answers(evutil_socket_t fd, short what, void *arg)
{
    vec_foreach (&begun, bev) {
        struct evbuffer *b = bufferevent_get_output(*bev);
        int status = html_status(b);

        if (status)
            replace(b, status);
        bufferevent_decref(*bev);
    }
    vec_clear(&begun);
}

void http_page_watch(struct bufferevent *bev)
{
    evbuffer_add_cb(bufferevent_get_output(bev), output_changed, bev);
}

int http_page_start(struct event_base *loop)
{
    look = event_new(loop, -1, 0, look_at_answers, NULL);
    return look ? 0 : -ENOMEM;
}

void http_page_stop(void)
{
    if (!look)
        return;
    vec_foreach (&begun, bev)
        bufferevent_decref(*bev);
    vec_free(&begun);
    event_free(look);
    look = NULL;
}
