// SPDX-License-Identifier: BSD-3-Clause
// publish_model.c - publish and retire, in every interleaving that two readers, a writer and a
// grace period can have
//
// A model of publication in src/data/poptrie and src/data/table, small enough that all of its
// states can be visited: five blocks, three changes of one route, two readers
// with two lookups each. A state is the memory, the stores that have left the
// writer but not arrived yet, and where everybody is. From each state every
// possible step is taken.
//
//     directory word --> parent block --> child block {changed route, another route}
//
//     writer   make a child (and, in every second change, a parent), publish the word that leads to
//     it,
//              retire the memory behind the old word, draw a ticket; free and reuse expired memory
//     worker   the thread of rcu.c: a grace period, one reader after the other, then: the ticket is
//     over reader   word, word, leaf; says between two lookups that it holds nothing; goes offline
//     at the end
//
// Stores are as weak as C11 allows: a plain store may arrive after later ones, a
// release store arrives after all before it; stores to one place keep their
// order; when the worker takes the ticket (the lock of rcu_retire), nothing may be under way.
// Readers' loads depend on each other, so hardware keeps them in order.
//
// Asked in every state: a lookup of the changed route gives a value that was
// visible between its beginning and its end; the other route's is always the
// same; nobody reads freed memory; nobody waits forever. The protocol must
// pass. Each planted bug must be found: a check that finds nothing in a broken
// protocol says nothing about the real one.
//
//     publish_model         all variants (the test)
//     publish_model -v      with the steps that lead to each planted bug's first harm
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCKS 5
#define READERS 2
#define LOOKUPS 2
#define CHANGES 3
#define UNDER_WAY 12 // stores
#define POISON 0xee
#define OTHER 7 // leaf of the route that is not changed
#define NOBODY 0xff

enum bug {
    BUG_NONE,
    BUG_FREE_EARLY,      // used again without waiting for the ticket
    BUG_PARENT_FIRST,    // the word is stored before the block it leads to
    BUG_PUBLISH_PLAIN,   // a plain store where word_publish() has release
    BUG_TICKET_FIRST,    // the ticket is drawn before the word is replaced
    BUG_WORKER_IMPATIENT, // the grace period ends after one of the two readers
    BUG_READER_KEEPS,    // a reader keeps a word over its quiescent state
    BUGS
};

static const char *const bug_name[BUGS] = {
    "the protocol", "freed before the grace period", "parent published before the child",
    "published without release", "ticket drawn before the unlinking",
    "grace period that ends after one reader", "word kept over a quiescent state",
};

// Places in memory: the directory word, then two cells a block (parent: word, -; child: leaf,
// leaf).
enum { DIRECTORY, CELLS };
#define CELL(block, i) (CELLS + 2 * (block) + (i))
#define PLACES CELL(BLOCKS, 0)

enum writer_step { W_RECLAIM, W_MAKE, W_PUBLISH, W_RETIRE, W_TICKET, W_DONE };
enum worker_step { C_IDLE, C_READER0, C_READER1, C_OVER };
enum reader_step { R_BEGIN, R_DIRECTORY, R_PARENT, R_LEAF, R_QUIESCENT, R_REPORT, R_OFFLINE };

struct store {
    uint8_t place, value, release;
};

struct state { // bytes only: compared and hashed as they are
    uint8_t memory[PLACES];
    struct store store[UNDER_WAY];
    uint8_t n_stores;
    // writer: poptrie.c, txn.c, fib_poptrie.c
    uint8_t w, change, parent, child, new_parent, new_child;
    uint8_t free[BLOCKS];              // pool.c
    uint8_t retired[2];                // by this change; txn.dead
    uint8_t pending[CHANGES][3];       // two blocks and their ticket; fib_poptrie.c: pending[]
    uint8_t drawn, over;               // grace.c
    // worker: rcu.c:reclaim
    uint8_t c, target, period;
    struct {
        uint8_t r, left, which, word, lo, seen, counter; // counter: 0 = offline
    } reader[READERS];
};

static enum bug bug;
static bool verbose;
static const char *harm;

// --- all states visited ---

static struct state *states;
static uint32_t *from, *table;
static char (*how)[24];
static size_t n_states, cap_states, cap_table;

static uint64_t hash_state(const struct state *s)
{
    const uint8_t *p = (const uint8_t *)s;
    uint64_t h = 1469598103934665603u;

    for (size_t i = 0; i < sizeof *s; i++)
        h = (h ^ p[i]) * 1099511628211u;
    return h ^ h >> 29;
}

static void *grown(void *p, size_t n, size_t size)
{
    p = realloc(p, n * size);
    if (!p) {
        fprintf(stderr, "publish_model: no memory for %zu states\n", n);
        exit(1);
    }
    return p;
}

