// Tensor metadata: layouts by PyTorch's definitions, on symbolic sizes. It defines contiguous,
// channels-last, dense and dim order, for specs of any origin.
// In wasm: -Os
#include "core/spec.h"

sc_spec sc_spec_new(sc_arena *arena, sc_dtype dtype, uint32_t rank) {
    SC_ASSERT(rank <= SC_RANK_MAX);
    return (sc_spec){.dtype = (uint8_t)dtype,
                     .rank = (uint8_t)rank,
                     .sizes = sc_new_array(arena, sc_dim, rank),
                     .strides = sc_new_array(arena, sc_dim, rank)};
}

void sc_spec_share(sc_exprs *exprs, sc_spec *spec) {
    spec->sizes = sc_dims_share(exprs, spec->sizes, spec->rank);
    spec->strides = sc_dims_share(exprs, spec->strides, spec->rank);
}

// The factor of a dim in the strides of outer dims: at least 1. A symbol with an example value is
// positive, as PyTorch assumes. Data-dependent sizes and quotients may be 0.
static sc_dim step_of(sc_exprs *exprs, sc_dim size) {
    sc_symbol *symbol = sc_dim_symbol(size);
    return symbol && symbol->has_hint ? size : sc_dim_max(exprs, size, sc_dim_int(1));
}

// The stride of the next outer dim. It is computed for every dim of every tensor, most of which are
// small integers.
static sc_dim stride_outside(sc_exprs *exprs, sc_dim stride, sc_dim size) {
    const bool small = !stride.expr && !size.expr && (int32_t)stride.value == stride.value &&
                       (int32_t)size.value == size.value;
    if (small) return sc_dim_int(size.value > 1 ? stride.value * size.value : stride.value);
    return sc_dim_mul(exprs, stride, step_of(exprs, size));
}

void sc_spec_set_contiguous(sc_exprs *exprs, sc_spec *spec) {
    sc_dim stride = sc_dim_int(1);
    for (uint32_t d = spec->rank; d-- > 0;) {
        spec->strides[d] = stride;
        stride = stride_outside(exprs, stride, spec->sizes[d]);
    }
}

bool sc_spec_set_static(sc_spec *spec, const int64_t *sizes, uint64_t *bytes) {
    const uint64_t item = sc_dtype_bytes((sc_dtype)spec->dtype);
    uint64_t stride = 1;
    bool is_empty = false;
    for (uint32_t d = spec->rank; d-- > 0;) {
        spec->sizes[d] = sc_dim_int(sizes[d]);
        spec->strides[d] = sc_dim_int((int64_t)stride);
        is_empty |= sizes[d] == 0;
        if (sizes[d] < 0 || sizes[d] > UINT32_MAX) return false;
        stride *= sc_max_u64((uint64_t)sizes[d], 1);
        if (stride > UINT32_MAX / item) return false;
    }
    *bytes = is_empty ? 0 : stride * item;
    return true;
}

void sc_spec_set_order(sc_exprs *exprs, sc_spec *spec, const uint8_t *order) {
    sc_dim stride = sc_dim_int(1);
    for (uint32_t i = spec->rank; i-- > 0;) {
        uint8_t d = order[i];
        SC_ASSERT(d < spec->rank);
        spec->strides[d] = stride;
        stride = stride_outside(exprs, stride, spec->sizes[d]);
    }
}

bool sc_spec_products_fit(sc_exprs *exprs, const sc_spec *spec) {
    if (sc_spec_is_static(spec)) return true;
    uint32_t symbols = sc_exprs_symbol_count(exprs);
    sc_dim product = sc_dim_int(1);
    for (uint32_t i = spec->rank; i-- > 0;)
        product = stride_outside(exprs, product, spec->sizes[i]);
    return sc_exprs_symbol_count(exprs) == symbols;
}

sc_dim sc_spec_numel(sc_exprs *exprs, const sc_spec *spec) {
    sc_dim numel = sc_dim_int(1);
    for (uint32_t d = 0; d < spec->rank; d++) numel = sc_dim_mul(exprs, numel, spec->sizes[d]);
    return numel;
}

bool sc_spec_is_static(const sc_spec *spec) {
    for (uint32_t d = 0; d < spec->rank; d++)
        if (spec->sizes[d].expr) return false;
    return true;
}

