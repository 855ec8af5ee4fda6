// Gradients of convolution and max pooling, as on-device training uses them. Written from the
// definition, with sums in double.
#include "base/parallel.h"
#include "kernels/iter.h"

#define AXES 3

// --- Convolution ---------------------------------------------------------------------------------

// A convolution pairs a small side (the output, or the input of a transposed one) with a large
// side: small position o and tap k meet large position o * step - pad + k * dilation.
typedef struct conv {
    const sc_tensor *small, *large, *weight;
    uint32_t axes;
    int64_t step[AXES], pad[AXES], dilation[AXES];
    int64_t images, groups, small_channels, large_channels;  // channels per group
} conv;

static int64_t volume(const int64_t *sizes, uint32_t axes) {
    int64_t product = 1;
    for (uint32_t k = 0; k < axes; k++) product *= sizes[k];
    return product;
}

static void unravel(int64_t index, const int64_t *sizes, uint32_t axes, int64_t *out) {
    for (uint32_t k = axes; k-- > 0;) {
        out[k] = index % sizes[k];
        index /= sizes[k];
    }
}

static int64_t offset_of(const sc_tensor *t, int64_t n, int64_t c, const int64_t *at) {
    int64_t offset = n * t->strides[0] + c * t->strides[1];
    for (uint32_t k = 0; k + 2 < t->rank; k++) offset += at[k] * t->strides[2 + k];
    return offset;
}

static bool to_large(const conv *v, const int64_t *small, const int64_t *tap, int64_t *large) {
    for (uint32_t k = 0; k < v->axes; k++) {
        large[k] = small[k] * v->step[k] - v->pad[k] + tap[k] * v->dilation[k];
        if (large[k] < 0 || large[k] >= v->large->sizes[2 + k]) return false;
    }
    return true;
}

static bool to_small(const conv *v, const int64_t *large, const int64_t *tap, int64_t *small) {
    for (uint32_t k = 0; k < v->axes; k++) {
        int64_t x = large[k] + v->pad[k] - tap[k] * v->dilation[k];
        small[k] = x / v->step[k];
        if (x < 0 || x % v->step[k] != 0 || small[k] >= v->small->sizes[2 + k]) return false;
    }
    return true;
}

typedef struct derivative {
    const conv *v;
    const sc_tensor *from, *out;  // from: of the bias
    bool is_large;
} derivative;

// Gradient of one side from the other: `out` has the shape of that side.
static void side_part(void *work, int64_t first, int64_t end, uint32_t thread) {
    const derivative *g = work;
    const conv *v = g->v;
    const sc_tensor *out = g->out;
    const bool is_large = g->is_large;
    const sc_tensor *from = is_large ? v->small : v->large;
    (void)thread;
    int64_t own = is_large ? v->large_channels : v->small_channels;
    int64_t other = is_large ? v->small_channels : v->large_channels;
    int64_t pixels = volume(out->sizes + 2, v->axes), taps = volume(v->weight->sizes + 2, v->axes);
    for (int64_t i = first; i < end; i++) {
        int64_t pixel = i % pixels, c = i / pixels % (own * v->groups),
                n = i / pixels / own / v->groups;
        int64_t group = c / own, at[AXES] = {0}, tap[AXES] = {0}, there[AXES] = {0};
        double sum = 0.0;
        unravel(pixel, out->sizes + 2, v->axes, at);
        for (int64_t t = 0; t < taps; t++) {
            unravel(t, v->weight->sizes + 2, v->axes, tap);
            if (!(is_large ? to_small(v, at, tap, there) : to_large(v, at, tap, there))) continue;
            for (int64_t k = 0; k < other; k++) {
                int64_t a = is_large ? group * other + k : c, b = is_large ? c % own : k;
                sum += sc_tensor_real(from, offset_of(from, n, group * other + k, there)) *
                       sc_tensor_real(v->weight, offset_of(v->weight, a, b, tap));
            }
        }
        sc_tensor_put_real(out, offset_of(out, n, c, at), sum);
    }
}

static void side_gradient(const conv *v, const sc_tensor *out, bool is_large) {
    derivative g = {.v = v, .out = out, .is_large = is_large};
    const int64_t taps = volume(v->weight->sizes + 2, v->axes);
    const int64_t other = is_large ? v->small_channels : v->large_channels;
    sc_parallel_rows(out->numel, 4 * SC_COST_CONVERT * (double)taps * (double)other, side_part, &g);
}

