// SPDX-License-Identifier: BSD-3-Clause
// column.h - the members of a struct as management shows them, told once
//
//     static const struct column punt_columns[] = {
//         COUNTER(struct counter_punt, passed, "passed", "packets", "Packets passed to …"),
//         {0}};
//
// From such a table come the leaves of the state, the leaves of the configuration, the metrics and
// the saved numbers of a struct (a row), each in the order of the table. The type of the member
// says how it is written; libyang and the tests compare the result with kamuee.yang. Numbers are
// read atomically (relaxed), because another thread may count. Control role; reading a
// configuration: any thread.
#ifndef RESTCONF_COLUMN_H
#define RESTCONF_COLUMN_H

#include <jansson.h>
#include <libyang/libyang.h>
#include <stddef.h>
#include <stdint.h>

#include "base/ip.h"
#include "base/jwrite.h"
#include "base/label_stack.h"
#include "restconf/metric.h"

enum column_kind { // type of the member, and its text in JSON
    COLUMN_BOOL,
    COLUMN_U8,
    COLUMN_U16,
    COLUMN_U32, // the number; with `wide` a string
    COLUMN_INT,
    COLUMN_U64, // a string; with `narrow` the number
    COLUMN_I64,
    COLUMN_CHARS,  // char[]
    COLUMN_STRING, // const char *
    COLUMN_MAC,    // uint8_t[6]
    COLUMN_IP,
    COLUMN_PREFIX,
    COLUMN_LABELS, // written only
};

struct column {
    const char *name; // leaf: "rx-missed"
    uint32_t at;
    uint16_t size;
    uint8_t kind; // enum column_kind
    bool any;                 // absent if it is 0, "" or no address
    bool time;                // nanoseconds since 1970, written as a date
    bool wide, narrow;        // the leaf has 64 bits and the member fewer, or the reverse
    uint8_t bit;              // the value is whether this bit of the member is set
    const char *scaled;       // suffixes of its text in the configuration (leaf_scaled)
    const char *saved;        // its key in the saved state, if not `name`
    bool later;               // an older version did not save it: 0 then
    const char *const *words; // the member is the index of its word
    unsigned n_words;
    // Metric, if there is a `help`. Its name is `family`; NULL: the leaf's name, followed by the
    // unit unless it ends with it: "rx_missed_packets".
    enum metric_type type;
    const char *unit, *help, *family;
    double per_unit; // value of one unit: 1e9 for seconds of nanoseconds; 0: 1
};

#define COLUMN_KIND(value)                                                                         \
    _Generic((value),                                                                              \
        bool: COLUMN_BOOL,                                                                         \
        uint8_t: COLUMN_U8,                                                                        \
        uint16_t: COLUMN_U16,                                                                      \
        uint32_t: COLUMN_U32,                                                                      \
        int: COLUMN_INT,                                                                           \
        uint64_t: COLUMN_U64,                                                                      \
        int64_t: COLUMN_I64,                                                                       \
        char *: COLUMN_CHARS,                                                                      \
        const char *: COLUMN_STRING,                                                               \
        uint8_t *: COLUMN_MAC,                                                                     \
        const uint8_t *: COLUMN_MAC,                                                               \
        struct ip_addr: COLUMN_IP,                                                                 \
        struct prefix: COLUMN_PREFIX,                                                              \
        struct label_stack: COLUMN_LABELS)

// A value without a metric; `…`: more of struct column, as ".any = true".
#define COLUMN(row, member, leaf, ...)                                                             \
    {                                                                                              \
        .name = leaf, .at = offsetof(row, member), .size = sizeof((row *)0)->member,               \
        .kind = COLUMN_KIND(((row *)0)->member), __VA_ARGS__                                       \
    }
// The row is the value itself.
#define COLUMN_ITSELF(type, leaf)                                                                  \
    {                                                                                              \
        .name = leaf, .size = sizeof(type), .kind = COLUMN_KIND((type){0})                         \
    }
#define COLUMN_WORD(row, member, leaf, list, ...)                                                  \
    COLUMN(row, member, leaf, .words = list, .n_words = sizeof(list) / sizeof *(list), __VA_ARGS__)
#define COUNTER(row, member, leaf, of, sentence, ...)                                              \
    COLUMN(row, member, leaf, .type = METRIC_COUNTER, .unit = of, .help = sentence, __VA_ARGS__)
#define GAUGE(row, member, leaf, of, sentence, ...)                                                \
    COLUMN(row, member, leaf, .type = METRIC_GAUGE, .unit = of, .help = sentence, __VA_ARGS__)

// Tables end with {0}. A column without a name has a metric only.
void columns_write(struct jwrite *j, const struct column *c, const void *row);
void columns_object(struct jwrite *j, const char *key, const struct column *c, const void *row);
// n rows of that size, as a list of objects.
void columns_list(struct jwrite *j, const char *key, const struct column *c, const void *rows,
                  size_t n, size_t size);
void columns_read(const struct lyd_node *first, const struct column *c, void *row);

// Numbers, words and texts kept over a stop. False: one is missing, impossible or larger than its
// member.
json_t *columns_save(const struct column *c, const void *row);
bool columns_restore(const json_t *saved, const struct column *c, void *row);

//     for (const struct column *c = columns; (c = column_family(&m, "port", c)); c++)
//         metric for each row: column_metric(&m, c, row, "port", "p0", NULL);
// Writes the head of the next family, from `c` on; NULL: there is none. `prefix`: of its name.
const struct column *column_family(struct metrics *m, const char *prefix, const struct column *c);
void column_metric(struct metrics *m, const struct column *c, const void *row, ...)
    __attribute__((sentinel));

#endif
