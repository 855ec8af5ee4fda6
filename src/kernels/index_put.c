// index.Tensor and index_put: several index tensors, broadcast together, address some dims of a
// tensor. First they are folded into one list of checked element offsets in scratch. Then the dims
// that are not indexed move as blocks, one per offset.
#include "base/parallel.h"
#include "kernels/move.h"

typedef struct indexing {
    const sc_tensor *self;  // the tensor that is addressed
    uint32_t first;         // first indexed dim
    uint32_t indexed;       // bit d: dim d is addressed by an index
    bool has_mask;          // the result's size depends on values
    bool adjacent;          // the index dims take the place of the indexed ones, else the front
    uint32_t rank;          // of the broadcast indices
    int64_t sizes[SC_RANK_MAX];
    int64_t count;       // product of `sizes`
    int64_t *offsets;    // `count`, in elements of self
    int64_t *positions;  // room for the positions of a mask
    int64_t room;        // int64s in scratch
} indexing;

static bool is_mask(const sc_tensor *t) {
    return t->dtype == SC_DTYPE_BOOL || t->dtype == SC_DTYPE_U8;
}

// Makes room for a dim list in the broadcast shape.
static bool broadcast_sizes(indexing *x, const int64_t *sizes, uint32_t rank) {
    if (rank > x->rank) {
        uint32_t shift = rank - x->rank;
        for (uint32_t d = x->rank; d-- > 0;) x->sizes[d + shift] = x->sizes[d];
        for (uint32_t d = 0; d < shift; d++) x->sizes[d] = 1;
        x->rank = rank;
    }
    for (uint32_t k = 1; k <= rank; k++) {
        int64_t *size = &x->sizes[x->rank - k], other = sizes[rank - k];
        if (*size == 1)
            *size = other;
        else if (other != 1 && other != *size)
            return false;
    }
    return true;
}

static int64_t count_mask(const sc_tensor *mask) {
    int64_t count = 0;
    for (int64_t i = 0; i < mask->numel; i++)  // order does not matter here
        count += ((const uint8_t *)mask->data)[i] != 0;
    return count;
}

// The largest offset list and the largest mask, before values are known.
static uint64_t indexing_scratch(const sc_kernel_call *call) {
    const sc_evalue *list = call->args[1];
    indexing x = {.rank = 0};
    int64_t mask_room = 0, count = 1;
    for (uint32_t i = 0; i < list->count; i++) {
        const sc_tensor *index = list->tensors[i] && list->tensors[i]->tag == SC_EVALUE_TENSOR
                                     ? list->tensors[i]->tensor
                                     : NULL;
        if (!index) continue;
        if (is_mask(index)) {
            mask_room = sc_max_i64(mask_room, index->numel);
            continue;
        }
        for (uint32_t d = 0; d < index->rank; d++) {
            uint32_t at = SC_RANK_MAX - index->rank + d;
            x.sizes[at] = sc_max_i64(x.sizes[at], index->sizes[d]);
        }
    }
    bool fits = sc_mul_i64(count, sc_max_i64(mask_room, 1), &count);
    for (uint32_t d = 0; fits && d < SC_RANK_MAX; d++)
        fits = sc_mul_i64(count, sc_max_i64(x.sizes[d], 1), &count);
    uint64_t bytes;
    fits = fits && sc_mul_u64((uint64_t)count + (uint64_t)mask_room, sizeof(int64_t), &bytes);
    return fits ? bytes : UINT64_MAX;  // which the runtime refuses
}

static const sc_tensor *index_of(const sc_evalue *list, uint32_t i) {
    const sc_evalue *item = list->tensors[i];
    return item && item->tag == SC_EVALUE_TENSOR ? item->tensor : NULL;
}

