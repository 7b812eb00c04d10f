// SPDX-License-Identifier: BSD-3-Clause
// packet_socket.c - see packet_socket.h
//
//     receive   a ring of TPACKET_V2, read without system calls. A frame that does not fit its
//               place in the ring, such as a super-packet, also waits whole in the socket's queue
//               (PACKET_COPY_THRESH), and is read from there in the ring's order
//     send      sendmmsg() once per burst, straight into the interface (PACKET_QDISC_BYPASS); for
//               super-packets by another socket without that, which Linux cuts if it must
//     both      each frame has a virtio header (PACKET_VNET_HDR), which describes super-packets and
//               unfinished checksums
//     queues    a fanout group divides the flows among several sockets
//
// An unfinished checksum of a frame that is no super-packet is completed here, so that nobody else
// needs to know of it. Frames that the host itself sends on the interface are not received.
#include "packet_socket/packet_socket.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/virtio_net.h>
#include <net/if.h>
#include <rte_ethdev.h>
#include <rte_ip.h>
#include <rte_malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/ip.h"
#include "base/ip_proto.h"
#include "table/exchange.h"
#include "table/limits.h"
#include "table/super.h"

#define RING_BYTES (8u << 20)
#define FRAME_LEAST 2048u
#define FRAME_SLACK (22u + 16u + 128u) // Ethernet, tags and virtio header, and the kernel's header
#define SOCKET_BYTES (32 << 20)        // super-packets that wait; sent frames not yet taken
#define FRAME_MOST (65536u + 32u)
#define IOV_MAX_ 512u
#define BURST_BYTES (256u << 10) // more super-packets at once would not stay in L2
#define GSO_UDP_L4 5             // VIRTIO_NET_HDR_GSO_UDP_L4, Linux 6.2
#define FANOUT_FLAGS (PACKET_FANOUT_HASH | PACKET_FANOUT_FLAG_UNIQUEID)

struct queue {
    int fd, super_fd; // super_fd sends super-packets
    struct rte_mempool *pool;
    const struct rte_eth_rxtx_callback *rx_hook, *tx_hook;
    uint8_t *ring; // NULL: only sends
    unsigned frame, n_frames, at;
    struct packet_socket_stats stats; // of the forwarder that has the queue
    uint64_t missed;                  // by the ring; control's
    struct mmsghdr message[BURST_MAX];
    struct iovec iov[IOV_MAX_];
    struct virtio_net_hdr header[BURST_MAX]; // of frames without room in front
} __attribute__((aligned(128)));

struct packet_socket {
    uint16_t port, n_rx, n_tx;
    int ifindex;
    bool promiscuous;
    struct queue queue[]; // RTE_MAX(n_rx, n_tx)
};

static unsigned n_queues(const struct packet_socket *p)
{
    return RTE_MAX(p->n_rx, p->n_tx);
}

// --- receive: forwarder ---

static bool complete_checksum(struct queue *q, struct rte_mbuf *m, const struct virtio_net_hdr *h)
{
    uint32_t field = (uint32_t)h->csum_start + h->csum_offset;
    uint16_t sum;

    if (field + 2 > m->data_len ||
        rte_raw_cksum_mbuf(m, h->csum_start, m->pkt_len - h->csum_start, &sum))
        return false;
    sum = (uint16_t)~sum;
    if (!sum) // in UDP, 0 would mean no checksum (RFC 768)
        sum = UINT16_MAX;
    memcpy(rte_pktmbuf_mtod_offset(m, uint8_t *, field), &sum, 2);
    q->stats.completed++;
    return true;
}

// Applies the kernel's header. Returns false if it is not plausible.
static bool apply_header(struct queue *q, struct rte_mbuf *m, const struct virtio_net_hdr *h)
{
    struct super s;

    q->stats.rx_packets++;
    q->stats.rx_bytes += m->pkt_len;
    if (h->gso_type == VIRTIO_NET_HDR_GSO_NONE)
        return !(h->flags & VIRTIO_NET_HDR_F_NEEDS_CSUM) || complete_checksum(q, m, h);
    if (!h->gso_size)
        return false;
    m->ol_flags |= RTE_MBUF_F_RX_LRO;
    m->tx_offload = 0;
    m->tso_segsz = h->gso_size;
    // Otherwise it is in a tunnel of the sender. The forwarder drops it if it cannot be read.
    if (!super_read(m, &s) || h->csum_start != s.head.l4)
        m->outer_l3_len = RTE_MIN(h->csum_start, 511u);
    if (!super_read(m, &s))
        return true;
    q->stats.rx_packets += s.n - 1;
    q->stats.rx_bytes += super_more_bytes(&s);
    return true;
}

