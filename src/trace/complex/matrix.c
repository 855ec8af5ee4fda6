// Matrices and images of complex numbers: products by four real ones, and what solves equations by
// the real matrix [[A, -B], [B, A]], which computes as A + iB does.
#include "trace/complex/complex.h"

// --- Products ------------------------------------------------------------------------------------

static sc_x product(sc_trace *t, const sc_op *op, sc_x x, sc_x y) {
    sc_x args[2] = {x, y};
    return sc_trace_call(t, op, args, 2);
}

sc_x sc_complex_mm(sc_trace *t, const sc_op *op, const sc_x *a) {
    const sc_dtype part = sc_complex_common(a[0], a[1]);
    if (!sc_x_is_complex(a[0]) || !sc_x_is_complex(a[1])) return sc_complex_refuse(t, op);
    sc_complex x = sc_complex_of(t, a[0]), y = sc_complex_of(t, a[1]);
    sc_x ac = product(t, op, x.re, y.re), bd = product(t, op, x.im, y.im);
    sc_x re = sc_f_sub(t, ac, bd);
    sc_x ad = product(t, op, x.re, y.im), bc = product(t, op, x.im, y.re);
    return sc_complex_make(t, (sc_complex){re, sc_f_add(t, ad, bc)}, part);
}

static sc_x scaled(sc_trace *t, sc_x x, sc_x by) {
    return sc_x_real(by, 0) == 1 ? x : sc_f_mul(t, x, by);
}

// (self, mat1, mat2, beta, alpha); self does not count if beta is 0, even where it is NaN
sc_x sc_complex_addmm(sc_trace *t, const sc_op *op, const sc_x *a) {
    (void)op;
    sc_x mm = scaled(t, CALL(t, mm, a[1], a[2]), a[4]);
    if (sc_x_real(a[3], 1) == 0) return mm;
    return sc_f_add(t, mm, scaled(t, a[0], a[3]));
}

static sc_x convolved(sc_trace *t, const sc_op *op, const sc_x *a, sc_x image, sc_x weight) {
    sc_x args[9];
    memcpy(args, a, sizeof args);
    args[0] = image;
    args[1] = weight;
    args[2] = X_NONE;
    return sc_trace_call(t, op, args, 9);
}

// (input, weight, bias, stride, padding, dilation, transposed, output_padding, groups)
sc_x sc_complex_convolution(sc_trace *t, const sc_op *op, const sc_x *a) {
    if (!sc_x_is_complex(a[0]) || !sc_x_is_complex(a[1])) return sc_complex_refuse(t, op);
    const sc_dtype part = sc_complex_common(a[0], a[1]);
    sc_complex x = sc_complex_of(t, a[0]), y = sc_complex_of(t, a[1]);
    sc_x ac = convolved(t, op, a, x.re, y.re), bd = convolved(t, op, a, x.im, y.im);
    sc_x re = sc_f_sub(t, ac, bd);
    sc_x ad = convolved(t, op, a, x.re, y.im), bc = convolved(t, op, a, x.im, y.re);
    sc_x out = sc_complex_make(t, (sc_complex){re, sc_f_add(t, ad, bc)}, part);
    if (sc_x_is_none(a[2]) || t->status != SC_OK) return out;
    sc_dim sizes[SC_RANK_MAX];
    for (uint32_t i = 0; i < sc_x_rank(out); i++) sizes[i] = sc_dim_int(1);
    sizes[1] = sc_x_size(a[2], 0);
    sc_x bias = sc_f_view(t, a[2], sizes + 1, sc_x_rank(out) - 1);
    return sc_f_add(t, out, bias);
}

// --- As real matrices ----------------------------------------------------------------------------

// The block takes the real part above the imaginary one, from the left; or both in a row, from the
// right.
static sc_x as_block(sc_trace *t, sc_complex z, bool from_left) {
    sc_x minus = CALL(t, neg, z.im);
    sc_x above = sc_f_join(t, z.re, from_left ? minus : z.im, -1);
    return sc_f_join(t, above, sc_f_join(t, from_left ? z.im : minus, z.re, -1), -2);
}

