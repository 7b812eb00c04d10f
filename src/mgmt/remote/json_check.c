// SPDX-License-Identifier: BSD-3-Clause
// json_check.c - see json_check.h
#include "remote/json_check.h"

#include <string.h>

enum {
    VALUE,
    VALUE_OR_END, // of an array
    NAME,
    NAME_OR_END, // of an object
    COLON,
    AFTER_VALUE,
    STRING,
    CHARACTER, // of several bytes
    ESCAPE,
    DIGITS, // of \uXXXX
    HALF,   // of a surrogate pair is there: \ must follow
    HALF_U, // and a u
    WORD,
    NUMBER_SIGN, // what of a number is there
    NUMBER_ZERO,
    NUMBER_DIGIT,
    NUMBER_POINT,
    NUMBER_FRACTION,
    NUMBER_E,
    NUMBER_E_SIGN,
    NUMBER_EXPONENT
};

void json_check_begin(struct json_check *j)
{
    *j = (struct json_check){.state = VALUE};
}

static bool go_to(struct json_check *j, uint8_t state)
{
    j->state = state;
    return true;
}

static bool is_object(const struct json_check *j)
{
    return j->objects >> j->depth & 1;
}

static bool open_level(struct json_check *j, bool object)
{
    if (j->depth == JSON_DEPTH_MAX)
        return false;
    j->depth++;
    j->objects = (j->objects & ~(UINT64_C(1) << j->depth)) | (uint64_t)object << j->depth;
    return go_to(j, object ? NAME_OR_END : VALUE_OR_END);
}

static bool close_level(struct json_check *j)
{
    j->depth--;
    return go_to(j, AFTER_VALUE);
}

static bool take_after_value(struct json_check *j, uint8_t c)
{
    if (c == ',' && j->depth)
        return go_to(j, is_object(j) ? NAME : VALUE);
    return j->depth && c == (is_object(j) ? '}' : ']') && close_level(j);
}

static bool begin_string(struct json_check *j, bool is_name)
{
    j->is_name = is_name;
    return go_to(j, STRING);
}

static bool begin_word(struct json_check *j, const char *rest)
{
    j->word = rest;
    return go_to(j, WORD);
}

static bool take_value(struct json_check *j, uint8_t c)
{
    switch (c) {
    case '{':
    case '[':
        return open_level(j, c == '{');
    case '"':
        return begin_string(j, false);
    case 't':
        return begin_word(j, "rue");
    case 'f':
        return begin_word(j, "alse");
    case 'n':
        return begin_word(j, "ull");
    case '-':
        return go_to(j, NUMBER_SIGN);
    case '0':
        return go_to(j, NUMBER_ZERO);
    default:
        return c >= '1' && c <= '9' && go_to(j, NUMBER_DIGIT);
    }
}

// The first byte of a character of several (RFC 3629).
static bool begin_character(struct json_check *j, uint8_t c)
{
    if (c < 0xc2 || c > 0xf4)
        return false;
    j->more = c < 0xe0 ? 1 : c < 0xf0 ? 2 : 3;
    j->least = c == 0xe0 ? 0xa0 : c == 0xf0 ? 0x90 : 0x80;
    j->most = c == 0xed ? 0x9f : c == 0xf4 ? 0x8f : 0xbf;
    return go_to(j, CHARACTER);
}

static bool take_character(struct json_check *j, uint8_t c)
{
    if (c < j->least || c > j->most)
        return false;
    j->least = 0x80;
    j->most = 0xbf;
    return --j->more || go_to(j, STRING);
}

static bool take_string(struct json_check *j, uint8_t c)
{
    if (c == '"')
        return go_to(j, j->is_name ? COLON : AFTER_VALUE);
    if (c == '\\')
        return go_to(j, ESCAPE);
    return c < 0x80 ? c >= ' ' : begin_character(j, c);
}

static bool begin_digits(struct json_check *j)
{
    j->digits = 4;
    j->unit = 0;
    return go_to(j, DIGITS);
}

