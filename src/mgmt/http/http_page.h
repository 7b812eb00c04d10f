// SPDX-License-Identifier: BSD-3-Clause
// http_page.h - error answers that evhttp makes itself, as RFC 8040 JSON; control role
#ifndef HTTP_HTTP_PAGE_H
#define HTTP_HTTP_PAGE_H

#define HTTP_JSON "application/yang-data+json"

struct event_base;

int http_page_start(struct event_base *loop); // 0 or -ENOMEM
void http_page_stop(void);                    // after evhttp_free

#endif