// Both halves of a tensor along a dim, as parts.
static sc_x halves(sc_trace *t, sc_x x, int64_t dim, sc_dim size) {
    sc_x half = sc_x_dim(t, size), end = sc_x_dim(t, sc_trace_add(t, size, size));
    sc_x re = sc_f_slice(t, x, dim, sc_x_int(t, 0), half);
    return sc_complex_make(t, (sc_complex){re, sc_f_slice(t, x, dim, half, end)}, sc_x_dtype_of(x));
}

// The first columns of such a matrix.
static sc_x first_columns(sc_trace *t, sc_x block, sc_dim size) {
    sc_x columns = sc_f_slice(t, block, -1, sc_x_int(t, 0), sc_x_dim(t, size));
    return halves(t, columns, -2, size);
}

static bool are_matrices(sc_x x, sc_x y) {
    return sc_x_rank(x) >= 2 && sc_x_rank(x) == sc_x_rank(y);
}

// (A, check_errors)
sc_x sc_complex_inverse(sc_trace *t, const sc_op *op, const sc_x *a) {
    if (!are_matrices(a[0], a[0])) return sc_complex_refuse(t, op);
    sc_x args[2] = {as_block(t, sc_complex_of(t, a[0]), true), a[1]};
    sc_x both = sc_trace_call(t, op, args, 2);
    sc_x inverse = first_columns(t, sc_x_at(t, both, 0), sc_x_size(a[0], -1));
    return X_LIST(t, inverse, sc_x_at(t, both, 1));
}

// Factors of [[A, -B], [B, A]] are not those of A + iB.
sc_x sc_complex_factors(sc_trace *t, const sc_op *op, const sc_x *a) {
    (void)a;
    return sc_complex_refuse(t, op);
}

// (self)
sc_x sc_complex_matrix_exp(sc_trace *t, const sc_op *op, const sc_x *a) {
    if (!are_matrices(a[0], a[0])) return sc_complex_refuse(t, op);
    sc_x block = as_block(t, sc_complex_of(t, a[0]), true);
    return first_columns(t, sc_trace_call(t, op, &block, 1), sc_x_size(a[0], -1));
}

// (A, B, left, check_errors)
sc_x sc_complex_solve(sc_trace *t, const sc_op *op, const sc_x *a) {
    const bool left = sc_x_truth(a[2]);
    const int64_t dim = left ? -2 : -1;
    if (!sc_x_is_complex(a[0]) || !sc_x_is_complex(a[1]) || !are_matrices(a[0], a[1]))
        return sc_complex_refuse(t, op);
    sc_complex b = sc_complex_of(t, a[1]);
    sc_x sides[2] = {b.re, b.im}, block = as_block(t, sc_complex_of(t, a[0]), left);
    sc_x args[4] = {block, sc_f_cat(t, sides, 2, dim), a[2], a[3]};
    sc_x both = sc_trace_call(t, op, args, 4);
    sc_x result = halves(t, sc_x_at(t, both, 0), dim, sc_x_size(a[0], -1));
    return X_LIST(t, result, sc_x_at(t, both, 1));
}

// Eigenvalues and singular values of A + iB are those of [[A, -B], [B, A]], each twice; to get
// vectors of those takes more. Refused by the name that the program has for it.
static sc_x refuse_values(sc_trace *t, const sc_op *op, const char *hint) {
    const sc_op *asked = t->source && t->source->op ? t->source->op : op;
    return sc_trace_fail(t, SC_ERR_UNSUPPORTED_OP, hint, "%s is not supported for complex numbers",
                         asked->name);
}

#define REAL_MATRIX                                                                           \
    "is there twice, one behind the other, of the real matrix torch.cat([torch.cat([x.real, " \
    "-x.imag], -1), torch.cat([x.imag, x.real], -1)], -2)."

sc_x sc_complex_values_only(sc_trace *t, const sc_op *op, const sc_x *a) {
    (void)a;
    return refuse_values(t, op, "Each value of a complex matrix x " REAL_MATRIX);
}

// The operator reads one triangle, and the real matrix is symmetric only if x has both.
sc_x sc_complex_hermitian(sc_trace *t, const sc_op *op, const sc_x *a) {
    (void)a;
    return refuse_values(t, op, "Each value of a full Hermitian x " REAL_MATRIX);
}