static void grow(void)
{
    cap_states = cap_states ? 2 * cap_states : 1 << 16;
    states = grown(states, cap_states, sizeof *states);
    from = grown(from, cap_states, sizeof *from);
    how = grown(how, cap_states, sizeof *how);
    free(table);
    cap_table = 4 * cap_states;
    table = grown(NULL, cap_table, sizeof *table);
    memset(table, 0, cap_table * sizeof *table);
    for (size_t i = 0; i < n_states; i++) {
        size_t at = hash_state(&states[i]) & (cap_table - 1);

        while (table[at])
            at = (at + 1) & (cap_table - 1);
        table[at] = (uint32_t)i + 1;
    }
}

static void visit(const struct state *s, uint32_t before, const char *step)
{
    size_t at;

    if (n_states == cap_states)
        grow();
    for (at = hash_state(s) & (cap_table - 1); table[at]; at = (at + 1) & (cap_table - 1))
        if (!memcmp(&states[table[at] - 1], s, sizeof *s))
            return;
    states[n_states] = *s;
    from[n_states] = before;
    snprintf(how[n_states], sizeof *how, "%s", step);
    table[at] = (uint32_t)++n_states;
}

static void print_way(uint32_t at)
{
    if (at)
        print_way(from[at]);
    printf("%s%s", at ? " > " : "    ", how[at]);
}

// --- memory ---

static bool store(struct state *s, unsigned place, unsigned value, bool release)
{
    if (s->n_stores == UNDER_WAY)
        return false;
    s->store[s->n_stores++] = (struct store){(uint8_t)place, (uint8_t)value, release};
    return true;
}

static bool may_arrive(const struct state *s, unsigned i)
{
    for (unsigned k = 0; k < i; k++)
        if (s->store[i].release || s->store[k].place == s->store[i].place)
            return false;
    return true;
}

static void arrive(struct state *s, unsigned i)
{
    s->memory[s->store[i].place] = s->store[i].value;
    memmove(&s->store[i], &s->store[i + 1], (s->n_stores - i - 1) * sizeof s->store[0]);
    memset(&s->store[--s->n_stores], 0, sizeof s->store[0]);
}

// What a lookup done at once would give; POISON if it would run into freed memory.
static unsigned visible(const struct state *s)
{
    unsigned parent = s->memory[DIRECTORY], child;

    child = parent < BLOCKS ? s->memory[CELL(parent, 0)] : POISON;
    return child < BLOCKS ? s->memory[CELL(child, 0)] : POISON;
}

// --- writer ---

static unsigned alloc(struct state *s) // pool.c:pool_alloc
{
    for (unsigned i = 0; i < BLOCKS; i++)
        if (s->free[i]) {
            s->free[i] = 0;
            return i;
        }
    return NOBODY;
}

static unsigned n_free(const struct state *s)
{
    unsigned n = 0;

    for (unsigned i = 0; i < BLOCKS; i++)
        n += s->free[i];
    return n;
}

// In every second change the parent has to be made anew too (edit.c:follow_up looks one level up).
static bool with_parent(const struct state *s)
{
    return s->change % 2 == 1;
}

// fib_poptrie.c:reclaim, poptrie.c:poptrie_reclaim, pool.c:pool_free, which writes into the block.
static bool reclaim(struct state *s)
{
    bool any = false;

    for (unsigned i = 0; i < CHANGES; i++) {
        uint8_t *p = s->pending[i];

        if (!p[2] || (bug != BUG_FREE_EARLY && p[2] > s->over)) // grace.c:grace_over
            continue;
        for (unsigned k = 0; k < 2; k++)
            if (p[k] != NOBODY) {
                if (!store(s, CELL(p[k], 0), POISON, false) ||
                    !store(s, CELL(p[k], 1), POISON, false))
                    return false;
                s->free[p[k]] = 1;
            }
        p[0] = p[1] = p[2] = 0;
        any = true;
    }
    return any;
}

// block.c:block_build, leaf_block, branch_block: blocks nobody sees yet.
static bool make(struct state *s)
{
    s->new_child = (uint8_t)alloc(s);
    s->new_parent = with_parent(s) ? (uint8_t)alloc(s) : NOBODY;
    bool ok = store(s, CELL(s->new_child, 0), 2u + s->change, false) &&
              store(s, CELL(s->new_child, 1), OTHER, false);
    if (with_parent(s))
        ok = ok && store(s, CELL(s->new_parent, 0), s->new_child, false);
    return ok;
}

// txn.c:txn_finish, poptrie_priv.h:word_publish: one word, with release.
static bool publish(struct state *s)
{
    bool release = bug != BUG_PUBLISH_PLAIN;

    return with_parent(s) ? store(s, DIRECTORY, s->new_parent, release)
                          : store(s, CELL(s->parent, 0), s->new_child, release);
}

