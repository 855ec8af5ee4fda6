// Rules of matrix products, convolution, distances and Fourier transforms.
#include "ops/rule.h"

static sc_status need_rank(sc_infer *in, const sc_spec *spec, uint32_t rank, const char *what) {
    if (spec->rank == rank) return SC_OK;
    return sc_rule_fail(in, SC_ERR_SHAPE, "%s: %s must have %u dimensions, but its sizes are %s",
                        in->op->name, what, rank, sc_rule_text(in, spec));
}

static sc_status need_same_dtype(sc_infer *in, const sc_spec *a, const sc_spec *b) {
    if (a->dtype == b->dtype) return SC_OK;
    return sc_rule_fail(in, SC_ERR_DTYPE, "%s: dtypes %s and %s differ", in->op->name,
                        sc_dtype_name((sc_dtype)a->dtype), sc_dtype_name((sc_dtype)b->dtype));
}

// Sizes [..., n, m] x [..., m, p] of rank 2 or 3.
static sc_status product(sc_infer *in, const sc_spec *a, const sc_spec *b, uint32_t rank,
                         sc_spec *out) {
    SC_TRY(need_rank(in, a, rank, "the first operand"));
    SC_TRY(need_rank(in, b, rank, "the second operand"));
    if (rank == 3) SC_TRY(sc_rule_same(in, a->sizes[0], b->sizes[0], "the batch sizes"));
    SC_TRY(need_same_dtype(in, a, b));
    SC_TRY(sc_rule_same(in, a->sizes[rank - 1], b->sizes[rank - 2], "the inner sizes"));
    *out = sc_rule_new(in, (sc_dtype)a->dtype, rank);
    for (uint32_t d = 0; d + 1 < rank; d++) out->sizes[d] = a->sizes[d];
    out->sizes[rank - 1] = b->sizes[rank - 1];
    sc_rule_contiguous(in, out);
    return SC_OK;
}

sc_status sc_infer_mm(sc_infer *in) {
    const sc_spec *a = sc_rule_tensor(in, 0), *b = sc_rule_tensor(in, 1);
    sc_spec spec;
    SC_TRY(product(in, a, b, 2, &spec));
    return sc_rule_publish(in, spec);
}

// (input [..., k], weight [n, k] or [k], bias [n])
sc_status sc_infer_linear(sc_infer *in) {
    const sc_spec *x = sc_rule_tensor(in, 0), *w = sc_rule_tensor(in, 1);
    const sc_spec *bias = sc_rule_tensor(in, 2);
    if (x->rank == 0 || w->rank == 0 || w->rank > 2)
        return sc_rule_fail(in, SC_ERR_SHAPE, "%s of %s and weights %s", in->op->name,
                            sc_rule_text(in, x), sc_rule_text(in, w));
    SC_TRY(need_same_dtype(in, x, w));
    SC_TRY(sc_rule_same(in, x->sizes[x->rank - 1], w->sizes[w->rank - 1], "the inner sizes"));
    sc_spec spec = sc_rule_new(in, (sc_dtype)x->dtype, w->rank == 2 ? x->rank : x->rank - 1);
    for (uint32_t d = 0; d + 1 < x->rank; d++) spec.sizes[d] = x->sizes[d];
    if (w->rank == 2) spec.sizes[x->rank - 1] = w->sizes[0];
    if (bias) {
        SC_TRY(need_same_dtype(in, x, bias));
        SC_TRY(need_rank(in, bias, w->rank - 1, "the bias"));
        if (w->rank == 2) SC_TRY(sc_rule_same(in, bias->sizes[0], w->sizes[0], "bias and weights"));
    }
    return sc_rule_publish_contiguous(in, spec);
}

sc_status sc_infer_bmm(sc_infer *in) {
    const sc_spec *a = sc_rule_tensor(in, 0), *b = sc_rule_tensor(in, 1);
    sc_spec spec;
    SC_TRY(product(in, a, b, 3, &spec));
    return sc_rule_publish(in, spec);
}

sc_status sc_infer_addmm(sc_infer *in) {
    const sc_spec *bias = sc_rule_tensor(in, 0), *a = sc_rule_tensor(in, 1),
                  *b = sc_rule_tensor(in, 2);
    sc_spec spec, joint = {0};
    SC_TRY(product(in, a, b, 2, &spec));
    const sc_spec *both[2] = {&spec, bias};
    SC_TRY(sc_rule_broadcast(in, both, 2, &joint));
    for (uint32_t d = 0; d < 2 && joint.rank == 2; d++)
        SC_TRY(sc_rule_same(in, joint.sizes[d], spec.sizes[d], "the sizes of bias and product"));
    if (joint.rank > 2) return need_rank(in, bias, 2, "the bias");
    return sc_rule_publish(in, spec);
}

