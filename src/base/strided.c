// Views an extent with other strides as dense bytes: weights that are permuted, sliced or expanded.
// Readers go through the bytes in order, but these are scattered over the base. So they are
// gathered in blocks, tile by tile. The larger a block, the longer the runs that are read from the
// base. A view takes the memory of one block, and reads its base once for each block at worst.
//
// Expanded and overlapping views have no such runs. If their items are short, they load their base,
// up to a limit.
#include "base/gather.h"

enum {
    RANK_MAX = SC_LANES_MAX,
    FEW_ITEMS = 64,  // fewer items are read one by one, and so are long ones
    LOADED_ITEM_BYTES_MAX = 4 << 10,
    GOOD_RUN_BYTES = 4 << 10,
    SHORT_RUN_FACTOR = 8,  // the factor by which blocks may grow for longer runs
    // The number of blocks if each block reads all of its base. Blocks stay between these multiples
    // of the limit (64 and 256 MB).
    PASSES = 4,
    STRIPED_FACTOR_MIN = 4,
    STRIPED_FACTOR_MAX = 16
};

typedef struct axis {
    uint64_t count;
    uint64_t stride;  // in bytes of the base
} axis;

typedef struct strided {
    sc_arena *arena;
    sc_extent base;
    uint64_t first_byte;
    uint64_t size;
    uint64_t item_bytes;  // bytes that are adjacent in the base
    uint32_t rank;
    axis axes[RANK_MAX];  // axes of items, outermost first
    uint64_t span;  // bytes from the first item to the end of the last; 0 if items share bytes
    const uint8_t *loaded;
    uint32_t split;       // a block is `step` indices of this axis, with all axes inside it
    uint64_t step, unit;  // `unit`: bytes of one such index; 0 before the first block
} strided;

// --- Blocks --------------------------------------------------------------------------------------

// Bytes [begin, end) of a view. The block names its view by place, because views outlive the
// contexts that read them.
typedef struct block {
    const strided *view;
    uint64_t begin, end;
    uint8_t *bytes;
    size_t capacity;
    bool is_busy;  // it is being filled, perhaps from another view
} block;

// There are two, so that two sources can be compared side by side.
typedef struct sc_gathered {
    uint32_t oldest;
    block blocks[2];
} sc_gathered;

// Follows the limit, unless runs of the base would be short. Then the split axis is the one with
// neighbours in the base, and runs are as long as a block has indices. If reads are round trips,
// gather.c reads whole rows. Each block then reads all of the base, and blocks are large.
static void choose_blocks(strided *view, sc_ctx *ctx) {
    const bool is_slow = view->base.source->is_slow;
    uint64_t limit = ctx->limits.gathered_bytes_max;
    if (is_slow)
        limit = sc_min_u64(sc_max_u64(view->size / PASSES + 1, limit * STRIPED_FACTOR_MIN),
                           limit * STRIPED_FACTOR_MAX);
    view->unit = view->item_bytes;
    view->split = view->rank - 1;
    while (view->split > 0 && view->unit * view->axes[view->split].count <= limit)
        view->unit *= view->axes[view->split--].count;
    const axis *split = &view->axes[view->split];
    uint64_t step = sc_max_u64(limit / view->unit, 1);
    if (split->stride == view->item_bytes && !is_slow)
        step = sc_max_u64(step, sc_min_u64(GOOD_RUN_BYTES / view->item_bytes,
                                           limit * SHORT_RUN_FACTOR / view->unit));
    view->step = sc_min_u64(step, split->count);
}

static void release(sc_ctx *ctx, block *b) {
    sc_arena_release(ctx->arena, b->bytes);
    *b = (block){0};
}

static bool make_room(sc_ctx *ctx, block *b, uint64_t bytes) {
    b->view = NULL;
    if (b->capacity >= bytes) return true;
    release(ctx, b);
    b->bytes = sc_arena_try_alloc(ctx->arena, (size_t)bytes);
    if (b->bytes) b->capacity = (size_t)bytes;
    return b->bytes != NULL;
}