static bool take_escape(struct json_check *j, uint8_t c)
{
    return c == 'u' ? begin_digits(j) : c && strchr("\"\\/bfnrt", c) && go_to(j, STRING);
}

static bool end_digits(struct json_check *j)
{
    bool second = j->unit >= 0xdc00 && j->unit <= 0xdfff;

    if (second != j->half || !j->unit)
        return false;
    j->half = j->unit >= 0xd800 && j->unit <= 0xdbff;
    return go_to(j, j->half ? HALF : STRING);
}

static bool take_digit(struct json_check *j, uint8_t c)
{
    unsigned lower = c | 0x20u, digit;

    if (c >= '0' && c <= '9')
        digit = c - '0';
    else if (lower >= 'a' && lower <= 'f')
        digit = lower - 'a' + 10;
    else
        return false;
    j->unit = (uint16_t)(j->unit << 4 | digit);
    return --j->digits || end_digits(j);
}

static bool is_blank(uint8_t c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

// What ends a number belongs to what is around it.
static bool end_number(struct json_check *j, uint8_t c)
{
    go_to(j, AFTER_VALUE);
    return is_blank(c) || take_after_value(j, c);
}

static bool take_number(struct json_check *j, uint8_t c)
{
    bool digit = c >= '0' && c <= '9', e = c == 'e' || c == 'E';

    switch (j->state) {
    case NUMBER_SIGN:
        return digit && go_to(j, c == '0' ? NUMBER_ZERO : NUMBER_DIGIT);
    case NUMBER_POINT:
        return digit && go_to(j, NUMBER_FRACTION);
    case NUMBER_E:
        return (c == '+' || c == '-') ? go_to(j, NUMBER_E_SIGN)
                                      : digit && go_to(j, NUMBER_EXPONENT);
    case NUMBER_E_SIGN:
        return digit && go_to(j, NUMBER_EXPONENT);
    case NUMBER_ZERO:
    case NUMBER_DIGIT:
        if (c == '.')
            return go_to(j, NUMBER_POINT);
        // fall through
    case NUMBER_FRACTION:
        if (e)
            return go_to(j, NUMBER_E);
        // fall through
    default:
        return (digit && j->state != NUMBER_ZERO) || end_number(j, c);
    }
}

static bool take_between(struct json_check *j, uint8_t c)
{
    if (is_blank(c))
        return true;
    switch (j->state) {
    case VALUE_OR_END:
        return c == ']' ? close_level(j) : take_value(j, c);
    case NAME_OR_END:
        return c == '}' ? close_level(j) : c == '"' && begin_string(j, true);
    case NAME:
        return c == '"' && begin_string(j, true);
    case COLON:
        return c == ':' && go_to(j, VALUE);
    case AFTER_VALUE:
        return take_after_value(j, c);
    default:
        return take_value(j, c);
    }
}

static bool take_byte(struct json_check *j, uint8_t c)
{
    switch (j->state) {
    case STRING:
        return take_string(j, c);
    case CHARACTER:
        return take_character(j, c);
    case ESCAPE:
        return take_escape(j, c);
    case DIGITS:
        return take_digit(j, c);
    case HALF:
        return c == '\\' && go_to(j, HALF_U);
    case HALF_U:
        return c == 'u' && begin_digits(j);
    case WORD:
        return c == (uint8_t)*j->word && (*++j->word || go_to(j, AFTER_VALUE));
    default:
        return j->state >= NUMBER_SIGN ? take_number(j, c) : take_between(j, c);
    }
}

size_t json_check_take(struct json_check *j, const uint8_t *bytes, size_t n)
{
    size_t i = 0;

    while (i < n && take_byte(j, bytes[i]))
        i++;
    return i;
}

bool json_check_whole(const struct json_check *j)
{
    return !j->depth && (j->state == AFTER_VALUE || j->state == NUMBER_ZERO ||
                         j->state == NUMBER_DIGIT || j->state == NUMBER_FRACTION ||
                         j->state == NUMBER_EXPONENT);
}
