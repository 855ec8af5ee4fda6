// Strides of dense tensors, in elements. A size of 0 counts as 1, so that no stride is 0.
// Prefix: sc_strides_ computes strides from sizes.
#ifndef SC_STRIDES_H
#define SC_STRIDES_H

#include "base/base.h"

// Fills in `rank` strides. `dim_order` lists the outermost dimension first; NULL is row-major.
// False if a stride overflows, which is possible for tensors without elements. It is INT64_MAX
// then.
static inline bool sc_strides_of(const int64_t *sizes, uint32_t rank, const uint8_t *dim_order,
                                 int64_t *strides) {
    int64_t stride = 1;
    bool fits = true;
    for (uint32_t i = rank; i-- > 0;) {
        const uint32_t d = dim_order ? dim_order[i] : i;
        strides[d] = stride;
        if (sc_mul_i64(stride, sc_max_i64(sizes[d], 1), &stride)) continue;
        stride = INT64_MAX;
        fits = false;
    }
    return fits;
}

#endif
