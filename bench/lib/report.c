// SPDX-License-Identifier: BSD-3-Clause
// report.c - see report.h
#include "lib/report.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/bench.h"
#include "lib/stat.h"

#define DEPTH_MAX 8u
#define COLUMNS_MAX 32u
#define CELL_MAX 96u

static bool as_json, comma;
static char bracket_of[DEPTH_MAX];
static unsigned depth;
static struct {
    unsigned n_columns, n_rows, room;
    char name[COLUMNS_MAX][CELL_MAX];
    bool is_number[COLUMNS_MAX];
    char (*row)[COLUMNS_MAX][CELL_MAX];
} table;

// --- the table ---

static bool in_table(void)
{
    return memchr(bracket_of, '[', depth) != NULL;
}

static void row_add(void)
{
    if (table.n_rows == table.room) {
        table.room = table.room ? 2 * table.room : 64;
        table.row = realloc(table.row, table.room * sizeof *table.row);
        bench_check(table.row, "no memory for the table");
    }
    memset(table.row[table.n_rows++], 0, sizeof *table.row);
}

static void cell_put(const char *key, bool is_number, const char *text)
{
    unsigned c = 0;

    if (!in_table()) {
        printf("%s: %s\n", key, text);
        return;
    }
    while (c < table.n_columns && strcmp(table.name[c], key))
        c++;
    bench_check(c < COLUMNS_MAX && table.n_rows, "a table has more than 32 columns, or no row");
    if (c == table.n_columns) {
        snprintf(table.name[table.n_columns++], CELL_MAX, "%s", key);
        table.is_number[c] = is_number;
    }
    snprintf(table.row[table.n_rows - 1][c], CELL_MAX, "%s", text);
}

static void line_print(char (*cell)[CELL_MAX], const int *width)
{
    for (unsigned c = 0; c < table.n_columns; c++)
        printf("%s%*s", c ? "  " : "", table.is_number[c] ? width[c] : -width[c], cell[c]);
    printf("\n");
}

static void table_print(void)
{
    int width[COLUMNS_MAX];

    for (unsigned c = 0; c < table.n_columns; c++) {
        width[c] = (int)strlen(table.name[c]);
        for (unsigned r = 0; r < table.n_rows; r++)
            if ((int)strlen(table.row[r][c]) > width[c])
                width[c] = (int)strlen(table.row[r][c]);
    }
    if (table.n_columns)
        line_print(table.name, width);
    for (unsigned r = 0; r < table.n_rows; r++)
        line_print(table.row[r], width);
    table.n_rows = table.n_columns = 0;
}

// --- both forms ---

static void key_print(const char *key)
{
    printf("%s", comma ? (depth <= 2 ? ",\n " : ", ") : "");
    if (key)
        printf("\"%s\": ", key);
    comma = true;
}

void report_open(const char *key, char bracket)
{
    bool is_row = bracket == '{' && depth && bracket_of[depth - 1] == '[';

    bench_check(depth < DEPTH_MAX, "a report nests too deep");
    if (as_json) {
        key_print(key);
        putchar(bracket);
    } else if (is_row) {
        row_add();
    }
    bracket_of[depth++] = bracket;
    comma = false;
}

void report_close(void)
{
    char bracket = bracket_of[--depth];

    if (as_json)
        putchar(bracket == '[' ? ']' : '}');
    else if (bracket == '[' && !in_table())
        table_print();
    comma = true;
}

void report_begin(bool json)
{
    as_json = json;
    report_open(NULL, '{');
}

void report_end(void)
{
    report_close();
    if (as_json)
        putchar('\n');
    fflush(stdout);
}

static void value_put(const char *key, bool is_number, const char *quote, const char *text)
{
    if (!as_json) {
        cell_put(key, is_number, text);
        return;
    }
    key_print(key);
    printf("%s%s%s", quote, text, quote);
}

void report_text(const char *key, const char *format, ...)
{
    char text[512];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    value_put(key, false, "\"", text);
}

static const char *number_text(char *text, size_t n, unsigned decimals, double value)
{
    if (isfinite(value))
        snprintf(text, n, "%.*f", (int)decimals, value);
    else
        snprintf(text, n, "%s", as_json ? "null" : "-");
    return text;
}

void report_number(const char *key, unsigned decimals, double value)
{
    char text[64];

    value_put(key, true, "", number_text(text, sizeof text, decimals, value));
}

void report_null(const char *key)
{
    value_put(key, false, "", as_json ? "null" : "-");
}

void report_bool(const char *key, bool value)
{
    value_put(key, false, "", value ? "true" : "false");
}

void report_series(const char *key, unsigned decimals, const double *v, unsigned n)
{
    char text[3][64], all[CELL_MAX];

    if (as_json) {
        report_open(key, '[');
        for (unsigned i = 0; i < n; i++)
            report_number(NULL, decimals, v[i]);
        report_close();
        return;
    }
    for (unsigned i = 0; i < 3; i++)
        number_text(text[i], sizeof *text, decimals,
                    stat_quantile(v, n, (const double[]){0.5, 0, 1}[i]));
    snprintf(all, sizeof all, "%.30s (%.28s - %.28s)", text[0], text[1], text[2]);
    cell_put(key, true, all);
}
