// Gathers scattered items. A few rows of the base are read at a time, and copied from there tile by
// tile. If each read is a round trip, a read takes all bytes between the rows, too, many megabytes
// at once.
// In wasm: -Os
#include "base/gather.h"

enum { LINE_BYTES = 64 };

// The best way to read a source.
typedef struct manner {
    uint64_t gap_bytes_max;  // a read across a gap of this size is cheaper than another read
    uint64_t run_bytes_max;
    uint64_t stage_bytes;  // memory for several runs, side by side
} manner;

static const manner fast = {2 << 10, 16 << 10, 256 << 10};
// Browsers take a millisecond for a read of a Blob, and give about 600 MB a second.
static const manner slow = {512 << 10, 4 << 20, 16 << 20};

// --- Copying -------------------------------------------------------------------------------------

bool sc_walk_on(sc_walk *w) {
    for (uint32_t d = w->count; d-- > 0;) {
        const sc_lane *l = &w->lanes[d];
        w->from += l->from;
        w->to += l->to;
        if (++w->at[d] < l->count) return true;
        w->from -= l->from * l->count;
        w->to -= l->to * l->count;
        w->at[d] = 0;
    }
    return false;
}

// Removes the lane with the smallest stride from the list. Gives a lane of one item if the list is
// empty.
static sc_lane take(sc_lane *lanes, uint32_t *count, bool in_base) {
    uint32_t best = 0;
    if (*count == 0) return (sc_lane){.count = 1};
    for (uint32_t i = 1; i < *count; i++) {
        const sc_lane *a = &lanes[i], *b = &lanes[best];
        if (in_base ? a->from < b->from : a->to < b->to) best = i;
    }
    sc_lane found = lanes[best];
    memmove(lanes + best, lanes + best + 1, (--*count - best) * sizeof *lanes);
    return found;
}

static inline void copy_tiles(uint8_t *to, const uint8_t *from, const sc_lane *p, const sc_lane *q,
                              size_t bytes) {
    enum { TILE = 16 };
    const size_t p_to = (size_t)p->to, p_from = (size_t)p->from;
    for (size_t j0 = 0; j0 < q->count; j0 += TILE)
        for (size_t i0 = 0; i0 < p->count; i0 += TILE) {
            const size_t rows = (size_t)sc_min_u64(TILE, p->count - i0);
            const size_t columns = (size_t)sc_min_u64(TILE, q->count - j0);
            for (size_t j = j0; j < j0 + columns; j++) {
                uint8_t *t = to + i0 * p_to + j * (size_t)q->to;
                const uint8_t *f = from + i0 * p_from + j * (size_t)q->from;
                for (size_t i = 0; i < rows; i++, t += p_to, f += p_from) memcpy(t, f, bytes);
            }
        }
}

// In each of the loops the width is a constant.
static void copy_plane(uint8_t *to, const uint8_t *from, const sc_lane *p, const sc_lane *q,
                       uint64_t item_bytes) {
    switch (item_bytes) {
    case 1: copy_tiles(to, from, p, q, 1); return;
    case 2: copy_tiles(to, from, p, q, 2); return;
    case 4: copy_tiles(to, from, p, q, 4); return;
    case 8: copy_tiles(to, from, p, q, 8); return;
    default: copy_tiles(to, from, p, q, (size_t)item_bytes); return;
    }
}

// Copies items in memory to their places. The innermost loops are the lanes with neighbours on
// either side.
static void copy_items(uint8_t *to, const uint8_t *from, sc_lane *lanes, uint32_t count,
                       uint64_t item_bytes) {
    const sc_lane p = take(lanes, &count, false), q = take(lanes, &count, true);
    sc_walk w = {.lanes = lanes, .count = count};
    do copy_plane(to + w.to, from + w.from, &p, &q, item_bytes);
    while (sc_walk_on(&w));
}

// --- Gathering -----------------------------------------------------------------------------------

// A block and the way to collect its bytes. One lane is the rows, whose items are neighbours in the
// result. Other lanes are close together in the base: they form a run, which is read at once. The
// walk covers the remaining lanes. A few rows of a run are in memory at a time.
typedef struct gathering {
    sc_ctx *ctx;
    sc_extent base;
    const manner *manner;
    uint64_t item_bytes;
    uint64_t done, total;  // for progress
    uint8_t *stage;
    sc_lane rows, run;  // `run`: the outermost lane of a run, of which a part may be read at a time
    const sc_lane *outer, *inner;
    uint32_t outer_count, inner_count;
    uint64_t row_step, run_step;  // the number of them in memory
    uint64_t bytes;               // bytes of one index of `run`
    uint64_t pitch;               // distance of rows in memory
    bool is_together;             // a read takes the bytes between rows, too
} gathering;

static void choose_run(gathering *g, const sc_lane *lanes, uint32_t count) {
    const uint64_t gap_max = g->manner->gap_bytes_max, run_max = g->manner->run_bytes_max;
    uint64_t bytes = g->item_bytes;
    uint32_t first = count;
    for (; first > 0; first--) {
        const sc_lane *l = &lanes[first - 1];
        uint64_t whole = bytes + l->from * (l->count - 1);
        if (l->from > bytes + gap_max || whole > run_max) break;
        bytes = whole;
    }
    g->bytes = bytes;
    g->inner = lanes + first;
    g->inner_count = count - first;
    g->run = (sc_lane){.count = 1};
    g->run_step = 1;
    if (first > 0 && lanes[first - 1].from <= bytes + gap_max && bytes < run_max) {
        g->run = lanes[--first];
        g->run_step = sc_min_u64((run_max - bytes) / g->run.from + 1, g->run.count);
    }
    g->outer = lanes;
    g->outer_count = first;
}

