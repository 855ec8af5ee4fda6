// The output stage: the operations of a convolution or a matrix product on its sums before they are
// stored. A channel is an output channel of the weights.
//
// Float results are sum * scale + shift, then clamped. All operations that the runtime folds into a
// portable call (batch normalisation, relu, hardtanh) have this form, and so do the output ranges
// of XNNPACK's nodes. Results of 8 bits are requantized from 32-bit sums by sc_finish_round, bit
// for bit as in XNNPACK's "fp32" flavour. Other integers are stored directly and wrap, as in
// PyTorch.
// Prefix: sc_finish_ is the output stage: it turns a sum into the stored number.
#ifndef SC_FINISH_H
#define SC_FINISH_H

#include "base/base.h"

// Another grid, to which rounded results of 8 bits are converted, as in a quantized clamp. They are
// taken less their zero point, times `scale`, times `inverse`, plus `zero`, and only then rounded
// again, so that ties go to an even byte.
typedef struct sc_regrid {
    float scale, inverse;  // of the first grid and 1 / that of the second
    float low, high;       // bounds of the stored byte, within those of its type
    int32_t zero;          // the zero point of the stored byte
} sc_regrid;

typedef struct sc_finish {
    const float *scale;  // or NULL for 1
    uint8_t scale_step;  // 1: one scale per channel, 0: one for all
    const float *shift;  // per channel, or NULL for 0; floats only
    bool clamps;
    float low, high;  // if `clamps`: bounds of the stored number; NaN passes through unchanged
    int32_t zero;     // the zero point of requantized results
    bool regrids;     // requantized results are converted by `regrid`
    sc_regrid regrid;
} sc_finish;

// Are sums stored without change?
static inline bool sc_finish_is_plain(const sc_finish *s) {
    return !s->scale && !s->shift && !s->clamps;
}

static inline float sc_finish_scale(const sc_finish *s, int64_t channel) {
    return s->scale ? s->scale[channel * s->scale_step] : 1.0f;
}

static inline float sc_finish_shift(const sc_finish *s, int64_t channel) {
    return s->shift ? s->shift[channel] : 0.0f;
}

static inline float sc_finish_clamp(const sc_finish *s, float value) {
    if (!s->clamps) return value;
    value = value < s->low ? s->low : value;
    return s->high < value ? s->high : value;
}

static inline float sc_finish_float(const sc_finish *s, float sum, int64_t channel) {
    if (s->scale || s->shift) sum = sum * sc_finish_scale(s, channel) + sc_finish_shift(s, channel);
    return sc_finish_clamp(s, sum);
}

// The range of requantized results before the zero point is added. `lowest` is the lowest number of
// their type: -128 or 0.
static inline void sc_finish_range(const sc_finish *s, int lowest, float *low, float *high) {
    const float least = (float)lowest, most = (float)(lowest + 255);
    *low = (s->clamps && s->low > least ? s->low : least) - (float)s->zero;
    *high = (s->clamps && s->high < most ? s->high : most) - (float)s->zero;
}

static inline float sc_finish_nearest(float value, float low, float high) {
    value = value > low ? value : low;
    value = value < high ? value : high;
    return __builtin_nearbyintf(value);
}

// Multiplies once in float, applies the bounds without the zero point, and rounds to the nearest
// integer with ties to even. Then it adds the zero point, or converts to another grid. A NaN as
// scale gives the lower bound.
static inline int32_t sc_finish_round(const sc_finish *s, int lowest, int32_t sum,
                                      int64_t channel) {
    float low, high;
    sc_finish_range(s, lowest, &low, &high);
    float value = sc_finish_nearest((float)sum * sc_finish_scale(s, channel), low, high);
    if (!s->regrids) return (int32_t)value + s->zero;
    const sc_regrid *next = &s->regrid;
    value = value * next->scale * next->inverse + (float)next->zero;
    return (int32_t)sc_finish_nearest(value, next->low, next->high);
}

#endif