bool sc_spec_same_sizes(const sc_spec *a, const sc_spec *b) {
    if (a->rank != b->rank) return false;
    for (uint32_t d = 0; d < a->rank; d++)
        if (!sc_dim_equal(a->sizes[d], b->sizes[d])) return false;
    return true;
}

// --- Predicates ----------------------------------------------------------------------------------

bool sc_spec_is_empty(const sc_spec *spec) {
    for (uint32_t d = 0; d < spec->rank; d++)
        if (sc_dim_is(spec->sizes[d], 0)) return true;
    return false;
}

bool sc_spec_equal(const sc_spec *a, const sc_spec *b) {
    if (a->dtype != b->dtype || !sc_spec_same_sizes(a, b)) return false;
    for (uint32_t d = 0; d < a->rank && !sc_spec_is_empty(a); d++)
        if (!sc_dim_is(a->sizes[d], 1) && !sc_dim_equal(a->strides[d], b->strides[d])) return false;
    return true;
}

// Dense in physical order `order` (outermost first).
static bool is_dense_in(sc_exprs *exprs, const sc_spec *spec, const uint8_t *order) {
    sc_dim expected = sc_dim_int(1);
    for (uint32_t i = spec->rank; i-- > 0;) {
        uint8_t d = order[i];
        if (sc_dim_is(spec->sizes[d], 1)) continue;
        if (!sc_dim_equal(spec->strides[d], expected)) return false;
        expected = stride_outside(exprs, expected, spec->sizes[d]);
    }
    return true;
}

static const uint8_t row_major[SC_RANK_MAX] = {0, 1, 2,  3,  4,  5,  6,  7,
                                               8, 9, 10, 11, 12, 13, 14, 15};
static const uint8_t channels_last[4] = {0, 2, 3, 1};
static const uint8_t channels_last_3d[5] = {0, 2, 3, 4, 1};

bool sc_spec_is_contiguous(sc_exprs *exprs, const sc_spec *spec) {
    return sc_spec_is_empty(spec) || is_dense_in(exprs, spec, row_major);
}

bool sc_spec_is_channels_last(sc_exprs *exprs, const sc_spec *spec) {
    return spec->rank == 4 && is_dense_in(exprs, spec, channels_last);
}

bool sc_spec_is_channels_last_3d(sc_exprs *exprs, const sc_spec *spec) {
    return spec->rank == 5 && is_dense_in(exprs, spec, channels_last_3d);
}

typedef enum order { ORDER_LESS, ORDER_EQUAL, ORDER_GREATER, ORDER_UNKNOWN } order;

static order order_of(int64_t a, int64_t b) {
    return a < b ? ORDER_LESS : a > b ? ORDER_GREATER : ORDER_EQUAL;
}

static bool is_multiple(sc_dim a, sc_dim b) { return sc_dim_is(sc_dim_mod(NULL, a, b), 0); }

// Strides and sizes are at least 1 here, so a multiple of a stride is at least as large.
static order compare(sc_dim a, sc_dim b) {
    if (sc_dim_equal(a, b)) return ORDER_EQUAL;
    if (!a.expr && !b.expr) return order_of(a.value, b.value);
    int64_t hint_a, hint_b;
    bool a_over_b = is_multiple(a, b), b_over_a = is_multiple(b, a);
    if (a_over_b != b_over_a) return a_over_b ? ORDER_GREATER : ORDER_LESS;
    if (sc_dim_hint(a, &hint_a) && sc_dim_hint(b, &hint_b)) return order_of(hint_a, hint_b);
    if (sc_dim_known_le(a, b) == SC_TRI_TRUE) return ORDER_LESS;
    return sc_dim_known_le(b, a) == SC_TRI_TRUE ? ORDER_GREATER : ORDER_UNKNOWN;
}

int sc_stride_compare(sc_dim a, sc_dim b) {
    order o = compare(a, b);
    return o == ORDER_LESS ? -1 : o == ORDER_GREATER ? 1 : 0;
}

bool sc_spec_dim_order(SC_UNUSED sc_exprs *exprs, const sc_spec *spec, uint8_t *out) {
    for (uint32_t d = 0; d < spec->rank; d++) {
        if (sc_dim_is(spec->strides[d], 0)) return false;
        uint32_t at = d;
        while (at > 0) {
            order o = compare(spec->strides[out[at - 1]], spec->strides[d]);
            if (o == ORDER_UNKNOWN) return false;
            if (o != ORDER_LESS) break;
            out[at] = out[at - 1];
            at--;
        }
        out[at] = (uint8_t)d;
    }
    return true;
}

