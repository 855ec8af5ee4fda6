// Expansions of quantization: torchao's affine operators, in the calls that torchao makes, and
// those of quantized_decomposed that the official runtime has no kernel for.
#include "trace/expand.h"
#include "trace/pytorch/packed.h"
#include "trace/words/arithmetic.h"
#include "trace/words/calls.h"
#include "trace/words/choose.h"

#include <float.h>
#include <math.h>

// --- Blocks --------------------------------------------------------------------------------------

// A tensor is cut into blocks that share a scale. A dim that is cut becomes two, how many blocks
// and how long each is; `reduced` are the sizes with 1 for what lies in a block.
typedef struct blocks {
    sc_dim sizes[2 * SC_RANK_MAX], reduced[2 * SC_RANK_MAX];
    int64_t dims[2 * SC_RANK_MAX];  // of `sizes`: they lie in a block
    uint32_t rank, dim_count;
} blocks;

static void push(blocks *b, sc_dim size, bool in_block) {
    b->sizes[b->rank] = size;
    b->reduced[b->rank] = in_block ? sc_dim_int(1) : size;
    if (in_block) b->dims[b->dim_count++] = b->rank;
    b->rank++;
}

static bool cut(sc_trace *t, sc_x x, sc_x block_size, blocks *b) {
    const sc_spec *spec = sc_x_spec(x);
    *b = (blocks){.rank = 0};
    if (block_size->kind != SC_X_LIST || block_size->count != spec->rank) {
        sc_trace_fail(t, SC_ERR_SHAPE, NULL, "block_size needs one size for each of %u dimensions",
                      spec->rank);
        return false;
    }
    for (uint32_t d = 0; d < spec->rank; d++) {
        sc_x item = block_size->items[d];
        sc_dim size = spec->sizes[d], block = item->kind == SC_X_INT ? item->dim : sc_dim_int(0);
        bool is_size = !sc_dim_is(block, 0), is_single = sc_dim_is(block, 1);
        bool is_whole = is_size && sc_dim_equal(size, block);
        if (is_whole || is_single) {
            push(b, size, !is_single);
        } else if (!sc_dim_is_int(block) || block.value <= 0 ||
                   (sc_dim_is_int(size) && size.value % block.value != 0)) {
            sc_trace_fail(t, SC_ERR_SHAPE, "Quantize with a block size that divides the dimension.",
                          "dimension %u of a quantized tensor is not a number of whole blocks", d);
            return false;
        } else {
            push(b, sc_trace_floordiv(t, size, block), false);
            push(b, block, true);
        }
    }
    return t->status == SC_OK;
}

static sc_x view_reduced(sc_trace *t, sc_x x, const blocks *b) {
    return sc_f_view(t, x, b->reduced, b->rank);
}

static sc_x view_whole(sc_trace *t, sc_x x, sc_x like) {
    return CALL(t, view, x, sc_x_sizes(t, like, 0, SC_RANK_MAX));
}

// --- Ranges --------------------------------------------------------------------------------------

// The range of quantized values: as given, and as numbers.
typedef struct range {
    sc_x low, high;
    double from, to;
} range;

static bool range_of(sc_trace *t, sc_x dtype, sc_x low, sc_x high, range *r) {
    const sc_dtype whole = (sc_dtype)dtype->code;
    if (dtype->kind != SC_X_DTYPE || sc_dtype_category(whole) != SC_CATEGORY_INT ||
        whole == SC_DTYPE_I64) {
        sc_trace_fail(t, SC_ERR_UNSUPPORTED, "Quantize to int8, uint8, int16 or int32.",
                      "quantization to this dtype is not supported");
        return false;
    }
    const double lowest = (double)sc_dtype_low(whole), highest = (double)sc_dtype_high(whole);
    r->low = sc_x_is_none(low) ? sc_x_int(t, sc_dtype_low(whole)) : low;
    r->high = sc_x_is_none(high) ? sc_x_int(t, (int64_t)sc_dtype_high(whole)) : high;
    r->from = sc_x_real(r->low, NAN);
    r->to = sc_x_real(r->high, NAN);
    if (r->from >= lowest && r->from < r->to && r->to <= highest) return true;
    sc_trace_fail(t, SC_ERR_ARGUMENT, NULL,
                  "quant_min and quant_max are not a range within that of %s",
                  sc_dtype_name(whole));
    return false;
}

