// SPDX-License-Identifier: BSD-3-Clause
// config_fuzz.c - any bytes as a configuration file
//
// A byte below 64 or above 127 stands for a word of the language (so that chance writes meaningful
// lines), any other for itself. Accepted text must be reproduced from its canonical text byte by
// byte, and its difference from the empty configuration must be that text. A refusal must have a
// reason and a line.
#include <libyang/libyang.h>
#include <string.h>

#include "base/log.h"
#include "config/config.h"
#include "core/thread.h"
#include "yang/config_tree.h"
#include "yang/yang.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const words[] = {"set ",
                                      "set ",
                                      "set ",
                                      "delete ",
                                      "port ",
                                      "port ",
                                      "vport ",
                                      "vr ",
                                      "interface ",
                                      "thread ",
                                      "forwarder ",
                                      "forwarding ",
                                      "idle ",
                                      "netlink ",
                                      "receive-buffer ",
                                      "memory ",
                                      "huge-pages ",
                                      "log-level ",
                                      "devargs ",
                                      "devargs ",
                                      "namespace ",
                                      "rx-queues ",
                                      "tx-queues ",
                                      "rx-descriptors ",
                                      "tx-descriptors ",
                                      "mtu ",
                                      "mac ",
                                      "promiscuous ",
                                      "enabled ",
                                      "vlan ", "outer-vlan ", "tpid ",
                                      "table ",
                                      "rx-queue ",
                                      "queue ", "rate ", "guarantee ", "maximum ", "weight ",
                                      "limit ", "reserve ", "profile ", "class-map ",
                                      "queue-profile ", "class ", "strict ", "discipline ",
                                      "fq-codel ", "flows ", "dscp ", "pcp ", "ef ", "100M ",
                                      "policer ", "kind ", "trtcm ", "cir ", "pir ", "police ",
                                      "in ", "out ",
                                      "p0 ",
                                      "p1 ",
                                      "p10 ",
                                      "v1 ",
                                      "v2 ",
                                      "red ",
                                      "blue ",
                                      "default ",
                                      "net_null0 ",
                                      "net_null1 ",
                                      "true ",
                                      "false ",
                                      "never ",
                                      "debug ",
                                      "powersave ",
                                      "02:00:00:00:00:01 ",
                                      "0 ",
                                      "1 ",
                                      "2 ",
                                      "7 ",
                                      "40 ",
                                      "254 ",
                                      "1500 ",
                                      "9000 ",
                                      "4096 ",
                                      "99999 ",
                                      "\n",
                                      "\n",
                                      "\n",
                                      "# ",
                                      "\"",
                                      "\\"};

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    char err[256];

    thread_adopt(ROLE_CONTROL, THREAD_SLOT_CONTROL);
    return yang_load(err, sizeof err);
}

static struct lyd_node *read_text(const char *text, struct errors *e)
{
    struct lyd_node *tree = NULL;

    config_read_text(&tree, text, e);
    if (!e->n)
        model_free(config_model_of(&tree, e));
    return tree;
}

static void check_accepted(const struct lyd_node *tree)
{
    struct text once = {0}, twice = {0}, diff = {0};
    struct errors e = {0};

    struct lyd_node *copy = config_dup(tree); // it disagrees with config_check.c
    bug_on(lyd_validate_module(&copy, yang_module, LYD_VALIDATE_NO_STATE, NULL));
    lyd_free_all(copy);
    config_print(tree, &once);
    struct lyd_node *again = read_text(text_str(&once), &e);
    bug_on(e.n);
    config_print(again, &twice);
    bug_on(strcmp(text_str(&once), text_str(&twice)));
    config_diff(NULL, again, &diff);
    bug_on(strcmp(text_str(&once), text_str(&diff)));
    text_clear(&diff);
    bug_on(config_diff(tree, again, &diff));
    lyd_free_all(again);
    text_free(&once);
    text_free(&twice);
    text_free(&diff);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct text t = {0}, why = {0};
    struct errors e = {0};

    for (size_t i = 0; i < size && data[i]; i++) {
        size_t word = data[i] < 64 ? data[i] : data[i] - 64u; // ASCII, from '@' on, is itself
        if (data[i] >= 64 && data[i] < 128)
            text_append(&t, data + i, 1);
        else if (word < sizeof words / sizeof *words)
            text_append(&t, words[word], strlen(words[word]));
    }
    struct lyd_node *tree = read_text(text_str(&t), &e);
    errors_text(&e, "file", &why);
    bug_on(e.n && strncmp(text_str(&why), "file:", 5));
    if (!e.n)
        check_accepted(tree);
    lyd_free_all(tree);
    errors_free(&e);
    text_free(&t);
    text_free(&why);
    return 0;
}
