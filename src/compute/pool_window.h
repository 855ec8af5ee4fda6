// Windows of pooling by PyTorch's rules: one to three axes, dilated or adaptive.
// Prefixes: sc_pool_ finds the windows of pooling; sc_pooling_ (pool.h) computes with them.
#ifndef SC_POOL_WINDOW_H
#define SC_POOL_WINDOW_H

#include "base/base.h"

enum { SC_POOL_AXES = 3 };

// An axis that a window moves along; strides are in elements.
typedef struct sc_pool_axis {
    int64_t in, out, in_stride, out_stride;
    int64_t kernel, step, pad, dilation;
} sc_pool_axis;

typedef struct sc_pool_windows {
    sc_pool_axis axes[SC_POOL_AXES];  // outermost first; missing ones have size 1
    bool is_adaptive;                 // window i covers its share of the input, whatever the kernel
    bool counts_pad;                  // averages divide by the padding, too
    int64_t divisor;                  // the divisor of averages; 0: the size of the window
} sc_pool_windows;

typedef struct sc_pool_window {
    int64_t first[SC_POOL_AXES], count[SC_POOL_AXES], step[SC_POOL_AXES];
    int64_t padded;  // positions including padding, as averages count them
} sc_pool_window;

// The first position in the input that window `i` of an axis covers, unless it is adaptive.
static inline int64_t sc_pool_first(const sc_pool_axis *a, int64_t i) {
    const int64_t start = i * a->step - a->pad;
    return start < 0 ? start + (-start + a->dilation - 1) / a->dilation * a->dilation : start;
}

// The positions in the input that window `i` of an axis covers, unless it is adaptive: the first
// one and their number.
static inline void sc_pool_covered(const sc_pool_axis *a, int64_t i, int64_t *first,
                                   int64_t *count) {
    const int64_t start = i * a->step - a->pad;
    const int64_t skipped = start < 0 ? (-start + a->dilation - 1) / a->dilation : 0;
    *first = start + skipped * a->dilation;
    const int64_t room = a->in - *first;
    const int64_t fitting = room <= 0 ? 0 : (room + a->dilation - 1) / a->dilation;
    *count = sc_max_i64(sc_min_i64(a->kernel - skipped, fitting), 0);
}

// The positions that window `i` of an axis covers: the first one, their number, and their number
// with padding.
static inline void sc_pool_axis_window(const sc_pool_windows *p, int axis, int64_t i,
                                       int64_t *first, int64_t *count, int64_t *padded) {
    const sc_pool_axis *a = &p->axes[axis];
    if (p->is_adaptive) {
        *first = i * a->in / a->out;
        *count = *padded = ((i + 1) * a->in + a->out - 1) / a->out - *first;
        return;
    }
    const int64_t start = i * a->step - a->pad;
    *padded = sc_max_i64(sc_min_i64(start + a->kernel, a->in + a->pad) - start, 0);
    sc_pool_covered(a, i, first, count);
}

// The window along the first `axes` axes of the result's position `at`.
static inline sc_pool_window sc_pool_window_at(const sc_pool_windows *p, const int64_t *at,
                                               int axes) {
    sc_pool_window w = {.padded = 1};
    for (int k = 0; k < axes; k++) {
        int64_t padded;
        sc_pool_axis_window(p, k, at[k], &w.first[k], &w.count[k], &padded);
        w.step[k] = p->axes[k].dilation;
        w.padded *= padded;
    }
    return w;
}

static inline double sc_pool_divisor(const sc_pool_windows *p, const sc_pool_window *w) {
    if (p->divisor != 0) return (double)p->divisor;
    if (p->counts_pad && !p->is_adaptive) return (double)w->padded;
    return (double)(w->count[0] * w->count[1] * w->count[2]);
}

// The number of a position among those of one channel of the input, as in indices.
static inline int64_t sc_pool_index(const sc_pool_windows *p, int64_t x, int64_t y, int64_t z) {
    return (x * p->axes[1].in + y) * p->axes[2].in + z;
}

// The distance of a position from the first one of its channel, in elements.
static inline int64_t sc_pool_offset(const sc_pool_windows *p, int64_t x, int64_t y, int64_t z) {
    return x * p->axes[0].in_stride + y * p->axes[1].in_stride + z * p->axes[2].in_stride;
}

#endif
