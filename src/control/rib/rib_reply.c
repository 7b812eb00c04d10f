// SPDX-License-Identifier: BSD-3-Clause
// rib_reply.c - questions of control and their answers, on their way between the two threads
#include "rib/rib_reply.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "core/mailbox.h"
#include "core/thread.h"

static VEC(struct reply {
    void (*fn)(void *arg);
    void *arg;
}) replies; // control's mailbox was full

int rib_ask(void (*fn)(void *arg), void *arg)
{
    int err;

    thread_must_be(ROLE_CONTROL);
    if (!arg)
        return -ENOMEM;
    err = mailbox_post(ROLE_RIB_MANAGER, fn, arg);
    if (err)
        free(arg);
    return err;
}

void rib_reply(void (*fn)(void *arg), void *arg)
{
    int err = replies.n ? -EAGAIN : mailbox_post(ROLE_CONTROL, fn, arg);

    if (err == -EAGAIN)
        *vec_push(&replies) = (struct reply){fn, arg};
    else if (err) // control is ending: nobody is left to be told
        free(arg);
}

void rib_reply_retry(void)
{
    size_t done = 0;

    while (done < replies.n &&
           mailbox_post(ROLE_CONTROL, replies.item[done].fn, replies.item[done].arg) != -EAGAIN)
        done++;
    if (done)
        memmove(replies.item, replies.item + done, (replies.n - done) * sizeof *replies.item);
    replies.n -= done;
}

void rib_reply_fini(void)
{
    vec_free(&replies);
}
