// Weights are processed in blocks: one block of the base is in memory at a time. The result for an
// element depends only on its position, so a source gives the same bytes in whatever pieces it is
// read.
// In wasm: -O3
#include "quant/weights.h"

#include <math.h>

#include "observe/range.h"

enum {
    STEP = 1024,  // elements of one step of computation
    FEW = 16,
    BLOCK_BYTES = 256 << 10,    // of the base
    SLOW_BLOCK_BYTES = 4 << 20  // if each read is a round trip
};

// --- Slices --------------------------------------------------------------------------------------

sc_slices sc_slices_whole(uint64_t elements) {
    return (sc_slices){.run = sc_max_u64(elements, 1), .count = 1};
}

sc_slices sc_slices_axis(uint32_t rank, const int64_t *sizes, uint32_t axis) {
    SC_ASSERT(axis < rank);
    sc_slices slices = {.run = 1, .count = sc_max_u64((uint64_t)sizes[axis], 1)};
    for (uint32_t d = axis + 1; d < rank; d++) slices.run *= (uint64_t)sizes[d];
    slices.run = sc_max_u64(slices.run, 1);
    return slices;
}

sc_slices sc_slices_groups(uint64_t elements, uint64_t size) {
    SC_ASSERT(size > 0 && elements % size == 0);
    return (sc_slices){.run = size, .count = sc_max_u64(elements / size, 1)};
}

// A walk over elements, run by run.
typedef struct slicing {
    sc_slices slices;
    uint64_t slice, left;
} slicing;

static slicing slicing_from(sc_slices slices, uint64_t element) {
    return (slicing){.slices = slices,
                     .slice = element / slices.run % slices.count,
                     .left = slices.run - element % slices.run};
}

// The number of the next `count` elements that belong to `*slice`.
static size_t next_run(slicing *s, size_t count, uint64_t *slice) {
    const size_t part = (size_t)sc_min_u64(s->left, count);
    *slice = s->slice;
    s->left -= part;
    if (s->left == 0) {
        s->left = s->slices.run;
        s->slice = s->slice + 1 == s->slices.count ? 0 : s->slice + 1;
    }
    return part;
}

// --- Numbers -------------------------------------------------------------------------------------

static void widen(float *x, const uint8_t *bytes, sc_dtype dtype, size_t count) {
    uint16_t halves[STEP];
    if (dtype == SC_DTYPE_F32) {
        memcpy(x, bytes, count * sizeof *x);
        return;
    }
    memcpy(halves, bytes, count * sizeof *halves);
    if (dtype == SC_DTYPE_F16)
        for (size_t i = 0; i < count; i++) x[i] = sc_f16_to_f32(halves[i]);
    else
        for (size_t i = 0; i < count; i++) x[i] = sc_bf16_to_f32(halves[i]);
}

static void narrow(uint8_t *bytes, const float *x, sc_dtype dtype, size_t count) {
    uint16_t halves[STEP];
    if (dtype == SC_DTYPE_F32) {
        memcpy(bytes, x, count * sizeof *x);
        return;
    }
    if (dtype == SC_DTYPE_F16)
        for (size_t i = 0; i < count; i++) halves[i] = sc_f32_to_f16(x[i]);
    else
        for (size_t i = 0; i < count; i++) halves[i] = sc_f32_to_bf16(x[i]);
    memcpy(bytes, halves, count * sizeof *halves);
}

static void multiply(const sc_weight *weight, uint64_t first, float *x, size_t count) {
    slicing s = slicing_from(weight->factored, first);
    for (size_t i = 0; i < count;) {
        uint64_t slice;
        const size_t end = i + next_run(&s, count - i, &slice);
        const float factor = weight->factors[slice];
        for (; i < end; i++) x[i] *= factor;
    }
    if (weight->dtype != SC_DTYPE_F32)
        for (size_t i = 0; i < count; i++) x[i] = sc_f32_as(x[i], weight->dtype);
}

// --- Blocks --------------------------------------------------------------------------------------

// Reads `count` <= STEP elements from `first`, with their factors.
typedef void (*visit_fn)(void *user, uint64_t first, float *x, size_t count);

static void visit_block(const sc_weight *weight, const uint8_t *bytes, uint64_t first,
                        uint64_t count, visit_fn visit, void *user) {
    const uint32_t item_bytes = sc_dtype_bytes(weight->dtype);
    for (uint64_t done = 0; done < count;) {
        float x[STEP];
        const size_t part = (size_t)sc_min_u64(STEP, count - done);
        widen(x, bytes + done * item_bytes, weight->dtype, part);
        if (weight->factors) multiply(weight, first + done, x, part);
        visit(user, first + done, x, part);
        done += part;
    }
}

