// SPDX-License-Identifier: BSD-3-Clause
// stat.h - statistics over the rounds of a run
#ifndef BENCH_LIB_STAT_H
#define BENCH_LIB_STAT_H

#define ROUNDS_MAX 101u

// Quantile q of the values, 0 the minimum, 1 the maximum; NaN without values.
double stat_quantile(const double *v, unsigned n, double q);
double stat_median(const double *v, unsigned n);
// The ends of the median's 95 % interval: the values of the ranks between which the median of all
// possible values lies with that probability, whatever their distribution.
void stat_median_interval(const double *v, unsigned n, double ends[2]);
// Median of the rounds' own ratios a / b: a disturbance in a round affects both.
double stat_ratio(const double *a, const double *b, unsigned n);

#endif
