// SPDX-License-Identifier: BSD-3-Clause
// pool_test.c - blocks never overlap, are reusable after freeing, and a full pool reports it
#include "poptrie/pool.h"
#include "tests/unit.h"

#include <stdlib.h>
#include <string.h>

#define CHUNKS 64
#define BLOCKS 2000

static struct pool pool;
static uint8_t *memory;

static int pool_up(void **state)
{
    memory = aligned_alloc(64, CHUNKS * POOL_CHUNK);
    memset(memory, 0, CHUNKS * POOL_CHUNK);
    return pool_init(&pool, memory, CHUNKS * POOL_CHUNK);
}

static int pool_down(void **state)
{
    pool_fini(&pool);
    free(memory);
    return 0;
}

#define pool_test(name) unit_test_of(name, pool_up, pool_down)

pool_test(blocks_keep_their_content_while_others_come_and_go)
{
    struct {
        uint32_t ref;
        unsigned bytes;
        uint8_t mark;
    } b[BLOCKS] = {{0}};
    unsigned x = 1, refused = 0;

    for (unsigned i = 0; i < 200000; i++) {
        unsigned at = (x = x * 1103515245 + 12345) >> 8 & 0x7fffff;

        at %= BLOCKS;
        if (b[at].ref != 0) {
            const uint8_t *p = pool_at(&pool, b[at].ref);

            for (unsigned j = 0; j < b[at].bytes; j++)
                assert_int_equal(p[j], b[at].mark);
            assert_in_range(pool_block_bytes(&pool, b[at].ref), b[at].bytes, b[at].bytes + 7);
            pool_free(&pool, b[at].ref);
            b[at].ref = 0;
        } else {
            b[at].bytes = 2 + (x >> 4) % (i % 3 == 0 ? POOL_MAX_UNITS * POOL_UNIT - 1 : 60);
            b[at].mark = i;
            b[at].ref = pool_alloc(&pool, b[at].bytes);
            refused += b[at].ref == 0;
            if (b[at].ref != 0)
                memset(pool_at(&pool, b[at].ref), b[at].mark, b[at].bytes);
        }
        if (i % 1000 == 0)
            assert_true(pool_is_sound(&pool));
    }
    assert_true(refused > 0); // the pool was full at times
    for (unsigned i = 0; i < BLOCKS; i++)
        if (b[i].ref != 0)
            pool_free(&pool, b[i].ref);
    assert_true(pool_is_sound(&pool));
    assert_int_equal(pool.blocks, 0);
    assert_int_equal(pool_bytes(&pool), 0);
}

pool_test(emptied_chunks_serve_other_sizes)
{
    uint32_t ref[CHUNKS * 64];
    unsigned n = 0;

    while ((ref[n] = pool_alloc(&pool, 64)) != 0)
        n++;
    assert_int_equal(n, (CHUNKS - 1) * (POOL_CHUNK / 64)); // all but chunk 0
    assert_int_equal(pool_alloc(&pool, 16), 0);
    for (unsigned i = 0; i < n; i++)
        pool_free(&pool, ref[i]);
    for (n = 0; (ref[n] = pool_alloc(&pool, 832)) != 0;)
        n++;
    assert_int_equal(n, (CHUNKS - 1) * (POOL_CHUNK / 832));
    assert_true(pool_is_sound(&pool));
}

pool_test(block_bytes_knows_no_block_inside_another)
{
    uint32_t ref = pool_alloc(&pool, 40);

    assert_int_equal(pool_block_bytes(&pool, ref), 40);
    assert_int_equal(pool_block_bytes(&pool, ref + 1), 0);
    assert_int_equal(pool_block_bytes(&pool, ref + 5), 0); // never allocated
    assert_int_equal(pool_block_bytes(&pool, 0), 0);
    assert_int_equal(pool_block_bytes(&pool, 50 * POOL_CHUNK_UNITS), 0);
}
