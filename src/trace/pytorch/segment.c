// Expansions of run lengths: rows repeated, and segments reduced.
#include "trace/expand.h"
#include "trace/words/arithmetic.h"
#include "trace/words/calls.h"

#include <math.h>

// (self, repeats, dim, output_size)
sc_x sc_expand_repeat_interleave_tensor(sc_trace *t, const sc_x *a) {
    bool is_flat = sc_x_is_none(a[2]);
    sc_x x = is_flat ? sc_f_flat(t, a[0]) : a[0], repeats = a[1];
    sc_x dim = sc_x_int(t, is_flat ? 0 : sc_x_wrap(t, a[2], sc_x_rank(x)));
    sc_dim size = sc_x_size(x, sc_x_number(dim, 0));
    if (sc_x_rank(repeats) == 0 || sc_dim_is(sc_x_size(repeats, 0), 1)) {
        repeats = CALL(t, reshape, repeats, X_INTS(t, 1));
        repeats = sc_f_expand(t, repeats, &size, 1);
    }
    sc_x rows = CALL(t, repeat_interleave_Tensor, repeats, a[3]);
    if (sc_x_is_none(a[3])) sc_trace_take_size(t, rows, (uint32_t)sc_x_number(dim, 0));
    return CALL(t, index_select, x, dim, rows);
}

// How a reduction is called elsewhere, and what it starts from.
typedef struct segment_rule {
    const char *name, *reduce;
    double from;
} segment_rule;

static const segment_rule segment_rules[] = {{"sum", "sum", 0},
                                             {"mean", "sum", 0},
                                             {"max", "amax", -INFINITY},
                                             {"min", "amin", INFINITY},
                                             {"prod", "prod", 1}};

static const segment_rule *rule_of(sc_x name) {
    for (size_t i = 0; name->kind == SC_X_STR && i < SC_COUNT_OF(segment_rules); i++)
        if (sc_str_is(name->str, segment_rules[i].name)) return &segment_rules[i];
    return NULL;
}

// The mean of each segment; of an empty one NaN, or the number that was given to start from.
static sc_x mean_of(sc_trace *t, sc_x sum, sc_x lengths, bool is_given) {
    sc_dim sizes[SC_RANK_MAX];
    for (uint32_t i = 0; i < sc_x_rank(sum); i++) sizes[i] = i ? sc_dim_int(1) : sc_x_size(sum, 0);
    sc_x by = sc_f_view(t, sc_f_to_dtype_of(t, lengths, sum), sizes, sc_x_rank(sum));
    if (is_given) by = CALL(t, clamp, by, sc_x_int(t, 1));
    return sc_f_div(t, sum, by);
}

// (data, reduce, lengths, indices, offsets, axis, unsafe, initial): of rows that lie behind each
// other. Those behind the last run, which only `unsafe` allows, are gathered in one more.
sc_x sc_expand_segment_reduce(sc_trace *t, const sc_x *a) {
    const segment_rule *rule = rule_of(a[1]);
    const uint32_t rank = sc_x_rank(a[0]);
    const bool is_given = !sc_x_is_none(a[7]);
    sc_dim sizes[SC_RANK_MAX], ones[SC_RANK_MAX];
    if (!rule || !sc_x_is_tensor(a[2]) || sc_x_rank(a[2]) != 1 || sc_x_is_tensor(a[3]) ||
        sc_x_is_tensor(a[4]) || sc_x_number(a[5], -1) != 0 || rank == 0 || !sc_x_is_float(a[0]))
        return sc_trace_fail(t, SC_ERR_UNSUPPORTED, "Give lengths of the runs of axis 0.",
                             "segment_reduce takes floats, and a vector of lengths");
    for (uint32_t i = 0; i < rank; i++) {
        sizes[i] = i ? sc_x_size(a[0], i) : sc_x_size(a[2], 0);
        ones[i] = i ? sc_dim_int(1) : sc_x_size(a[0], 0);
    }
    sc_x ends = CALL(t, cumsum, sc_f_to(t, a[2], SC_DTYPE_I64), sc_x_int(t, 0));
    sc_x runs = sc_f_view(t, sc_f_runs(t, ends, ones[0]), ones, rank);
    runs = CALL(t, expand, runs, sc_x_sizes(t, a[0], 0, SC_RANK_MAX));
    const sc_dim count = sizes[0];
    if (sc_x_truth(a[6])) sizes[0] = sc_trace_add(t, count, sc_dim_int(1));
    sc_x from = sc_x_float(t, sc_x_known(t, a[7], rule->from));
    sc_x out = sc_f_full(t, sc_x_dims(t, sizes, rank), from, sc_x_dtype_of(a[0]));
    out = CALL(t, scatter_reduce_two, out, sc_x_int(t, 0), runs, a[0], sc_x_str(t, rule->reduce),
               X_TRUE);
    if (sc_x_truth(a[6])) out = sc_f_slice(t, out, 0, sc_x_int(t, 0), sc_x_dim(t, count));
    return sc_str_is(a[1]->str, "mean") ? mean_of(t, out, a[2], is_given) : out;
}
