// SPDX-License-Identifier: BSD-3-Clause
// stat.c - see stat.h
#include "lib/stat.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/bench.h"

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

double stat_quantile(const double *v, unsigned n, double q)
{
    double *sorted = malloc(n * sizeof *sorted), found = NAN;

    bench_check(sorted || !n, "no memory for %u values", n);
    if (n) {
        memcpy(sorted, v, n * sizeof *sorted);
        qsort(sorted, n, sizeof *sorted, by_value);
        found = sorted[(unsigned)(q * (n - 1) + 0.5)];
    }
    free(sorted);
    return found;
}

double stat_median(const double *v, unsigned n)
{
    return stat_quantile(v, n, 0.5);
}

void stat_median_interval(const double *v, unsigned n, double ends[2])
{
    double away = n ? (0.98 * sqrt(n) + 1) / n : 0; // of the ranks from the middle one

    ends[0] = stat_quantile(v, n, fmax(0, 0.5 - away));
    ends[1] = stat_quantile(v, n, fmin(1, 0.5 + away));
}

double stat_ratio(const double *a, const double *b, unsigned n)
{
    double ratio[ROUNDS_MAX];

    for (unsigned i = 0; i < n; i++)
        ratio[i] = a[i] / b[i];
    return stat_median(ratio, n);
}
