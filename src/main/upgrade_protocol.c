// SPDX-License-Identifier: BSD-3-Clause
// upgrade_protocol.c - sends and receives messages of an upgrade (upgrade_protocol.h)
//
// A message is as long as its text, so its format does not change with the size of the buffer.
#include "main/upgrade_protocol.h"

#include <stddef.h>
#include <stdio.h>

#include "base/descriptor.h"

bool upgrade_send(int s, enum upgrade_word word, const char *text, int fd)
{
    struct upgrade_message m = {.word = (char)word};
    int length = snprintf(m.text, sizeof m.text, "%s", text);
    size_t n = offsetof(struct upgrade_message, text) +
               ((size_t)length < sizeof m.text ? (size_t)length : sizeof m.text - 1);

    return descriptor_send(s, &m, n, fd);
}

bool upgrade_receive(int s, struct upgrade_message *m, int *fd)
{
    ssize_t n = descriptor_receive(s, m, sizeof *m - 1, fd);

    if (n <= 0)
        return false;
    ((char *)m)[n] = 0;
    return true;
}