// Frees the other block if memory is short, and makes a smaller one if that does not suffice.
static sc_status make_block(sc_ctx *ctx, strided *view, block *b) {
    block *other = &ctx->gathered->blocks[b == ctx->gathered->blocks];
    while (!make_room(ctx, b, view->step * view->unit)) {
        if (!other->is_busy && other->capacity) {
            release(ctx, other);
            continue;
        }
        if (view->step == 1)
            return sc_fail(ctx, SC_ERR_MEMORY, NULL, "no memory to permute a weight of %llu bytes",
                           (unsigned long long)view->size);
        view->step -= view->step / 2;
    }
    return SC_OK;
}

static sc_status fill_block(sc_ctx *ctx, strided *view, uint64_t offset, block *b) {
    sc_lane lanes[RANK_MAX];
    SC_TRY(make_block(ctx, view, b));
    const axis *split = &view->axes[view->split];
    const uint64_t whole = split->count * view->unit, index = offset % whole / view->unit;
    const uint64_t first = index - index % view->step;
    const uint64_t count = sc_min_u64(view->step, split->count - first);
    uint64_t at = view->first_byte + first * split->stride, rest = offset / whole;
    for (uint32_t d = view->split; d-- > 0; rest /= view->axes[d].count)
        at += rest % view->axes[d].count * view->axes[d].stride;
    uint64_t to = view->item_bytes;
    for (uint32_t d = view->rank; d-- > view->split;) {
        lanes[d - view->split] = (sc_lane){view->axes[d].count, view->axes[d].stride, to};
        to *= view->axes[d].count;
    }
    lanes[0].count = count;
    const uint64_t begin = offset / whole * whole + first * view->unit;
    const sc_scattered items = {.base = view->base,
                                .at = at,
                                .item_bytes = view->item_bytes,
                                .lanes = lanes,
                                .count = view->rank - view->split,
                                .done = begin,
                                .total = view->size};
    b->is_busy = true;
    sc_status status = sc_gather(ctx, &items, b->bytes);
    b->is_busy = false;
    b->view = status == SC_OK ? view : NULL;
    b->begin = begin;
    b->end = begin + count * view->unit;
    return status;
}

// The block that contains byte `offset`. NULL if all blocks are busy with views that read this one.
// A view has one block at a time.
static sc_status find_block(sc_ctx *ctx, strided *view, uint64_t offset, const block **out) {
    if (!ctx->gathered) ctx->gathered = sc_new(ctx->arena, sc_gathered);
    sc_gathered *held = ctx->gathered;
    if (!view->unit) choose_blocks(view, ctx);
    uint32_t slot = held->oldest;
    for (uint32_t i = 0; i < SC_COUNT_OF(held->blocks); i++)
        if (held->blocks[i].view == view) slot = i;
    if (held->blocks[slot].is_busy) slot = 1 - slot;
    block *b = &held->blocks[slot];
    *out = b->is_busy ? NULL : b;
    if (b->is_busy) return SC_OK;
    held->oldest = 1 - slot;
    if (b->view == view && offset >= b->begin && offset < b->end) return SC_OK;
    return fill_block(ctx, view, offset, b);
}

// A reader that goes through a file in order needs no large block after the end of a view, whether
// it succeeded or not.
static void leave_blocks(sc_ctx *ctx, const strided *view) {
    sc_gathered *held = ctx->gathered;
    for (uint32_t i = 0; held && i < SC_COUNT_OF(held->blocks); i++) {
        block *b = &held->blocks[i];
        const bool is_left = b->view == view || (!b->view && !b->is_busy);
        if (is_left && b->capacity > ctx->limits.gathered_bytes_max) release(ctx, b);
    }
}

void sc_strided_forget(sc_ctx *ctx) {
    for (uint32_t i = 0; ctx->gathered && i < SC_COUNT_OF(ctx->gathered->blocks); i++)
        release(ctx, &ctx->gathered->blocks[i]);
}

// --- Items ---------------------------------------------------------------------------------------

static sc_status read_base(const strided *view, sc_ctx *ctx, uint64_t offset, void *out,
                           size_t bytes) {
    if (!view->loaded) return sc_extent_read(ctx, view->base, offset, out, bytes);
    memcpy(out, view->loaded + offset, bytes);
    return SC_OK;
}

