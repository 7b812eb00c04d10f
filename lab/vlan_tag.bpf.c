// SPDX-License-Identifier: BSD-3-Clause
// vlan_tag.bpf.c - puts a host on a VLAN where the kernel has no vlan device
//
// Two classifiers for the clsact hook of the host's veth, compiled with -DVLAN=n, and for QinQ
// -DOUTER_VLAN=m -DOUTER_TPID=0x88a8:
//
//     egress   tag     pushes an 802.1Q tag with VLAN id n, and a tag of the outer type with m
//                      before it
//     ingress  untag   removes both; drops frames with other tags, none, or fewer
//
// The host itself sees plain Ethernet, as behind an access port of a switch. The kernel has moved
// the tag of a received frame into the packet's metadata before the classifier sees it.
#include <linux/bpf.h>
#include <linux/pkt_cls.h>

#define SECTION(name) __attribute__((section(name), used))
#define BE(x) ((((x) & 0xff) << 8) | ((x) >> 8))
#define TPID 0x8100
#define VLAN_ID_MASK 0x0fff

static long (*vlan_push)(struct __sk_buff *skb, __be16 proto,
                         __u16 tci) = (void *)BPF_FUNC_skb_vlan_push;
static long (*vlan_pop)(struct __sk_buff *skb) = (void *)BPF_FUNC_skb_vlan_pop;

SECTION("tc/tag") int tag(struct __sk_buff *skb)
{
    if (vlan_push(skb, BE(TPID), VLAN))
        return TC_ACT_SHOT;
#ifdef OUTER_VLAN
    if (vlan_push(skb, BE(OUTER_TPID), OUTER_VLAN))
        return TC_ACT_SHOT;
#endif
    return TC_ACT_OK;
}

static inline int pop(struct __sk_buff *skb, int tpid, int vlan)
{
    if (!skb->vlan_present || skb->vlan_proto != BE(tpid) || (skb->vlan_tci & VLAN_ID_MASK) != vlan)
        return -1;
    return vlan_pop(skb); // the next tag takes its place in the metadata
}

SECTION("tc/untag") int untag(struct __sk_buff *skb)
{
#ifdef OUTER_VLAN
    if (pop(skb, OUTER_TPID, OUTER_VLAN))
        return TC_ACT_SHOT;
#endif
    return pop(skb, TPID, VLAN) ? TC_ACT_SHOT : TC_ACT_OK;
}

// The helpers' license check: they are open to programs under any license.
SECTION("license") const char our_license[] = "BSD-3-Clause";
