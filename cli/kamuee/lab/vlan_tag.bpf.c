// SPDX-License-Identifier: BSD-3-Clause
// vlan_tag.bpf.c - puts a host on a VLAN where the kernel has no vlan device
//
// Two classifiers for the clsact hook of the host's veth, compiled with -DVLAN=n:
//
//     egress   tag     pushes an 802.1Q tag with VLAN id n
//     ingress  untag   takes the tag n off; drops what is untagged or in another VLAN
//
// The host itself sees plain Ethernet, as behind an access port of a switch. The kernel has moved the tag
// of a received frame into the packet's metadata before the classifier sees it.
#include <linux/bpf.h>
#include <linux/pkt_cls.h>

#define SECTION(name) __attribute__((section(name), used))
#define ETH_P_8021Q_BE 0x0081
#define VLAN_ID_MASK 0x0fff

static long (*vlan_push)(struct __sk_buff *skb, __be16 proto, __u16 tci) = (void *)BPF_FUNC_skb_vlan_push;
static long (*vlan_pop)(struct __sk_buff *skb) = (void *)BPF_FUNC_skb_vlan_pop;

SECTION("tc/tag") int tag(struct __sk_buff *skb)
{
    return vlan_push(skb, ETH_P_8021Q_BE, VLAN) ? TC_ACT_SHOT : TC_ACT_OK;
}

SECTION("tc/untag") int untag(struct __sk_buff *skb)
{
    if (!skb->vlan_present || (skb->vlan_tci & VLAN_ID_MASK) != VLAN)
        return TC_ACT_SHOT;
    return vlan_pop(skb) ? TC_ACT_SHOT : TC_ACT_OK;
}

// The helpers' licence check: they are open to programs under any licence.
SECTION("license") const char licence[] = "BSD-3-Clause";
