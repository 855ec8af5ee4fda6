// Views of a tensor in other sizes: whether its strides allow one, and with which strides. If
// several strides are possible, the choice is PyTorch's. It has two rules, one of its eager engine
// and one of its exporter.
#include "core/spec.h"

// Equal, or equal for the example sizes: PyTorch requires no more, and guards that it stays so.
static bool same(sc_dim a, sc_dim b) {
    int64_t x, y;
    return sc_dim_equal(a, b) || (sc_dim_hint(a, &x) && sc_dim_hint(b, &y) && x == y);
}

// --- By chunks -----------------------------------------------------------------------------------

// computeStride of the eager engine. Walks both shapes from the last dim. A chunk is a run of old
// dims that is dense in itself; new dims must split each chunk exactly.
bool sc_spec_view_by_chunks(sc_exprs *exprs, const sc_spec *self, sc_spec *out) {
    sc_dim one = sc_dim_int(1), old_count = one, new_count = one;
    int32_t d = out->rank - 1;
    sc_dim base = self->rank ? self->strides[self->rank - 1] : one;
    for (uint32_t old = self->rank; old-- > 0;) {
        old_count = sc_dim_mul(exprs, old_count, self->sizes[old]);
        sc_dim span = sc_dim_mul(exprs, old_count, base);
        if (old > 0 && (sc_dim_is(self->sizes[old - 1], 1) || same(self->strides[old - 1], span)))
            continue;
        while (d >= 0 && (!same(new_count, old_count) || sc_dim_is(out->sizes[d], 1))) {
            out->strides[d] = sc_dim_mul(exprs, new_count, base);
            new_count = sc_dim_mul(exprs, new_count, out->sizes[d]);
            d--;
        }
        if (!same(new_count, old_count)) return false;
        if (old > 0) {
            base = self->strides[old - 1];
            old_count = new_count = one;
        }
    }
    return d < 0;
}

// --- Dim by dim ----------------------------------------------------------------------------------

// The tensor between its old and new sizes: dims are merged and split from the first to the last.
typedef struct reshaping {
    sc_exprs *exprs;
    sc_dim sizes[2 * SC_RANK_MAX + 1], strides[2 * SC_RANK_MAX + 1];
    uint32_t rank;
} reshaping;

static bool is_divisible(sc_exprs *exprs, sc_dim a, sc_dim b) {
    int64_t x, y;
    if (sc_dim_is(sc_dim_mod(exprs, a, b), 0)) return true;
    return sc_dim_hint(a, &x) && sc_dim_hint(b, &y) && y > 0 && x % y == 0;
}

// Merges dims [first, last] into one.
static bool merge_dims(reshaping *r, uint32_t first, uint32_t last) {
    sc_exprs *e = r->exprs;
    sc_dim size = r->sizes[last], stride = r->strides[last];
    for (uint32_t d = last; d-- > first;) {
        sc_dim span = sc_dim_mul(e, r->strides[d + 1], r->sizes[d + 1]);
        bool one = sc_dim_is(r->sizes[d], 1) || sc_dim_is(r->sizes[d + 1], 1);
        if (!one && !same(r->strides[d], span)) return false;
        if (!sc_dim_is(r->sizes[d], 1) && sc_stride_compare(r->strides[d], stride) < 0)
            stride = r->strides[d];
        size = sc_dim_mul(e, size, r->sizes[d]);
    }
    r->sizes[first] = size;
    r->strides[first] = stride;
    for (uint32_t from = last + 1, to = first + 1; from < r->rank; from++, to++) {
        r->sizes[to] = r->sizes[from];
        r->strides[to] = r->strides[from];
    }
    r->rank -= last - first;
    return true;
}

// Splits dim `at` into two, the outer one of size `outer`.
static void split_dim(reshaping *r, uint32_t at, sc_dim outer) {
    sc_exprs *e = r->exprs;
    for (uint32_t d = r->rank++; d > at; d--) {
        r->sizes[d] = r->sizes[d - 1];
        r->strides[d] = r->strides[d - 1];
    }
    sc_dim inner =
        same(r->sizes[at], outer) ? sc_dim_int(1) : sc_dim_floordiv(e, r->sizes[at], outer);
    r->sizes[at] = outer;
    r->sizes[at + 1] = inner;
    r->strides[at] = sc_dim_mul(e, r->strides[at], inner);
}

// Gives dim `at` the size `size`, by merging and splitting.
static bool make_dim(reshaping *r, uint32_t at, sc_dim size) {
    if (at >= r->rank) {
        if (!sc_dim_is(size, 1)) return false;
        split_dim(r, r->rank - 1, r->sizes[r->rank - 1]);
        return true;
    }
    sc_dim have = r->sizes[at];
    uint32_t last = at;
    if (same(have, size)) return true;
    while (!is_divisible(r->exprs, have, size)) {
        if (++last >= r->rank) return false;
        have = sc_dim_mul(r->exprs, have, r->sizes[last]);
    }
    if (!merge_dims(r, at, last)) return false;
    if (!same(have, size)) split_dim(r, at, size);
    return true;
}

// _reshape_view_helper of the exporter, which keeps the strides of unchanged dims, and so the
// memory format that a single image seems to have.
static bool view_dim_by_dim(sc_exprs *exprs, const sc_spec *self, sc_spec *out) {
    reshaping r = {.exprs = exprs, .rank = self->rank};
    memcpy(r.sizes, self->sizes, self->rank * sizeof(sc_dim));
    memcpy(r.strides, self->strides, self->rank * sizeof(sc_dim));
    for (uint32_t d = 0; d < out->rank; d++)
        if (!make_dim(&r, d, out->sizes[d])) return false;
    for (uint32_t d = out->rank; d < r.rank; d++)
        if (!sc_dim_is(r.sizes[d], 1)) return false;
    if (out->rank) memcpy(out->strides, r.strides, out->rank * sizeof(sc_dim));
    return true;
}

// --- The choice ----------------------------------------------------------------------------------

// Sizes that depend on data have no example, so the exporter uses only what it can prove.
static bool has_examples(const sc_spec *spec) {
    int64_t example;
    for (uint32_t d = 0; d < spec->rank; d++)
        if (!sc_dim_hint(spec->sizes[d], &example)) return false;
    return true;
}

bool sc_spec_view(sc_exprs *exprs, const sc_spec *self, sc_spec *out) {
    bool empty = sc_spec_is_empty(self), contiguous = empty || sc_spec_is_contiguous(exprs, self);
    bool flat = (out->rank == 1 && self->rank > 1) || (out->rank == 2 && self->rank == 1);
    bool moves = self->rank > 0 && !empty && !(contiguous && flat);
    if (moves && has_examples(self) && has_examples(out) && view_dim_by_dim(exprs, self, out))
        return true;
    if (contiguous) sc_spec_set_contiguous(exprs, out);
    return contiguous || sc_spec_view_by_chunks(exprs, self, out);
}
