// Bytes of weights in another form, made while they are read. The runs of the base are as long as
// the requested ones: no weight is ever in memory as a whole, and if each read is a round trip, few
// are made.
#include "backends/xnnpack/aot/rule.h"

enum { STAGED_BYTES_MAX = 1 << 20 };

static sc_extent derive(sc_arena *arena, sc_extent base, uint64_t size, void *user,
                        sc_status (*read)(sc_source *, sc_ctx *, uint64_t, void *, size_t)) {
    sc_source *source = sc_new(arena, sc_source);
    *source = (sc_source){.read = read, .size = size, .user = user};
    source->is_slow = base.source && base.source->is_slow;
    return sc_extent_whole(source);
}

// --- Floats --------------------------------------------------------------------------------------

typedef struct converted {
    sc_extent base;
    sc_xa_conversion how;
} converted;

// `out` may be the same memory as `raw`, or begin before it by at least the growth of the results.
#define SCALE(type, value)                                       \
    for (size_t i = 0; i < count; i++, factor += step) {         \
        type item;                                               \
        memcpy(&item, raw + i * sizeof item, sizeof item);       \
        const float result = (float)((double)(value) * *factor); \
        memcpy(out + i * sizeof result, &result, sizeof result); \
    }                                                            \
    break

// The factor of each item is `step` after that of the previous one.
static void scale(uint8_t from, const uint8_t *raw, size_t count, const double *factor, size_t step,
                  uint8_t *out) {
    switch (from) {
    case SC_DTYPE_I8: SCALE(int8_t, item);
    case SC_DTYPE_F16: SCALE(uint16_t, sc_f16_to_f32(item));
    case SC_DTYPE_BF16: SCALE(uint16_t, sc_bf16_to_f32(item));
    default: SCALE(float, item);
    }
}

// Channel by channel, or, if neighbours belong to different ones, all channels at once.
static void scale_channels(const sc_xa_conversion *how, const uint8_t *raw, uint64_t first,
                           size_t count, uint8_t *out) {
    static const double one = 1;
    const uint32_t width = sc_dtype_bytes((sc_dtype)how->from);
    const bool alternates = how->factors && how->inner == 1;
    if (!how->factors) {
        scale(how->from, raw, count, &one, 0, out);
        return;
    }
    while (count) {
        const uint64_t channel = first / how->inner % how->channels;
        const uint64_t left =
            alternates ? how->channels - channel : how->inner - first % how->inner;
        const size_t part = (size_t)sc_min_u64(left, count);
        scale(how->from, raw, part, how->factors + channel, alternates, out);
        raw += part * width;
        out += part * sizeof(float);
        first += part;
        count -= part;
    }
}

// Items are read into the end of the space for their results, and are replaced from the front.
static sc_status read_items(const converted *c, sc_ctx *ctx, uint64_t first, size_t count,
                            uint8_t *out) {
    const uint32_t width = sc_dtype_bytes((sc_dtype)c->how.from);
    uint8_t *raw = out + count * (sizeof(float) - width);
    SC_TRY(sc_extent_read(ctx, c->base, first * width, raw, count * width));
    scale_channels(&c->how, raw, first, count, out);
    return SC_OK;
}

static sc_status read_converted(sc_source *source, sc_ctx *ctx, uint64_t offset, void *out,
                                size_t bytes) {
    const converted *c = source->user;
    uint8_t *to = out, item[sizeof(float)];
    while (bytes) {
        const size_t skip = (size_t)(offset % sizeof item);
        const bool is_whole = skip == 0 && bytes >= sizeof item;
        const size_t part =
            is_whole ? bytes - bytes % sizeof item : (size_t)sc_min_u64(bytes, sizeof item - skip);
        SC_TRY(read_items(c, ctx, offset / sizeof item, is_whole ? part / sizeof item : 1,
                          is_whole ? to : item));
        if (!is_whole) memcpy(to, item + skip, part);
        to += part;
        offset += part;
        bytes -= part;
    }
    return SC_OK;
}

sc_extent sc_xa_to_floats(sc_arena *arena, sc_extent base, const sc_xa_conversion *how) {
    converted *c = sc_new(arena, converted);
    *c = (converted){base, *how};
    return derive(arena, base, how->items * sizeof(float), c, read_converted);
}

// --- Halves --------------------------------------------------------------------------------------

typedef struct rounded {
    sc_extent base;
    uint8_t from;
} rounded;

