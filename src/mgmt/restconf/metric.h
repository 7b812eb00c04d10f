// SPDX-License-Identifier: BSD-3-Clause
// metric.h - writing metrics as OpenMetrics 1.0 or as Prometheus' text format 0.0.4
//
//     metric_family(&m, METRIC_COUNTER, "port_rx_packets", "packets", "Packets received.");
//     metric_u64(&m, 7, "port", "p0", NULL);     // kamuee_port_rx_packets_total{port="p0"} 7
//
// A family's samples follow it directly. Names get the prefix "kamuee_" and the suffix of the type;
// labels come in pairs of name and value, any bytes: base/plain.h defines their output. Control
// role; no state except the struct.
#ifndef RESTCONF_METRIC_H
#define RESTCONF_METRIC_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

enum metric_type { METRIC_COUNTER, METRIC_GAUGE, METRIC_HISTOGRAM, METRIC_INFO };

#define METRIC_NAME_MAX 80

struct metrics {
    struct text text;
    bool openmetrics;
    const char *vr;   // only its samples; NULL: all
    struct text head; // of the family, written before its first sample, if there is a `vr`
    char family[METRIC_NAME_MAX];
    enum metric_type type;
};

// `unit`: the last word of the name if that is a unit, "" otherwise.
void metric_family(struct metrics *m, enum metric_type type, const char *name, const char *unit,
                   const char *help);
void metric_u64(struct metrics *m, uint64_t value, ...) __attribute__((sentinel)); // of an info: 1
void metric_real(struct metrics *m, double value, ...) __attribute__((sentinel));
void metric_u64_of(struct metrics *m, uint64_t value, va_list labels);
void metric_real_of(struct metrics *m, double value, va_list labels);
// A sample of the family with a name of its own: "_bucket", "_sum" and "_count" of a histogram.
void metric_part(struct metrics *m, const char *suffix, double value, ...)
    __attribute__((sentinel));
void metric_end(struct metrics *m);
uint64_t metric_field(const void *base, size_t at); // the uint64_t of a struct, by its offsetof

#endif
