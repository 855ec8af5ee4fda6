// Resizing with antialiasing. Each pixel is a weighted mean of the pixels that its filter covers.
// The weights of a row or a column are the same everywhere, so resizing is two products of
// matrices.
#include "core/pixel_scale.h"
#include "trace/official/official.h"

// The weight of a pixel at that distance, in pixels of the larger image.
typedef sc_x (*filter_fn)(sc_trace *t, sc_x distance);

// Keys' cubic with a = -0.5.
static sc_x cubic(sc_trace *t, sc_x x) {
    static const double inner_factors[] = {1, 0, -2.5, 1.5}, outer_factors[] = {2, -4, 2.5, -0.5};
    sc_x size = CALL(t, abs, x), inner = POLYNOMIAL(t, size, inner_factors);
    sc_x outer = POLYNOMIAL(t, size, outer_factors);
    outer = sc_f_where_number(t, CALL(t, ge_Scalar, size, sc_x_int(t, 2)), 0, outer);
    return sc_f_where(t, sc_f_lt_number(t, size, 1), inner, outer);
}

static sc_x triangle(sc_trace *t, sc_x x) {
    return CALL(t, clamp, sc_f_number_minus(t, 1, CALL(t, abs, x)), sc_x_float(t, 0));
}

typedef struct axis {
    sc_dim in, out;
    sc_x scale;  // pixels of the image for one of the result; float64
} axis;

// A row for each pixel of the result, in float64. The filter reaches that many pixels.
static sc_x weights(sc_trace *t, const axis *along, filter_fn filter, double reach) {
    sc_x wide = CALL(t, clamp, along->scale, sc_x_float(t, 1));
    sc_x support = sc_f_mul_number(t, wide, reach), narrow = CALL(t, reciprocal, wide);
    sc_x center = sc_f_double(t, sc_f_places(t, along->out, 0, 2));
    sc_x place = sc_f_double(t, sc_f_places(t, along->in, 1, 2));
    center = sc_f_mul(t, sc_f_add_number(t, center, 0.5), along->scale);
    sc_x first = CALL(t, trunc, sc_f_add(t, center, sc_f_number_minus(t, 0.5, support)));
    sc_x end = CALL(t, trunc, sc_f_add(t, center, sc_f_add_number(t, support, 0.5)));
    sc_x covered = CALL(t, ge_Tensor, place, first);
    covered = sc_f_and(t, covered, CALL(t, lt_Tensor, place, end));
    sc_x distance = sc_f_add_number(t, sc_f_sub(t, place, center), 0.5);
    sc_x weight = filter(t, sc_f_mul(t, distance, narrow));
    weight = sc_f_where_number(t, sc_f_not(t, covered), 0, weight);
    sc_x total = sc_official_sum_of(t, weight, 1);
    return sc_f_div(t, weight, sc_f_where_number(t, sc_f_eq_number(t, total, 0), 1, total));
}

static sc_x real(sc_trace *t, sc_x number) { return sc_f_scalar(t, number, SC_DTYPE_F64); }

static sc_x scale_of(sc_trace *t, sc_x factor, const axis *along, bool aligns) {
    const double given = sc_x_known(t, factor, 0);
    const bool is_open = along->in.expr || along->out.expr;
    if (is_open && aligns) return sc_official_beyond(t, SC_LIMIT_KNOWN_CORNERS);
    if (!is_open || given > 0)
        return real(
            t, sc_x_float(t, sc_pixel_scale(along->in.value, along->out.value, aligns, given)));
    sc_x in = real(t, sc_x_dim(t, along->in));
    return sc_f_div(t, in, real(t, sc_x_dim(t, along->out)));
}

// (self, output_size, align_corners, scales_h, scales_w)
static sc_x resized(sc_trace *t, const sc_x *a, filter_fn filter, double reach) {
    const sc_spec *out = &t->source->outs[0]->spec;
    const sc_dtype dtype = sc_f_opmath((sc_dtype)out->dtype);
    if (sc_x_rank(a[0]) != 4 || !sc_x_is_float(a[0])) return sc_official_refuse(t);
    sc_dim in[2], to[2];
    sc_x matrix[2], x = sc_f_to(t, a[0], dtype);
    for (uint32_t i = 0; i < 2; i++) {
        axis along = {.in = sc_x_size(x, 2 + i), .out = out->sizes[2 + i]};
        along.scale = scale_of(t, a[3 + i], &along, sc_x_truth(a[2]));
        if (t->status != SC_OK) return along.scale;
        matrix[i] = sc_f_to(t, weights(t, &along, filter, reach), dtype);
        in[i] = along.in;
        to[i] = along.out;
    }
    const sc_dim planes = sc_trace_mul(t, sc_x_size(x, 0), sc_x_size(x, 1));
    const sc_dim rows[2] = {sc_trace_mul(t, planes, in[0]), in[1]};
    const sc_dim wide[3] = {planes, in[0], to[1]};
    const sc_dim columns[2] = {in[0], sc_trace_mul(t, planes, to[1])};
    const sc_dim tall[3] = {to[0], planes, to[1]};
    x = sc_f_view(t, x, rows, 2);
    x = CALL(t, mm, x, sc_f_transpose(t, matrix[1], 0, 1));
    x = sc_f_transpose(t, sc_f_view(t, x, wide, 3), 0, 1);
    x = CALL(t, mm, matrix[0], sc_f_view(t, x, columns, 2));
    x = sc_f_transpose(t, sc_f_view(t, x, tall, 3), 0, 1);
    return sc_f_to(t, sc_f_view(t, x, out->sizes, 4), (sc_dtype)out->dtype);
}

sc_x sc_official_bicubic_aa(sc_trace *t, const sc_x *a) { return resized(t, a, cubic, 2); }

sc_x sc_official_bilinear_aa(sc_trace *t, const sc_x *a) { return resized(t, a, triangle, 1); }

// The official kernel sums up four pixels of an axis at most, in the dtype of the image with
// weights of float32, into a result whose sizes it does not set.
enum { COARSEST = 2 };

static double given_scale(const sc_node *node, const char *name) {
    const sc_arg *arg = sc_node_arg(node, name);
    return arg->kind == SC_ARG_FLOAT ? arg->f : 0;
}

bool sc_official_is_coarse_or_open(const sc_node *node) {
    const sc_arg *self = sc_node_arg(node, "self"), *aligns = sc_node_arg(node, "align_corners");
    const sc_spec *out = &node->outs[0]->spec;
    const double given[2] = {given_scale(node, "scales_h"), given_scale(node, "scales_w")};
    // Neither runtime has a kernel for bytes, which lowering reports in the end.
    if (self->kind != SC_ARG_VALUE || out->rank != 4) return false;
    if (!sc_dtype_is_float((sc_dtype)out->dtype)) return false;
    if (out->dtype != SC_DTYPE_F32 || (given[0] > 0) != (given[1] > 0)) return true;
    if (aligns->kind != SC_ARG_BOOL) return true;
    for (uint32_t i = 0; i < 4; i++) {
        const sc_dim in = self->value->spec.sizes[i], to = out->sizes[i];
        if (in.expr || to.expr) return true;
        if (i < 2) continue;
        if (sc_pixel_scale(in.value, to.value, aligns->b, given[i - 2]) > COARSEST) return true;
    }
    return false;
}