// txn.c:txn_finish: only after the stores.
static void retire(struct state *s)
{
    s->retired[0] = s->child;
    s->retired[1] = with_parent(s) ? s->parent : NOBODY;
    s->child = s->new_child;
    if (with_parent(s))
        s->parent = s->new_parent;
    s->new_child = s->new_parent = NOBODY;
}

// fib_poptrie.c:commit, grace.c:grace_ticket: rcu_retire hands the ticket over under a lock.
static bool draw_ticket(struct state *s)
{
    if (s->n_stores)
        return false;
    s->drawn++;
    return true;
}

static void wait_for_ticket(struct state *s)
{
    uint8_t *p = s->pending[s->change];

    p[0] = s->retired[0];
    p[1] = s->retired[1];
    p[2] = s->drawn;
    s->retired[0] = s->retired[1] = NOBODY;
    s->change++;
    s->w = s->change == CHANGES ? W_DONE : W_RECLAIM;
}

static const char *writer_step(struct state *s)
{
    bool first = bug == BUG_PARENT_FIRST, ticket_first = bug == BUG_TICKET_FIRST;

    switch (s->w) {
    case W_RECLAIM:
        if (reclaim(s))
            return "free";
        if (n_free(s) < 1u + with_parent(s))
            return NULL; // fib_poptrie.c:make_room waits for a grace period
        if (first) { // the numbers are known before the content is there
            struct state before = *s;
            s->new_child = (uint8_t)alloc(s);
            s->new_parent = with_parent(s) ? (uint8_t)alloc(s) : NOBODY;
            bool ok = publish(s);
            memcpy(s->free, before.free, sizeof s->free);
            s->w = W_MAKE;
            return ok ? "publish" : NULL;
        }
        if (ticket_first && !draw_ticket(s))
            return NULL;
        s->w = W_MAKE;
        return ticket_first ? "ticket" : "begin";
    case W_MAKE:
        s->w = first ? W_RETIRE : W_PUBLISH;
        return make(s) ? "make" : NULL;
    case W_PUBLISH:
        s->w = W_RETIRE;
        return publish(s) ? "publish" : NULL;
    case W_RETIRE:
        retire(s);
        s->w = W_TICKET;
        if (ticket_first)
            wait_for_ticket(s);
        return "retire";
    case W_TICKET:
        if (!draw_ticket(s))
            return NULL;
        wait_for_ticket(s);
        return "ticket";
    default:
        return NULL;
    }
}

// --- worker: grace.c:ticket_over after rcu.c:grace_period ---

static bool has_passed(const struct state *s, unsigned r)
{
    return !s->reader[r].counter || s->reader[r].counter == s->period;
}

static const char *worker_step(struct state *s)
{
    switch (s->c) {
    case C_IDLE:
        if (s->drawn == s->over)
            return NULL;
        s->target = s->drawn;
        s->period++;
        s->c = C_READER0;
        return "period begins";
    case C_READER0:
        if (!has_passed(s, 0))
            return NULL;
        s->c = bug == BUG_WORKER_IMPATIENT ? C_OVER : C_READER1;
        return "reader 0 passed";
    case C_READER1:
        if (!has_passed(s, 1))
            return NULL;
        s->c = C_OVER;
        return "reader 1 passed";
    default:
        s->over = s->target;
        s->c = C_IDLE;
        return "ticket over";
    }
}

// --- reader: kernel_scalar.c; forwarder/path.c says that it holds nothing once a poll ---

static unsigned load(const struct state *s, unsigned block, unsigned cell)
{
    if (block < BLOCKS)
        return s->memory[CELL(block, cell)];
    harm = "a reader follows a word of freed or unwritten memory";
    return POISON;
}

static void check_answer(const struct state *s, unsigned i, unsigned value)
{
    if (value == POISON)
        harm = "a reader reads freed or unwritten memory";
    else if (s->reader[i].which && value != OTHER)
        harm = "a lookup of another route gives a wrong next hop";
    else if (!s->reader[i].which && (value < s->reader[i].lo || value > visible(s)))
        harm = "a lookup gives a next hop that was not there during it";
}

