// The definition of convolution, in the order of the formula, on any layout and type. What the
// other rows are tested against, and what runs where none of them fits.
#include "compute/conv.h"

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

typedef void (*channel_fn)(const sc_conv *c, int64_t n, int64_t channel);

static channel_fn channel_for(uint8_t dtype) {
    switch (dtype) {
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
    return r->weight == r->in && r->out == r->in && (!sc_conv_of(r)->bias || r->bias == r->in) &&
           !r->quant.zero && !r->quant.scale && channel_for(r->in) &&
           (r->in == SC_DTYPE_F32 || sc_finish_is_plain(&r->finish));
}

static int64_t tiles(const sc_record *record) {
    const sc_conv *c = sc_conv_of(record);
    return c->batch * sc_conv_channels(c);
}

static void run(const sc_record *record, const void *packed, int64_t from, int64_t to,
                void *scratch) {
    const sc_conv *c = sc_conv_of(record);
    const channel_fn run_channel = channel_for(record->in);
    const int64_t channels = sc_conv_channels(c);
    (void)packed;
    (void)scratch;
    for (int64_t tile = from; tile < to; tile++) run_channel(c, tile / channels, tile % channels);
}

SC_ALGORITHM(conv_reference, .fits = fits, .tiles = tiles, .run = run);