static struct rte_mbuf *new_packet(struct queue *q, uint32_t bytes)
{
    struct rte_mbuf *m = packet_new(q->pool, bytes);

    q->stats.rx_no_buffer += !m;
    return m;
}

static struct rte_mbuf *copy_frame(struct queue *q, const uint8_t *from, uint32_t n)
{
    struct rte_mbuf *m = new_packet(q, n);

    for (struct rte_mbuf *b = m; b; from += b->data_len, b = b->next)
        memcpy(rte_pktmbuf_mtod(b, uint8_t *), from, b->data_len);
    return m;
}

// Reads the frame that waits whole in the socket's queue.
static struct rte_mbuf *read_whole(struct queue *q, uint32_t n, struct virtio_net_hdr *h)
{
    struct rte_mbuf *m = n <= FRAME_MOST ? new_packet(q, n) : NULL;
    struct msghdr message = {.msg_iov = q->iov, .msg_iovlen = 1};

    if (!m)
        return NULL;
    q->iov[0] = (struct iovec){h, sizeof *h};
    for (struct rte_mbuf *b = m; b; b = b->next)
        q->iov[message.msg_iovlen++] = (struct iovec){rte_pktmbuf_mtod(b, void *), b->data_len};
    if (recvmsg(q->fd, &message, MSG_DONTWAIT) == (ssize_t)(n + sizeof *h))
        return m;
    rte_pktmbuf_free(m);
    q->stats.rx_errors++;
    return NULL;
}

// Linux keeps the outermost tag beside the frame.
static void put_tag(struct rte_mbuf *m, const struct tpacket2_hdr *h, uint32_t status)
{
    uint16_t tpid = status & TP_STATUS_VLAN_TPID_VALID ? h->tp_vlan_tpid : ETH_P_8021Q;
    uint8_t *frame;

    m->vlan_tci = h->tp_vlan_tci;
    if (tpid == ETH_P_8021Q) {
        m->ol_flags |= RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED;
        return;
    }
    frame = (uint8_t *)rte_pktmbuf_prepend(m, 4);
    if (!frame)
        return;
    memmove(frame, frame + 4, 12);
    m->outer_l3_len += m->outer_l3_len ? 4 : 0;
    uint16_t tag[2] = {rte_cpu_to_be_16(tpid), rte_cpu_to_be_16(h->tp_vlan_tci)};
    memcpy(frame + 12, tag, 4);
}

// Takes the frame of this place in the ring. NULL with *again: no buffer, try later; NULL without:
// it is lost.
static struct rte_mbuf *take_frame(struct queue *q, const struct tpacket2_hdr *place,
                                   uint32_t status, bool *again)
{
    const uint8_t *from = (const uint8_t *)place + place->tp_mac;
    uint64_t no_buffer = q->stats.rx_no_buffer;
    struct virtio_net_hdr h;
    struct rte_mbuf *m;

    if (status & TP_STATUS_COPY) {
        m = read_whole(q, place->tp_len, &h);
    } else if (place->tp_snaplen < place->tp_len) {
        q->stats.rx_missed++; // no room in the socket's queue
        return NULL;
    } else {
        memcpy(&h, from - sizeof h, sizeof h);
        m = copy_frame(q, from, place->tp_len);
    }
    *again = q->stats.rx_no_buffer != no_buffer;
    if (m && !apply_header(q, m, &h)) {
        rte_pktmbuf_free(m);
        q->stats.rx_errors++;
        return NULL;
    }
    if (m && status & TP_STATUS_VLAN_VALID)
        put_tag(m, place, status);
    return m;
}

static uint16_t receive(uint16_t port, uint16_t queue, struct rte_mbuf **pkt, uint16_t none,
                        uint16_t max, void *arg)
{
    struct queue *q = arg;
    uint32_t bytes = 0;
    uint16_t n = 0;
    bool again = false;

    while (n < max && bytes < BURST_BYTES) {
        struct tpacket2_hdr *place = (struct tpacket2_hdr *)(q->ring + (size_t)q->at * q->frame);
        // Partner: the kernel, after it has written the frame.
        uint32_t status = __atomic_load_n(&place->tp_status, __ATOMIC_ACQUIRE);
        if (!(status & TP_STATUS_USER))
            break;
        struct rte_mbuf *m = take_frame(q, place, status, &again);
        if (!m && again)
            break;
        __atomic_store_n(&place->tp_status, TP_STATUS_KERNEL, __ATOMIC_RELEASE);
        q->at = q->at + 1 == q->n_frames ? 0 : q->at + 1;
        if (m) {
            m->port = port;
            bytes += m->pkt_len;
            pkt[n++] = m;
        }
    }
    return n;
}