// Reads the items one by one.
static sc_status read_items(const strided *view, sc_ctx *ctx, uint64_t offset, uint8_t *out,
                            size_t bytes) {
    sc_lane lanes[RANK_MAX];
    sc_walk w = {.lanes = lanes, .count = view->rank, .from = view->first_byte};
    uint64_t index = offset / view->item_bytes, skip = offset % view->item_bytes;
    for (uint32_t d = view->rank; d-- > 0; index /= lanes[d].count) {
        lanes[d] = (sc_lane){view->axes[d].count, view->axes[d].stride, 0};
        w.at[d] = index % lanes[d].count;
        w.from += w.at[d] * lanes[d].from;
    }
    while (bytes) {
        size_t part = (size_t)sc_min_u64(view->item_bytes - skip, bytes);
        SC_TRY(read_base(view, ctx, w.from + skip, out, part));
        out += part;
        bytes -= part;
        skip = 0;
        sc_walk_on(&w);
    }
    return SC_OK;
}

static sc_status read_blocks(strided *view, sc_ctx *ctx, uint64_t offset, uint8_t *out,
                             size_t bytes) {
    while (bytes) {
        const block *b;
        SC_TRY(find_block(ctx, view, offset, &b));
        if (!b) return read_items(view, ctx, offset, out, bytes);
        size_t part = (size_t)sc_min_u64(b->end - offset, bytes);
        memcpy(out, b->bytes + (offset - b->begin), part);
        out += part;
        offset += part;
        bytes -= part;
    }
    return SC_OK;
}

static sc_status read_strided(sc_source *source, sc_ctx *ctx, uint64_t offset, void *out,
                              size_t bytes) {
    strided *view = source->user;
    bool is_long = view->item_bytes > SC_GATHER_ITEM_BYTES_MAX;
    bool in_blocks = view->span && !is_long && bytes / view->item_bytes > FEW_ITEMS;
    if (!view->span && !view->loaded && view->item_bytes < LOADED_ITEM_BYTES_MAX)
        SC_TRY(sc_extent_load(ctx, view->arena, view->base, ctx->limits.constant_bytes_max,
                              &view->loaded));
    sc_status status = in_blocks ? read_blocks(view, ctx, offset, out, bytes)
                                 : read_items(view, ctx, offset, out, bytes);
    if (status != SC_OK || offset + bytes == view->size) leave_blocks(ctx, view);
    return status;
}

// --- Views of views ------------------------------------------------------------------------------

// Composes two views into one view of the lower base. An index of the upper view is a sum of
// indices of the lower view's axes. `used` is the largest sum so far, for each axis and, last, for
// the bytes of an item.
typedef struct composition {
    const strided *below;
    uint64_t used[RANK_MAX + 1];
    axis axes[RANK_MAX];
    uint32_t rank;
} composition;

// Writes `count` steps of `stride` dense bytes as steps along axes. A long one fills several axes.
static bool compose_axis(composition *c, uint64_t count, uint64_t stride) {
    const strided *below = c->below;
    uint32_t level = below->rank, parts = 0;
    uint64_t inside = 1, size = below->item_bytes;  // dense bytes of an index of the level, indices
    axis found[RANK_MAX + 1];
    if (stride == 0) found[parts++] = (axis){count, 0};
    while (stride && count > 1) {
        for (; stride >= inside * size; size = below->axes[--level].count) {
            if (level == 0) return false;
            inside *= size;
        }
        const uint64_t step = stride / inside, *used = &c->used[level];
        if (stride % inside != 0 || size - 1 < *used) return false;
        uint64_t part = count;
        if (count > (size - 1 - *used) / step + 1) {
            part = size / step;
            if (size % step != 0 || count % part != 0 || *used >= step) return false;
        }
        const uint64_t below_stride = level == below->rank ? 1 : below->axes[level].stride;
        found[parts++] = (axis){part, step * below_stride};
        c->used[level] += step * (part - 1);
        stride *= part;
        count /= part;
    }
    if (parts > RANK_MAX - c->rank) return false;
    while (parts) c->axes[c->rank++] = found[--parts];
    return true;
}

