// Sizes and strides of results: broadcasting, and PyTorch's choice of memory layout. Strides do not
// matter at run time, where kernels get dense outputs in the planned dim order.
#include "ops/rule.h"

sc_spec sc_rule_new(sc_infer *in, sc_dtype dtype, uint32_t rank) {
    return sc_spec_new(in->arena, dtype, rank);
}

sc_spec sc_rule_like(sc_infer *in, sc_dtype dtype, const sc_spec *sizes) {
    sc_spec spec = sc_spec_new(in->arena, dtype, sizes->rank);
    if (sizes->rank) memcpy(spec.sizes, sizes->sizes, sizes->rank * sizeof(sc_dim));
    return spec;
}

void sc_rule_set(sc_iout *out, sc_spec spec) {
    *out = (sc_iout){.kind = SC_IOUT_TENSOR, .spec = spec};
}

sc_status sc_rule_publish(sc_infer *in, sc_spec spec) {
    sc_rule_set(sc_infer_outs(in, 1), spec);
    return SC_OK;
}

void sc_rule_contiguous(sc_infer *in, sc_spec *spec) { sc_spec_set_contiguous(in->exprs, spec); }

void sc_rule_set_vector(sc_infer *in, sc_iout *out, sc_dtype dtype, sc_dim size) {
    sc_spec spec = sc_rule_new(in, dtype, 1);
    spec.sizes[0] = size;
    sc_rule_contiguous(in, &spec);
    sc_rule_set(out, spec);
}

sc_status sc_rule_publish_contiguous(sc_infer *in, sc_spec spec) {
    sc_rule_contiguous(in, &spec);
    return sc_rule_publish(in, spec);
}

sc_dim sc_rule_counted(sc_infer *in, sc_dim most) {
    sc_range range = {0, sc_dim_range(most).max};
    return in->exprs ? sc_exprs_fresh(in->exprs, range) : most;
}

sc_status sc_rule_publish_counted(sc_infer *in, sc_spec spec) {
    SC_TRY(sc_rule_publish_contiguous(in, spec));
    in->outs[0].is_most = true;
    return SC_OK;
}

sc_status sc_rule_publish_like(sc_infer *in, sc_dtype dtype, const sc_spec *sizes) {
    return sc_rule_publish_contiguous(in, sc_rule_like(in, dtype, sizes));
}

sc_status sc_rule_publish_preserved(sc_infer *in, sc_dtype dtype, const sc_spec *model) {
    sc_spec spec = sc_rule_like(in, dtype, model);
    sc_rule_preserve(in, &spec, model);
    return sc_rule_publish(in, spec);
}

sc_status sc_rule_publish_indexed(sc_infer *in, sc_spec values) {
    sc_spec indices = values;
    indices.dtype = SC_DTYPE_I64;
    sc_iout *outs = sc_infer_outs(in, 2);
    sc_rule_set(&outs[0], values);
    sc_rule_set(&outs[1], indices);
    return SC_OK;
}

// --- Memory formats ------------------------------------------------------------------------------

void sc_rule_set_format(sc_infer *in, sc_spec *spec, sc_memory_format format) {
    static const uint8_t last_2d[] = {0, 2, 3, 1}, last_3d[] = {0, 2, 3, 4, 1};
    if (format == SC_MEMORY_FORMAT_CHANNELS_LAST && spec->rank == 4)
        sc_spec_set_order(in->exprs, spec, last_2d);
    else if (format == SC_MEMORY_FORMAT_CHANNELS_LAST_3D && spec->rank == 5)
        sc_spec_set_order(in->exprs, spec, last_3d);
    else
        sc_spec_set_contiguous(in->exprs, spec);
}

void sc_rule_follow_format(sc_infer *in, sc_spec *spec, const sc_spec *model) {
    sc_rule_set_format(in, spec,
                       in->runtime ? SC_MEMORY_FORMAT_CONTIGUOUS
                                   : sc_spec_suggested_format(in->exprs, model));
}

void sc_rule_preserve(sc_infer *in, sc_spec *spec, const sc_spec *model) {
    sc_rule_elementwise_strides(in, spec, &model, 1);
}