bool sc_spec_is_dense(sc_exprs *exprs, const sc_spec *spec) {
    if (sc_spec_is_contiguous(exprs, spec)) return true;
    // Dims of size 1 may be put anywhere; the others must have distinct strides.
    uint8_t by_stride[SC_RANK_MAX];
    uint32_t count = 0;
    for (uint32_t d = 0; d < spec->rank; d++) {
        if (sc_dim_is(spec->sizes[d], 1)) continue;
        if (sc_dim_is(spec->strides[d], 0)) return false;
        uint32_t at = count++;
        for (; at > 0; at--) {
            order o = compare(spec->strides[by_stride[at - 1]], spec->strides[d]);
            if (o == ORDER_UNKNOWN) return false;
            if (o != ORDER_LESS) break;
            by_stride[at] = by_stride[at - 1];
        }
        by_stride[at] = (uint8_t)d;
    }
    sc_spec squeezed = *spec;
    squeezed.rank = (uint8_t)count;
    return is_dense_in(exprs, &squeezed, by_stride);
}

// True if strides grow in the order C, (D,) H, W, N; ambiguous ones count as row-major.
static bool looks_channels_last(sc_exprs *exprs, const sc_spec *spec) {
    uint32_t rank = spec->rank;
    sc_dim least = sc_dim_int(0);
    if (sc_dim_is(spec->strides[1], 0)) return false;
    for (uint32_t i = 0; i < rank; i++) {
        uint32_t d = i == 0 ? 1 : i == rank - 1 ? 0 : rank - i;
        if (sc_dim_is(spec->sizes[d], 0)) return false;
        order o = compare(spec->strides[d], least);
        if (o == ORDER_LESS || o == ORDER_UNKNOWN) return false;
        if (d == 0 && sc_dim_equal(least, spec->strides[1])) return false;
        least = spec->strides[d];
        if (!sc_dim_is(spec->sizes[d], 1)) least = sc_dim_mul(exprs, least, spec->sizes[d]);
    }
    return true;
}

sc_memory_format sc_spec_suggested_format(sc_exprs *exprs, const sc_spec *spec) {
    if (spec->rank == 4 && looks_channels_last(exprs, spec)) return SC_MEMORY_FORMAT_CHANNELS_LAST;
    if (spec->rank == 5 && looks_channels_last(exprs, spec))
        return SC_MEMORY_FORMAT_CHANNELS_LAST_3D;
    return SC_MEMORY_FORMAT_CONTIGUOUS;
}

// --- Bounds and text -----------------------------------------------------------------------------

bool sc_spec_size_max(const sc_spec *spec, uint32_t dim, int64_t *out) {
    SC_ASSERT(dim < spec->rank);
    *out = sc_dim_range(spec->sizes[dim]).max;
    // Sizes of data-dependent results stop one short of infinity in recorded ranges.
    return *out >= 0 && *out < SC_DIM_INF - 1;
}

bool sc_spec_bytes_max(const sc_spec *spec, uint64_t *out) {
    uint64_t bytes = sc_dtype_bytes((sc_dtype)spec->dtype);
    bool empty = false;
    for (uint32_t d = 0; d < spec->rank; d++) {
        int64_t size;
        if (!sc_spec_size_max(spec, d, &size)) return false;
        empty = empty || size == 0;
        if (size > 0 && !sc_mul_u64(bytes, (uint64_t)size, &bytes)) return false;
    }
    *out = empty ? 0 : bytes;
    return true;
}

static void print_dims(sc_sb *sb, const sc_dim *dims, uint32_t count) {
    for (uint32_t d = 0; d < count; d++) {
        if (d) sc_sb_add_text(sb, ", ");
        sc_dim_print(sb, dims[d]);
    }
}

void sc_spec_print(sc_sb *sb, sc_exprs *exprs, const sc_spec *spec) {
    sc_sb_add_text(sb, sc_dtype_short((sc_dtype)spec->dtype));
    sc_sb_add_char(sb, '[');
    print_dims(sb, spec->sizes, spec->rank);
    sc_sb_add_char(sb, ']');
    if (spec->strides && !sc_spec_is_contiguous(exprs, spec)) {
        sc_sb_add_char(sb, '{');
        print_dims(sb, spec->strides, spec->rank);
        sc_sb_add_char(sb, '}');
    }
}