// Rows, a matrix for each of their groups, and where each group ends.
sc_status sc_infer_grouped_mm(sc_infer *in) {
    const sc_spec *a = sc_rule_tensor(in, 0), *b = sc_rule_tensor(in, 1),
                  *ends = sc_rule_tensor(in, 2);
    SC_TRY(need_rank(in, a, 2, "the rows"));
    SC_TRY(need_rank(in, b, 3, "the matrices"));
    SC_TRY(need_rank(in, ends, 1, "the ends of groups"));
    SC_TRY(need_same_dtype(in, a, b));
    SC_TRY(sc_rule_same(in, a->sizes[1], b->sizes[1], "the inner sizes"));
    SC_TRY(sc_rule_same(in, b->sizes[0], ends->sizes[0], "the numbers of groups"));
    sc_spec spec = sc_rule_new(in, (sc_dtype)a->dtype, 2);
    spec.sizes[0] = a->sizes[0];
    spec.sizes[1] = b->sizes[2];
    return sc_rule_publish_contiguous(in, spec);
}

// --- Convolution ---------------------------------------------------------------------------------

static sc_status conv_size(sc_infer *in, uint32_t i, sc_dim input, sc_dim kernel, bool transposed,
                           sc_dim *out) {
    sc_exprs *e = in->exprs;
    sc_dim one = sc_dim_int(1), zero = sc_dim_int(0), stride, padding, dilation, extra;
    SC_TRY(sc_rule_item(in, "stride", i, one, &stride));
    SC_TRY(sc_rule_item(in, "padding", i, zero, &padding));
    SC_TRY(sc_rule_item(in, "dilation", i, one, &dilation));
    SC_TRY(sc_rule_item(in, "output_padding", i, zero, &extra));
    if (!sc_rule_less(zero, stride, true) || !sc_rule_less(zero, dilation, true))
        return sc_rule_fail(in, SC_ERR_ARGUMENT, "%s: stride and dilation must be positive",
                            in->op->name);
    sc_dim reach = sc_dim_mul(e, dilation, sc_dim_sub(e, kernel, one));
    sc_dim pads = sc_dim_mul(e, sc_dim_int(2), padding);
    if (transposed) {
        *out = sc_dim_mul(e, sc_dim_sub(e, input, one), stride);
        *out = sc_dim_add(e, sc_dim_sub(e, *out, pads), sc_dim_add(e, reach, extra));
    } else {
        *out = sc_dim_sub(e, sc_dim_add(e, input, pads), sc_dim_add(e, reach, one));
        *out = sc_dim_floordiv(e, *out, stride);
    }
    *out = sc_dim_add(e, *out, one);
    if (sc_rule_less(*out, transposed ? zero : one, false))
        return sc_rule_fail(
            in, SC_ERR_SHAPE, "%s: the kernel of size %s is larger than its input of %s",
            in->op->name, sc_rule_dim_text(in, kernel), sc_rule_dim_text(in, input));
    return SC_OK;
}

// One-dimensional convolutions become images of height 1; only the weight's layout survives that.
static bool is_last_1d(const sc_spec *weight) {
    return sc_dim_is(weight->strides[1], 1) && !sc_dim_is(weight->sizes[1], 1) &&
           sc_dim_equal(weight->strides[2], weight->sizes[1]);
}

// PyTorch's plain 3-D convolution, which it takes for small float32 problems, knows row-major only.
static bool is_small_3d(sc_infer *in, const sc_spec *input, const sc_spec *weight) {
    sc_dim work = sc_dim_int(1), one = sc_dim_int(1);
    for (uint32_t d = 0; d < 4; d++) work = sc_dim_mul(in->exprs, work, input->sizes[d]);
    bool large_kernel = sc_rule_less(sc_dim_int(3), weight->sizes[4], false) &&
                        sc_rule_less(sc_dim_int(3), weight->sizes[3], false);
    return input->rank == 5 && !large_kernel &&
           !sc_rule_less(one, sc_rule_dim(in, "groups", 1), false) &&
           !sc_rule_less(one, input->sizes[0], false) &&
           !sc_rule_less(sc_dim_int(20480), work, false);
}

