// SPDX-License-Identifier: BSD-3-Clause
// list_image.h - makes the image of an access list that a device searches (classify.h)
//
// Called by the list's writer, for the current list. An image is position-independent: its bytes
// may be copied anywhere.
#ifndef GPU_LIST_IMAGE_H
#define GPU_LIST_IMAGE_H

#include <stddef.h>
#include <stdint.h>

struct acl;

struct gpu_list_image {
    void *bytes; // struct gpu_image
    size_t n;
    // of the family with the larger value
    uint32_t tuples, chain; // combinations of fields, looked up for each packet; rules of a chain
    uint32_t rules[2];      // IPv4, IPv6
};

// 0. -ENOTSUP: this list stays on the CPU, and why[0..n) has a sentence with the reason. -ENOMEM.
int gpu_list_image_make(struct gpu_list_image *to, const struct acl *a, char *why, size_t n);
void gpu_list_image_free(struct gpu_list_image *i);

#endif