static void weight_part(void *work, int64_t first, int64_t end, uint32_t thread) {
    const derivative *g = work;
    const conv *v = g->v;
    const sc_tensor *out = g->out;
    (void)thread;
    int64_t pixels = volume(v->small->sizes + 2, v->axes), taps = volume(out->sizes + 2, v->axes);
    int64_t columns = v->large_channels;
    for (int64_t i = first; i < end; i++) {
        int64_t tap[AXES] = {0}, at[AXES] = {0}, there[AXES] = {0};
        int64_t b = i / taps % columns, a = i / taps / columns, group = a / v->small_channels;
        double sum = 0.0;
        unravel(i % taps, out->sizes + 2, v->axes, tap);
        for (int64_t p = 0; p < pixels; p++) {
            unravel(p, v->small->sizes + 2, v->axes, at);
            if (!to_large(v, at, tap, there)) continue;
            for (int64_t n = 0; n < v->images; n++)
                sum += sc_tensor_real(v->small, offset_of(v->small, n, a, at)) *
                       sc_tensor_real(v->large, offset_of(v->large, n, group * columns + b, there));
        }
        sc_tensor_put_real(out, offset_of(out, a, b, tap), sum);
    }
}

static void weight_gradient(const conv *v, const sc_tensor *out) {
    derivative g = {.v = v, .out = out};
    const int64_t pixels = volume(v->small->sizes + 2, v->axes);
    sc_parallel_rows(out->numel, 4 * SC_COST_CONVERT * (double)pixels * (double)v->images,
                     weight_part, &g);
}

static void bias_part(void *work, int64_t first, int64_t end, uint32_t thread) {
    const derivative *g = work;
    const sc_tensor *from = g->from, *out = g->out;
    const uint32_t axes = g->v->axes;
    const int64_t pixels = volume(from->sizes + 2, axes);
    (void)thread;
    for (int64_t c = first; c < end; c++) {
        double sum = 0.0;
        for (int64_t i = 0; i < from->sizes[0] * pixels; i++) {
            int64_t at[AXES] = {0};
            unravel(i % pixels, from->sizes + 2, axes, at);
            sum += sc_tensor_real(from, offset_of(from, i / pixels, c, at));
        }
        sc_tensor_put_real(out, c * out->strides[0], sum);
    }
}

static void bias_gradient(const conv *v, const sc_tensor *from, const sc_tensor *out) {
    derivative g = {.v = v, .from = from, .out = out};
    const double numbers = (double)from->numel / (double)sc_max_i64(from->sizes[1], 1);
    sc_parallel_rows(from->sizes[1], 2 * SC_COST_CONVERT * numbers, bias_part, &g);
}

static sc_status wrong_shapes(const sc_kernel_call *call) {
    return sc_call_fail(call, SC_ERR_SHAPE, "the shapes or dtypes do not agree");
}

static bool conv_init(const sc_kernel_call *call, conv *v) {
    const sc_tensor *gradient = sc_call_tensor(call, 0), *input = sc_call_tensor(call, 1);
    bool transposed = sc_call_integer(call, 7) != 0;
    v->weight = sc_call_tensor(call, 2);
    v->small = transposed ? input : gradient;
    v->large = transposed ? gradient : input;
    v->groups = sc_call_integer(call, 9);
    uint32_t rank = input->rank;
    if (rank < 3 || rank > 2 + AXES || gradient->rank != rank || v->weight->rank != rank ||
        v->groups <= 0)
        return false;
    v->axes = rank - 2;
    v->images = input->sizes[0];
    v->small_channels = v->small->sizes[1] / v->groups;
    v->large_channels = v->large->sizes[1] / v->groups;
    bool fits = sc_call_ints(call, 4, v->step, AXES, v->axes) == v->axes &&
                sc_call_ints(call, 5, v->pad, AXES, v->axes) == v->axes &&
                sc_call_ints(call, 6, v->dilation, AXES, v->axes) == v->axes &&
                gradient->sizes[0] == v->images && v->weight->sizes[0] == v->small->sizes[1] &&
                v->small->sizes[1] == v->small_channels * v->groups &&
                v->large->sizes[1] == v->large_channels * v->groups &&
                v->weight->sizes[1] == v->large_channels;
    for (uint32_t k = 0; fits && k < v->axes; k++)
        fits = v->step[k] > 0 && v->dilation[k] > 0 && v->pad[k] >= 0 && v->step[k] < INT32_MAX &&
               v->dilation[k] < INT32_MAX && v->pad[k] < INT32_MAX;
    const sc_tensor *all[] = {gradient, input, v->weight};
    for (uint32_t i = 0; fits && i < SC_COUNT_OF(all); i++)
        fits = sc_dtype_is_float((sc_dtype)all[i]->dtype);
    return fits;
}

