// SPDX-License-Identifier: BSD-3-Clause
// report.h - prints the results of a benchmark: one JSON object, or its rows as a table
//
//     report_begin(json);
//     report_open("rows", '[');
//     report_open(NULL, '{');
//     report_text("engine", "poptrie");
//     report_number("mlps", 2, 371.3);
//     report_series("cycles", 2, v, rounds);  // in a table: median (least - most)
//     report_close(); report_close(); report_end();
//
// In the table an object in an array is a row; its members, and members of objects in it, are the
// columns. Everything outside of arrays is a line of its own.
#ifndef BENCH_LIB_REPORT_H
#define BENCH_LIB_REPORT_H

#include <stdbool.h>

void report_begin(bool json);
void report_open(const char *key, char bracket); // key NULL = an element of an array
void report_close(void);
void report_text(const char *key, const char *format, ...) __attribute__((format(printf, 2, 3)));
void report_number(const char *key, unsigned decimals, double value); // not finite: null, or -
void report_null(const char *key);
void report_bool(const char *key, bool value);
void report_series(const char *key, unsigned decimals, const double *v, unsigned n);
void report_end(void);

#endif