static void compose(strided *view, uint32_t item_bytes) {
    const sc_source *source = view->base.source;
    if (!source || source->read != read_strided || view->first_byte || view->base.offset ||
        view->base.size != source->size)
        return;
    composition c = {.below = source->user};
    c.used[c.below->rank] = item_bytes - 1;
    for (uint32_t d = 0; d < view->rank; d++)
        if (!compose_axis(&c, view->axes[d].count, view->axes[d].stride)) return;
    view->base = c.below->base;
    view->first_byte = c.below->first_byte;
    view->rank = c.rank;
    memcpy(view->axes, c.axes, sizeof c.axes);
}

// --- Making views --------------------------------------------------------------------------------

// Merges axes that continue each other, and those that are part of the item.
static void fold(strided *view) {
    uint32_t kept = view->rank;
    for (uint32_t d = view->rank; d-- > 0;) {
        axis *inner = kept < view->rank ? &view->axes[kept] : NULL;
        if (inner && view->axes[d].stride == inner->count * inner->stride)
            *inner = (axis){view->axes[d].count * inner->count, inner->stride};
        else
            view->axes[--kept] = view->axes[d];
    }
    view->rank -= kept;
    memmove(view->axes, view->axes + kept, view->rank * sizeof *view->axes);
    if (view->rank && view->axes[view->rank - 1].stride == view->item_bytes)
        view->item_bytes *= view->axes[--view->rank].count;
}

// The bytes from the first item to the end of the last one; 0 if items share bytes.
static uint64_t injective_span(const strided *view) {
    sc_lane lanes[RANK_MAX];
    uint64_t span = view->item_bytes;
    for (uint32_t d = 0; d < view->rank; d++)
        lanes[d] = (sc_lane){view->axes[d].count, view->axes[d].stride, 0};
    sc_lanes_sort(lanes, view->rank);
    for (uint32_t d = view->rank; d-- > 0;) {
        if (lanes[d].from < span) return 0;
        span += lanes[d].from * (lanes[d].count - 1);
    }
    return span;
}

sc_extent sc_extent_strided(sc_arena *arena, sc_extent base, uint32_t item_bytes, uint32_t rank,
                            const int64_t *sizes, const int64_t *strides, int64_t storage_offset) {
    SC_ASSERT(rank <= RANK_MAX && item_bytes > 0 && storage_offset >= 0);
    strided *view = sc_new(arena, strided);
    *view = (strided){.arena = arena, .base = base, .item_bytes = item_bytes};
    view->first_byte = (uint64_t)storage_offset * item_bytes;
    uint64_t size = item_bytes;
    for (uint32_t d = 0; d < rank; d++) {
        SC_ASSERT(sizes[d] >= 0 && strides[d] >= 0 && sc_mul_u64(size, (uint64_t)sizes[d], &size));
        if (sizes[d] != 1)
            view->axes[view->rank++] =
                (axis){(uint64_t)sizes[d], (uint64_t)strides[d] * item_bytes};
    }
    if (size == 0) return (sc_extent){0};
    compose(view, item_bytes);
    fold(view);
    if (view->rank == 0) {
        sc_extent dense;
        SC_ASSERT(sc_extent_slice(view->base, view->first_byte, size, &dense));
        return dense;
    }
    view->size = size;
    view->span = injective_span(view);
    sc_source *source = sc_new(arena, sc_source);
    *source = (sc_source){.read = read_strided, .size = size, .user = view};
    source->is_slow = view->base.source->is_slow;
    return sc_extent_whole(source);
}

static const strided *dense_view(sc_extent extent) {
    const sc_source *source = extent.source;
    if (!source || source->read != read_strided || extent.offset || extent.size != source->size)
        return NULL;
    const strided *view = source->user;
    return view->span == source->size ? view : NULL;
}

sc_extent sc_extent_unpermuted(sc_extent extent) {
    const strided *view = dense_view(extent);
    if (view) SC_ASSERT(sc_extent_slice(view->base, view->first_byte, view->span, &extent));
    return extent;
}

bool sc_extents_unpermute(sc_extent *a, sc_extent *b) {
    const strided *x = dense_view(*a), *y = dense_view(*b);
    if (!x && !y) return true;
    if (!x || !y || x->item_bytes != y->item_bytes || x->rank != y->rank ||
        memcmp(x->axes, y->axes, x->rank * sizeof *x->axes) != 0)
        return false;
    *a = sc_extent_unpermuted(*a);
    *b = sc_extent_unpermuted(*b);
    return true;
}