void sc_rule_copied(sc_infer *in, sc_spec *spec, const sc_spec *model) {
    if (!in->runtime && model->rank == spec->rank && sc_spec_is_dense(in->exprs, model))
        for (uint32_t d = 0; d < spec->rank; d++) spec->strides[d] = model->strides[d];
    else
        sc_rule_preserve(in, spec, model);
}

void sc_rule_normalized(sc_infer *in, sc_spec *spec, const sc_spec *model) {
    if (!in->runtime && !sc_spec_is_contiguous(in->exprs, model))
        sc_rule_contiguous(in, spec);
    else
        sc_rule_perm_strides(in, spec, &model, 1);
}

// --- Elementwise layout --------------------------------------------------------------------------

// The operand's stride along a dim of the result.
static sc_dim stride_in(const sc_spec *operand, const sc_spec *result, uint32_t dim) {
    uint32_t missing = (uint32_t)result->rank - operand->rank;
    if (dim < missing) return sc_dim_int(0);
    bool expanded =
        sc_dim_is(operand->sizes[dim - missing], 1) && !sc_dim_is(result->sizes[dim], 1);
    return expanded ? sc_dim_int(0) : operand->strides[dim - missing];
}

// Should `a`, which lies inside `b`, move outside it? Operands vote in order; a stride of 0
// abstains.
static int should_swap(const sc_spec *result, const sc_spec *const *operands, uint32_t count,
                       uint32_t a, uint32_t b) {
    for (uint32_t i = 0; i < count; i++) {
        sc_dim sa = stride_in(operands[i], result, a), sb = stride_in(operands[i], result, b);
        if (sc_dim_is(sa, 0) || sc_dim_is(sb, 0)) continue;
        int order = sc_stride_compare(sa, sb);
        if (order == 0 && sc_stride_compare(result->sizes[a], result->sizes[b]) > 0) order = 1;
        if (order) return order;
    }
    return 0;
}

// The insertion sort of PyTorch's elementwise engine, whose ties depend on the exact order of
// comparisons.
void sc_rule_perm_strides(sc_infer *in, sc_spec *spec, const sc_spec *const *operands,
                          uint32_t count) {
    if (in->runtime) {
        sc_rule_contiguous(in, spec);
        return;
    }
    uint8_t inner_first[SC_RANK_MAX], order[SC_RANK_MAX];
    for (uint32_t i = 0; i < spec->rank; i++) inner_first[i] = (uint8_t)(spec->rank - 1 - i);
    for (uint32_t i = 1; i < spec->rank; i++) {
        uint32_t moving = i;
        for (uint32_t j = i; j-- > 0;) {
            int swap = should_swap(spec, operands, count, inner_first[j], inner_first[moving]);
            if (swap < 0) break;
            if (swap > 0) {
                uint8_t dim = inner_first[j];
                inner_first[j] = inner_first[moving];
                inner_first[moving] = dim;
                moving = j;
            }
        }
    }
    for (uint32_t i = 0; i < spec->rank; i++) order[i] = inner_first[spec->rank - 1 - i];
    sc_spec_set_order(in->exprs, spec, order);
}

sc_status sc_rule_set_order(sc_infer *in, sc_spec *spec, const sc_iarg *list, const char *what) {
    uint8_t order[SC_RANK_MAX];
    bool seen[SC_RANK_MAX] = {false};
    if (list->count != spec->rank)
        return sc_rule_fail(in, SC_ERR_ARGUMENT, "%s: a %s of %u for %u dimensions", in->op->name,
                            what, list->count, spec->rank);
    for (uint32_t i = 0; i < list->count; i++) {
        int64_t dim;
        SC_TRY(sc_rule_int(in, &list->items[i], what, &dim));
        if (dim < 0 || dim >= spec->rank || seen[dim])
            return sc_rule_fail(in, SC_ERR_ARGUMENT, "%s: the %s is not a permutation",
                                in->op->name, what);
        seen[dim] = true;
        order[i] = (uint8_t)dim;
    }
    sc_spec_set_order(in->exprs, spec, order);
    return SC_OK;
}

