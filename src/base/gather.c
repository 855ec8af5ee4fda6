// Gathering scattered items: runs of the base are read a few rows at a time, and copied from there
// tile by tile.
// In wasm: -Os
#include "base/gather.h"

enum {
    GAP_BYTES_MAX = 2 << 10,  // reading on over a gap is cheaper than another read
    RUN_BYTES_MAX = 16 << 10,
    STAGE_BYTES = 256 << 10,  // several runs, side by side
    LINE_BYTES = 64
};

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

// Removes the lane with the smallest stride from the list; one of a single item when it is
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

// The width is a constant in each of the loops.
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

// Items in memory to their places, planes of neighbours here and neighbours there first.
static void copy_items(uint8_t *to, const uint8_t *from, sc_lane *lanes, uint32_t count,
                       uint64_t item_bytes) {
    const sc_lane p = take(lanes, &count, false), q = take(lanes, &count, true);
    sc_walk w = {.lanes = lanes, .count = count};
    do copy_plane(to + w.to, from + w.from, &p, &q, item_bytes);
    while (sc_walk_on(&w));
}

// --- Gathering -----------------------------------------------------------------------------------

// How the bytes of a block are collected. Of its lanes one is the rows: the neighbours here. Others
// lie together in the base, or nearly so, and make a run, which is read at once; the rest are
// walked over. A few rows of a run are in memory at a time.
typedef struct gathering {
    sc_ctx *ctx;
    sc_extent base;
    uint64_t item_bytes;
    uint8_t *stage;
    sc_lane rows, run;  // `run`: the outermost lane of a run, the one it may have only a part of
    const sc_lane *outer, *inner;
    uint32_t outer_count, inner_count;
    uint64_t row_step, run_step;  // how many of them are in memory
    uint64_t bytes;               // of one index of `run`
    uint64_t pitch;               // from row to row in memory
    bool is_together;             // rows come with what lies between them
} gathering;

static void choose_run(gathering *g, const sc_lane *lanes, uint32_t count) {
    uint64_t bytes = g->item_bytes;
    uint32_t first = count;
    for (; first > 0; first--) {
        const sc_lane *l = &lanes[first - 1];
        uint64_t whole = bytes + l->from * (l->count - 1);
        if (l->from > bytes + GAP_BYTES_MAX || whole > RUN_BYTES_MAX) break;
        bytes = whole;
    }
    g->bytes = bytes;
    g->inner = lanes + first;
    g->inner_count = count - first;
    g->run = (sc_lane){.count = 1};
    g->run_step = 1;
    if (first > 0 && lanes[first - 1].from <= bytes + GAP_BYTES_MAX && bytes < RUN_BYTES_MAX) {
        g->run = lanes[--first];
        g->run_step = sc_min_u64((RUN_BYTES_MAX - bytes) / g->run.from + 1, g->run.count);
    }
    g->outer = lanes;
    g->outer_count = first;
}

static void stage_rows(gathering *g) {
    const uint64_t most = g->bytes + g->run.from * (g->run_step - 1);
    g->is_together = g->rows.count > 1 && g->rows.from <= most + GAP_BYTES_MAX;
    // Rows that begin a power of two apart would share few lines of the cache.
    g->pitch = g->is_together ? g->rows.from : sc_align_up(most, LINE_BYTES) + LINE_BYTES;
    uint64_t fit = g->is_together ? (STAGE_BYTES - most) / g->pitch + 1 : STAGE_BYTES / g->pitch;
    g->row_step = sc_min_u64(fit, g->rows.count);
    g->stage = sc_arena_alloc(g->ctx->scratch, (size_t)((g->row_step - 1) * g->pitch + most));
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

// Some rows and indices of a run, from byte `at` of the base on.
static sc_status gather_part(const gathering *g, uint64_t at, uint8_t *to, uint64_t rows,
                             uint64_t run) {
    sc_lane lanes[SC_LANES_MAX + 2];
    SC_TRY(read_rows(g, at, rows, g->bytes + g->run.from * (run - 1)));
    memcpy(lanes, g->inner, g->inner_count * sizeof *lanes);
    lanes[g->inner_count] = (sc_lane){run, g->run.from, g->run.to};
    lanes[g->inner_count + 1] = (sc_lane){rows, g->pitch, g->rows.to};
    copy_items(to, g->stage, lanes, g->inner_count + 2, g->item_bytes);
    return SC_OK;
}

static sc_status gather_rows(const gathering *g, uint64_t at, uint8_t *to) {
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

sc_status sc_gather(sc_ctx *ctx, sc_extent base, uint64_t at, uint64_t item_bytes, sc_lane *lanes,
                    uint32_t count, uint8_t *out) {
    gathering g = {.ctx = ctx, .base = base, .item_bytes = item_bytes};
    sc_mark mark = sc_arena_mark(ctx->scratch);
    g.rows = take(lanes, &count, false);
    sc_lanes_sort(lanes, count);
    choose_run(&g, lanes, count);
    stage_rows(&g);
    sc_walk w = {.lanes = g.outer, .count = g.outer_count};
    sc_status status = SC_OK;
    do status = gather_rows(&g, at + w.from, out + w.to);
    while (status == SC_OK && sc_walk_on(&w));
    sc_arena_rewind(ctx->scratch, mark);
    return status;
}