static sc_status visit_read(sc_ctx *ctx, const sc_weight *weight, uint64_t first, uint64_t count,
                            visit_fn visit, void *user) {
    const uint32_t item_bytes = sc_dtype_bytes(weight->dtype);
    const bool is_slow = weight->data.source->is_slow;
    const uint64_t most = (is_slow ? SLOW_BLOCK_BYTES : BLOCK_BYTES) / item_bytes;
    const uint64_t step = sc_min_u64(most, count);
    uint8_t *block = sc_arena_try_alloc(ctx->scratch, (size_t)(step * item_bytes));
    sc_status status = SC_OK;
    if (!block)
        return sc_fail(ctx, SC_ERR_MEMORY, NULL, "no memory to read %llu bytes of a weight",
                       (unsigned long long)(step * item_bytes));
    for (uint64_t done = 0; done < count && status == SC_OK; done += step) {
        const uint64_t part = sc_min_u64(step, count - done);
        status = sc_extent_read(ctx, weight->data, (first + done) * item_bytes, block,
                                (size_t)(part * item_bytes));
        if (status == SC_OK) visit_block(weight, block, first + done, part, visit, user);
    }
    sc_arena_release(ctx->scratch, block);
    return status;
}

static sc_status visit_elements(sc_ctx *ctx, const sc_weight *weight, uint64_t first,
                                uint64_t count, visit_fn visit, void *user) {
    const uint32_t item_bytes = sc_dtype_bytes(weight->dtype);
    const sc_extent *data = &weight->data;
    if (count == 0) return SC_OK;
    const sc_source *source = data->source;
    const bool is_inside =
        data->offset <= source->size && data->size <= source->size - data->offset;
    if (!source->memory || !is_inside) return visit_read(ctx, weight, first, count, visit, user);
    visit_block(weight, source->memory + data->offset + first * item_bytes, first, count, visit,
                user);
    return SC_OK;
}

static void check_weight(const sc_weight *weight) {
    SC_ASSERT(sc_dtype_is_float(weight->dtype) && weight->dtype != SC_DTYPE_F64);
    SC_ASSERT(weight->data.size == weight->elements * sc_dtype_bytes(weight->dtype));
}

// --- Ranges --------------------------------------------------------------------------------------

typedef struct ranges {
    sc_slices slices;
    float *lows, *highs;
    uint64_t odd;
} ranges;

static void add_few(ranges *r, uint64_t slice, const float *x, size_t count) {
    float low = r->lows[slice], high = r->highs[slice];
    for (size_t i = 0; i < count; i++) {
        const bool is_finite = fabsf(x[i]) < INFINITY;
        low = is_finite && x[i] < low ? x[i] : low;
        high = is_finite && x[i] > high ? x[i] : high;
        r->odd += !is_finite;
    }
    r->lows[slice] = low;
    r->highs[slice] = high;
}

static void add_many(ranges *r, uint64_t slice, const float *x, size_t count) {
    sc_value_range range = {.low = r->lows[slice], .high = r->highs[slice]};
    sc_value_range_add(&range, x, count);
    r->lows[slice] = range.low;
    r->highs[slice] = range.high;
    r->odd += range.nans + range.infinities;
}

static void visit_ranges(void *user, uint64_t first, float *x, size_t count) {
    ranges *r = user;
    slicing s = slicing_from(r->slices, first);
    for (size_t i = 0, part; i < count; i += part) {
        uint64_t slice;
        part = next_run(&s, count - i, &slice);
        if (part < FEW)
            add_few(r, slice, x + i, part);
        else
            add_many(r, slice, x + i, part);
    }
}

sc_status sc_weight_ranges(sc_ctx *ctx, const sc_weight *weight, sc_slices slices, float *lows,
                           float *highs) {
    ranges r = {.slices = slices, .lows = lows, .highs = highs};
    check_weight(weight);
    for (uint64_t k = 0; k < slices.count; k++) {
        lows[k] = INFINITY;
        highs[k] = -INFINITY;
    }
    SC_TRY(visit_elements(ctx, weight, 0, weight->elements, visit_ranges, &r));
    for (uint64_t k = 0; k < slices.count; k++)
        if (lows[k] > highs[k]) lows[k] = highs[k] = 0;
    if (r.odd == 0) return SC_OK;
    return sc_fail(ctx, SC_ERR_ARGUMENT, "Leave this layer out of the quantization.",
                   "%llu of %llu elements of a weight are infinite or NaN",
                   (unsigned long long)r.odd, (unsigned long long)weight->elements);
}

// --- Computed weights ----------------------------------------------------------------------------

typedef struct computed {
    sc_weight weight;
    sc_weight_grid grid;
    sc_dtype dtype;  // bytes of the result
} computed;

typedef struct output {
    const computed *weight;
    uint8_t *to;
} output;

