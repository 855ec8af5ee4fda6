// Reduces the elements that are scattered to one place. Sums and means are a scatter_add, and a
// count of elements. For extremes the elements are sorted first: kernels scatter one after the
// other along a dim, so the last one stays, which is the largest. For products, the elements are
// sorted by their place, in order within each place, and scanned there: the last element of a place
// has the product. The others go to a place after the end.
// In wasm: -Os
#include "trace/official/official.h"

#define PLACE (INT64_C(1) << 32)  // positions are smaller

typedef struct scatter {
    sc_x self, index, source;
    uint32_t dim;
    bool includes_self;
    sc_x count;  // how many came to each place
} scatter;

// The part of the source that has indices.
static sc_x like_index(sc_trace *t, sc_x source, sc_x index) {
    for (uint32_t i = 0; i < sc_x_rank(index); i++)
        source = sc_f_slice_first(t, source, i, sc_x_size(index, i));
    return source;
}

static const scatter *counted(sc_trace *t, scatter *s) {
    sc_x zeros = sc_f_zeros(t, sc_x_sizes(t, s->self, 0, sc_x_rank(s->self)), SC_DTYPE_I64);
    sc_x ones =
        sc_f_full(t, sc_x_sizes(t, s->index, 0, sc_x_rank(s->index)), sc_x_int(t, 1), SC_DTYPE_I64);
    s->count = CALL(t, scatter_add, zeros, sc_x_int(t, s->dim), s->index, ones);
    return s;
}

static sc_x is_hit(sc_trace *t, const scatter *s) {
    return CALL(t, gt_Scalar, s->count, sc_x_int(t, 0));
}

static sc_x sum(sc_trace *t, const scatter *s) {
    sc_x base = s->self;
    if (!s->includes_self)
        base = sc_f_where_else(t, sc_f_not(t, is_hit(t, s)), base, sc_x_int(t, 0));
    return CALL(t, scatter_add, base, sc_x_int(t, s->dim), s->index, s->source);
}

static sc_x mean(sc_trace *t, const scatter *s) {
    sc_x count = s->includes_self ? sc_f_add(t, s->count, sc_x_int(t, 1))
                                  : CALL(t, maximum, s->count, sc_x_int(t, 1));
    sc_x total = sum(t, s);
    count = sc_f_to_dtype_of(t, count, total);
    if (sc_x_is_float(total)) return sc_f_div(t, total, count);
    return CALL(t, div_Tensor_mode, total, count, sc_x_str(t, "floor"));
}

// --- Extremes ------------------------------------------------------------------------------------

// The sorted source, and the place of each element. NaN is last, as the largest of all. For the
// smallest floats, their negatives are sorted, so that NaN is last, too.
static sc_x ordered(sc_trace *t, const scatter *s, bool is_largest, sc_x *to) {
    const bool turns = !is_largest && sc_x_is_float(s->source);
    sc_x x = turns ? CALL(t, neg, s->source) : s->source, dim = sc_x_int(t, s->dim);
    sc_x falls = sc_x_bool(!is_largest && !turns);
    sc_x count = sc_x_dim(t, sc_x_size(x, s->dim));
    sc_x all = CALL(t, topk, x, count, dim, falls, X_TRUE), values = sc_x_at(t, all, 0);
    *to = CALL(t, gather, s->index, dim, sc_x_at(t, all, 1));
    return turns ? CALL(t, neg, values) : values;
}

static sc_x extreme(sc_trace *t, const scatter *s, bool is_largest) {
    sc_x to, values = ordered(t, s, is_largest, &to);
    sc_x made = CALL(t, scatter_src, s->self, sc_x_int(t, s->dim), to, values);
    if (!s->includes_self) return made;
    return is_largest ? CALL(t, maximum, s->self, made) : CALL(t, minimum, s->self, made);
}

// --- Products ------------------------------------------------------------------------------------

static sc_x products(sc_trace *t, const sc_x *before, const sc_x *after) {
    const sc_x operands[] = {before[0], after[0], before[1], after[1]};
    sc_x made = sc_official_step(t, SC_STEP_product_in_run, operands);
    return X_LIST(t, made, after[1]);
}

