// The only copy loop. Dims are sorted by the destination's memory order, and merged if both sides
// step evenly. The rest is rows (memcpy), a transposition (tiles, so that both sides stay in cache)
// or a strided walk. Widths of 1, 2, 4 and 8 bytes have their own loops; others go byte by byte.
// In wasm: -Os
#include "kernels/move.h"

#include "base/parallel.h"
#include "compute/simd/simd.h"

void sc_strided_of(sc_strided *view, const sc_tensor *tensor) {
    view->data = tensor->data;
    view->dtype = tensor->dtype;
    view->rank = tensor->rank;
    for (uint32_t d = 0; d < tensor->rank; d++) {
        view->sizes[d] = tensor->sizes[d];
        view->strides[d] = tensor->strides[d];
    }
}

sc_status sc_strided_broadcast(sc_ctx *ctx, sc_strided *view, const sc_tensor *tensor,
                               const sc_tensor *shape) {
    bool fits = tensor->rank <= shape->rank;
    uint32_t missing = fits ? (uint32_t)shape->rank - tensor->rank : 0;
    view->data = tensor->data;
    view->dtype = tensor->dtype;
    view->rank = shape->rank;
    for (uint32_t d = 0; fits && d < shape->rank; d++) {
        view->sizes[d] = shape->sizes[d];
        view->strides[d] = 0;
        if (d < missing || (tensor->sizes[d - missing] == 1 && shape->sizes[d] != 1)) continue;
        view->strides[d] = tensor->strides[d - missing];
        fits = tensor->sizes[d - missing] == shape->sizes[d];
    }
    if (!fits) return sc_pair_fail(ctx, tensor, "does not broadcast to", shape);
    return SC_OK;
}

void sc_strided_narrow(sc_strided *view, uint32_t dim, int64_t start, int64_t count, int64_t step) {
    view->data += start * view->strides[dim] * (int64_t)sc_dtype_bytes((sc_dtype)view->dtype);
    view->sizes[dim] = count;
    // The step of a dim with one element does not matter.
    view->strides[dim] = count > 1 ? view->strides[dim] * step : 0;
}

void sc_strided_drop(sc_strided *view, uint32_t dim, int64_t index) {
    sc_strided_narrow(view, dim, index, 1, 1);
    view->rank--;
    for (uint32_t d = dim; d < view->rank; d++) {
        view->sizes[d] = view->sizes[d + 1];
        view->strides[d] = view->strides[d + 1];
    }
}

void sc_strided_insert(sc_strided *view, uint32_t dim) {
    for (uint32_t d = view->rank; d > dim; d--) {
        view->sizes[d] = view->sizes[d - 1];
        view->strides[d] = view->strides[d - 1];
    }
    view->sizes[dim] = 1;
    view->strides[dim] = 0;
    view->rank++;
}

void sc_strided_permute(sc_strided *view, const uint32_t *dims) {
    sc_strided from = *view;
    for (uint32_t d = 0; d < view->rank; d++) {
        view->sizes[d] = from.sizes[dims[d]];
        view->strides[d] = from.strides[dims[d]];
    }
}

// --- The walk ------------------------------------------------------------------------------------

typedef struct walk {
    char *to_data;
    const char *from_data;
    uint32_t rank;
    int64_t sizes[SC_VIEW_RANK_MAX];
    int64_t to[SC_VIEW_RANK_MAX];    // strides of the destination
    int64_t from[SC_VIEW_RANK_MAX];  // strides of the source
} walk;

static int64_t magnitude(int64_t x) { return x < 0 ? -x : x; }

// Dims of the views, larger steps of the destination first, merged. False when there is no such
// dim.
static bool walk_init(walk *w, const sc_strided *dst, const sc_strided *src) {
    uint32_t order[SC_VIEW_RANK_MAX], count = 0;
    for (uint32_t d = 0; d < dst->rank; d++) {
        if (dst->sizes[d] == 0) return false;
        if (dst->sizes[d] == 1) continue;
        uint32_t k = count++;
        for (; k > 0 && magnitude(dst->strides[order[k - 1]]) < magnitude(dst->strides[d]); k--)
            order[k] = order[k - 1];
        order[k] = d;
    }
    w->to_data = dst->data;
    w->from_data = src->data;
    w->rank = 0;
    for (uint32_t k = 0; k < count; k++) {
        uint32_t d = order[k], last = w->rank - 1;
        int64_t size = dst->sizes[d], to = dst->strides[d], from = src->strides[d];
        if (w->rank > 0 && w->to[last] == to * size && w->from[last] == from * size) {
            w->sizes[last] *= size;
        } else {
            last = w->rank++;
            w->sizes[last] = size;
        }
        w->to[last] = to;
        w->from[last] = from;
    }
    if (w->rank == 0) {
        w->rank = 1;
        w->sizes[0] = w->to[0] = w->from[0] = 1;
    }
    return true;
}