static void quantize_run(int8_t *to, const float *x, size_t count, float inverse, float low,
                         float high) {
    // 1.5 * 2^23: adding it rounds a number to an integer, in the last bits of the sum.
    const float nearest = 12582912.0f;
    for (size_t i = 0; i < count; i++) {
        float v = x[i] * inverse;
        uint32_t bits;
        v = v > low ? v : low;
        v = (v < high ? v : high) + nearest;
        memcpy(&bits, &v, sizeof bits);
        to[i] = (int8_t)(bits & 0xff);
    }
}

static void quantize_own_run(int8_t *to, float *x, size_t count, float inverse, const computed *c) {
    const sc_dtype dtype = c->weight.dtype;
    for (size_t i = 0; i < count; i++) x[i] = sc_f32_as(x[i] * sc_f32_as(inverse, dtype), dtype);
    quantize_run(to, x, count, 1, c->grid.quant_min, c->grid.quant_max);
}

static void visit_quantized(void *user, uint64_t first, float *x, size_t count) {
    output *out = user;
    const computed *c = out->weight;
    const bool is_own = c->grid.in_own_dtype && c->weight.dtype != SC_DTYPE_F32;
    slicing s = slicing_from(c->grid.slices, first);
    for (size_t i = 0; i < count;) {
        uint64_t slice;
        const size_t part = next_run(&s, count - i, &slice);
        const float inverse = 1.0f / c->grid.scales[slice];
        int8_t *to = (int8_t *)out->to + i;
        if (is_own)
            quantize_own_run(to, x + i, part, inverse, c);
        else
            quantize_run(to, x + i, part, inverse, c->grid.quant_min, c->grid.quant_max);
        i += part;
    }
    out->to += count;
}

static void visit_converted(void *user, uint64_t first, float *x, size_t count) {
    output *out = user;
    (void)first;
    narrow(out->to, x, out->weight->dtype, count);
    out->to += count * sc_dtype_bytes(out->weight->dtype);
}

static sc_status compute(sc_ctx *ctx, const computed *c, uint64_t first, uint64_t count,
                         uint8_t *to) {
    output out = {.weight = c, .to = to};
    const visit_fn visit = c->dtype == SC_DTYPE_I8 ? visit_quantized : visit_converted;
    return visit_elements(ctx, &c->weight, first, count, visit, &out);
}

// Some of the bytes of one element.
static sc_status read_part(sc_ctx *ctx, const computed *c, uint64_t offset, uint8_t *out,
                           size_t bytes) {
    uint8_t item[sizeof(float)];
    const uint32_t item_bytes = sc_dtype_bytes(c->dtype);
    SC_TRY(compute(ctx, c, offset / item_bytes, 1, item));
    memcpy(out, item + offset % item_bytes, bytes);
    return SC_OK;
}

static sc_status read_computed(sc_source *source, sc_ctx *ctx, uint64_t offset, void *out,
                               size_t bytes) {
    const computed *c = source->user;
    const uint32_t item_bytes = sc_dtype_bytes(c->dtype);
    uint8_t *to = out;
    const size_t into = (size_t)(offset % item_bytes);
    const size_t head = into ? (size_t)sc_min_u64(item_bytes - into, bytes) : 0;
    const size_t tail = (bytes - head) % item_bytes, middle = bytes - head - tail;
    if (head) SC_TRY(read_part(ctx, c, offset, to, head));
    SC_TRY(compute(ctx, c, (offset + head) / item_bytes, middle / item_bytes, to + head));
    return tail ? read_part(ctx, c, offset + head + middle, to + head + middle, tail) : SC_OK;
}

static sc_extent new_computed(sc_arena *arena, const computed *weight) {
    check_weight(&weight->weight);
    if (weight->weight.elements == 0) return (sc_extent){0};
    computed *c = sc_new(arena, computed);
    sc_source *source = sc_new(arena, sc_source);
    *c = *weight;
    *source = (sc_source){.read = read_computed, .user = c};
    source->size = c->weight.elements * sc_dtype_bytes(c->dtype);
    source->is_slow = c->weight.data.source->is_slow;
    return sc_extent_whole(source);
}

sc_extent sc_weight_quantized(sc_arena *arena, const sc_weight *weight,
                              const sc_weight_grid *grid) {
    const computed c = {.weight = *weight, .grid = *grid, .dtype = SC_DTYPE_I8};
    return new_computed(arena, &c);
}

sc_extent sc_weight_converted(sc_arena *arena, const sc_weight *weight, sc_dtype dtype) {
    const computed c = {.weight = *weight, .dtype = dtype};
    SC_ASSERT(sc_dtype_is_float(dtype) && dtype != SC_DTYPE_F64);
    return dtype == weight->dtype && !weight->factors ? weight->data : new_computed(arena, &c);
}