// Does torchao export such zero points? Only integers.
static bool is_domain(sc_trace *t, sc_x domain, bool preserves_zero) {
    if (preserves_zero && domain->kind == SC_X_STR && sc_str_is(domain->str, "INT")) return true;
    sc_trace_fail(t, SC_ERR_UNSUPPORTED, "Quantize with zero points that are integers.",
                  "zero points in another domain than 'INT' are not supported");
    return false;
}

// --- Choosing scales, torchao --------------------------------------------------------------------

static double smallest_normal(sc_dtype dtype) {
    if (dtype == SC_DTYPE_F64) return DBL_MIN;
    return dtype == SC_DTYPE_F16 ? 0x1p-14 : (double)FLT_MIN;
}

// The smallest and the largest element of each block, widened to contain 0.
static void extremes(sc_trace *t, sc_x x, const blocks *b, sc_x keepdim, sc_x *low, sc_x *high) {
    sc_x dims = sc_x_ints(t, b->dims, b->dim_count);
    x = sc_f_view(t, x, b->sizes, b->rank);
    *low = CALL(t, amin, x, dims, keepdim);
    *high = CALL(t, amax, x, dims, keepdim);
    *low = CALL(t, minimum, *low, CALL(t, zeros_like, *low));
    *high = CALL(t, maximum, *high, CALL(t, zeros_like, *high));
}

static sc_x symmetric_scale(sc_trace *t, sc_x low, sc_x high, const range *r, bool clips) {
    if (clips) {
        high = CALL(t, maximum, CALL(t, neg, low), high);
        return sc_f_div(t, high, sc_x_float(t, (r->to - r->from) / 2));
    }
    low = sc_f_div(t, low, sc_x_float(t, r->from));
    high = sc_f_div(t, high, sc_x_float(t, r->to));
    return sc_f_where(t, CALL(t, gt_Tensor, low, high), low, high);
}

// (input, mapping_type, block_size, target_dtype, quant_min, quant_max, eps, scale_dtype,
// zero_point_dtype, keepdim, preserve_zero, zero_point_domain)
sc_x sc_expand_choose_qparams_affine(sc_trace *t, const sc_x *a) {
    const sc_dtype real = sc_x_dtype_of(a[0]);
    const sc_str mapping = a[1]->kind == SC_X_STR ? a[1]->str : (sc_str){0};
    const bool clips = sc_str_is(mapping, "SYMMETRIC");
    const bool is_symmetric = clips || sc_str_is(mapping, "SYMMETRIC_NO_CLIPPING_ERR");
    blocks b;
    range r;
    sc_x low, high, scale, zero;
    if (!is_symmetric && !sc_str_is(mapping, "ASYMMETRIC"))
        return sc_trace_fail(t, SC_ERR_UNSUPPORTED, NULL, "unknown mapping_type '" SC_STR_FMT "'",
                             SC_STR_ARG(mapping));
    if (!sc_x_is_float(a[0]))
        return sc_trace_fail(t, SC_ERR_DTYPE, NULL, "scales are chosen for floating-point tensors");
    if (!is_domain(t, a[11], sc_x_truth(a[10])) || !cut(t, a[0], a[2], &b) ||
        !range_of(t, a[3], a[4], a[5], &r))
        return a[0];
    sc_x eps = sc_x_is_none(a[6]) ? sc_x_float(t, smallest_normal(real)) : a[6];
    extremes(t, a[0], &b, a[9], &low, &high);
    if (is_symmetric) {
        scale = symmetric_scale(t, low, high, &r, clips);
        zero = CALL(t, full_like, scale, sc_x_int(t, (int64_t)trunc((r.to + r.from + 1) / 2)),
                    X_NONE, X_NONE, X_NONE, X_FALSE);
        scale = CALL(t, clamp, scale, eps);
    } else {
        scale = sc_f_sub(t, high, low);
        scale = sc_f_div(t, scale, sc_x_float(t, r.to - r.from));
        scale = CALL(t, clamp, scale, eps);
        zero = CALL(t, round, sc_f_div(t, low, scale));
        zero = CALL(t, clamp, CALL(t, sub_Tensor, r.low, zero), r.low, r.high);
    }
    if (sc_x_truth(a[9])) {
        sc_dim sizes[SC_RANK_MAX];
        const uint32_t rank = sc_x_rank(a[0]);
        for (uint32_t d = 0; d < rank; d++)
            sizes[d] = sc_trace_floordiv(t, sc_x_size(a[0], d), a[2]->items[d]->dim);
        scale = sc_f_view(t, scale, sizes, rank);
        zero = sc_f_view(t, zero, sizes, rank);
    }
    const bool casts = a[7]->kind == SC_X_DTYPE && a[7]->code != real;
    if (casts) scale = CALL(t, _to_copy, scale, a[7], X_NONE, X_CPU);
    // As torchao does, a symmetric zero point stays a float unless a dtype is given.
    if (a[8]->kind == SC_X_DTYPE) return X_LIST(t, scale, sc_f_to(t, zero, (sc_dtype)a[8]->code));
    return X_LIST(t, scale, is_symmetric ? zero : sc_f_to(t, zero, SC_DTYPE_I32));
}