static void conv_layout(sc_infer *in, sc_spec *spec, const sc_spec *input, const sc_spec *weight) {
    static const uint8_t last_1d[] = {0, 2, 1};
    if (in->runtime) {
        sc_rule_contiguous(in, spec);
    } else if (weight->rank == 3) {
        if (input->rank == 3 && is_last_1d(weight))
            sc_spec_set_order(in->exprs, spec, last_1d);
        else
            sc_rule_contiguous(in, spec);
    } else {
        sc_memory_format a = sc_spec_suggested_format(in->exprs, input);
        sc_memory_format b = sc_spec_suggested_format(in->exprs, weight);
        if (weight->rank == 5 && is_small_3d(in, input, weight))
            a = b = SC_MEMORY_FORMAT_CONTIGUOUS;
        sc_rule_set_format(in, spec, a != SC_MEMORY_FORMAT_CONTIGUOUS ? a : b);
    }
}

sc_status sc_infer_convolution(sc_infer *in) {
    const sc_spec *input = sc_rule_tensor(in, 0), *weight = sc_rule_tensor(in, 1);
    bool transposed = sc_rule_bool(in, "transposed", false);
    uint32_t spatial = weight->rank - 2u;
    sc_dim groups = sc_rule_dim(in, "groups", 1);
    if (weight->rank < 3 || input->rank < weight->rank - 1u || input->rank > weight->rank)
        return sc_rule_fail(in, SC_ERR_SHAPE, "%s: input %s does not match weight %s", in->op->name,
                            sc_rule_text(in, input), sc_rule_text(in, weight));
    SC_TRY(need_same_dtype(in, input, weight));
    if (!sc_rule_less(sc_dim_int(0), groups, true))
        return sc_rule_fail(in, SC_ERR_ARGUMENT, "%s: groups must be positive", in->op->name);
    uint32_t channel = input->rank - weight->rank + 1u;  // 0 without a batch
    sc_dim wanted = transposed ? weight->sizes[0] : sc_dim_mul(in->exprs, weight->sizes[1], groups);
    SC_TRY(sc_rule_same(in, input->sizes[channel], wanted, "the channels of input and weight"));
    sc_spec spec = sc_rule_new(in, (sc_dtype)input->dtype, input->rank);
    if (channel) spec.sizes[0] = input->sizes[0];
    spec.sizes[channel] =
        transposed ? sc_dim_mul(in->exprs, weight->sizes[1], groups) : weight->sizes[0];
    const sc_spec *bias = sc_rule_tensor_named(in, "bias");
    if (bias && bias->rank != 1)
        return sc_rule_fail(in, SC_ERR_SHAPE, "%s: the bias has the sizes %s instead of one",
                            in->op->name, sc_rule_text(in, bias));
    if (bias)
        SC_TRY(sc_rule_same(in, bias->sizes[0], spec.sizes[channel],
                            "the channels of result and bias"));
    for (uint32_t i = 0; i < spatial; i++)
        SC_TRY(conv_size(in, i, input->sizes[channel + 1 + i], weight->sizes[2 + i], transposed,
                         &spec.sizes[channel + 1 + i]));
    conv_layout(in, &spec, input, weight);
    return sc_rule_publish(in, spec);
}

// Gradients of input, weight and bias, each only if the mask asks for it.
sc_status sc_infer_convolution_backward(sc_infer *in) {
    const sc_iarg *mask = sc_rule_arg(in, "output_mask"), *bias = sc_rule_arg(in, "bias_sizes");
    const sc_spec *input = sc_rule_tensor_named(in, "input");
    const sc_spec *weight = sc_rule_tensor_named(in, "weight");
    sc_iout *outs = sc_infer_outs(in, 3);
    for (uint32_t i = 0; i < 3; i++) {
        if (i >= mask->count || !sc_rule_number(&mask->items[i])) continue;
        const sc_spec *model = i == 0 ? input : weight;
        sc_spec spec = i == 2 ? sc_rule_new(in, (sc_dtype)weight->dtype, 1)
                              : sc_rule_like(in, (sc_dtype)model->dtype, model);
        if (i == 2) SC_TRY(sc_rule_item(in, "bias_sizes", 0, sc_dim_int(0), &spec.sizes[0]));
        if (i == 2 && bias->kind != SC_IARG_LIST)
            return sc_rule_fail(in, SC_ERR_ARGUMENT, "%s: the bias has no sizes", in->op->name);
        sc_rule_contiguous(in, &spec);
        sc_rule_set(&outs[i], spec);
    }
    return SC_OK;
}