static const char *reader_step(struct state *s, unsigned i, unsigned which)
{
    switch (s->reader[i].r) {
    case R_BEGIN:
        s->reader[i].which = (uint8_t)which;
        s->reader[i].lo = (uint8_t)visible(s);
        s->reader[i].r =
            bug == BUG_READER_KEEPS && s->reader[i].left < LOOKUPS ? R_PARENT : R_DIRECTORY;
        return which ? "looks up other" : "looks up";
    case R_DIRECTORY: // poptrie_priv.h:word_load
        s->reader[i].word = s->memory[DIRECTORY];
        s->reader[i].r = R_PARENT;
        return "directory";
    case R_PARENT:
        s->reader[i].lo = bug == BUG_READER_KEEPS ? 0 : s->reader[i].lo;
        if (bug != BUG_READER_KEEPS)
            s->reader[i].word = (uint8_t)load(s, s->reader[i].word, 0);
        s->reader[i].r = R_LEAF;
        return "parent";
    case R_LEAF: {
        unsigned child = s->reader[i].word;

        if (bug == BUG_READER_KEEPS) // it has kept the parent: its word is read again
            child = load(s, child, 0);
        check_answer(s, i, load(s, child, s->reader[i].which));
        if (bug != BUG_READER_KEEPS)
            s->reader[i].word = NOBODY;
        s->reader[i].left--;
        s->reader[i].r = s->reader[i].left ? R_QUIESCENT : R_OFFLINE;
        return "leaf";
    }
    case R_QUIESCENT: // rcu.c:rcu_quiescent reads the period's number, then stores it
        s->reader[i].seen = s->period;
        s->reader[i].r = R_REPORT;
        return "reads period";
    case R_REPORT:
        s->reader[i].counter = s->reader[i].seen;
        s->reader[i].seen = 0;
        s->reader[i].r = R_BEGIN;
        return "quiescent";
    default:
        if (!s->reader[i].counter)
            return NULL;
        s->reader[i].counter = 0; // rcu_offline
        s->reader[i].word = NOBODY;
        return "offline";
    }
}

// --- all ways from one state ---

static bool try_step(uint32_t at, const char *who, const struct state *next, const char *step)
{
    char text[24];

    if (!step)
        return false;
    snprintf(text, sizeof text, "%s%s", who, step);
    visit(next, at, text);
    return true;
}

static bool expand(uint32_t at)
{
    static const char *const name[READERS] = {"R0 ", "R1 "};
    const struct state s = states[at];
    struct state next = s;
    bool any = try_step(at, "W ", &next, writer_step(&next));

    next = s;
    any |= try_step(at, "C ", &next, worker_step(&next));
    for (unsigned i = 0; i < s.n_stores; i++) {
        next = s;
        if (may_arrive(&s, i)) {
            arrive(&next, i);
            any |= try_step(at, "", &next, "store arrives");
        }
    }
    for (unsigned i = 0; i < READERS; i++)
        for (unsigned which = 0; which <= (s.reader[i].r == R_BEGIN); which++) {
            next = s;
            any |= try_step(at, name[i], &next, reader_step(&next, i, which));
            if (harm)
                return true;
        }
    if (!any && s.w != W_DONE)
        harm = "the writer waits forever";
    return any;
}

static void begin(void)
{
    struct state s;

    memset(&s, 0, sizeof s);
    memset(s.memory, POISON, sizeof s.memory);
    s.memory[DIRECTORY] = 0;
    s.memory[CELL(0, 0)] = 1;
    s.memory[CELL(1, 0)] = 1;
    s.memory[CELL(1, 1)] = OTHER;
    s.child = 1;
    s.new_parent = s.new_child = s.retired[0] = s.retired[1] = NOBODY;
    s.free[2] = s.free[3] = s.free[4] = 1;
    s.period = 1;
    for (unsigned i = 0; i < READERS; i++) {
        s.reader[i].left = LOOKUPS;
        s.reader[i].counter = 1;
        s.reader[i].word = NOBODY;
    }
    visit(&s, 0, "begin");
}

// True if the variant behaves as expected: a planted bug does harm, the protocol does none and
// finishes. The last change finds no block that was never used: it gets one that a grace
// period gave back.
static bool run(enum bug b)
{
    bool ended = false;

    bug = b;
    harm = NULL;
    n_states = 0;
    cap_states = cap_table = 0;
    begin();
    size_t at = 0;
    while (at < n_states && !harm) {
        ended |= states[at].w == W_DONE;
        expand((uint32_t)at++);
    }
    printf("%-42s %9zu states: %s\n", bug_name[b], n_states, harm ? harm : "no harm");
    if (verbose && harm) {
        print_way((uint32_t)at - 1);
        printf("\n");
    }
    return b ? harm != NULL : !harm && ended;
}

int main(int argc, char **argv)
{
    bool ok = true;

    verbose = argc > 1 && !strcmp(argv[1], "-v");
    for (enum bug b = 0; b < BUGS; b++)
        if (!run(b)) {
            printf("publish_model: %s\n",
                   b ? "a planted bug was not found" : "the protocol does harm or does not end");
            ok = false;
        }
    free(states);
    free(from);
    free(how);
    free(table);
    return !ok;
}