// --- Quantizing, torchao -------------------------------------------------------------------------

// A zero point without elements counts as absent.
static bool has_zero(sc_trace *t, sc_x zero) {
    return sc_x_is_tensor(zero) && !sc_dim_is(sc_x_numel(t, zero), 0);
}

// 1 / x, as Python writes it of a tensor.
static sc_x reciprocal(sc_trace *t, sc_x x) {
    return sc_f_mul(t, CALL(t, reciprocal, x), sc_x_float(t, 1));
}

// (input, block_size, scale, zero_point, output_dtype, quant_min, quant_max, zero_point_domain)
sc_x sc_expand_quantize_affine(sc_trace *t, const sc_x *a) {
    blocks b;
    range r;
    if (!sc_x_is_float(a[0]))
        return sc_trace_fail(t, SC_ERR_DTYPE, NULL, "only floating-point tensors are quantized");
    if (!is_domain(t, a[7], true) || !cut(t, a[0], a[1], &b) || !range_of(t, a[4], a[5], a[6], &r))
        return a[0];
    sc_x x = sc_f_view(t, a[0], b.sizes, b.rank), scale = view_reduced(t, a[2], &b);
    sc_x zero = has_zero(t, a[3]) ? view_reduced(t, a[3], &b) : X_NONE;
    x = CALL(t, round, sc_f_mul(t, x, reciprocal(t, scale)));
    if (sc_x_is_tensor(zero)) x = sc_f_add(t, x, zero);
    x = view_whole(t, CALL(t, clamp, x, r.low, r.high), a[0]);
    return sc_f_to(t, x, (sc_dtype)a[4]->code);
}

// (input, block_size, scale, zero_point, input_dtype, quant_min, quant_max, output_dtype,
// zero_point_domain)
sc_x sc_expand_dequantize_affine(sc_trace *t, const sc_x *a) {
    const sc_dtype real = (sc_dtype)a[7]->code;
    blocks b;
    if (!sc_dtype_is_float(real) || !sc_dtype_is_integral(sc_x_dtype_of(a[0]), false))
        return sc_trace_fail(t, SC_ERR_DTYPE, NULL,
                             "integers are dequantized to a floating-point dtype, not %s to %s",
                             sc_dtype_name(sc_x_dtype_of(a[0])), sc_dtype_name(real));
    if (!is_domain(t, a[8], true) || !cut(t, a[0], a[1], &b)) return a[0];
    sc_x whole = sc_pytorch_packed(t, a);
    if (whole) return whole;
    sc_x x = sc_f_view(t, a[0], b.sizes, b.rank), scale = view_reduced(t, a[2], &b);
    sc_x zero = has_zero(t, a[3]) ? view_reduced(t, a[3], &b) : X_NONE;
    x = sc_f_to(t, x, real);
    if (sc_x_is_tensor(zero)) x = sc_f_sub(t, x, sc_f_to(t, zero, real));
    return sc_f_to(t, view_whole(t, sc_f_mul(t, x, scale), a[0]), real);
}

