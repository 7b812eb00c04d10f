// SPDX-License-Identifier: BSD-3-Clause
// port_history_test.c - keeps an hour of points and no more, in order
#include <stdint.h>

#include "core/thread.h"
#include "port/managed_port.h"
#include "port/port_manager.h"
#include "tests/unit.h"

struct seen {
    unsigned n;
    uint64_t first, last;
};

static void see(void *ctx, const struct port_point *p)
{
    struct seen *s = ctx;

    assert_true(!s->n || p->rx_packets == s->last + 1); // the oldest first, none left out
    s->first = s->n ? s->first : p->rx_packets;
    s->last = p->rx_packets;
    s->n++;
}

static struct seen all_of(const char *port)
{
    struct seen s = {0};

    port_history_each(port, see, &s);
    return s;
}

unit_test(an_hour_of_points_is_kept)
{
    assert_int_equal(all_of("p0").n, 0);
    for (uint64_t i = 1; i <= 1000; i++) {
        port_history_add("p0", &(struct port_point){.rx_packets = i});
        struct seen s = all_of("p0");
        assert_int_equal(s.n, i < PORT_HISTORY_POINTS ? i : PORT_HISTORY_POINTS);
        assert_int_equal(s.last, i);
    }
    assert_int_equal(all_of("p0").first, 1000 - PORT_HISTORY_POINTS + 1);
}

unit_test(ports_have_pasts_of_their_own_and_a_port_that_went_has_none)
{
    port_history_add("p1", &(struct port_point){.rx_packets = 7});
    assert_int_equal(all_of("p1").n, 1);
    assert_int_equal(all_of("p0").n, PORT_HISTORY_POINTS);
    port_history_sample(); // no port is attached
    assert_int_equal(all_of("p0").n + all_of("p1").n, 0);
}

static unsigned no_lags(char (*name)[16], unsigned max)
{
    return 0;
}

static int leave(void **state)
{
    port_history_fini();
    return 0;
}

int main(void)
{
    thread_adopt(ROLE_CONTROL, THREAD_SLOT_CONTROL);
    port_lags = &(const struct port_lags){.list = no_lags};
    return unit_tests_run(NULL, leave);
}
