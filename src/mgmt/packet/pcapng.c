// SPDX-License-Identifier: BSD-3-Clause
// pcapng.c - writes blocks of a pcapng file (pcapng.h)
//
// A block's length stands at both of its ends: block_end() fills in the first one. Options and data
// are padded to four bytes.
#include "packet/pcapng.h"

#include <stdbool.h>
#include <string.h>

enum { BLOCK_SECTION = 0x0a0d0d0a, BLOCK_INTERFACE = 1, BLOCK_PACKET = 6 };
enum {
    OPTION_END = 0,
    OPTION_COMMENT = 1,
    SECTION_APPLICATION = 4,
    INTERFACE_NAME = 2,
    INTERFACE_DESCRIPTION = 3,
    INTERFACE_TIME = 9,
    INTERFACE_FILTER = 11,
    PACKET_FLAGS = 2,
    PACKET_MISSED = 4
};

#define MAGIC 0x1a2b3c4du
#define LINK_ETHERNET 1
#define TIME_NS 9 // 10^-9 s

static void put32(struct text *t, uint32_t v)
{
    text_append(t, &v, sizeof v);
}

static void put_padded(struct text *t, const void *p, size_t n)
{
    if (!n)
        return;
    text_append(t, p, n);
    text_append(t, "\0\0\0", -n & 3);
}

// Returns the block's offset for block_end.
static size_t block_begin(struct text *t, uint32_t type)
{
    size_t at = t->n;

    put32(t, type);
    put32(t, 0); // length, set later
    return at;
}

static void option(struct text *t, uint16_t code, const void *value, size_t n)
{
    uint16_t head[2] = {code, (uint16_t)n};

    text_append(t, head, sizeof head);
    put_padded(t, value, n);
}

static void option_text(struct text *t, uint16_t code, const char *value)
{
    size_t n = strlen(value);

    if (n)
        option(t, code, value, n < UINT16_MAX ? n : UINT16_MAX);
}

static void block_end(struct text *t, size_t at, bool has_options)
{
    if (has_options)
        option(t, OPTION_END, NULL, 0);
    uint32_t length = (uint32_t)(t->n - at + sizeof length);
    put32(t, length);
    memcpy(t->s + at + 4, &length, sizeof length);
}

void pcapng_begin(struct text *t, const char *application)
{
    size_t at = block_begin(t, BLOCK_SECTION);
    uint16_t version[2] = {1, 0};
    int64_t length = -1; // section length: unknown

    put32(t, MAGIC);
    text_append(t, version, sizeof version);
    text_append(t, &length, sizeof length);
    option_text(t, SECTION_APPLICATION, application);
    block_end(t, at, true);
}

void pcapng_interface(struct text *t, const char *name, const char *description, const char *filter,
                      uint32_t snap)
{
    size_t at = block_begin(t, BLOCK_INTERFACE);
    uint16_t link[2] = {LINK_ETHERNET, 0};
    uint8_t time = TIME_NS;

    text_append(t, link, sizeof link);
    put32(t, snap);
    option_text(t, INTERFACE_NAME, name);
    option_text(t, INTERFACE_DESCRIPTION, description);
    option(t, INTERFACE_TIME, &time, 1);
    if (*filter) {
        struct text f = {0};
        text_append(&f, "\0", 1); // zero-terminated, as libpcap expects
        text_append(&f, filter, strlen(filter));
        option(t, INTERFACE_FILTER, f.s, f.n);
        text_free(&f);
    }
    block_end(t, at, true);
}

void pcapng_packet(struct text *t, const struct pcapng_packet *p)
{
    size_t at = block_begin(t, BLOCK_PACKET);
    uint32_t flags = p->direction;

    put32(t, p->interface);
    put32(t, (uint32_t)(p->time_ns >> 32));
    put32(t, (uint32_t)p->time_ns);
    put32(t, p->kept);
    put32(t, p->len);
    put_padded(t, p->data, p->kept);
    if (p->direction != PCAPNG_UNKNOWN)
        option(t, PACKET_FLAGS, &flags, sizeof flags);
    if (p->missed)
        option(t, PACKET_MISSED, &p->missed, sizeof p->missed);
    if (p->comment)
        option_text(t, OPTION_COMMENT, p->comment);
    block_end(t, at, p->direction != PCAPNG_UNKNOWN || p->missed || p->comment);
}
