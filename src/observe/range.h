// The range of numbers that come in pieces.
// Prefix: sc_value_range_ adds numbers to a range and asks about it.
#ifndef SC_OBSERVE_RANGE_H
#define SC_OBSERVE_RANGE_H

#include "base/base.h"

typedef struct sc_value_range {
    float low, high;  // of finite numbers; +inf, -inf while there are none
    uint64_t nans, infinities;
} sc_value_range;

#define SC_VALUE_RANGE_NONE ((sc_value_range){.low = INFINITY, .high = -INFINITY})

// `count` more numbers.
void sc_value_range_add(sc_value_range *range, const float *x, size_t count);
static inline bool sc_value_range_is_empty(const sc_value_range *range) {
    return range->low > range->high;
}

#endif