// --- send: forwarder ---

// Fills the header of a super-packet.
static void describe(struct rte_mbuf *m, struct virtio_net_hdr *h, struct super *s)
{
    if (!super_read(m, s))
        return;
    h->flags = VIRTIO_NET_HDR_F_NEEDS_CSUM;
    h->csum_start = s->head.l4;
    h->csum_offset = s->head.proto == PROTO_TCP ? 16 : 6;
    h->hdr_len = s->payload;
    h->gso_size = s->segment;
    h->gso_type = s->head.proto == PROTO_UDP ? GSO_UDP_L4
                  : s->head.family == IP4    ? VIRTIO_NET_HDR_GSO_TCPV4
                                             : VIRTIO_NET_HDR_GSO_TCPV6;
    if (s->head.proto == PROTO_TCP &&
        rte_pktmbuf_mtod_offset(m, const uint8_t *, s->head.l4)[13] & 0x80) // CWR
        h->gso_type |= VIRTIO_NET_HDR_GSO_ECN;
}

// Is the room in front of the frame ours to write?
static bool has_room(const struct rte_mbuf *m)
{
    return RTE_MBUF_DIRECT(m) && rte_mbuf_refcnt_read(m) == 1 &&
           rte_pktmbuf_headroom(m) >= sizeof(struct virtio_net_hdr);
}

// Describes frame `m` as message i, with the iovecs from `at` on. Returns the next one; 0: no room.
// Linux is quickest with a single iovec, so the header is in front of the frame if possible.
static unsigned put_message(struct queue *q, unsigned i, struct rte_mbuf *m, unsigned at)
{
    struct msghdr *message = &q->message[i].msg_hdr;
    struct virtio_net_hdr h = {0};
    uint8_t *frame = rte_pktmbuf_mtod(m, uint8_t *);
    struct super s;
    unsigned first = at;

    if (at + m->nb_segs + 1 > IOV_MAX_)
        return 0;
    if (unlikely(super_is_sent(m)))
        describe(m, &h, &s);
    if (has_room(m)) {
        memcpy(frame - sizeof h, &h, sizeof h);
        q->iov[at++] = (struct iovec){frame - sizeof h, sizeof h + m->data_len};
    } else {
        q->header[i] = h;
        q->iov[at++] = (struct iovec){&q->header[i], sizeof h};
        q->iov[at++] = (struct iovec){frame, m->data_len};
    }
    for (struct rte_mbuf *b = m->next; b; b = b->next)
        q->iov[at++] = (struct iovec){rte_pktmbuf_mtod(b, void *), b->data_len};
    message->msg_iov = &q->iov[first];
    message->msg_iovlen = at - first;
    return at;
}

static void count_sent(struct queue *q, struct rte_mbuf *const *pkt, unsigned n)
{
    struct super s;

    for (unsigned i = 0; i < n; i++) {
        q->stats.tx_packets++;
        q->stats.tx_bytes += pkt[i]->pkt_len;
        if (unlikely(super_is_sent(pkt[i])) && super_read(pkt[i], &s)) {
            q->stats.tx_packets += s.n - 1;
            q->stats.tx_bytes += super_more_bytes(&s);
        }
    }
}

// The interface has no room at the moment; the forwarder may try again.
static bool is_full(int e)
{
    return e == ENOBUFS || e == EAGAIN || e == ENOMEM;
}

static int fd_for(const struct queue *q, const struct rte_mbuf *m)
{
    return super_is_sent(m) ? q->super_fd : q->fd;
}

// Returns the number of frames sent, or refused for good; net_null frees them.
static uint16_t send_frames(uint16_t port, uint16_t queue, struct rte_mbuf **pkt, uint16_t n,
                            void *arg)
{
    struct queue *q = arg;
    unsigned done = 0;

    while (done < n) {
        const int fd = fd_for(q, pkt[done]);
        unsigned k = 0, at = 0, next;
        while (done + k < n && k < BURST_MAX && fd_for(q, pkt[done + k]) == fd &&
               (next = put_message(q, k, pkt[done + k], at)))
            at = next, k++;
        int r = k ? sendmmsg(fd, q->message, k, MSG_DONTWAIT) : 0;
        if (r < 0 && is_full(errno))
            break;
        if (r > 0)
            count_sent(q, pkt + done, (unsigned)r);
        else
            q->stats.tx_errors++;
        done += r > 0 ? (unsigned)r : 1;
    }
    return (uint16_t)done;
}