// First pass: which dims are indexed, and the broadcast shape.
static sc_status indexing_shape(const sc_kernel_call *call, indexing *x) {
    const sc_evalue *list = call->args[1];
    uint32_t dim = 0, last = 0;
    bool gap = false, any = false;
    for (uint32_t i = 0; i < list->count; i++) {
        const sc_tensor *index = index_of(list, i);
        uint32_t covers = index && is_mask(index) ? index->rank : 1u;
        if (dim + covers > x->self->rank)
            return sc_call_fail(call, SC_ERR_INDEX, "more indices than dims");
        bool fits = true;
        if (index && is_mask(index)) {
            int64_t count = count_mask(index);
            x->has_mask = true;
            for (uint32_t d = 0; d < covers; d++)
                fits = fits && index->sizes[d] == x->self->sizes[dim + d];
            fits = fits && broadcast_sizes(x, &count, 1);
        } else if (index) {
            fits = (index->dtype == SC_DTYPE_I64 || index->dtype == SC_DTYPE_I32) &&
                   broadcast_sizes(x, index->sizes, index->rank);
        }
        if (!fits)
            return sc_call_fail(call, SC_ERR_SHAPE,
                                "indices must be int32, int64 or bool and broadcast together");
        if (index) {
            gap = gap || (any && dim != last);
            x->first = any ? x->first : dim;
            any = true;
            last = dim + covers;
            x->indexed |= ((1u << covers) - 1) << dim;
        }
        dim += covers;
    }
    // The result of indexing is a tensor here too, although index_put never makes one.
    if (x->rank + x->self->rank - (uint32_t)__builtin_popcount(x->indexed) > SC_RANK_MAX)
        return sc_call_fail(call, SC_ERR_SHAPE, "these indices give more than %d dimensions",
                            SC_RANK_MAX);
    x->adjacent = !gap;
    x->count = 1;
    for (uint32_t d = 0; d < x->rank; d++)
        if (!sc_mul_i64(x->count, x->sizes[d], &x->count))
            return sc_call_fail(call, SC_ERR_SHAPE, "these indices select too many elements");
    return SC_OK;
}

// offsets[b] += what `index` contributes at broadcast position b.
static sc_status add_integers(const sc_kernel_call *call, indexing *x, const sc_tensor *index,
                              uint32_t dim) {
    int64_t strides[SC_RANK_MAX], size = x->self->sizes[dim], step = x->self->strides[dim];
    sc_load_fn load = sc_loader(SC_CLASS_I64, index->dtype);
    sc_stream walk;
    for (uint32_t d = 0; d < x->rank; d++) {
        uint32_t missing = x->rank - index->rank;
        bool repeats = d < missing || index->sizes[d - missing] == 1;
        strides[d] = repeats ? 0 : index->strides[d - missing];
    }
    sc_stream_init_dims(&walk, index->data, sc_dtype_bytes((sc_dtype)index->dtype), x->rank,
                        x->sizes, strides);
    for (int64_t b = 0; b < x->count; b += SC_BLOCK) {
        int64_t values[SC_BLOCK];
        const int64_t n = sc_min_i64(SC_BLOCK, x->count - b);
        sc_stream_load(&walk, load, values, sizeof *values, n);
        for (int64_t k = 0; k < n; k++) {
            SC_TRY(sc_check_index(call, &values[k], size));
            x->offsets[b + k] += values[k] * step;
        }
    }
    return SC_OK;
}

// A mask is the list of its set positions, in index order, along the last broadcast dim.
static sc_status add_mask(const sc_kernel_call *call, indexing *x, const sc_tensor *mask,
                          uint32_t dim) {
    int64_t found = 0, at[SC_RANK_MAX] = {0};
    if (mask->numel > x->room - x->count) return sc_call_starved(call);
    for (int64_t i = 0; i < mask->numel; i++) {
        int64_t place = 0, offset = 0;
        for (uint32_t d = 0; d < mask->rank; d++) {
            place += at[d] * mask->strides[d];
            offset += at[d] * x->self->strides[dim + d];
        }
        if (((const uint8_t *)mask->data)[place]) x->positions[found++] = offset;
        for (uint32_t d = mask->rank; d-- > 0;) {
            if (++at[d] < mask->sizes[d]) break;
            at[d] = 0;
        }
    }
    int64_t last = x->sizes[x->rank - 1];
    for (int64_t b = 0; b < x->count; b++) x->offsets[b] += x->positions[found == 1 ? 0 : b % last];
    return SC_OK;
}