typedef bool (*layout_test)(sc_exprs *exprs, const sc_spec *spec);

// Do all operands, broadcast to the result's sizes, pass the test? A repeated dim has stride 0.
static bool all_have(sc_exprs *exprs, const sc_spec *const *operands, uint32_t count,
                     const sc_spec *result, layout_test test) {
    sc_dim strides[SC_RANK_MAX];
    sc_spec seen = {.rank = result->rank, .sizes = result->sizes, .strides = strides};
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t d = 0; d < seen.rank; d++) strides[d] = stride_in(operands[i], result, d);
        if (!test(exprs, &seen)) return false;
    }
    return true;
}

void sc_rule_elementwise_strides(sc_infer *in, sc_spec *spec, const sc_spec *const *operands,
                                 uint32_t count) {
    bool row_major =
        in->runtime || all_have(in->exprs, operands, count, spec, sc_spec_is_contiguous);
    bool last = all_have(in->exprs, operands, count, spec, sc_spec_is_channels_last);
    if (in->runtime || (row_major && !last))
        sc_spec_set_contiguous(in->exprs, spec);
    else if (last && !row_major)
        sc_rule_set_format(in, spec, SC_MEMORY_FORMAT_CHANNELS_LAST);
    else
        sc_rule_perm_strides(in, spec, operands, count);
}

// --- Agreement of sizes --------------------------------------------------------------------------

bool sc_rule_less(sc_dim a, sc_dim b, bool otherwise) {
    int64_t hint_a, hint_b;
    sc_tri known = sc_dim_known_le(b, a);
    if (known != SC_TRI_UNKNOWN) return known == SC_TRI_FALSE;
    // PyTorch decided by the example sizes too, and holds the program to it.
    if (sc_dim_hint(a, &hint_a) && sc_dim_hint(b, &hint_b)) return hint_a < hint_b;
    return otherwise;
}

sc_status sc_rule_same(sc_infer *in, sc_dim a, sc_dim b, const char *what) {
    if (sc_dim_known_equal(a, b) != SC_TRI_FALSE) return SC_OK;
    return sc_rule_fail(in, SC_ERR_SHAPE, "%s of %s must be equal, but are %s and %s", what,
                        in->op->name, sc_rule_dim_text(in, a), sc_rule_dim_text(in, b));
}

static bool merge_sizes(sc_dim *size, sc_dim other) {
    if (sc_dim_is(other, 1) || sc_dim_equal(*size, other)) return true;
    if (sc_dim_is(*size, 1)) {
        *size = other;
        return true;
    }
    if (sc_dim_known_equal(*size, other) == SC_TRI_FALSE) return false;
    // Not provably equal: PyTorch made sure that they are. The simpler one says more.
    if (!other.expr || (sc_dim_symbol(other) && !sc_dim_symbol(*size) && size->expr)) *size = other;
    return true;
}

sc_status sc_rule_broadcast(sc_infer *in, const sc_spec *const *operands, uint32_t count,
                            sc_spec *out) {
    uint32_t rank = 0;
    for (uint32_t i = 0; i < count; i++) rank = operands[i]->rank > rank ? operands[i]->rank : rank;
    out->rank = (uint8_t)rank;
    out->sizes = sc_new_array(in->arena, sc_dim, rank);
    out->strides = sc_new_array(in->arena, sc_dim, rank);
    out->offset = sc_dim_int(0);
    for (uint32_t d = 0; d < rank; d++) {
        out->sizes[d] = sc_dim_int(1);
        for (uint32_t i = 0; i < count; i++) {
            uint32_t missing = rank - operands[i]->rank;
            if (d < missing || merge_sizes(&out->sizes[d], operands[i]->sizes[d - missing]))
                continue;
            const sc_spec *first =
                operands[0] == operands[i] && count > 1 ? operands[1] : operands[0];
            return sc_rule_fail(in, SC_ERR_SHAPE,
                                "sizes %s and %s do not broadcast: they differ in dimension %u",
                                sc_rule_text(in, first), sc_rule_text(in, operands[i]), d);
        }
    }
    return SC_OK;
}
