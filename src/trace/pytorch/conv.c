// Expansions of convolutions.
#include "trace/expand.h"
#include "trace/words/arithmetic.h"
#include "trace/words/calls.h"

static sc_x zeros(sc_trace *t, uint32_t count) {
    int64_t values[SC_RANK_MAX] = {0};
    return sc_x_ints(t, values, count);
}

// An unbatched input gets a batch of one for the time being.
static sc_x with_batch(sc_trace *t, sc_x x, uint32_t spatial, bool *added) {
    *added = sc_x_rank(x) == spatial + 1;
    return *added ? sc_f_unsqueeze(t, x, 0) : x;
}

static uint32_t spatial_rank(sc_trace *t, sc_x weight) {
    uint32_t rank = sc_x_rank(weight);
    if (rank >= 3 && rank <= 5) return rank - 2;
    sc_trace_fail(t, SC_ERR_SHAPE, NULL, "a convolution does not take rank-%u weights", rank);
    return 1;
}

static sc_x unbatch(sc_trace *t, sc_x x, bool added) { return added ? sc_f_squeeze(t, x, 0) : x; }

sc_x sc_expand_conv(sc_trace *t, const sc_x *a) {
    bool added;
    uint32_t spatial = spatial_rank(t, a[1]);
    sc_x x = with_batch(t, a[0], spatial, &added);
    sc_x out =
        CALL(t, convolution, x, a[1], a[2], a[3], a[4], a[5], X_FALSE, zeros(t, spatial), a[6]);
    return unbatch(t, out, added);
}

sc_x sc_expand_conv_transpose(sc_trace *t, const sc_x *a) {
    bool added;
    sc_x x = with_batch(t, a[0], spatial_rank(t, a[1]), &added);
    sc_x out = CALL(t, convolution, x, a[1], a[2], a[3], a[4], a[7], X_TRUE, a[5], a[6]);
    return unbatch(t, out, added);
}

// 'same': half of what the kernel overhangs on either side; an odd element more goes to the end.
static sc_x conv_same(sc_trace *t, const sc_x *a, sc_x x, uint32_t spatial) {
    int64_t left[3], pads[6] = {0}, dilation[3];
    bool symmetric = true;
    uint32_t given = sc_x_int_list(t, a[5], dilation, 3);
    for (uint32_t i = 0; i < spatial; i++) {
        int64_t step = given == spatial ? dilation[i] : given ? dilation[0] : 1;
        int64_t total = step * (sc_x_static_size(t, a[1], (int64_t)i + 2) - 1);
        left[i] = total / 2;
        pads[2 * (spatial - 1 - i) + 1] = total - 2 * left[i];
        symmetric = symmetric && total % 2 == 0;
    }
    if (!symmetric) x = CALL(t, constant_pad_nd, x, sc_x_ints(t, pads, 2 * spatial));
    return CALL(t, convolution, x, a[1], a[2], a[3], sc_x_ints(t, left, spatial), a[5], X_FALSE,
                zeros(t, spatial), a[6]);
}

sc_x sc_expand_conv_padding(sc_trace *t, const sc_x *a) {
    bool added;
    uint32_t spatial = spatial_rank(t, a[1]);
    sc_x x = with_batch(t, a[0], spatial, &added), out;
    if (sc_str_is(a[4]->str, "valid"))
        out = CALL(t, convolution, x, a[1], a[2], a[3], zeros(t, 1), a[5], X_FALSE, zeros(t, 1),
                   a[6]);
    else if (sc_str_is(a[4]->str, "same"))
        out = conv_same(t, a, x, spatial);
    else
        return sc_trace_fail(t, SC_ERR_ARGUMENT, NULL, "there is no padding '" SC_STR_FMT "'",
                             SC_STR_ARG(a[4]->str));
    return unbatch(t, out, added);
}
