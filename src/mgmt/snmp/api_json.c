// SPDX-License-Identifier: BSD-3-Clause
// api_json.c - see api.h: reads values from kamueed's answers
#include <stdio.h>
#include <stdlib.h>

#include "snmp/api.h"

const char *api_text(const json_t *object, const char *key)
{
    const char *s = json_string_value(json_object_get(object, key));

    return s ? s : "";
}

uint64_t api_number(const json_t *object, const char *key)
{
    const json_t *v = json_object_get(object, key);

    return json_is_integer(v)  ? (uint64_t)json_integer_value(v)
           : json_is_string(v) ? strtoull(json_string_value(v), NULL, 10)
                               : 0;
}

bool api_mac(const json_t *object, const char *key, uint8_t mac[6])
{
    return sscanf(api_text(object, key), "%hhx:%hhx:%hhx:%hhx:%hhx:%hhx", &mac[0], &mac[1],
                  &mac[2], &mac[3], &mac[4], &mac[5]) == 6;
}
