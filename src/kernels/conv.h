// A convolution as plain numbers, for the algorithms behind aten::convolution: every spatial rank
// is written as three dimensions (leading ones of size 1), every layout as element strides. Each
// algorithm computes the same sums; variants.def lists them in order of preference.
#ifndef SC_CONV_H
#define SC_CONV_H

#include "core/dtype.h"
#include "kernels/epilogue.h"

typedef struct sc_conv {
    int64_t batch, groups;
    int64_t in_channels, out_channels;  // per group
    int64_t in[3], out[3], kernel[3], stride[3], pad[3], dilation[3];
    bool transposed;  // then stride spreads the input out instead of thinning it
    // Element strides: batch, channel, three spatial; weight: out channel, in channel, three taps
    // (whatever order they are stored in).
    int64_t in_step[5], out_step[5], weight_step[5];
    int64_t weight_group;  // elements from one group's weights to the next
    const float *input, *weight;
    const float *bias;  // [groups * out_channels] or NULL
    float *output;
    const sc_epilogue *epilogue;  // or NULL; applies to the sum with its bias
} sc_conv;

typedef void (*sc_conv_fn)(const sc_conv *conv, void *scratch);

typedef struct sc_conv_variant {
    const char *name;
    bool (*fits)(const sc_conv *conv);
    uint64_t (*scratch)(const sc_conv *conv);  // bytes; NULL: none
    sc_conv_fn run;
} sc_conv_variant;

#define CONV_F32(id) extern const sc_conv_variant sc_conv_##id;
#include "kernels/variants.def"
#undef CONV_F32

// All of them, the reference last; it fits everything.
extern const sc_conv_variant *const sc_conv_variants[];
extern const uint32_t sc_conv_variant_count;
const sc_conv_variant *sc_conv_pick(const sc_conv *conv);
// The reference for other types, the pointers of `conv` then being of that type; NULL if there is
// none.
sc_conv_fn sc_conv_slow(sc_dtype dtype);

static inline int64_t sc_conv_taps(const sc_conv *c) {
    return c->kernel[0] * c->kernel[1] * c->kernel[2];
}
static inline int64_t sc_conv_in_area(const sc_conv *c) { return c->in[0] * c->in[1] * c->in[2]; }
static inline int64_t sc_conv_out_area(const sc_conv *c) {
    return c->out[0] * c->out[1] * c->out[2];
}

// Row-major within a channel plane, planes one after the other: what the fast variants ask for.
bool sc_conv_planes(const int64_t step[5], const int64_t sizes[3]);
// Bias and epilogue of a channel taken together: sum * scale + shift.
float sc_conv_scale(const sc_conv *conv, int64_t channel);
float sc_conv_shift(const sc_conv *conv, int64_t channel);

#endif