static bool wants(const sc_kernel_call *call, uint32_t which) {
    const sc_evalue *mask = call->args[10];
    return mask->tag == SC_EVALUE_BOOL_LIST && which < mask->count && mask->bools[which] != 0;
}

// (grad_output, input, weight, bias_sizes, stride, padding, dilation, transposed, output_padding,
//  groups, output_mask, grad_input, grad_weight, grad_bias)
static sc_status run_conv_backward(const sc_kernel_call *call) {
    conv v;
    const sc_tensor *gradient = sc_call_tensor(call, 0), *input = sc_call_tensor(call, 1);
    const sc_tensor *outs[3] = {sc_call_tensor(call, 11), sc_call_tensor(call, 12),
                                sc_call_tensor(call, 13)};
    bool fits = conv_init(call, &v);
    for (uint32_t i = 0; fits && i < 3; i++)
        fits = !wants(call, i) || (outs[i] && sc_dtype_is_float((sc_dtype)outs[i]->dtype));
    fits = fits && (!wants(call, 0) || sc_same_sizes(outs[0], input)) &&
           (!wants(call, 1) || sc_same_sizes(outs[1], v.weight)) &&
           (!wants(call, 2) || (outs[2]->rank == 1 && outs[2]->numel == gradient->sizes[1]));
    if (!fits) return wrong_shapes(call);
    if (wants(call, 0)) side_gradient(&v, outs[0], input == v.large);
    if (wants(call, 1)) weight_gradient(&v, outs[1]);
    if (wants(call, 2)) bias_gradient(&v, gradient, outs[2]);
    return SC_OK;
}

// --- Max pooling ---------------------------------------------------------------------------------

// (grad_output, self, kernel, stride, padding, dilation, ceil_mode, indices, grad_input)
static sc_status run_max_pool2d_backward(const sc_kernel_call *call) {
    const sc_tensor *gradient = sc_call_tensor(call, 0), *self = sc_call_tensor(call, 1);
    const sc_tensor *indices = sc_call_tensor(call, 7), *out = sc_call_out(call);
    uint32_t rank = self->rank;
    bool fits = (rank == 3 || rank == 4) && sc_same_sizes(self, out) && gradient->rank == rank &&
                sc_same_sizes(gradient, indices) && indices->dtype == SC_DTYPE_I64 &&
                sc_dtype_is_float((sc_dtype)out->dtype) &&
                sc_dtype_is_float((sc_dtype)gradient->dtype);
    for (uint32_t d = 0; fits && d + 2 < rank; d++) fits = gradient->sizes[d] == self->sizes[d];
    if (!fits) return wrong_shapes(call);
    memset(out->data, 0, (size_t)out->numel * sc_dtype_bytes((sc_dtype)out->dtype));
    int64_t width = self->sizes[rank - 1], plane = self->sizes[rank - 2] * width, at[4] = {0};
    for (int64_t i = 0; i < gradient->numel; i++) {
        int64_t from = 0, index_at = 0, to = 0;
        for (uint32_t d = 0; d < rank; d++) {
            from += at[d] * gradient->strides[d];
            index_at += at[d] * indices->strides[d];
            to += d + 2 < rank ? at[d] * out->strides[d] : 0;
        }
        int64_t index = ((const int64_t *)indices->data)[index_at];
        if (index < 0 || index >= plane)
            return sc_call_fail(call, SC_ERR_INDEX, "index %lld is outside the plane",
                                (long long)index);
        to += index / width * out->strides[rank - 2] + index % width * out->strides[rank - 1];
        sc_tensor_put_real(out, to, sc_tensor_real(out, to) + sc_tensor_real(gradient, from));
        for (uint32_t d = rank; d-- > 0;) {
            if (++at[d] < gradient->sizes[d]) break;
            at[d] = 0;
        }
    }
    return SC_OK;
}

SC_KERNEL(conv_backward, .run = run_conv_backward);
SC_KERNEL(max_pool2d_backward, .run = run_max_pool2d_backward);
