// SPDX-License-Identifier: BSD-3-Clause
// devargs_test.c - device arguments are read and completed as drivers want them
#include "base/file.h"
#include "device/devargs.h"
#include "tests/unit.h"

#include <errno.h>

static char out[256];

unit_test(key_is_found_whole_and_only_behind_a_comma)
{
    assert_true(devargs_get("net_af_packet0,iface=eth1,qpairs=2", "iface", out, sizeof out));
    assert_string_equal(out, "eth1");
    assert_true(devargs_get("net_af_packet0,iface=eth1,qpairs=2", "qpairs", out, sizeof out));
    assert_string_equal(out, "2");
    assert_false(devargs_get("net_af_packet0,iface=eth1", "face", out, sizeof out));
    assert_false(devargs_get("iface=eth1", "iface", out, sizeof out));
    assert_true(devargs_get("x,iface=", "iface", out, sizeof out));
    assert_string_equal(out, "");
    assert_false(devargs_get("x,iface=0123456789", "iface", out, 10));
}

unit_test(driver_is_told_apart_from_longer_names)
{
    assert_true(devargs_is_driver("net_af_packet12,iface=e", "net_af_packet"));
    assert_true(devargs_is_driver("net_null0", "net_null"));
    assert_true(devargs_is_driver("net_af_packet-p0.40,iface=e", "net_af_packet"));
    assert_true(devargs_is_driver("net_af_xdp-p0", "net_af_xdp"));
    assert_false(devargs_is_driver("net_tap_vsc0", "net_tap"));
    assert_false(devargs_is_driver("net_af", "net_af_packet"));
}

unit_test(only_packet_sockets_are_shared_in_an_upgrade)
{
    assert_true(devargs_is_shared("net_af_packet0,iface=e"));
    assert_true(devargs_is_shared("net_null0"));
    assert_false(devargs_is_shared("net_af_xdp0,iface=e"));
    assert_false(devargs_is_shared("0000:3b:00.0"));
}

unit_test(places_of_memif_count_where_it_lays_them_out)
{
    assert_int_equal(devargs_memif_entries("net_memif0,id=1", 2), 2048);
    assert_int_equal(devargs_memif_entries("net_memif0,role=client,rsize=14", 4),
                     MEMIF_ENTRIES_MAX);
    assert_int_equal(devargs_memif_entries("net_memif0,rsize=14,role=slave", 5), 81920);
    assert_int_equal(devargs_memif_entries("net_memif0,role=server,rsize=14", 16), 0);
    assert_int_equal(devargs_memif_entries("net_memif0,role=client,rsize=14,zero-copy=yes", 16), 0);
    assert_int_equal(devargs_memif_entries("net_memif0,rsize=15", 1), 0);
    assert_int_equal(devargs_memif_entries("net_null0,rsize=14", 16), 0);
}

unit_test(socket_is_the_drivers_and_who_listens_on_it_too)
{
    assert_int_equal(devargs_socket("net_memif0,id=1", out, sizeof out), DEVARGS_SOCKET_CALLS);
    assert_string_equal(out, "@/run/memif.sock");
    assert_int_equal(devargs_socket("net_memif0,socket-abstract=no,role=master", out, sizeof out),
                     DEVARGS_SOCKET_LISTENS);
    assert_string_equal(out, "/run/memif.sock");
    assert_int_equal(devargs_socket("net_memif0,socket=/a,role=server", out, sizeof out),
                     DEVARGS_SOCKET_LISTENS);
    assert_string_equal(out, "@/a");
    assert_int_equal(
        devargs_socket("net_memif0,socket=/a,socket-abstract=no,role=client", out, sizeof out),
        DEVARGS_SOCKET_CALLS);
    assert_string_equal(out, "/a");
    assert_int_equal(devargs_socket("net_vhost3,iface=/b", out, sizeof out),
                     DEVARGS_SOCKET_LISTENS);
    assert_string_equal(out, "/b");
    assert_int_equal(devargs_socket("net_vhost3,iface=/b,client=1", out, sizeof out),
                     DEVARGS_SOCKET_CALLS);
    assert_int_equal(devargs_socket("net_virtio_user0,path=/c", out, sizeof out),
                     DEVARGS_SOCKET_CALLS);
    assert_int_equal(devargs_socket("net_virtio_user0,path=/c,server=1", out, sizeof out),
                     DEVARGS_SOCKET_LISTENS);
    assert_string_equal(out, "/c");
    assert_int_equal(devargs_socket("net_vhost0", out, sizeof out), DEVARGS_SOCKET_LISTENS);
    assert_string_equal(out, "");
    assert_int_equal(devargs_socket("net_af_packet0,iface=/b", out, sizeof out),
                     DEVARGS_SOCKET_NONE);
    assert_string_equal(out, "");
}

unit_test(pci_address_is_recognized_with_and_without_domain)
{
    assert_true(devargs_is_pci("0000:3b:00.0", out, sizeof out));
    assert_string_equal(out, "0000:3b:00.0");
    assert_true(devargs_is_pci("3b:1f.7,arg=1", out, sizeof out));
    assert_string_equal(out, "0000:3b:1f.7");
    assert_true(devargs_is_pci("10000:01:00.0", out, sizeof out) == false);
    assert_false(devargs_is_pci("net_null0", out, sizeof out));
    assert_false(devargs_is_pci("0000:3b:00.0x", out, sizeof out));
    assert_false(devargs_is_pci("", out, sizeof out));
}