static sc_status read_rounded(sc_source *source, sc_ctx *ctx, uint64_t offset, void *out,
                              size_t bytes) {
    const rounded *r = source->user;
    const uint32_t width = sc_dtype_bytes((sc_dtype)r->from);
    sc_mark mark = sc_arena_mark(ctx->scratch);
    const size_t staged = (size_t)sc_min_u64(bytes / sizeof(uint16_t) + 2, STAGED_BYTES_MAX / 8);
    uint8_t *raw = sc_arena_alloc(ctx->scratch, staged * width), *to = out;
    uint16_t *halves = sc_new_array(ctx->scratch, uint16_t, staged);
    sc_status status = SC_OK;
    while (bytes && status == SC_OK) {
        const size_t skip = (size_t)(offset % sizeof *halves);
        const size_t count = (size_t)sc_min_u64(staged, (skip + bytes + 1) / sizeof *halves);
        const size_t part = (size_t)sc_min_u64(bytes, count * sizeof *halves - skip);
        status = sc_extent_read(ctx, r->base, offset / sizeof *halves * width, raw, count * width);
        for (size_t i = 0; i < count && status == SC_OK; i++)
            halves[i] = sc_f32_to_bf16((float)sc_xa_number_at(raw + i * width, r->from));
        if (status == SC_OK) memcpy(to, (const uint8_t *)halves + skip, part);
        to += part;
        offset += part;
        bytes -= part;
    }
    sc_arena_rewind(ctx->scratch, mark);
    return status;
}

sc_extent sc_xa_to_halves(sc_arena *arena, sc_extent base, uint8_t from, uint64_t items) {
    rounded *r = sc_new(arena, rounded);
    *r = (rounded){base, from};
    return derive(arena, base, items * sizeof(uint16_t), r, read_rounded);
}

// --- 4 bits --------------------------------------------------------------------------------------

typedef struct nibbles {
    sc_extent base;
    uint64_t columns, pitch;  // integers in a row, bytes in a row
} nibbles;

static void pack(const int8_t *raw, size_t count, uint8_t *out) {
    for (; count > 1; count -= 2, raw += 2)
        *out++ = (uint8_t)(((raw[0] + 8) & 15) | ((raw[1] + 8) & 15) << 4);
    if (count) *out = (uint8_t)(((raw[0] + 8) & 15) | 8 << 4);
}

// The first integer of a byte.
static uint64_t integer_of(const nibbles *n, uint64_t byte) {
    return byte / n->pitch * n->columns + byte % n->pitch * 2;
}

// Rows are adjacent in the base, so any range of bytes comes from one run of it.
static sc_status read_nibbles(sc_source *source, sc_ctx *ctx, uint64_t offset, void *out,
                              size_t bytes) {
    const nibbles *n = source->user;
    const size_t staged = (size_t)sc_min_u64(bytes, STAGED_BYTES_MAX / 2);
    sc_mark mark = sc_arena_mark(ctx->scratch);
    int8_t *raw = sc_arena_alloc(ctx->scratch, 2 * staged);
    uint8_t *to = out;
    sc_status status = SC_OK;
    while (bytes && status == SC_OK) {
        const size_t block = (size_t)sc_min_u64(bytes, staged);
        const uint64_t first = integer_of(n, offset);
        const uint64_t row = (offset + block) / n->pitch, rest = (offset + block) % n->pitch;
        const uint64_t end = row * n->columns + sc_min_u64(2 * rest, n->columns);
        status = sc_extent_read(ctx, n->base, first, raw, (size_t)(end - first));
        const int8_t *from = raw;
        for (size_t left = status == SC_OK ? block : 0; left;) {
            const uint64_t byte = offset % n->pitch;
            const size_t part = (size_t)sc_min_u64(left, n->pitch - byte);
            const size_t count = (size_t)sc_min_u64(2 * part, n->columns - 2 * byte);
            pack(from, count, to);
            from += count;
            to += part;
            offset += part;
            left -= part;
        }
        bytes -= block;
    }
    sc_arena_rewind(ctx->scratch, mark);
    return status;
}

sc_extent sc_xa_nibbles(sc_arena *arena, sc_extent base, uint64_t rows, uint64_t columns) {
    nibbles *n = sc_new(arena, nibbles);
    *n = (nibbles){base, columns, (columns + 1) / 2};
    return derive(arena, base, n->pitch * rows, n, read_nibbles);
}
