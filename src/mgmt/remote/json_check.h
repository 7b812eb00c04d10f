// SPDX-License-Identifier: BSD-3-Clause
// json_check.h - whether bytes are JSON (RFC 8259), one after another as they come
//
// Stricter than some parsers: UTF-8 must be right, \u0000 and half a surrogate pair are refused,
// and it nests no deeper than JSON_DEPTH_MAX. No memory but the struct.
#ifndef REMOTE_JSON_CHECK_H
#define REMOTE_JSON_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JSON_DEPTH_MAX 63

struct json_check {
    uint8_t state;
    uint8_t depth;
    bool is_name;         // the string names a member
    uint64_t objects;     // bit n: level n is an object
    const char *word;     // the rest of true, false, null
    uint8_t more;         // bytes of a character in UTF-8 that are to come
    uint8_t least, most;  // what the next of them may be
    uint8_t digits;       // of \uXXXX, to come
    uint16_t unit;        // their value
    bool half;            // the first of a surrogate pair has come
};

void json_check_begin(struct json_check *j);
// How many bytes may be JSON, or its beginning; less than n: the next one is wrong.
size_t json_check_take(struct json_check *j, const uint8_t *bytes, size_t n);
bool json_check_whole(const struct json_check *j); // it may end here

#endif