static sc_status indexing_init(const sc_kernel_call *call, indexing *x, const sc_tensor *self) {
    const sc_evalue *list = call->args[1];
    uint32_t dim = 0;
    memset(x, 0, sizeof *x);
    x->self = self;
    SC_TRY(indexing_shape(call, x));
    x->room = (int64_t)(call->scratch_bytes / sizeof(int64_t));
    if (x->count > x->room) return sc_call_starved(call);
    x->offsets = call->scratch;
    x->positions = x->offsets + x->count;
    memset(x->offsets, 0, (size_t)x->count * sizeof *x->offsets);
    for (uint32_t i = 0; i < list->count; i++) {
        const sc_tensor *index = index_of(list, i);
        if (index && x->count > 0)
            SC_TRY(is_mask(index) ? add_mask(call, x, index, dim)
                                  : add_integers(call, x, index, dim));
        dim += index && is_mask(index) ? index->rank : 1u;
    }
    return SC_OK;
}

// The sizes of an indexing result: unindexed dims, with the broadcast dims in their place.
static uint32_t indexed_shape(const indexing *x, int64_t *sizes, uint32_t *index_at) {
    uint32_t rank = 0;
    *index_at = 0;
    for (uint32_t d = 0; d <= x->self->rank; d++) {
        if (d == (x->adjacent ? x->first : 0)) {
            *index_at = rank;
            for (uint32_t k = 0; k < x->rank && rank < SC_RANK_MAX; k++)
                sizes[rank++] = x->sizes[k];
        }
        if (d < x->self->rank && !(x->indexed >> d & 1) && rank < SC_RANK_MAX)
            sizes[rank++] = x->self->sizes[d];
    }
    return rank;
}

// A view of the unindexed dims, and one of the other side with the broadcast dims taken out.
static void block_views(const indexing *x, const sc_strided *other, uint32_t index_at,
                        sc_strided *self, sc_strided *block) {
    sc_strided_of(self, x->self);
    for (uint32_t d = self->rank; d-- > 0;) {
        if (x->indexed >> d & 1) sc_strided_drop(self, d, 0);
    }
    *block = *other;
    for (uint32_t k = 0; k < x->rank; k++) sc_strided_drop(block, index_at, 0);
}

typedef sc_status (*block_fn)(const sc_kernel_call *call, const sc_strided *self,
                              const sc_strided *other);

// The blocks of all broadcast positions. Several threads share positions if these are read, because
// each has a place of its own in the result. If they are written, an index may repeat. Each thread
// then writes all of them in order, but only some columns.
typedef struct blocks {
    const sc_kernel_call *call;
    const indexing *x;
    block_fn move;
    sc_strided self, block;
    sc_stream positions;
    uint32_t dim;  // of the block, which has the columns
    bool writes_self;
} blocks;

// Blocks [first, end), and of them columns [from, to).
static sc_status move_blocks(const blocks *k, int64_t first, int64_t end, int64_t from,
                             int64_t to) {
    const int64_t width = sc_dtype_bytes((sc_dtype)k->x->self->dtype);
    sc_stream walk = k->positions;
    sc_stream_seek(&walk, first);
    for (int64_t b = first; b < end; b++) {
        sc_strided self = k->self, block = k->block;
        int64_t stride;
        sc_stream_run(&walk, 1, &block.data, &stride);
        self.data += k->x->offsets[b] * width;
        if (self.rank > 0) {
            sc_strided_narrow(&self, k->dim, from, to - from, 1);
            sc_strided_narrow(&block, k->dim, from, to - from, 1);
        }
        SC_TRY(k->move(k->call, &self, &block));
    }
    return SC_OK;
}

static int64_t columns_of(const blocks *k) { return k->self.rank ? k->self.sizes[k->dim] : 1; }

// Moves after the first one, which has shown that they do not fail.
static void move_part(void *work, int64_t from, int64_t to, uint32_t thread) {
    const blocks *k = work;
    (void)thread;
    const sc_status status = k->writes_self ? move_blocks(k, 1, k->x->count, from, to)
                                            : move_blocks(k, from + 1, to + 1, 0, columns_of(k));
    SC_ASSERT(status == SC_OK);
}

