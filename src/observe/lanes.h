// Four numbers at a time. Private to src/observe, which both halves know and src/compute is above.
// Prefix: lanes_ (vectors of 4 numbers).
#ifndef SC_OBSERVE_LANES_H
#define SC_OBSERVE_LANES_H

#include "base/base.h"

typedef float lanes_f __attribute__((vector_size(16)));
typedef int32_t lanes_i __attribute__((vector_size(16)));
typedef uint16_t lanes_h __attribute__((vector_size(16)));

static inline lanes_f lanes_load(const float *p) {
    lanes_f v;
    memcpy(&v, p, sizeof v);
    return v;
}
static inline lanes_f lanes_splat(float x) { return (lanes_f){x, x, x, x}; }
// Selects `a` where the mask is all ones, and `b` where it is zero.
static inline lanes_f lanes_select(lanes_i mask, lanes_f a, lanes_f b) {
    return (lanes_f)((mask & (lanes_i)a) | (~mask & (lanes_i)b));
}
static inline lanes_h lanes_least(lanes_h a, uint16_t most) {
    const lanes_h b = {most, most, most, most, most, most, most, most};
    const lanes_h is_a = (lanes_h)(a < b);
    return (is_a & a) | (~is_a & b);
}
static inline lanes_f lanes_abs(lanes_f x) { return (lanes_f)((lanes_i)x & 0x7fffffff); }

#endif