// --- Distances -----------------------------------------------------------------------------------

sc_status sc_infer_cdist(sc_infer *in) {
    const sc_spec *a = sc_rule_tensor(in, 0), *b = sc_rule_tensor(in, 1);
    if (a->rank < 2 || b->rank < 2)
        return sc_rule_fail(in, SC_ERR_SHAPE, "%s needs tensors of rows", in->op->name);
    SC_TRY(sc_rule_same(in, a->sizes[a->rank - 1], b->sizes[b->rank - 1], "the lengths of rows"));
    sc_spec batch_a = *a, batch_b = *b, joint = {0};
    batch_a.rank = (uint8_t)(a->rank - 2);
    batch_b.rank = (uint8_t)(b->rank - 2);
    const sc_spec *both[2] = {&batch_a, &batch_b};
    SC_TRY(sc_rule_broadcast(in, both, 2, &joint));
    sc_spec spec = sc_rule_new(in, (sc_dtype)a->dtype, joint.rank + 2u);
    for (uint32_t d = 0; d < joint.rank; d++) spec.sizes[d] = joint.sizes[d];
    spec.sizes[joint.rank] = a->sizes[a->rank - 2];
    spec.sizes[joint.rank + 1] = b->sizes[b->rank - 2];
    return sc_rule_publish_contiguous(in, spec);
}

sc_status sc_infer_pdist(sc_infer *in) {
    const sc_spec *self = sc_rule_tensor(in, 0);
    SC_TRY(need_rank(in, self, 2, "the input"));
    sc_spec spec = sc_rule_new(in, (sc_dtype)self->dtype, 1);
    sc_dim n = self->sizes[0],
           pairs = sc_dim_mul(in->exprs, n, sc_dim_sub(in->exprs, n, sc_dim_int(1)));
    spec.sizes[0] = sc_dim_floordiv(in->exprs, pairs, sc_dim_int(2));
    return sc_rule_publish_contiguous(in, spec);
}

// Operands gain dims of size 1 where their expand list says, multiply, and sumdim is summed away.
sc_status sc_infer_trilinear(sc_infer *in) {
    static const char *const lists[] = {"expand1", "expand2", "expand3"};
    sc_spec wide[3], joint = {0};
    const sc_spec *operands[3];
    for (uint32_t i = 0; i < 3; i++) {
        const sc_spec *self = sc_rule_tensor(in, i);
        uint32_t rank = self->rank + sc_rule_arg(in, lists[i])->count, from = 0;
        bool added[SC_RANK_MAX];
        if (rank > SC_RANK_MAX)
            return sc_rule_fail(in, SC_ERR_LIMIT, "%s: too many dimensions", in->op->name);
        SC_TRY(sc_rule_dim_set(in, lists[i], rank, false, added));
        wide[i] = sc_rule_new(in, (sc_dtype)self->dtype, rank);
        for (uint32_t d = 0; d < rank; d++)
            wide[i].sizes[d] = added[d] ? sc_dim_int(1) : self->sizes[from++];
        operands[i] = &wide[i];
    }
    SC_TRY(sc_rule_broadcast(in, operands, 3, &joint));
    bool summed[SC_RANK_MAX];
    SC_TRY(sc_rule_dim_set(in, "sumdim", joint.rank, false, summed));
    sc_spec spec = sc_rule_new(in, (sc_dtype)wide[0].dtype, joint.rank);
    uint32_t rank = 0;
    for (uint32_t d = 0; d < joint.rank; d++)
        if (!summed[d]) spec.sizes[rank++] = joint.sizes[d];
    spec.rank = (uint8_t)rank;
    return sc_rule_publish_contiguous(in, spec);
}

// --- Fourier transforms --------------------------------------------------------------------------

static sc_status last_dim(sc_infer *in, const sc_spec *self, uint32_t *out) {
    const sc_iarg *dims = sc_rule_arg(in, "dim");
    int64_t dim;
    if (!dims->count || !self->rank)
        return sc_rule_fail(in, SC_ERR_ARGUMENT, "%s needs dimensions", in->op->name);
    SC_TRY(sc_rule_int(in, &dims->items[dims->count - 1], "the dimension", &dim));
    return sc_rule_wrap_dim(in, dim, self->rank, out);
}

