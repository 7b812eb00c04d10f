// SPDX-License-Identifier: BSD-3-Clause
// stat.h - statistics over the rounds of a run
#ifndef BENCH_LIB_STAT_H
#define BENCH_LIB_STAT_H

#define ROUNDS_MAX 101u

// The value that a share q of all do not exceed, 0 the least, 1 the largest; NaN of none.
double stat_quantile(const double *v, unsigned n, double q);
double stat_median(const double *v, unsigned n);
// The median of the rounds' own ratios a / b: what disturbs a round disturbs both.
double stat_ratio(const double *a, const double *b, unsigned n);

#endif
