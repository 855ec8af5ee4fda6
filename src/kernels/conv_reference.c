// The definition of convolution, in the order of the formula, on any layout and type. What the fast
// variants are tested against, and what runs where none of them fits. Also what all of them share.
#include "kernels/conv.h"

// Input coordinate of one dimension; false in the padding or between spread-out inputs.
static bool input_at(const sc_conv *c, int d, int64_t o, int64_t k, int64_t *in) {
    int64_t at = c->transposed ? o + c->pad[d] - k * c->dilation[d]
                               : o * c->stride[d] - c->pad[d] + k * c->dilation[d];
    if (c->transposed && (at < 0 || at % c->stride[d] != 0)) return false;
    *in = c->transposed ? at / c->stride[d] : at;
    return *in >= 0 && *in < c->in[d];
}

static float finish(const sc_conv *c, float v, int64_t channel) {
    const sc_epilogue *e = c->epilogue;
    if (!e) return v;
    v = v * (e->scale ? e->scale[channel] : 1) + (e->shift ? e->shift[channel] : 0);
    if (!e->clamps) return v;
    v = v < e->low ? e->low : v;
    return e->high < v ? e->high : v;
}
#define T                     float
#define A                     float
#define FN(name)              name##_F32
#define FINISH(c, v, channel) finish(c, v, channel)
#include "kernels/conv_reference.inc"
#undef FINISH

// Only f32 convolutions are fused with what follows them.
#define FINISH(c, v, channel) (v)
#define T                     double
#define A                     double
#define FN(name)              name##_F64
#include "kernels/conv_reference.inc"
#define TEMPLATE "kernels/conv_reference.inc"
#include "kernels/for_integers.inc"

static bool fits(const sc_conv *c) {
    (void)c;
    return true;
}

const sc_conv_variant sc_conv_reference = {"reference", fits, NULL, run_F32};

sc_conv_fn sc_conv_slow(sc_dtype dtype) {
    switch (dtype) {
#define ROW(id) \
    case SC_DTYPE_##id: return run_##id;
        SC_INTEGERS(ROW)
        ROW(F32)
        ROW(F64)
#undef ROW
    default: return NULL;
    }
}

// --- shared --------------------------------------------------------------------------------------

const sc_conv_variant *const sc_conv_variants[] = {
#define CONV_F32(id) &sc_conv_##id,
#include "kernels/variants.def"
#undef CONV_F32
};
const uint32_t sc_conv_variant_count = SC_COUNT_OF(sc_conv_variants);

const sc_conv_variant *sc_conv_pick(const sc_conv *conv) {
    uint32_t i = 0;
    while (!sc_conv_variants[i]->fits(conv)) i++;
    return sc_conv_variants[i];
}

bool sc_conv_planes(const int64_t step[5], const int64_t sizes[3]) {
    return (step[4] == 1 || sizes[2] == 1) && (step[3] == sizes[2] || sizes[1] == 1) &&
           (step[2] == sizes[1] * sizes[2] || sizes[0] == 1);
}

float sc_conv_scale(const sc_conv *conv, int64_t channel) {
    return conv->epilogue && conv->epilogue->scale ? conv->epilogue->scale[channel] : 1.0f;
}

float sc_conv_shift(const sc_conv *conv, int64_t channel) {
    float shift = conv->epilogue && conv->epilogue->shift ? conv->epilogue->shift[channel] : 0.0f;
    return conv->bias ? shift + conv->bias[channel] * sc_conv_scale(conv, channel) : shift;
}