unit_test(kernel_interface_is_known_for_socket_drivers_only)
{
    devargs_kernel_link("net_af_xdp0,iface=eth5", out, sizeof out);
    assert_string_equal(out, "eth5");
    devargs_kernel_link("net_tap0,iface=eth5", out, sizeof out);
    assert_string_equal(out, "");
    devargs_kernel_link("net_af_packet0", out, sizeof out);
    assert_string_equal(out, "");
}

unit_test(drivers_get_what_they_need)
{
    static const struct {
        const char *given, *complete;
        unsigned n_queues, descriptors;
    } row[] = {
        {"net_af_packet0,iface=a", "net_null_packet0,no-rx=1", 1, 1024},
        {"net_af_packet-p0,iface=a,framecnt=64", "net_null_packet-p0,no-rx=1", 3, 1024},
        {"net_af_xdp0,iface=a", "net_af_xdp0,iface=a,queue_count=4", 4, 1024},
        {"net_virtio_user0,path=/a", "net_virtio_user0,path=/a,queue_size=1024", 1, 1500},
        {"net_virtio_user0,path=/a,queue_size=256", "net_virtio_user0,path=/a,queue_size=256", 1,
         1024},
        {"0000:3b:00.0", "0000:3b:00.0", 4, 1024},
    };

    for (unsigned i = 0; i < sizeof row / sizeof *row; i++) {
        assert_int_equal(
            devargs_complete(row[i].given, row[i].n_queues, row[i].descriptors, out, sizeof out),
            0);
        assert_string_equal(out, row[i].complete);
    }
    assert_true(devargs_is_packet_socket("net_af_packet-p0,iface=a"));
    assert_false(devargs_is_packet_socket("net_af_xdp0,iface=a"));
    assert_int_equal(devargs_complete("net_virtio_user0,path=/a", 3, 1024, out, 25), -E2BIG);
}

static bool may(const char *devargs)
{
    char err[1024] = "";
    bool ok = !devargs_check(devargs, err, sizeof err);

    assert_int_equal(ok, !*err);
    return ok;
}

unit_test(devices_name_files_in_stated_directories_and_run_nothing)
{
    static const char *const good[] = {
        "net_null0",
        "0000:3b:00.0",
        "3b:00.0,rx_queue_size=4",
        "net_af_packet0,iface=eth1",
        "net_pcap0,rx_iface=lo,tx_iface=lo",
        "net_pcap0,rx_pcap=/run/k/a.pcap,tx_pcap=/run/k/b/c.pcap",
        "net_memif0,socket=/whatever,role=server",
        "net_memif0,socket=/run/k/m,socket-abstract=no",
        "net_virtio_user0,path=/dev/vhost-net,queues=2",
        "net_virtio_user0,path=/dev/vhost-vdpa-3",
        "net_vhost0,iface=/run/k/v",
        "net_af_xdp0,iface=e,xdp_prog=/run/k/x.o",
        "635c4d62-cc4b-4a2c-a4b2-1a4f3b2b1c0d",
        "net_bonding0,slave=0000:3b:00.0,mode=1",
    };
    static const char *const bad[] = {
        "net_pcap0,rx_iface=lo,tx_pcap=/etc/cron.d/x",
        "net_pcap0,tx_pcap=/run/k/../x",
        "net_pcap0,tx_pcap=/run/kk/x",
        "net_pcap0,tx_pcap=x",
        "net_pcap0,tx_pcap=/run/k/..",
        "net_pcap0,tx_pcap=",
        "net_memif0,socket=/x,socket-abstract=no",
        "net_virtio_user0,path=/dev/vhost-vdpa-/../sda",
        "net_virtio_user0,path=/dev/sda",
        "net_vhost0,iface=/x",
        "net_af_xdp0,iface=e,xdp_prog=/x",
        "net_failsafe0,exec(touch /x)",
        "net_failsafe0",
        "net_failsafe0,fd(3)",
        "net_softnic0,firmware=x",
        "net_ring0,internal=0x1234",
        "vdev:net_failsafe0,exec(id)",
        "bus=vdev,name=net_null0",
        "net_null0,x=/etc/passwd",
        "0000:3b:00.0,firmware=/x",
        "crypto_openssl0",
        "net_bonding0,slave=0000:3b:00.0,x=a(b)",
        "net_pcap0,rx_pcap=/run/k/a,tx_pcap=/etc/a",
        "net_failsafe0/exec",
        "",
    };

    assert_true(may(bad[0])); // no directories are set
    assert_int_equal(file_allow(FILE_DEVICE, "/run/k"), 0);
    for (unsigned i = 0; i < sizeof good / sizeof *good; i++)
        if (!may(good[i]))
            fail_msg("refused: %s", good[i]);
    for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++)
        if (may(bad[i]))
            fail_msg("taken: %s", bad[i]);
    file_allow_none();
}
