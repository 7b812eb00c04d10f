// SPDX-License-Identifier: BSD-3-Clause
// vec.h - growing arrays
//
//     VEC(struct route) rows = {0};      // {item, n, cap}
//     *vec_push(&rows) = r;              // aborts the process when memory is exhausted
//     vec_foreach(&rows, p) use(p);
//     vec_free(&rows);
//
// Heap only, for managers. Growing moves the elements.
#ifndef BASE_VEC_H
#define BASE_VEC_H

#include <stddef.h>
#include <stdlib.h>

#include "base/log.h"

#define VEC(type)                                                                                  \
    struct {                                                                                       \
        type *item;                                                                                \
        size_t n, cap;                                                                             \
    }

static inline void *vec_grow(void *item, size_t *cap, size_t size)
{
    size_t want = *cap ? *cap * 2 : 8;

    item = realloc(item, want * size);
    bug_on(!item);
    *cap = want;
    return item;
}

// Address of a new, uninitialized last element.
#define vec_push(v)                                                                                \
    (((v)->n == (v)->cap                                                                           \
          ? (void)((v)->item = vec_grow((v)->item, &(v)->cap, sizeof *(v)->item))                  \
          : (void)0),                                                                              \
     &(v)->item[(v)->n++])
#define vec_end(v) ((v)->n ? (v)->item + (v)->n : (v)->item) // no arithmetic on NULL
#define vec_foreach(v, p)                                                                          \
    for (__typeof__((v)->item + 0) p = (v)->item; p && p < (v)->item + (v)->n; p++)
// Removes element i by moving the last one into its place.
#define vec_del_swap(v, i) ((v)->item[i] = (v)->item[--(v)->n])
#define vec_clear(v) ((v)->n = 0)
#define vec_free(v) (free((v)->item), (v)->item = NULL, (v)->n = (v)->cap = 0)

#endif