// The product of the elements that were scattered to each place of self; undefined where no element
// was.
static sc_x gathered(sc_trace *t, const scatter *s) {
    const sc_dim n = sc_x_size(s->index, s->dim);
    const sc_dim end = sc_x_size(s->self, s->dim), one = sc_dim_int(1);
    sc_x dim = sc_x_int(t, s->dim), key = sc_f_mul(t, s->index, sc_x_int(t, PLACE));
    key = sc_f_add(t, key, sc_f_places(t, n, s->dim, sc_x_rank(s->index)));
    key = sc_x_at(t, CALL(t, topk, key, sc_x_dim(t, n), dim, X_FALSE, X_TRUE), 0);
    sc_x place = CALL(t, bitwise_right_shift_Tensor_Scalar, key, sc_x_int(t, 32));
    sc_x from = CALL(t, bitwise_and_Scalar, key, sc_x_int(t, PLACE - 1));
    sc_x both[2] = {CALL(t, gather, s->source, dim, from), place};
    sc_official_scan(t, both, 2, s->dim, products);
    sc_x to = sc_f_where_else(t, sc_official_ends_run(t, place, s->dim), place, sc_x_dim(t, end));
    sc_dim sizes[SC_RANK_MAX];
    const sc_spec *spec = sc_x_spec(s->self);
    if (t->status != SC_OK) return &t->poisoned;
    for (uint32_t i = 0; i < spec->rank; i++) sizes[i] = spec->sizes[i];
    sizes[s->dim] = sc_trace_add(t, end, one);
    sc_x room = sc_f_zeros(t, sc_x_dims(t, sizes, spec->rank), (sc_dtype)spec->dtype);
    sc_x all = CALL(t, scatter_src, room, dim, to, both[0]);
    return sc_f_slice_first(t, all, s->dim, end);
}

static sc_x product(sc_trace *t, const scatter *s) {
    sc_x made = gathered(t, s);
    if (s->includes_self) made = sc_f_mul(t, s->self, made);
    return sc_f_where(t, is_hit(t, s), made, s->self);
}

// Bools are counted. float16 and bfloat16 are added up and multiplied in float32.
static sc_dtype compute_dtype(sc_dtype dtype, bool compares) {
    if (dtype == SC_DTYPE_BOOL) return SC_DTYPE_I32;
    return compares ? dtype : sc_f_opmath(dtype);
}

// (self, dim, index, src, reduce, include_self)
sc_x sc_official_scatter_reduce(sc_trace *t, const sc_x *a) {
    scatter s = {.dim = sc_x_wrap(t, a[1], sc_x_rank(a[0])), .includes_self = sc_x_truth(a[5])};
    s.self = sc_f_atleast_1d(t, a[0]);
    s.index = sc_f_to(t, sc_f_atleast_1d(t, a[2]), SC_DTYPE_I64);
    s.source = sc_f_atleast_1d(t, a[3]);
    const sc_str how = a[4]->kind == SC_X_STR ? a[4]->str : SC_STR("");
    if (sc_dim_is(sc_x_numel(t, s.index), 0)) return a[0];
    const bool compares = sc_str_is(how, "amax") || sc_str_is(how, "amin");
    const sc_dtype dtype = compute_dtype(sc_x_dtype_of(s.self), compares);
    s.self = sc_f_to(t, s.self, dtype);
    s.source = sc_f_to(t, s.source, dtype);
    s.source = like_index(t, s.source, s.index);
    sc_x made;
    if (sc_str_is(how, "amax"))
        made = extreme(t, &s, true);
    else if (sc_str_is(how, "amin"))
        made = extreme(t, &s, false);
    else if (sc_str_is(how, "sum"))
        made = sum(t, counted(t, &s));
    else if (sc_str_is(how, "mean"))
        made = mean(t, counted(t, &s));
    else if (sc_str_is(how, "prod"))
        made = product(t, counted(t, &s));
    else
        return sc_official_refuse(t);
    return sc_f_restore_rank(t, sc_official_rounded(t, made), a[0]);
}
