// Resizing with antialiasing by cubics: each pixel is a weighted mean of those that its filter
// covers, the weights of a row or a column are the same everywhere, and so it is two products of
// matrices.
#include "trace/official/special.h"

// Keys' cubic with a = -0.5.
static sc_x cubic(sc_trace *t, sc_x x) {
    static const double near[] = {1, 0, -2.5, 1.5}, far[] = {2, -4, 2.5, -0.5};
    sc_x size = CALL(t, abs, x), inner = POLYNOMIAL(t, size, near);
    sc_x outer =
        sc_o_unless(t, CALL(t, ge_Scalar, size, sc_x_int(t, 2)), 0, POLYNOMIAL(t, size, far));
    return sc_o_where(t, sc_o_less(t, size, 1), inner, outer);
}

// A row for each pixel of the result, in float64.
static sc_x weights(sc_trace *t, int64_t in, int64_t out, double scale) {
    const double support = scale >= 1 ? 2 * scale : 2, narrow = scale >= 1 ? 1 / scale : 1;
    sc_x center = sc_o_double(t, sc_o_places(t, sc_dim_int(out), 0, 2));
    sc_x place = sc_o_double(t, sc_o_places(t, sc_dim_int(in), 1, 2));
    center = sc_o_times(t, sc_o_plus(t, center, 0.5), scale);
    sc_x first = CALL(t, trunc, sc_o_plus(t, center, 0.5 - support));
    sc_x end = CALL(t, trunc, sc_o_plus(t, center, 0.5 + support));
    sc_x covered = sc_o_and(t, CALL(t, ge_Tensor, place, first), CALL(t, lt_Tensor, place, end));
    sc_x distance = sc_o_plus(t, sc_o_sub(t, place, center), 0.5);
    sc_x weight = cubic(t, sc_o_times(t, distance, narrow));
    weight = sc_o_unless(t, sc_o_not(t, covered), 0, weight);
    sc_x total = sc_o_sum(t, weight, 1);
    return sc_o_div(t, weight, sc_o_unless(t, sc_o_is(t, total, 0), 1, total));
}

static double scale_of(sc_x factor, int64_t in, int64_t out, bool aligns) {
    const double given = sc_x_real(factor, 0);
    if (aligns) return out > 1 ? (double)(in - 1) / (double)(out - 1) : 0;
    return given > 0 ? 1 / given : (double)in / (double)out;
}

// (self, output_size, align_corners, scales_h, scales_w)
sc_x sc_official_bicubic_aa(sc_trace *t, const sc_x *a) {
    const sc_spec *out = &t->source->outs[0]->spec;
    const sc_dtype dtype = sc_f_opmath((sc_dtype)out->dtype);
    int64_t in[2], to[2];
    if (sc_x_rank(a[0]) != 4 || !sc_x_is_float(a[0])) return sc_o_refuse(t);
    sc_x matrix[2], x = sc_f_to(t, a[0], dtype);
    for (uint32_t i = 0; i < 2; i++) {
        in[i] = sc_x_static_size(t, x, 2 + i);
        if (out->sizes[2 + i].expr || t->status != SC_OK) return sc_o_refuse(t);
        to[i] = out->sizes[2 + i].value;
        const double scale = scale_of(a[3 + i], in[i], to[i], sc_x_truth(a[2]));
        matrix[i] = sc_f_to(t, weights(t, in[i], to[i], scale), dtype);
    }
    const sc_dim planes = sc_trace_mul(t, sc_x_size(x, 0), sc_x_size(x, 1));
    const sc_dim rows[2] = {sc_trace_mul(t, planes, sc_dim_int(in[0])), sc_dim_int(in[1])};
    const sc_dim wide[3] = {planes, sc_dim_int(in[0]), sc_dim_int(to[1])};
    const sc_dim columns[2] = {sc_dim_int(in[0]), sc_trace_mul(t, planes, sc_dim_int(to[1]))};
    const sc_dim tall[3] = {sc_dim_int(to[0]), planes, sc_dim_int(to[1])};
    x = CALL(t, mm, sc_f_view(t, x, rows, 2), sc_f_transpose(t, matrix[1], 0, 1));
    x = sc_f_transpose(t, sc_f_view(t, x, wide, 3), 0, 1);
    x = CALL(t, mm, matrix[0], sc_f_view(t, x, columns, 2));
    x = sc_f_transpose(t, sc_f_view(t, x, tall, 3), 0, 1);
    return sc_f_to(t, sc_f_view(t, x, out->sizes, 4), (sc_dtype)out->dtype);
}