// Calls `move` for each broadcast position.
static sc_status each_block(const sc_kernel_call *call, const indexing *x, const sc_strided *other,
                            uint32_t index_at, block_fn move, bool writes_self) {
    enum { CALL = 100 };  // nanoseconds
    blocks k = {.call = call, .x = x, .move = move, .writes_self = writes_self};
    double numbers = 1;
    block_views(x, other, index_at, &k.self, &k.block);
    for (uint32_t d = 0; d < k.self.rank; d++) {
        if (k.self.sizes[d] == 0) return SC_OK;
        numbers *= (double)k.self.sizes[d];
        if (k.self.sizes[d] > k.self.sizes[k.dim]) k.dim = d;
    }
    if (x->count == 0) return SC_OK;
    sc_stream_init_dims(&k.positions, other->data, sc_dtype_bytes((sc_dtype)x->self->dtype),
                        x->rank, other->sizes + index_at, other->strides + index_at);
    SC_TRY(move_blocks(&k, 0, 1, 0, columns_of(&k)));
    const double block = CALL + SC_COST_COPY * numbers;
    if (writes_self)
        sc_parallel_rows(columns_of(&k), block * (double)x->count / (double)columns_of(&k),
                         move_part, &k);
    else
        sc_parallel_rows(x->count - 1, block, move_part, &k);
    return SC_OK;
}

static void copy_element(char *to, const char *from, uint32_t width) {
    switch (width) {
    case 4: memcpy(to, from, 4); break;
    case 8: memcpy(to, from, 8); break;
    default: memcpy(to, from, width); break;
    }
}

typedef struct taking {
    const indexing *x;
    const sc_strided *to;
} taking;

static void take_elements_part(void *work, int64_t first, int64_t end, uint32_t thread) {
    const taking *t = work;
    const indexing *x = t->x;
    const sc_strided *to = t->to;
    const uint32_t width = sc_dtype_bytes((sc_dtype)x->self->dtype);
    const char *from = x->self->data;
    sc_stream walk;
    sc_stream_init_dims(&walk, to->data, width, to->rank, to->sizes, to->strides);
    sc_stream_seek(&walk, first);
    (void)thread;
    for (int64_t b = first, n; b < end; b += n) {
        int64_t stride;
        char *data;
        n = sc_stream_run(&walk, end - b, &data, &stride);
        for (int64_t k = 0; k < n; k++)
            copy_element(data + k * stride * width, from + x->offsets[b + k] * (int64_t)width,
                         width);
    }
}

// If every dim is indexed, blocks are single elements, too small to be moved as views.
static void take_elements(const indexing *x, const sc_strided *to) {
    taking t = {.x = x, .to = to};
    sc_parallel_rows(x->count, SC_COST_CONVERT, take_elements_part, &t);
}

static sc_status take(const sc_kernel_call *call, const sc_strided *self, const sc_strided *other) {
    return sc_move(call, other, self);
}

static sc_status put(const sc_kernel_call *call, const sc_strided *self, const sc_strided *other) {
    return sc_move(call, self, other);
}

// self += other, in the widest class of their kind.
static sc_status add_numbers(const sc_kernel_call *call, const sc_strided *self,
                             const sc_strided *other) {
    sc_class class_ = sc_dtype_is_float((sc_dtype)self->dtype) ? SC_CLASS_F64 : SC_CLASS_I64;
    sc_load_fn load = sc_loader(class_, self->dtype);
    sc_store_fn store = sc_storer(class_, self->dtype);
    uint32_t width = sc_dtype_bytes((sc_dtype)self->dtype);
    sc_stream a, b, to;
    int64_t count = 1;
    if (!load || !store) return sc_call_no_kernel(call);
    for (uint32_t d = 0; d < self->rank; d++) count *= self->sizes[d];
    sc_stream_init_dims(&a, self->data, width, self->rank, self->sizes, self->strides);
    sc_stream_init_dims(&b, other->data, width, other->rank, other->sizes, other->strides);
    to = a;
    for (int64_t i = 0; i < count; i += SC_BLOCK) {
        double x[SC_BLOCK], y[SC_BLOCK];
        int64_t n = sc_min_i64(SC_BLOCK, count - i);
        sc_stream_load(&a, load, x, sizeof *x, n);
        sc_stream_load(&b, load, y, sizeof *y, n);
        for (int64_t k = 0; k < n; k++) {
            uint64_t p, q;
            memcpy(&p, &x[k], sizeof p);
            memcpy(&q, &y[k], sizeof q);
            p += q;
            if (class_ == SC_CLASS_F64)
                x[k] += y[k];
            else
                memcpy(&x[k], &p, sizeof p);
        }
        sc_stream_store(&to, store, x, sizeof *x, n);
    }
    return SC_OK;
}

