// SPDX-License-Identifier: BSD-3-Clause
// tap_list_test.c - a written list is read again; malformed lines are skipped
#include "tap/tap.h"
#include "tests/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char path[64];

static int make_dir(void **state)
{
    char dir[] = "/tmp/kamuee-taps-XXXXXX";

    if (!mkdtemp(dir))
        return -1;
    snprintf(path, sizeof path, "%s/taps", dir);
    return 0;
}

static int remove_dir(void **state)
{
    unlink(path);
    *strrchr(path, '/') = 0;
    return rmdir(path); // nothing else is left
}

#define list_test(name) unit_test_of(name, make_dir, remove_dir)

list_test(what_is_written_is_read_again)
{
    const struct tap_list_entry e[] = {{"", "p0", 0}, {"blue", "fifteen-letters", 17}};
    struct tap_list_entry *read;

    assert_int_equal(tap_list_read(path, &read), 0);
    free(read);
    assert_int_equal(tap_list_write(path, e, 2), 0);
    assert_int_equal(tap_list_read(path, &read), 2);
    assert_string_equal(read[0].netns, "");
    assert_string_equal(read[0].name, "p0");
    assert_string_equal(read[1].netns, "blue");
    assert_string_equal(read[1].name, "fifteen-letters");
    assert_int_equal(read[1].ifindex, 17);
    free(read);
    assert_int_equal(tap_list_write(path, NULL, 0), 0);
    assert_int_equal(tap_list_read(path, &read), 0);
    free(read);
}

list_test(rubbish_is_skipped)
{
    struct tap_list_entry *read;
    FILE *f = fopen(path, "w");

    fputs("one\n\n- sixteen-letters-\n- p1\n- p2x\tno\n- cut-of", f);
    fclose(f);
    assert_int_equal(tap_list_read(path, &read), 1);
    assert_string_equal(read[0].name, "p1"); // format from before there was an ifindex
    assert_int_equal(read[0].ifindex, 0);
    free(read);
}

unit_test(file_that_can_not_be_written_is_an_error)
{
    assert_true(tap_list_write("/proc/nowhere/taps", NULL, 0) < 0);
}
