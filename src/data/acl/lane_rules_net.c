// SPDX-License-Identifier: BSD-3-Clause
// lane_rules_net.c - the writer's half of the table of prefixes, and its check (lane_rules_net.h)
//
// A new chunk is filled with the number of the word above it, and only then does that word lead to
// the chunk. Then each word inside the new prefix takes its number, unless it belongs to a longer
// one. Every step is one release store, after which an address finds its former prefix or the new
// one; so prefixes may come in any order. nets_check() walks words and ordered prefixes together
// and expects in each word the longest prefix around it.
#include "acl/lane_rules_net.h"

#include <errno.h>
#include <string.h>

#include "acl/arena.h"

static size_t words_bytes(uint32_t chunk_room)
{
    return (NET_FIRST + (size_t)chunk_room * NET_CHUNK) * sizeof(uint16_t);
}

size_t nets_bytes(uint32_t room, uint32_t chunk_room)
{
    return line_up(words_bytes(chunk_room) + room * (sizeof(struct net) + sizeof(uint8_t)));
}

void nets_init(struct nets *t, void *memory, uint32_t room, uint32_t chunk_room)
{
    *t = (struct nets){.word = memory,
                       .net = (struct net *)((uint8_t *)memory + words_bytes(chunk_room)),
                       .n = 1,
                       .room = room,
                       .chunk_room = chunk_room};
    t->length = (uint8_t *)(t->net + room);
}

uint32_t nets_chunks(const struct net *net, uint32_t n)
{
    uint32_t chunks = 0, last16 = UINT32_MAX, last24 = UINT32_MAX;

    for (uint32_t i = 0; i < n; i++) {
        if (net[i].len > 16 && net[i].addr >> 16 != last16) {
            last16 = net[i].addr >> 16;
            chunks++;
        }
        if (net[i].len > 24 && net[i].addr >> 8 != last24) {
            last24 = net[i].addr >> 8;
            chunks++;
        }
    }
    return chunks;
}

// --- prefixes in order ---

static bool net_before(const struct net *a, uint32_t addr, uint8_t len)
{
    return a->addr < addr || (a->addr == addr && a->len < len);
}

uint32_t nets_at(const struct nets *t, uint32_t addr, uint8_t len)
{
    uint32_t lo = 0, hi = t->n;

    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;

        if (net_before(&t->net[mid], addr, len))
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

uint32_t nets_around(const struct nets *t, uint32_t addr, uint8_t len)
{
    while (len-- > 1) {
        uint32_t at = nets_at(t, addr & mask4(len), len);

        if (at < t->n && t->net[at].len == len && t->net[at].addr == (addr & mask4(len)))
            return at;
    }
    return 0;
}

// --- words ---

static void word_set(uint16_t *word, uint32_t to)
{
    __atomic_store_n(word, (uint16_t)to, __ATOMIC_RELEASE); // partner: nets_word
}

static uint16_t *chunk_of(const struct nets *t, uint32_t word)
{
    return (uint16_t *)(uintptr_t)nets_chunk(t->word, word);
}

// Copies the words that the new prefix inherits from the shorter one.
static void words_take(struct nets *t, uint16_t *word, uint32_t n, uint16_t number, uint8_t len)
{
    for (uint32_t i = 0; i < n; i++)
        if (word[i] & NET_DEEP)
            words_take(t, chunk_of(t, word[i]), NET_CHUNK, number, len);
        else if (t->length[word[i]] < len)
            word_set(&word[i], number);
}

// The chunk behind the word, created if needed; NULL: no room.
static uint16_t *chunk_behind(struct nets *t, uint16_t *word)
{
    if (*word & NET_DEEP)
        return chunk_of(t, *word);
    if (t->chunks == t->chunk_room)
        return NULL;
    uint16_t *chunk = chunk_of(t, NET_DEEP | t->chunks);
    for (unsigned i = 0; i < NET_CHUNK; i++)
        chunk[i] = *word;
    word_set(word, NET_DEEP | t->chunks++);
    return chunk;
}

int nets_add(struct nets *t, uint32_t addr, uint8_t len)
{
    // number of bits that lead to the words of a prefix of this length
    uint32_t at = nets_at(t, addr, len), end = len <= 16 ? 16 : len <= 24 ? 24 : 32;
    uint16_t number = (uint16_t)t->n, *word = t->word + (addr >> 16);

    if (t->n == t->room)
        return -ENOSPC;
    for (int shift = 8; word && (int)end >= 32 - shift; shift -= 8)
        if ((word = chunk_behind(t, word)))
            word += addr >> shift & (NET_CHUNK - 1);
    if (!word)
        return -ENOSPC;
    memmove(&t->net[at + 1], &t->net[at], (t->n - at) * sizeof *t->net);
    t->net[at] = (struct net){addr, number, len};
    t->length[number] = len;
    t->n++;
    words_take(t, word, 1u << (end - len), number, len);
    return 0;
}

// --- check ---

struct sweep { // prefixes around the current word
    const struct nets *t;
    uint32_t next, at[34], n;
};

static bool word_is_right(struct sweep *s, const uint16_t *word, uint32_t addr, unsigned bits)
{
    const struct nets *t = s->t;

    if (*word & NET_DEEP) {
        bool right = bits < 32 && (*word & (NET_DEEP - 1)) < t->chunks;
        for (unsigned i = 0; i < NET_CHUNK && right; i++)
            right =
                word_is_right(s, nets_chunk(t->word, *word) + i, addr | i << (24 - bits), bits + 8);
        return right;
    }
    for (; s->next < t->n && t->net[s->next].addr <= addr && t->net[s->next].len <= bits;
         s->next++) {
        while (s->n && !net_inside(&t->net[s->next], t->net[s->at[s->n - 1]].addr,
                                   t->net[s->at[s->n - 1]].len))
            s->n--;
        s->at[s->n++] = s->next;
    }
    while ((addr ^ t->net[s->at[s->n - 1]].addr) & mask4(t->net[s->at[s->n - 1]].len))
        s->n--;
    // A longer prefix that begins in here would have its own words.
    return *word == t->net[s->at[s->n - 1]].number &&
           (s->next == t->n || (t->net[s->next].addr ^ addr) & mask4(bits));
}

bool nets_check(const struct nets *t)
{
    struct sweep s = {.t = t};
    bool right = t->n >= 1 && !t->net[0].len && t->n <= t->room && t->chunks <= t->chunk_room;

    for (uint32_t i = 1; i < t->n && right; i++)
        right = net_before(&t->net[i - 1], t->net[i].addr, t->net[i].len) &&
                t->length[t->net[i].number] == t->net[i].len && t->net[i].number < t->n;
    for (uint32_t i = 0; i < NET_FIRST && right; i++)
        right = word_is_right(&s, &t->word[i], i << 16, 16);
    return right && s.next == t->n;
}