// --- quantized_decomposed ------------------------------------------------------------------------

// dequantize_per_tensor.tensor2: the range does not matter.
sc_x sc_expand_dequantize_in_range(sc_trace *t, const sc_x *a) {
    range r;
    if (!range_of(t, a[5], X_NONE, X_NONE, &r)) return a[0];
    return CALL(t, quantized_decomposed_dequantize_per_tensor_tensor, a[0], a[1], a[2], r.low,
                r.high, a[5], a[6]);
}

static bool in_groups(sc_trace *t, sc_x x, sc_x group_size, sc_x scales, sc_dim *sizes) {
    sc_dim row = sc_x_size(x, -1), group = sc_dim_int(sc_x_small(t, group_size, 0));
    // A group may be longer than the rows that it is all of.
    if (sc_dim_is_int(row) && group.value > row.value && sc_dim_is(sc_x_size(scales, -1), 1))
        group = row;
    sizes[0] = sc_dim_int(-1);
    sizes[1] = group;
    if (sc_x_rank(x) == 2 && group.value > 1 && sc_dim_is_int(row) && row.value % group.value == 0)
        return true;
    sc_trace_fail(t, SC_ERR_SHAPE, "Quantize with a group size that divides the rows.",
                  "a matrix whose rows are whole groups of 2 or more is needed");
    return false;
}

static sc_x as_column(sc_trace *t, sc_x x) { return CALL(t, reshape, x, X_INTS(t, -1, 1)); }

// (input, scales, zero_points, quant_min, quant_max, dtype, group_size)
sc_x sc_expand_quantize_group(sc_trace *t, const sc_x *a) {
    sc_dim sizes[2];
    if (!in_groups(t, a[0], a[6], a[1], sizes)) return a[0];
    sc_x x = CALL(t, reshape, a[0], sc_x_dims(t, sizes, 2));
    x = sc_f_mul(t, x, reciprocal(t, as_column(t, a[1])));
    x = CALL(t, round, sc_f_add(t, x, as_column(t, a[2])));
    x = sc_f_to(t, CALL(t, clamp, x, a[3], a[4]), (sc_dtype)a[5]->code);
    return view_whole(t, x, a[0]);
}

// (input, scales, zero_points, quant_min, quant_max, dtype, group_size, output_dtype)
sc_x sc_expand_dequantize_group(sc_trace *t, const sc_x *a) {
    sc_dim sizes[2];
    if (!in_groups(t, a[0], a[6], a[1], sizes)) return a[0];
    sc_x x = CALL(t, reshape, a[0], sc_x_dims(t, sizes, 2));
    if (sc_x_is_tensor(a[2])) x = sc_f_sub(t, x, as_column(t, a[2]));
    x = sc_f_mul(t, x, as_column(t, a[1]));
    return sc_f_to(t, view_whole(t, x, a[0]), (sc_dtype)a[7]->code);
}

static sc_x as_one(sc_trace *t, sc_x x, sc_dtype dtype) {
    sc_dim one = sc_dim_int(1);
    return sc_f_to(t, sc_f_view(t, x, &one, 1), dtype);
}

// (input, quant_min, quant_max, eps, dtype)
sc_x sc_expand_choose_qparams_symmetric(sc_trace *t, const sc_x *a) {
    range r;
    sc_x low, high;
    blocks whole = {.rank = sc_x_rank(a[0])};
    if (!range_of(t, a[4], a[1], a[2], &r)) return X_LIST(t, a[0], a[0]);
    for (uint32_t d = 0; d < whole.rank; d++) {
        whole.sizes[d] = sc_x_size(a[0], d);
        whole.dims[whole.dim_count++] = d;
    }
    extremes(t, a[0], &whole, X_FALSE, &low, &high);
    sc_x scale = sc_f_to(t, symmetric_scale(t, low, high, &r, true), SC_DTYPE_F32);
    scale = as_one(t, CALL(t, clamp, scale, a[3]), SC_DTYPE_F64);
    sc_x zero = sc_x_int(t, a[4]->code == SC_DTYPE_U8 ? 128 : 0);
    return X_LIST(t, scale, sc_f_full(t, X_INTS(t, 1), zero, SC_DTYPE_I64));
}