// --- control ---

static int set_option(int fd, int level, int option, int value)
{
    return setsockopt(fd, level, option, &value, sizeof value) ? -errno : 0;
}

// Options that Linux may refuse without a right, or does not know: the socket works without them.
static void try_option(int fd, int level, int option, int value)
{
    (void)set_option(fd, level, option, value);
}

static int make_ring(struct queue *q, uint16_t mtu, unsigned descriptors)
{
    const unsigned page = (unsigned)sysconf(_SC_PAGESIZE);
    unsigned frame =
        mtu + FRAME_SLACK <= FRAME_LEAST ? FRAME_LEAST : RTE_ALIGN(mtu + FRAME_SLACK, page);
    unsigned block = RTE_MAX(frame, page),
             n = RTE_MAX(RING_BYTES / frame, descriptors) * frame / block;
    struct tpacket_req r = {.tp_block_size = block,
                            .tp_block_nr = n,
                            .tp_frame_size = frame,
                            .tp_frame_nr = n * (block / frame)};
    int e = set_option(q->fd, SOL_PACKET, PACKET_VERSION, TPACKET_V2);

    if (!e)
        e = set_option(q->fd, SOL_PACKET, PACKET_COPY_THRESH, 1);
    if (!e && setsockopt(q->fd, SOL_PACKET, PACKET_RX_RING, &r, sizeof r))
        e = -errno;
    if (e)
        return e;
    void *ring =
        mmap(NULL, (size_t)block * n, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, q->fd, 0);
    if (ring == MAP_FAILED)
        return -errno;
    q->ring = ring;
    q->frame = frame;
    q->n_frames = r.tp_frame_nr;
    return 0;
}

// Binds the socket to the interface. Without receiving, it is only for sending.
static int bind_socket(const struct packet_socket *p, int fd, bool receives)
{
    struct sockaddr_ll to = {.sll_family = AF_PACKET,
                             .sll_protocol = rte_cpu_to_be_16(receives ? ETH_P_ALL : 0),
                             .sll_ifindex = p->ifindex};

    return bind(fd, (const struct sockaddr *)&to, sizeof to) ? -errno : 0;
}

static int new_socket(int *fd)
{
    *fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
    if (*fd < 0)
        return -errno;
    try_option(*fd, SOL_SOCKET, SO_RCVBUFFORCE, SOCKET_BYTES);
    try_option(*fd, SOL_SOCKET, SO_SNDBUFFORCE, SOCKET_BYTES);
    return set_option(*fd, SOL_PACKET, PACKET_VNET_HDR, 1);
}

static int open_queue(struct packet_socket *p, unsigned i, const struct packet_socket_settings *s)
{
    struct queue *q = &p->queue[i];
    const bool receives = i < p->n_rx;
    int r = new_socket(&q->fd);

    q->pool = s->pool;
    if (!r)
        r = set_option(q->fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, 1);
    if (!r)
        r = set_option(q->fd, SOL_PACKET, PACKET_QDISC_BYPASS, 1);
    if (!r && receives)
        r = make_ring(q, s->mtu, s->descriptors);
    if (!r)
        r = bind_socket(p, q->fd, receives);
    if (!r && i < p->n_tx)
        r = new_socket(&q->super_fd);
    return r || i >= p->n_tx ? r : bind_socket(p, q->super_fd, false);
}

// Frames that the host sends reach a group in spite of its sockets' PACKET_IGNORE_OUTGOING.
static int leave_out_sent(int fd)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_B | BPF_ABS, (uint32_t)(SKF_AD_OFF + SKF_AD_PKTTYPE)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PACKET_OUTGOING, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, 0),
        BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
    };
    struct sock_fprog all = {.len = sizeof code / sizeof *code, .filter = code};

    return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &all, sizeof all) ? -errno : 0;
}

// All receive queues form a group with an id that Linux chooses.
static int join_group(struct packet_socket *p)
{
    int group = (int)(FANOUT_FLAGS << 16);
    socklen_t size = sizeof group;

    for (unsigned i = 0; p->n_rx > 1 && i < p->n_rx; i++) {
        int r = leave_out_sent(p->queue[i].fd);
        if (!r)
            r = set_option(p->queue[i].fd, SOL_PACKET, PACKET_FANOUT, group);
        if (!r && !i && getsockopt(p->queue[i].fd, SOL_PACKET, PACKET_FANOUT, &group, &size))
            r = -errno;
        if (r)
            return r;
        group &= (int)~((unsigned)PACKET_FANOUT_FLAG_UNIQUEID << 16);
    }
    return 0;
}