// The number of rows that fit in `bytes`.
static uint64_t rows_in(const gathering *g, uint64_t bytes, uint64_t most) {
    if (bytes <= most) return 1;
    return g->is_together ? (bytes - most) / g->pitch + 1 : sc_max_u64(bytes / g->pitch, 1);
}

static sc_status stage_rows(gathering *g) {
    const uint64_t most = g->bytes + g->run.from * (g->run_step - 1);
    // If parts of runs came later, such rows would be read once for each part.
    const bool is_whole = g->run_step == g->run.count || g->rows.from < g->run.from;
    g->is_together =
        g->rows.count > 1 && is_whole && g->rows.from <= most + g->manner->gap_bytes_max;
    // Rows that begin a power of two apart would share few cache lines.
    g->pitch = g->is_together ? g->rows.from : sc_align_up(most, LINE_BYTES) + LINE_BYTES;
    for (uint64_t bytes = g->manner->stage_bytes;; bytes /= 2) {
        g->row_step = sc_min_u64(rows_in(g, bytes, most), g->rows.count);
        const uint64_t size = (g->row_step - 1) * g->pitch + most;
        g->stage = sc_arena_try_alloc(g->ctx->scratch, (size_t)size);
        if (g->stage) return SC_OK;
        if (g->row_step == 1)
            return sc_fail(g->ctx, SC_ERR_MEMORY, NULL, "no memory to read %llu bytes of a weight",
                           (unsigned long long)size);
    }
}

static sc_status read_rows(const gathering *g, uint64_t at, uint64_t rows, uint64_t bytes) {
    if (g->is_together)
        return sc_extent_read(g->ctx, g->base, at, g->stage,
                              (size_t)(bytes + g->rows.from * (rows - 1)));
    for (uint64_t i = 0; i < rows; i++)
        SC_TRY(sc_extent_read(g->ctx, g->base, at + i * g->rows.from, g->stage + i * g->pitch,
                              (size_t)bytes));
    return SC_OK;
}

// Gathers some rows and indices of a run, from byte `at` of the base on.
static sc_status gather_part(gathering *g, uint64_t at, uint8_t *to, uint64_t rows, uint64_t run) {
    sc_lane lanes[SC_LANES_MAX + 2];
    uint64_t bytes = rows * run * g->item_bytes;
    for (uint32_t i = 0; i < g->inner_count; i++) bytes *= g->inner[i].count;
    if (g->total > g->manner->stage_bytes)
        SC_TRY(sc_progress(g->ctx, SC_PHASE_gather, g->done, g->total));
    g->done += bytes;
    SC_TRY(read_rows(g, at, rows, g->bytes + g->run.from * (run - 1)));
    memcpy(lanes, g->inner, g->inner_count * sizeof *lanes);
    lanes[g->inner_count] = (sc_lane){run, g->run.from, g->run.to};
    lanes[g->inner_count + 1] = (sc_lane){rows, g->pitch, g->rows.to};
    copy_items(to, g->stage, lanes, g->inner_count + 2, g->item_bytes);
    return SC_OK;
}

static sc_status gather_rows(gathering *g, uint64_t at, uint8_t *to) {
    for (uint64_t i = 0; i < g->rows.count; i += g->row_step) {
        const uint64_t rows = sc_min_u64(g->row_step, g->rows.count - i);
        for (uint64_t j = 0; j < g->run.count; j += g->run_step)
            SC_TRY(gather_part(g, at + i * g->rows.from + j * g->run.from,
                               to + i * g->rows.to + j * g->run.to, rows,
                               sc_min_u64(g->run_step, g->run.count - j)));
    }
    return SC_OK;
}

void sc_lanes_sort(sc_lane *lanes, uint32_t count) {
    for (uint32_t i = 1; i < count; i++) {
        sc_lane moved = lanes[i];
        uint32_t at = i;
        for (; at > 0 && lanes[at - 1].from < moved.from; at--) lanes[at] = lanes[at - 1];
        lanes[at] = moved;
    }
}

sc_status sc_gather(sc_ctx *ctx, const sc_scattered *items, uint8_t *out) {
    gathering g = {.ctx = ctx,
                   .base = items->base,
                   .item_bytes = items->item_bytes,
                   .done = items->done,
                   .total = items->total,
                   .manner = items->base.source->is_slow ? &slow : &fast};
    uint32_t count = items->count;
    sc_mark mark = sc_arena_mark(ctx->scratch);
    g.rows = take(items->lanes, &count, false);
    sc_lanes_sort(items->lanes, count);
    choose_run(&g, items->lanes, count);
    sc_status status = stage_rows(&g);
    sc_walk w = {.lanes = g.outer, .count = g.outer_count};
    while (status == SC_OK) {
        status = gather_rows(&g, items->at + w.from, out + w.to);
        if (!sc_walk_on(&w)) break;
    }
    sc_arena_rewind(ctx->scratch, mark);
    return status;
}
