// SPDX-License-Identifier: BSD-3-Clause
// compiler_test.c - limits of a compiler that hostile source has taken over, played by a shell
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "compiler/compiler.h"
#include "tests/unit.h"

static struct text said, result;
static char why[256];

static unsigned limit_ms = COMPILER_WALL_S * 1000;

static int run_script(const char *script, const char *output)
{
    const char *const argv[] = {"/bin/bash", "--norc", "-c", script, NULL};
    const struct compiler_input input[] = {{"in.txt", "words\n", 6},
                                           {"kamuee/in.txt", "more\n", 5}};
    const struct compiler_run run = {argv, input, 2, limit_ms, output, &result, &said};

    text_clear(&said);
    text_clear(&result);
    return compiler_run(&run, why, sizeof why);
}

unit_test(test_it_has_its_inputs_and_leaves_its_output)
{
    assert_int_equal(run_script("cat in.txt kamuee/in.txt >out; echo told", "out"), 0);
    assert_string_equal(text_str(&result), "words\nmore\n");
    assert_string_equal(text_str(&said), "told\n");
}

unit_test(test_it_has_no_rights)
{
    assert_int_equal(run_script("echo $UID $PPID", NULL), 0);
    assert_int_not_equal(strtoul(text_str(&said), NULL, 10), 0);
    assert_int_not_equal(run_script("kill -0 $PPID", NULL), 0);
    assert_int_not_equal(run_script("exec 3</dev/tty", NULL), 0);
    assert_int_not_equal(run_script("unshare -U true", NULL), 0);
    assert_int_not_equal(run_script("mknod out p", NULL), 0);
    assert_int_not_equal(run_script("chown 0 in.txt", NULL), 0);
}

unit_test(test_it_reaches_no_network)
{
    assert_int_not_equal(run_script("exec 3<>/dev/tcp/127.0.0.1/22", NULL), 0);
    assert_non_null(strstr(text_str(&said), "Function not implemented"));
}

static bool has_landlock(void)
{
    return syscall(SYS_landlock_create_ruleset, NULL, 0, 1u) > 0; // ABI version
}

unit_test(test_it_sees_only_its_own_files)
{
    if (!has_landlock())
        skip();
    assert_int_not_equal(run_script("cat /etc/passwd", NULL), 0);
    assert_non_null(strstr(text_str(&said), "Permission denied"));
    assert_int_not_equal(run_script(": >/tmp/kamuee-compiler-test", NULL), 0);
    assert_int_not_equal(access("/tmp/kamuee-compiler-test", F_OK), 0);
    assert_int_not_equal(run_script("ls ..", NULL), 0);
}

unit_test(test_an_output_that_is_no_file_is_refused)
{
    assert_int_not_equal(run_script("mkdir out", "out"), 0);
    assert_int_not_equal(run_script("ln in.txt out", "out"), 0); // two links to one file
    assert_int_not_equal(run_script(":", "out"), 0);
    assert_int_not_equal(run_script("head -c 5000000 /dev/zero >out", "out"), 0);
}

unit_test(test_its_time_memory_and_files_are_limited)
{
    assert_int_equal(run_script("ulimit -v; ulimit -t; ulimit -c; ulimit -n", NULL), 0);
    assert_string_equal(text_str(&said), "524288\n10\n0\n64\n");
    assert_int_not_equal(run_script("yes | head -c 40000000 >out", "out"), 0);
}

unit_test(test_what_it_leaves_running_ends_with_it)
{
    assert_int_equal(run_script("(trap '' HUP TERM; sleep 300) & echo begun", NULL), 0);
    assert_string_equal(text_str(&said), "begun\n");
}

// Whether or not anybody holds its output.
unit_test(test_at_its_limit_it_is_ended)
{
    static const char *const script[] = {"echo begun; sleep 300", "exec >&- 2>&-; sleep 300",
                                         "trap '' TERM; sleep 300; sleep 300"};

    limit_ms = 200;
    for (unsigned i = 0; i < sizeof script / sizeof *script; i++) {
        assert_int_equal(run_script(script[i], NULL), -EINVAL);
        assert_string_equal(why, "bash needs more than 10 s for it");
        assert_string_equal(text_str(&said), i ? "" : "begun\n");
    }
    limit_ms = COMPILER_WALL_S * 1000;
}

unit_test(test_a_failure_is_named)
{
    assert_int_not_equal(run_script("echo bad >&2; exit 3", NULL), 0);
    assert_string_equal(why, "bash refuses it");
    assert_string_equal(text_str(&said), "bad\n");
}

static int end(void **state)
{
    text_free(&said);
    text_free(&result);
    return 0;
}

int main(void)
{
    return unit_tests_run(NULL, end);
}
