// The scale of resizing that kernels and expansions share.
// Prefix: sc_pixel_ computes the step between pixels that a resize reads.
#ifndef SC_PIXEL_SCALE_H
#define SC_PIXEL_SCALE_H

#include <stdbool.h>
#include <stdint.h>

// Pixels of the image per pixel of the result, along an axis. Aligned corners make the first and
// the last pixels of both the same points; otherwise a factor above 0 decides, and else the sizes.
static inline double sc_pixel_scale(int64_t in, int64_t out, bool aligns, double factor) {
    if (aligns) return out > 1 ? (double)(in - 1) / (double)(out - 1) : 0.0;
    return factor > 0.0 ? 1.0 / factor : (double)in / (double)out;
}

#endif