// The dim in which the source's stride is 1, if that is not the innermost one; else the innermost
// dim.
static uint32_t source_inner(const walk *w) {
    uint32_t inner = w->rank - 1;
    if (w->to[inner] != 1 || magnitude(w->from[inner]) <= 1) return inner;
    for (uint32_t d = 0; d < inner; d++) {
        if (w->from[d] == 1) return d;
    }
    return inner;
}

// Copies to[r * to_row + c] = from[r + c * from_column] for `rows` x `columns`.
#define TRANSPOSE(type)                                                                           \
    static void transpose_##type(char *to, int64_t to_row, const char *from, int64_t from_column, \
                                 int64_t rows, int64_t columns) {                                 \
        type *t = (type *)(void *)to;                                                             \
        const type *f = (const type *)(const void *)from;                                         \
        for (int64_t r = 0; r < rows; r++)                                                        \
            for (int64_t c = 0; c < columns; c++) t[r * to_row + c] = f[r + c * from_column];     \
    }
TRANSPOSE(uint8_t)
TRANSPOSE(uint16_t)
TRANSPOSE(uint64_t)

static void transpose_4x4(float *to, int64_t to_row, const float *from, int64_t from_column) {
    v4f a = v4f_load(from), b = v4f_load(from + from_column);
    v4f c = v4f_load(from + 2 * from_column), d = v4f_load(from + 3 * from_column);
    v4f ab_low = __builtin_shufflevector(a, b, 0, 4, 1, 5);
    v4f ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
    v4f cd_low = __builtin_shufflevector(c, d, 0, 4, 1, 5);
    v4f cd_high = __builtin_shufflevector(c, d, 2, 6, 3, 7);
    v4f_store(to, __builtin_shufflevector(ab_low, cd_low, 0, 1, 4, 5));
    v4f_store(to + to_row, __builtin_shufflevector(ab_low, cd_low, 2, 3, 6, 7));
    v4f_store(to + 2 * to_row, __builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5));
    v4f_store(to + 3 * to_row, __builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7));
}

static void transpose_tile(char *to, int64_t to_row, const char *from, int64_t from_column,
                           int64_t rows, int64_t columns, uint32_t width) {
    switch (width) {
    case 1: transpose_uint8_t(to, to_row, from, from_column, rows, columns); return;
    case 2: transpose_uint16_t(to, to_row, from, from_column, rows, columns); return;
    case 8: transpose_uint64_t(to, to_row, from, from_column, rows, columns); return;
    case 4: break;
    default:
        for (int64_t r = 0; r < rows; r++)
            sc_copy_row(to + r * to_row * width, 1, from + r * width, from_column, columns, width);
        return;
    }
    int64_t r = 0;
    for (; r + 4 <= rows; r += 4) {
        char *row = to + r * to_row * 4;
        int64_t c = 0;
        for (; c + 4 <= columns; c += 4)
            transpose_4x4((float *)(void *)(row + c * 4), to_row,
                          (const float *)(const void *)(from + (r + c * from_column) * 4),
                          from_column);
        for (int64_t k = 0; k < 4 && c < columns; k++)
            sc_copy_row(row + (k * to_row + c) * 4, 1, from + (r + k + c * from_column) * 4,
                        from_column, columns - c, 4);
    }
    for (; r < rows; r++)
        sc_copy_row(to + r * to_row * 4, 1, from + r * 4, from_column, columns, 4);
}

