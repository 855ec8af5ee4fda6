// Expansions of products of groups: what is grouped is rows, columns, or what is summed over.
#include "trace/expand.h"
#include "trace/words/calls.h"
#include "trace/words/choose.h"
#include "trace/words/matrices.h"

// The elements of every group, and zeros elsewhere: [groups, ...], the run along `dim` of [1, ...].
static sc_x apart(sc_trace *t, sc_x x, sc_x runs, sc_dim groups, uint32_t dim) {
    const sc_dim one = sc_dim_int(1);
    sc_dim along[3] = {one, one, one}, first[3] = {groups, one, one};
    along[dim] = sc_x_size(runs, 0);
    sc_x group = sc_f_range(t, sc_x_dim(t, groups), SC_DTYPE_I64);
    runs = sc_f_view(t, runs, along, 3), group = sc_f_view(t, group, first, 3);
    sc_x is_in = CALL(t, eq_Tensor, runs, group);
    sc_x zero = sc_f_scalar_like(t, sc_x_int(t, 0), x);
    return sc_f_where(t, is_in, sc_f_unsqueeze(t, x, 0), zero);
}

// a [m, k] and b [k, n], grouped along k: a product for each group.
static sc_x of_sums(sc_trace *t, sc_x a, sc_x b, sc_x ends) {
    const sc_dim groups = sc_x_size(ends, 0);
    sc_x runs = sc_f_runs(t, ends, sc_x_size(a, 1));
    a = apart(t, a, runs, groups, 2), b = apart(t, b, runs, groups, 1);
    return CALL(t, bmm, a, b);
}

static sc_x of_rows(sc_trace *t, sc_x rows, sc_x matrices, sc_x ends) {
    return CALL(t, transformers__grouped_mm_fallback, rows, matrices, ends);
}

static sc_x product(sc_trace *t, sc_x a, sc_x b, sc_x ends) {
    const uint32_t first = sc_x_rank(a), second = sc_x_rank(b);
    if (sc_x_is_none(ends) && first == 3 && second == 3) return CALL(t, bmm, a, b);
    if (!sc_x_is_tensor(ends) || sc_x_rank(ends) != 1 || first + second > 5 || first < 2 ||
        second < 2)
        return sc_trace_fail(t, SC_ERR_SHAPE, NULL,
                             "grouped_mm takes no matrices of rank %u and %u with these offsets",
                             first, second);
    if (sc_x_dtype_of(ends) != SC_DTYPE_I32)
        return sc_trace_fail(t, SC_ERR_DTYPE, "Cast them: offs.to(torch.int32).",
                             "the offsets of grouped_mm are int32, not %s",
                             sc_dtype_name(sc_x_dtype_of(ends)));
    if (first == 2 && second == 3) return of_rows(t, a, b, ends);
    if (first == 2) return of_sums(t, a, b, ends);
    sc_x rows = sc_f_transposed(t, b), matrices = sc_f_transposed(t, a);
    return sc_f_transposed(t, of_rows(t, rows, matrices, ends));
}

// (self, mat2, offs, bias, out_dtype)
sc_x sc_expand_grouped_mm(sc_trace *t, const sc_x *a) {
    if (!sc_x_is_none(a[3]))
        return sc_trace_fail(t, SC_ERR_ARGUMENT, "Add it afterwards.", "grouped_mm takes no bias");
    sc_x made = product(t, a[0], a[1], a[2]);
    return a[4]->kind == SC_X_DTYPE ? sc_f_to(t, made, (sc_dtype)a[4]->code) : made;
}
