// Binary search in sorted sequences, in the steps of PyTorch, so that NaN and unsorted sequences
// lead to the same places. Each step is for all values at once.
#include "trace/official/official.h"

typedef struct search {
    sc_x sequence, values;
    sc_dim length;
    bool right;    // behind equals, not before them
    bool has_end;  // there is an element behind the last one
} search;

static sc_x element(sc_trace *t, const search *s, sc_x place) {
    if (sc_x_rank(s->sequence) == 1) return CALL(t, index_Tensor, s->sequence, X_LIST(t, place));
    return CALL(t, gather, s->sequence, sc_x_int(t, sc_x_rank(s->sequence) - 1), place);
}

// Is the place that is searched for in the first half, where the middle is?
static sc_x is_before(sc_trace *t, const search *s, sc_x middle) {
    sc_x x = element(t, s, middle);
    return s->right ? CALL(t, gt_Tensor, x, s->values) : CALL(t, ge_Tensor, x, s->values);
}

// Halves the range of each element; both ends of an empty range stay.
static void halve_open(sc_trace *t, const search *s, sc_x middle, sc_x *start, sc_x *end) {
    sc_x is_open = CALL(t, lt_Tensor, *start, *end), at = middle;
    if (!s->has_end) at = CALL(t, minimum, middle, sc_x_int(t, s->length.value - 1));
    sc_x before = is_before(t, s, at);
    sc_x up = sc_f_and(t, is_open, sc_f_not(t, before)), down = sc_f_and(t, is_open, before);
    *start = sc_f_where(t, up, sc_f_add(t, middle, sc_x_int(t, 1)), *start);
    *end = sc_f_where(t, down, middle, *end);
}

static void halve(sc_trace *t, const search *s, int64_t least, sc_x *start, sc_x *end) {
    sc_x both = sc_f_add(t, *start, *end);
    sc_x middle = CALL(t, bitwise_right_shift_Tensor_Scalar, both, sc_x_int(t, 1));
    if (least < 1) {
        halve_open(t, s, middle, start, end);
        return;
    }
    sc_x before = is_before(t, s, middle), next = sc_f_add(t, middle, sc_x_int(t, 1));
    *start = sc_f_where(t, before, *start, next);
    *end = sc_f_where(t, before, middle, *end);
}

// The middle of an empty range is after the end. A sequence of open length gets an element there.
static void add_end(sc_trace *t, search *s) {
    s->length = sc_x_size(s->sequence, -1);
    s->has_end = !sc_dim_is_int(s->length);
    if (!s->has_end) return;
    const uint32_t last = sc_x_rank(s->sequence) - 1;
    s->sequence = sc_f_pad(t, s->sequence, last, 0, 1, sc_x_int(t, 0));
}

// After k steps at least (length + 1) / 2^k - 1 elements remain, with any choice of halves.
static sc_x find(sc_trace *t, search *s) {
    const sc_spec *out = &t->source->outs[0]->spec;
    sc_x sizes = sc_x_dims(t, out->sizes, out->rank);
    add_end(t, s);
    sc_x start = sc_f_full(t, sizes, sc_x_int(t, 0), SC_DTYPE_I64);
    sc_x end = sc_f_full(t, sizes, sc_x_dim(t, s->length), SC_DTYPE_I64);
    const int64_t most = sc_official_size_max(t, s->length);
    int64_t least = s->has_end ? 0 : most;
    for (int64_t left = most; left > 0 && t->status == SC_OK; left >>= 1) {
        halve(t, s, least, &start, &end);
        least = (least + 1) / 2 - 1;
    }
    return sc_f_to(t, start, (sc_dtype)out->dtype);
}

// (sorted_sequence, self, out_int32, right, side, sorter)
sc_x sc_official_searchsorted(sc_trace *t, const sc_x *a) {
    search s = {.sequence = a[0], .values = a[1], .right = sc_x_truth(a[3])};
    if (a[4]->kind == SC_X_STR) s.right = sc_str_is(a[4]->str, "right");
    if (sc_x_rank(a[0]) == 0) return sc_official_refuse(t);
    if (!sc_x_is_none(a[5]))
        s.sequence = CALL(t, gather, a[0], sc_x_int(t, sc_x_rank(a[0]) - 1), a[5]);
    return find(t, &s);
}

// (self, boundaries, out_int32, right)
sc_x sc_official_bucketize(sc_trace *t, const sc_x *a) {
    search s = {.sequence = a[1], .values = a[0], .right = sc_x_truth(a[3])};
    return sc_x_rank(a[1]) == 1 ? find(t, &s) : sc_official_refuse(t);
}
