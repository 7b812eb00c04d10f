// SPDX-License-Identifier: BSD-3-Clause
// drop.c - dropped packets by reason (table/drops.def)
//
// Names, severities and sentences come from drops.def; state, metrics and saved state walk the same
// enumeration, so a new reason appears in all of them. Over a stop, drops and ledger of each
// virtual router are saved together, held packets as dropped, or the ledger would not balance at
// the next start.
#include "feature/drop.h"

#include "mgmt/feature.h"
#include "restconf/metrics.h"
#include "restconf/state.h"
#include "saved/saved_state.h"
#include "table/counter.h"
#include "table/ledger_vr.h"
#include "table/vr.h"

static void write_drop(struct jwrite *j, enum drop_reason reason, uint64_t packets)
{
    const struct drop_info *d = &drop_info[reason];

    jwrite_begin(j, NULL, '{');
    jwrite_string(j, "name", d->name);
    jwrite_u64(j, "packets", packets);
    jwrite_string(j, "severity", d->severity);
    jwrite_string(j, "sentence", d->sentence);
    jwrite_string(j, "source", d->source);
    jwrite_end(j, '}');
}

void drop_write_vr(struct jwrite *j, uint16_t vr)
{
    jwrite_begin(j, "drop", '[');
    for (enum drop_reason r = DROP_NONE + 1; r < DROP_N; r++) {
        uint64_t n = counter_sum_vr_drop(vr, r);

        if (n)
            write_drop(j, r, n);
    }
    jwrite_end(j, ']');
}

static void list_drops(struct show *s)
{
    for (enum drop_reason r = DROP_NONE + 1; r < DROP_N; r++)
        if (show_wants(s, drop_info[r].name))
            write_drop(&s->out, r, counter_sum_drop(r));
}

static void write_ledger_metrics(struct metrics *m)
{
    static struct ledger_vr of[VR_MAX]; // only control uses it

    metric_family(m, METRIC_COUNTER, "vr_ledger_packets", "packets",
                  "Packets of a virtual router by origin and fate: rx + inject + entered = tx + "
                  "punt + left + drops + held.");
    for (uint16_t v = 0; v < VR_MAX; v++) {
        if (!vr_get(v)->used)
            continue;
        ledger_vr_read(v, &of[v], LEDGER_VR_TRIES);
        for (unsigned i = 0; i < LEDGER_VR_N; i++)
            metric_u64(m, of[v].side[i], "vr", vr_get(v)->name, "side", ledger_vr_name[i], NULL);
    }
    metric_family(m, METRIC_GAUGE, "vr_ledger_imbalance_packets", "packets",
                  "Difference between the two sides of a virtual router's ledger: 0 without "
                  "traffic.");
    for (uint16_t v = 0; v < VR_MAX; v++)
        if (vr_get(v)->used)
            metric_real(m, (double)of[v].imbalance, "vr", vr_get(v)->name, NULL);
}

static void write_vr_metrics(struct metrics *m)
{
    metric_family(m, METRIC_COUNTER, "vr_drop_packets", "packets",
                  "Packets dropped in a virtual router, by reason.");
    for (uint16_t v = 0; v < VR_MAX; v++)
        for (enum drop_reason r = DROP_NONE + 1; vr_get(v)->used && r < DROP_N; r++) {
            uint64_t n = counter_sum_vr_drop(v, r);

            if (n)
                metric_u64(m, n, "vr", vr_get(v)->name, "reason", drop_info[r].name, NULL);
        }
}

static void write_drop_metrics(struct metrics *m, const void *kept)
{
    metric_family(m, METRIC_COUNTER, "drop_packets", "packets",
                  "Packets dropped, by reason ('kamuee show drops' explains each).");
    for (int r = DROP_NONE + 1; r < DROP_N; r++)
        metric_u64(m, counter_sum_drop((enum drop_reason)r), "reason", drop_info[r].name,
                   "severity", drop_info[r].severity, NULL);
    write_vr_metrics(m);
    write_ledger_metrics(m);
}

// --- state kept over a stop: drops and ledger of each virtual router -----------------------------

#define SAVE_TRIES 1000

void drop_save(json_t *o, int vr, uint64_t held)
{
    for (enum drop_reason r = DROP_NONE + 1; r < DROP_N; r++) {
        uint64_t n = vr < 0 ? counter_sum_drop(r) : counter_sum_vr_drop((uint16_t)vr, r);

        n += r == DROP_TX_NO_QUEUE ? held : 0;
        if (n)
            json_object_set_new(o, drop_info[r].name, json_integer((json_int_t)n));
    }
}

bool drop_restore(const json_t *o, uint64_t n[DROP_N])
{
    bool good = true;

    for (int r = DROP_NONE + 1; r < DROP_N; r++) {
        n[r] = 0;
        good &= !json_object_get(o, drop_info[r].name) || saved_number(o, drop_info[r].name, &n[r]);
    }
    return good;
}

static json_t *save_vr(uint16_t vr)
{
    json_t *o = json_object();
    struct ledger_vr l;

    ledger_vr_read(vr, &l, SAVE_TRIES);
    l.side[LEDGER_VR_DROPS] += l.held;
    if (!l.imbalance)
        json_object_set_new(o, "ledger", saved_object(ledger_vr_name, LEDGER_VR_N, l.side));
    drop_save(o, vr, l.held);
    return o;
}

static json_t *save_vrs(void)
{
    json_t *all = json_object();

    for (uint16_t v = 0; v < VR_MAX; v++)
        if (vr_get(v)->used)
            json_object_set_new(all, vr_get(v)->name, save_vr(v));
    return all;
}

// `vr` is NULL if it no longer exists.
static bool restore_vr(const struct vr *vr, const json_t *of, bool apply)
{
    const json_t *ledger = json_object_get(of, "ledger");
    uint64_t side[LEDGER_VR_N], n[DROP_N];

    if (!drop_restore(of, n) ||
        (ledger && !saved_numbers(ledger, ledger_vr_name, LEDGER_VR_N, side)))
        return false;
    if (!apply || !vr)
        return true;
    if (ledger)
        ledger_vr_restore(vr->id, side);
    for (enum drop_reason r = DROP_NONE + 1; r < DROP_N; r++)
        counter_restore_vr_drop(vr->id, r, n[r]);
    return true;
}

static const char *restore_vrs(const json_t *part, bool apply)
{
    const char *name;
    json_t *of;

    json_object_foreach ((json_t *)(uintptr_t)part, name, of)
        if (!json_is_object(of) || !restore_vr(vr_find(name), of, apply))
            return "a virtual router's drops or ledger are not numbers";
    return NULL;
}

const struct feature drop_feature = {
    "drop",
    .saved = &(const struct feature_saved){save_vrs, restore_vrs},
    .state = (const struct feature_state[]){{"drop", .list = list_drops}, {0}},
    .metrics = &(const struct feature_metrics){.write = write_drop_metrics},
};