// The transformed dims, with strides that fall; the last one stays last where it is another matter.
static sc_status transformed_dims(sc_infer *in, const sc_spec *self, bool sort_last, uint32_t *dims,
                                  uint32_t *count) {
    const sc_iarg *list = sc_rule_arg(in, "dim");
    bool seen[SC_RANK_MAX];
    if (list->count && !self->rank)
        return sc_rule_fail(in, SC_ERR_ARGUMENT, "%s needs dimensions", in->op->name);
    SC_TRY(sc_rule_dim_set(in, "dim", self->rank, false, seen));
    *count = list->count;
    for (uint32_t i = 0; i < list->count; i++) {
        int64_t dim;
        uint32_t at = i, d;
        SC_TRY(sc_rule_int(in, &list->items[i], "the dimension", &dim));
        SC_TRY(sc_rule_wrap_dim(in, dim, self->rank, &d));
        bool sort = sort_last || i + 1 < list->count;
        for (; sort && at > 0; at--) {
            if (sc_stride_compare(self->strides[dims[at - 1]], self->strides[d]) >= 0) break;
            dims[at] = dims[at - 1];
        }
        dims[at] = d;
    }
    return SC_OK;
}

// As MKL leaves a transform of `self` over `dims`: those innermost, in that order, and the others
// around them by their strides.
static void transform_strides(sc_infer *in, sc_spec *spec, const sc_spec *self,
                              const uint32_t *dims, uint32_t count) {
    uint8_t order[SC_RANK_MAX];
    uint32_t batch = 0;
    if (in->runtime) {
        sc_rule_contiguous(in, spec);
        return;
    }
    for (uint32_t d = 0; d < self->rank; d++) {
        bool transformed = false;
        for (uint32_t i = 0; i < count; i++) transformed = transformed || dims[i] == d;
        if (transformed) continue;
        uint32_t at = batch++;
        for (; at > 0 && sc_stride_compare(self->strides[order[at - 1]], self->strides[d]) < 0;
             at--)
            order[at] = order[at - 1];
        order[at] = (uint8_t)d;
    }
    for (uint32_t i = 0; i < count; i++) order[batch + i] = (uint8_t)dims[i];
    sc_spec_set_order(in->exprs, spec, order);
}

sc_status sc_infer_fft_r2c(sc_infer *in) {
    const sc_spec *self = sc_rule_tensor(in, 0);
    uint32_t last;
    SC_TRY(last_dim(in, self, &last));
    sc_spec spec = sc_rule_like(in, sc_dtype_to_complex((sc_dtype)self->dtype), self);
    if (sc_rule_bool(in, "onesided", true)) {
        sc_dim half = sc_dim_floordiv(in->exprs, self->sizes[last], sc_dim_int(2));
        spec.sizes[last] = sc_dim_add(in->exprs, half, sc_dim_int(1));
    }
    uint32_t dims[SC_RANK_MAX], count;
    SC_TRY(transformed_dims(in, self, false, dims, &count));
    transform_strides(in, &spec, self, dims, count);
    return sc_rule_publish(in, spec);
}

sc_status sc_infer_fft_c2r(sc_infer *in) {
    const sc_spec *self = sc_rule_tensor(in, 0);
    uint32_t last;
    SC_TRY(last_dim(in, self, &last));
    sc_spec spec = sc_rule_like(in, sc_dtype_to_real((sc_dtype)self->dtype), self);
    spec.sizes[last] = sc_rule_dim(in, "last_dim_size", 1);
    // All but the last dim first, as complex numbers.
    uint32_t dims[SC_RANK_MAX], count;
    SC_TRY(transformed_dims(in, self, false, dims, &count));
    sc_spec between = sc_rule_like(in, (sc_dtype)self->dtype, self);
    if (count > 1) transform_strides(in, &between, self, dims, count - 1);
    transform_strides(in, &spec, count > 1 ? &between : self, &last, 1);
    return sc_rule_publish(in, spec);
}

sc_status sc_infer_fft_c2c(sc_infer *in) {
    const sc_spec *self = sc_rule_tensor(in, 0);
    sc_spec spec = sc_rule_like(in, (sc_dtype)self->dtype, self);
    uint32_t dims[SC_RANK_MAX], count;
    SC_TRY(transformed_dims(in, self, true, dims, &count));
    transform_strides(in, &spec, self, dims, count);
    return sc_rule_publish(in, spec);
}
