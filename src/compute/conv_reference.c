// The definition of convolution, in the order of the formula, on any layout and type. The other
// rows are tested against it, and it runs if no other row fits.
#include "compute/conv.h"
#include "compute/elements.h"

#define FINISH(c, v, channel) sc_finish_float(&(c)->record.finish, v, channel)
#define T                     float
#define A                     float
#define FN(name)              name##_F32
#include "compute/conv_reference.inc"
#undef FINISH

#define FINISH(c, v, channel) (v)
#define T                     double
#define A                     double
#define FN(name)              name##_F64
#include "compute/conv_reference.inc"
#define TEMPLATE "compute/conv_reference.inc"
#include "compute/for_integers.inc"

// --- Quantized operands --------------------------------------------------------------------------

// Sums of 32 bits wrap, as in the hardware. The padding is the number 0, stored as the zero point.
static uint32_t quantized_sum(const sc_conv *c, int64_t input, int64_t weight, int32_t zero,
                              const int64_t at[3]) {
    const int64_t taps = sc_conv_taps(c), *kernel = c->kernel;
    uint32_t sum = 0;
    for (int64_t t = 0; t < taps; t++) {
        const int64_t tap[3] = {t / (kernel[1] * kernel[2]), t / kernel[2] % kernel[1],
                                t % kernel[2]};
        int64_t x = input, w = weight, in;
        bool inside = true;
        for (int d = 0; d < 3; d++) {
            inside = inside && sc_conv_input_at(c, d, at[d], tap[d], &in);
            if (inside) x += in * c->in_step[2 + d];
            w += tap[d] * c->weight_step[2 + d];
        }
        for (int64_t i = 0; inside && i < c->in_channels; i++)
            sum += ((uint32_t)sc_input_int(&c->record, c->input, x + i * c->in_step[1]) -
                    (uint32_t)zero) *
                   (uint32_t)sc_weight_int(&c->record, c->weight, w + i * c->weight_step[1]);
    }
    return sum;
}

static void run_channel_quantized(const sc_conv *c, int64_t n, int64_t channel) {
    const sc_input_quant *quant = &c->record.quant;
    const int32_t zero = quant->zero ? quant->zero[n * quant->step] : 0;
    const float scale = quant->scale ? quant->scale[n * quant->step] : 1;
    const int64_t group = channel / c->out_channels, area = sc_conv_out_area(c), *out = c->out;
    const int64_t input = n * c->in_step[0] + group * c->in_channels * c->in_step[1];
    const int64_t weight = group * c->weight_group + channel % c->out_channels * c->weight_step[0];
    const int64_t to = n * c->out_step[0] + channel * c->out_step[1];
    const uint32_t bias = c->bias ? (uint32_t)((const int32_t *)c->bias)[channel] : 0;
    for (int64_t i = 0; i < area; i++) {
        const int64_t at[3] = {i / (out[1] * out[2]), i / out[2] % out[1], i % out[2]};
        const int64_t step =
            at[0] * c->out_step[2] + at[1] * c->out_step[3] + at[2] * c->out_step[4];
        sc_store_quantized(&c->record, c->output, to + step,
                           quantized_sum(c, input, weight, zero, at) + bias, scale, channel);
    }
}

// --- The row -------------------------------------------------------------------------------------

typedef void (*channel_fn)(const sc_conv *c, int64_t n, int64_t channel);

static channel_fn channel_for(const sc_record *r) {
    if (sc_record_is_quantized(r)) return run_channel_quantized;
    switch (r->in) {
#define ROW(id) \
    case SC_DTYPE_##id: return run_channel_##id;
        SC_INTEGERS(ROW)
        ROW(F32)
        ROW(F64)
#undef ROW
    default: return NULL;
    }
}

static bool fits(const sc_record *r) {
    const bool has_bias = sc_conv_of(r)->bias != NULL;
    if (r->weights.scales) return false;
    if (sc_record_is_quantized(r))
        return sc_types_are_quantized(r) && (!has_bias || r->bias == SC_DTYPE_I32);
    return r->weight == r->in && r->out == r->in && (!has_bias || r->bias == r->in) &&
           !r->quant.zero && !r->quant.scale && channel_for(r) &&
           (r->in == SC_DTYPE_F32 || sc_finish_is_plain(&r->finish));
}

static int64_t tiles(const sc_record *record) {
    const sc_conv *c = sc_conv_of(record);
    return c->batch * sc_conv_channels(c);
}

static void run(const sc_record *record, const void *packed, int64_t from, int64_t to,
                void *scratch) {
    const sc_conv *c = sc_conv_of(record);
    const channel_fn run_channel = channel_for(record);
    const int64_t channels = sc_conv_channels(c);
    (void)packed;
    (void)scratch;
    for (int64_t tile = from; tile < to; tile++) run_channel(c, tile / channels, tile % channels);
}

SC_ALGORITHM(conv_reference, .fits = fits, .tiles = tiles, .run = run);