// A view of one of the two parts of complex numbers.
static sc_strided part_of(const sc_strided *whole, sc_dtype part, uint32_t which) {
    sc_strided view = *whole;
    view.dtype = (uint8_t)part;
    view.data += which * sc_dtype_bytes(part);
    for (uint32_t d = 0; d < view.rank; d++) view.strides[d] *= 2;
    return view;
}

static sc_status accumulate(const sc_kernel_call *call, const sc_strided *self,
                            const sc_strided *other) {
    const sc_dtype part = sc_dtype_to_real((sc_dtype)self->dtype);
    if (part == self->dtype) return add_numbers(call, self, other);
    for (uint32_t which = 0; which < 2; which++) {
        sc_strided a = part_of(self, part, which), b = part_of(other, part, which);
        SC_TRY(add_numbers(call, &a, &b));
    }
    return SC_OK;
}

// (self, indices, out)
static sc_status run_index(const sc_kernel_call *call) {
    const sc_tensor *out = sc_call_out(call);
    indexing x;
    int64_t sizes[SC_RANK_MAX];
    uint32_t at;
    sc_strided dst;
    SC_TRY(indexing_init(call, &x, sc_call_tensor(call, 0)));
    uint32_t rank = indexed_shape(&x, sizes, &at);
    if (x.has_mask && rank == out->rank) SC_TRY(sc_call_resize(call, sc_call_out(call), sizes));
    bool fits = rank == out->rank && out->dtype == x.self->dtype;
    for (uint32_t d = 0; fits && d < rank; d++) fits = out->sizes[d] == sizes[d];
    if (!fits) return sc_call_fail(call, SC_ERR_SHAPE, "the result does not have its shape");
    sc_strided_of(&dst, out);
    if (dst.rank == x.rank) {
        take_elements(&x, &dst);
        return SC_OK;
    }
    return each_block(call, &x, &dst, at, take, false);
}

// Values broadcast to the sizes of an indexing result.
static sc_status put_values(const sc_kernel_call *call, const sc_tensor *target) {
    const sc_tensor *values = sc_call_tensor(call, 2);
    indexing x;
    uint32_t at;
    sc_strided src = {.data = values->data, .dtype = values->dtype};
    bool adds = call->arg_count > 3 && sc_call_integer(call, 3) != 0;
    SC_TRY(indexing_init(call, &x, target));
    src.rank = indexed_shape(&x, src.sizes, &at);
    bool fits = values->rank <= src.rank && values->dtype == target->dtype;
    for (uint32_t d = 0; fits && d < src.rank; d++) {
        uint32_t missing = src.rank - values->rank;
        src.strides[d] = 0;
        if (d < missing || values->sizes[d - missing] == 1) continue;
        fits = values->sizes[d - missing] == src.sizes[d];
        src.strides[d] = values->strides[d - missing];
    }
    if (!fits) return sc_call_fail(call, SC_ERR_SHAPE, "the values do not fit the indices");
    return each_block(call, &x, &src, at, adds ? accumulate : put, true);
}

// (self, indices, values, accumulate, out)
static sc_status run_index_put(const sc_kernel_call *call) {
    const sc_tensor *out = sc_call_out(call);
    sc_strided src, dst;
    sc_strided_of(&src, sc_call_tensor(call, 0));
    sc_strided_of(&dst, out);
    if (src.data != dst.data) SC_TRY(sc_move(call, &dst, &src));  // else it is updated in place
    return put_values(call, out);
}

static sc_status run_index_put_in_place(const sc_kernel_call *call) {
    return put_values(call, sc_call_tensor(call, 0));
}

SC_KERNEL(index, .run = run_index, .scratch = indexing_scratch);
SC_KERNEL(index_put, .run = run_index_put, .scratch = indexing_scratch);
SC_KERNEL(index_put_in_place, .run = run_index_put_in_place, .scratch = indexing_scratch);