static int set_membership(const struct packet_socket *p, int change, unsigned short type)
{
    struct packet_mreq m = {.mr_ifindex = p->ifindex, .mr_type = type};

    return setsockopt(p->queue[0].fd, SOL_PACKET, change, &m, sizeof m) ? -errno : 0;
}

static int hook_queues(struct packet_socket *p)
{
    for (uint16_t i = 0; i < n_queues(p); i++) {
        struct queue *q = &p->queue[i];
        if (i < p->n_rx && !(q->rx_hook = rte_eth_add_rx_callback(p->port, i, receive, q)))
            return -ENOMEM;
        if (i < p->n_tx && !(q->tx_hook = rte_eth_add_tx_callback(p->port, i, send_frames, q)))
            return -ENOMEM;
    }
    return 0;
}

int packet_socket_open(const struct packet_socket_settings *s, struct packet_socket **out)
{
    unsigned n = RTE_MAX(s->n_rx, s->n_tx);
    struct packet_socket *p = aligned_alloc(128, sizeof *p + RTE_ALIGN(n * sizeof *p->queue, 128u));

    if (!p)
        return -ENOMEM;
    memset(p, 0, sizeof *p + n * sizeof *p->queue);
    p->port = s->port;
    p->n_rx = s->n_rx;
    p->n_tx = s->n_tx;
    p->ifindex = s->ifindex;
    for (unsigned i = 0; i < n; i++)
        p->queue[i].fd = p->queue[i].super_fd = -1;
    int r = 0;
    for (unsigned i = 0; !r && i < n; i++)
        r = open_queue(p, i, s);
    if (!r)
        r = join_group(p);
    if (!r)
        r = set_membership(p, PACKET_ADD_MEMBERSHIP, PACKET_MR_ALLMULTI);
    if (!r)
        r = hook_queues(p);
    if (r)
        packet_socket_close(p);
    else
        *out = p;
    return r;
}

void packet_socket_close(struct packet_socket *p)
{
    for (uint16_t i = 0; p && i < n_queues(p); i++) {
        struct queue *q = &p->queue[i];
        if (q->rx_hook)
            rte_eth_remove_rx_callback(p->port, i, q->rx_hook);
        if (q->tx_hook)
            rte_eth_remove_tx_callback(p->port, i, q->tx_hook);
        rte_free((void *)(uintptr_t)q->rx_hook);
        rte_free((void *)(uintptr_t)q->tx_hook);
        if (q->ring)
            munmap(q->ring, (size_t)q->n_frames * q->frame);
        if (q->fd >= 0)
            close(q->fd);
        if (q->super_fd >= 0)
            close(q->super_fd);
    }
    free(p);
}

bool packet_socket_sends_udp(void)
{
    unsigned major = 0, minor = 0;
    struct utsname u;

    return !uname(&u) && sscanf(u.release, "%u.%u", &major, &minor) == 2 &&
           (major > 6 || (major == 6 && minor >= 2));
}

int packet_socket_set_promiscuous(struct packet_socket *p, bool on)
{
    int r = on == p->promiscuous
                ? 0
                : set_membership(p, on ? PACKET_ADD_MEMBERSHIP : PACKET_DROP_MEMBERSHIP,
                                 PACKET_MR_PROMISC);

    if (!r)
        p->promiscuous = on;
    return r;
}

int packet_socket_fd(const struct packet_socket *p, uint16_t queue)
{
    return queue < p->n_rx ? p->queue[queue].fd : -1;
}

void packet_socket_read(struct packet_socket *p, struct packet_socket_stats *sum)
{
    *sum = (struct packet_socket_stats){0};
    for (unsigned i = 0; i < n_queues(p); i++) {
        struct tpacket_stats st = {0};
        socklen_t size = sizeof st;
        uint64_t *to = (uint64_t *)sum;
        const uint64_t *from = (const uint64_t *)&p->queue[i].stats;
        if (i < p->n_rx && !getsockopt(p->queue[i].fd, SOL_PACKET, PACKET_STATISTICS, &st, &size))
            p->queue[i].missed += st.tp_drops; // reading resets it
        for (unsigned k = 0; k < sizeof *sum / sizeof *to; k++)
            to[k] += __atomic_load_n(&from[k], __ATOMIC_RELAXED);
        sum->rx_missed += p->queue[i].missed;
    }
}