// The plane of dims `row` (unit stride in the source) and `column` (unit stride in the
// destination).
static void transpose_plane(const walk *w, uint32_t row, uint32_t column, char *to,
                            const char *from, uint32_t width) {
    const int64_t tile = 32;
    for (int64_t r = 0; r < w->sizes[row]; r += tile) {
        int64_t rows = sc_min_i64(tile, w->sizes[row] - r);
        for (int64_t c = 0; c < w->sizes[column]; c += tile) {
            int64_t columns = sc_min_i64(tile, w->sizes[column] - c);
            transpose_tile(to + (r * w->to[row] + c) * width, w->to[row],
                           from + (r + c * w->from[column]) * width, w->from[column], rows, columns,
                           width);
        }
    }
}

// For rows too short for a call each: `bytes` is at most SHORT_ROW.
static void copy_short_rows(char *to, int64_t to_step, const char *from, int64_t from_step,
                            int64_t rows, size_t bytes) {
    for (int64_t r = 0; r < rows; r++, to += to_step, from += from_step) {
        size_t at = 0;
        for (; at + 16 <= bytes; at += 16) memcpy(to + at, from + at, 16);
        for (; at + 4 <= bytes; at += 4) memcpy(to + at, from + at, 4);
        for (; at < bytes; at++) to[at] = from[at];
    }
}

// The longest dim besides that of the rows, if the rows are dense and short; else that of the rows.
static uint32_t short_rows_dim(const walk *w, uint32_t width) {
    enum { SHORT_ROW = 64 };
    uint32_t inner = w->rank - 1, best = inner;
    if (w->to[inner] != 1 || w->from[inner] != 1 || w->sizes[inner] * width > SHORT_ROW)
        return inner;
    for (uint32_t d = 0; d < inner; d++) {
        if (best == inner || w->sizes[d] > w->sizes[best]) best = d;
    }
    return best;
}

static void move_same(const walk *w, uint32_t width) {
    char *to = w->to_data;
    const char *from = w->from_data;
    uint32_t inner = w->rank - 1, plane = source_inner(w);
    int64_t index[SC_VIEW_RANK_MAX] = {0};
    const bool transposes = plane != inner;
    if (!transposes) plane = short_rows_dim(w, width);
    for (;;) {
        if (transposes)
            transpose_plane(w, plane, inner, to, from, width);
        else if (plane != inner)
            copy_short_rows(to, w->to[plane] * (int64_t)width, from,
                            w->from[plane] * (int64_t)width, w->sizes[plane],
                            (size_t)w->sizes[inner] * width);
        else
            sc_copy_row(to, w->to[inner], from, w->from[inner], w->sizes[inner], width);
        uint32_t d = inner;
        for (;;) {  // advance the dims that the plane or row does not cover
            if (d == 0) return;
            d--;
            if (d == plane) continue;
            to += w->to[d] * (int64_t)width;
            from += w->from[d] * (int64_t)width;
            if (++index[d] < w->sizes[d]) break;
            to -= w->sizes[d] * w->to[d] * (int64_t)width;
            from -= w->sizes[d] * w->from[d] * (int64_t)width;
            index[d] = 0;
        }
    }
}

// --- Several threads -----------------------------------------------------------------------------

// The outermost dim that gives all threads enough to take, or else the largest one.
static uint32_t shared_dim(const walk *w) {
    enum { MANY = 64 };
    uint32_t best = 0;
    for (uint32_t d = 0; d < w->rank; d++) {
        if (w->sizes[d] >= MANY) return d;
        if (w->sizes[d] > w->sizes[best]) best = d;
    }
    return best;
}

static walk walk_part(const walk *w, uint32_t dim, int64_t from, int64_t to, uint32_t to_width,
                      uint32_t from_width) {
    walk part = *w;
    part.to_data += from * w->to[dim] * (int64_t)to_width;
    part.from_data += from * w->from[dim] * (int64_t)from_width;
    part.sizes[dim] = to - from;
    return part;
}

static double cost_of_dim(const walk *w, uint32_t dim, double cost) {
    for (uint32_t d = 0; d < w->rank; d++) cost *= d == dim ? 1 : (double)w->sizes[d];
    return cost;
}

typedef struct moving {
    const walk *w;
    uint32_t dim, width;
} moving;

static void move_part(void *work, int64_t from, int64_t to, uint32_t thread) {
    const moving *m = work;
    (void)thread;
    if (from == 0 && to == m->w->sizes[m->dim]) {
        move_same(m->w, m->width);
        return;
    }
    const walk part = walk_part(m->w, m->dim, from, to, m->width, m->width);
    move_same(&part, m->width);
}

