// SPDX-License-Identifier: BSD-3-Clause
// web.h - the page that shows the router live, for a browser on this host; read only; control role
#ifndef MGMT_WEB_H
#define MGMT_WEB_H

#include <stddef.h>

struct http;
struct text;

int web_start(char *err, size_t err_size); // before the first listener: reads the page's files. 0
                                           // or -errno with a sentence
void web_stop(void);
void web_answer(struct http *h); // any request
const char *web_key(void);       // what a browser has to show; NULL: not started

#endif
