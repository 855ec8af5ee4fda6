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

static float finish_f32(const sc_conv *c, float v, int64_t channel) {
    const sc_epilogue *e = c->epilogue;
    if (!e) return v;
    v = v * (e->scale ? e->scale[channel] : 1) + (e->shift ? e->shift[channel] : 0);
    if (!e->clamps) return v;
    v = v < e->low ? e->low : v;
    return e->high < v ? e->high : v;
}
#define T        float
#define A        float
#define FN(name) name##_f32
#include "kernels/conv_reference.inc"

// Only f32 convolutions are fused with what follows them.
static double finish_f64(const sc_conv *c, double v, int64_t channel) {
    (void)c, (void)channel;
    return v;
}
#define T        double
#define A        double
#define FN(name) name##_f64
#include "kernels/conv_reference.inc"

// Integers wrap, as PyTorch's do; sums are unsigned so that wrapping is defined.
static uint64_t finish_int(const sc_conv *c, uint64_t v, int64_t channel) {
    (void)c, (void)channel;
    return v;
}
#define finish_u8  finish_int
#define finish_i8  finish_int
#define finish_i16 finish_int
#define finish_i32 finish_int
#define finish_i64 finish_int
#define A          uint64_t
#define T          uint8_t
#define FN(name)   name##_u8
#include "kernels/conv_reference.inc"
#define A        uint64_t
#define T        int8_t
#define FN(name) name##_i8
#include "kernels/conv_reference.inc"
#define A        uint64_t
#define T        int16_t
#define FN(name) name##_i16
#include "kernels/conv_reference.inc"
#define A        uint64_t
#define T        int32_t
#define FN(name) name##_i32
#include "kernels/conv_reference.inc"
#define A        uint64_t
#define T        int64_t
#define FN(name) name##_i64
#include "kernels/conv_reference.inc"

static bool fits(const sc_conv *c) {
    (void)c;
    return true;
}

const sc_conv_variant sc_conv_reference = {"reference", fits, NULL, run_f32};

sc_conv_fn sc_conv_slow(sc_dtype dtype) {
    switch (dtype) {
    case SC_DTYPE_U8: return run_u8;
    case SC_DTYPE_I8: return run_i8;
    case SC_DTYPE_I16: return run_i16;
    case SC_DTYPE_I32: return run_i32;
    case SC_DTYPE_I64: return run_i64;
    case SC_DTYPE_F32: return run_f32;
    case SC_DTYPE_F64: return run_f64;
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