static void move_shared(const walk *w, uint32_t width) {
    moving m = {.w = w, .dim = shared_dim(w), .width = width};
    const uint32_t inner = w->rank - 1;
    const bool is_dense = w->to[inner] == 1 && (w->from[inner] == 1 || w->from[inner] == 0);
    // Rows go by bytes, all others by numbers.
    const double cost = is_dense ? SC_COST_COPY * width / 4 : 2 * SC_COST_COPY;
    sc_parallel_rows(w->sizes[m.dim], cost_of_dim(w, m.dim, cost), move_part, &m);
}

// --- Other types ---------------------------------------------------------------------------------

static bool is_float8(unsigned dtype) {
    return sc_dtype_category((sc_dtype)dtype) == SC_CATEGORY_FLOAT8;
}

// No kernel computes with float8, so only copies read and write it.
static void load_float8(const sc_strided *src, double *block, const char *from, int64_t stride,
                        int64_t n) {
    for (int64_t i = 0; i < n; i++)
        block[i] = (double)sc_get_f8(src->dtype, (uint8_t)from[i * stride]);
}

static void store_float8(const sc_strided *dst, char *to, int64_t stride, const double *block,
                         int64_t n) {
    for (int64_t i = 0; i < n; i++) sc_put_number(to + i * stride, dst->dtype, block[i], 0, true);
}

typedef struct conversion {
    const walk *w;
    const sc_strided *dst, *src;
    sc_load_fn load;    // NULL for float8, as is `store`
    sc_store_fn store;  // of parts of complex numbers
    uint32_t dim, to_width, from_width;
    bool is_paired;
} conversion;

// A conversion to complex writes twice: the real parts, and zeros next to them.
static void convert_block(const conversion *c, char *to, int64_t to_step, const char *from,
                          int64_t from_step, int64_t n) {
    double block[SC_BLOCK];
    if (c->load)
        c->load(block, from, from_step, n);
    else
        load_float8(c->src, block, from, from_step, n);
    if (!c->store)
        store_float8(c->dst, to, to_step, block, n);
    else
        c->store(to, c->is_paired ? 2 * to_step : to_step, block, n);
    if (!c->is_paired) return;
    memset(block, 0, sizeof block);
    c->store(to + c->to_width / 2, 2 * to_step, block, n);
}

static void convert_walk(const conversion *c, const walk *w) {
    const uint32_t inner = w->rank - 1;
    const int64_t to_width = c->to_width, from_width = c->from_width;
    int64_t index[SC_VIEW_RANK_MAX] = {0};
    char *to = w->to_data;
    const char *from = w->from_data;
    for (;;) {
        for (int64_t i = 0; i < w->sizes[inner]; i += SC_BLOCK)
            convert_block(c, to + i * w->to[inner] * to_width, w->to[inner],
                          from + i * w->from[inner] * from_width, w->from[inner],
                          sc_min_i64(SC_BLOCK, w->sizes[inner] - i));
        uint32_t d = inner;
        for (;;) {
            if (d == 0) return;
            d--;
            to += w->to[d] * to_width;
            from += w->from[d] * from_width;
            if (++index[d] < w->sizes[d]) break;
            to -= w->sizes[d] * w->to[d] * to_width;
            from -= w->sizes[d] * w->from[d] * from_width;
            index[d] = 0;
        }
    }
}

static void convert_part(void *work, int64_t from, int64_t to, uint32_t thread) {
    const conversion *c = work;
    const walk part = walk_part(c->w, c->dim, from, to, c->to_width, c->from_width);
    (void)thread;
    convert_walk(c, &part);
}

static sc_status move_converted(const sc_kernel_call *call, const walk *w, const sc_strided *dst,
                                const sc_strided *src) {
    const sc_dtype part = sc_dtype_to_real((sc_dtype)dst->dtype);
    sc_class class_ = src->dtype == SC_DTYPE_BOOL ? SC_CLASS_B8 : sc_class_of(src->dtype);
    const bool from_float8 = is_float8(src->dtype), to_float8 = is_float8(dst->dtype);
    if (from_float8 || to_float8) class_ = SC_CLASS_F64;
    conversion c = {.w = w,
                    .dst = dst,
                    .src = src,
                    .load = from_float8 ? NULL : sc_loader(class_, src->dtype),
                    .store = to_float8 ? NULL : sc_storer(class_, part),
                    .dim = shared_dim(w),
                    .to_width = sc_dtype_bytes((sc_dtype)dst->dtype),
                    .from_width = sc_dtype_bytes((sc_dtype)src->dtype),
                    .is_paired = part != (sc_dtype)dst->dtype};
    if ((!c.load && !from_float8) || (!c.store && !to_float8)) return sc_call_no_kernel(call);
    sc_parallel_rows(w->sizes[c.dim], cost_of_dim(w, c.dim, SC_COST_CONVERT), convert_part, &c);
    return SC_OK;
}

// --- All kinds -----------------------------------------------------------------------------------

typedef struct moving_bytes {
    char *to;
    const char *from;
} moving_bytes;

typedef struct moving_streams {
    sc_stream to, from;
} moving_streams;

sc_status sc_move(const sc_kernel_call *call, const sc_strided *dst, const sc_strided *src) {
    bool same = dst->rank == src->rank;
    for (uint32_t d = 0; same && d < dst->rank; d++) same = dst->sizes[d] == src->sizes[d];
    if (!same)
        return sc_call_fail(call, SC_ERR_SHAPE,
                            "the result does not have the shape that is written");
    walk w;
    if (!walk_init(&w, dst, src)) return SC_OK;
    if (dst->dtype != src->dtype) return move_converted(call, &w, dst, src);
    move_shared(&w, sc_dtype_bytes((sc_dtype)dst->dtype));
    return SC_OK;
}

static void copy_bytes(void *work, int64_t from, int64_t to, uint32_t thread) {
    const moving_bytes *m = work;
    (void)thread;
    memcpy(m->to + from, m->from + from, (size_t)(to - from));
}

void sc_move_bytes(void *to, const void *from, uint64_t bytes) {
    moving_bytes m = {to, from};
    const uintptr_t a = (uintptr_t)to, b = (uintptr_t)from;
    if ((a > b ? a - b : b - a) < bytes)
        memmove(to, from, (size_t)bytes);
    else
        sc_parallel_rows((int64_t)bytes, SC_COST_COPY / 4, copy_bytes, &m);
}

static void copy_streams(void *work, int64_t from, int64_t to, uint32_t thread) {
    const moving_streams *m = work;
    sc_stream dst = m->to, src = m->from;
    sc_stream_seek(&dst, from);
    sc_stream_seek(&src, from);
    (void)thread;
    sc_stream_copy(&dst, &src, to - from);
}

sc_status sc_move_linear(const sc_kernel_call *call, const sc_tensor *dst, const sc_tensor *src) {
    if (dst->dtype != src->dtype) return sc_call_no_kernel(call);
    if (dst->numel != src->numel)
        return sc_call_fail(call, SC_ERR_SHAPE, "%lld elements do not fill %lld",
                            (long long)src->numel, (long long)dst->numel);
    uint32_t width = sc_dtype_bytes((sc_dtype)dst->dtype);
    if (dst->numel == 0) return SC_OK;
    if (sc_tensor_is_contiguous(dst) && sc_tensor_is_contiguous(src)) {
        sc_move_bytes(dst->data, src->data, (uint64_t)dst->numel * width);
        return SC_OK;
    }
    moving_streams m;
    sc_stream_init_dims(&m.to, dst->data, width, dst->rank, dst->sizes, dst->strides);
    sc_stream_init_dims(&m.from, src->data, width, src->rank, src->sizes, src->strides);
    sc_parallel_rows(dst->numel, SC_COST_CONVERT, copy_streams, &m);
    return SC_OK;
}

void sc_fill(const sc_strided *dst, const void *element) {
    sc_strided src = *dst;
    walk w;
    char copy[16] = {0};
    uint32_t width = sc_dtype_bytes((sc_dtype)dst->dtype);
    memcpy(copy, element, width);
    src.data = copy;
    for (uint32_t d = 0; d < src.rank; d++) src.strides[d] = 0;
    if (walk_init(&w, dst, &src)) move_shared(&w, width);
}
