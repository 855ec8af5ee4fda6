// ExecuTorch's greedy planner, offset for offset, so that our best plan can never be larger than
// the official one. Facts: items by decreasing aligned size, later ones first among equals; each
// goes to the first bucket with no resident alive at the same time, else behind the residents of
// the first bucket with room behind them, else to a new bucket. Buckets then lie one after another.
//
// The official code compares every item with every resident. Here a bucket is a bitmap over time
// (free or not is a few words) and, only for buckets that can hold two items at once, a segment
// tree of how high it is filled at each moment.
#include "base/vec.h"
#include "plan/order.h"
#include "plan/plan.h"

// The official sort rounds to 16 whatever the alignment of the plan.
#define SORT_ALIGN 16

typedef struct bucket {
    uint64_t size, offset;
    uint64_t *busy;    // one bit per moment
    uint64_t *raised;  // segment tree: `filled` raised over a whole node
    uint64_t *filled;  // segment tree: highest end below a node
} bucket;

typedef struct greedy {
    sc_arena *arena;
    SC_VEC(bucket) buckets;
    uint32_t moment_count;
    uint32_t leaf_count;  // power of two >= moment_count
} greedy;

static bool is_busy(const uint64_t *busy, uint32_t first, uint32_t last) {
    uint32_t first_word = first / 64, last_word = last / 64;
    uint64_t head = ~UINT64_C(0) << (first % 64);
    uint64_t tail = ~UINT64_C(0) >> (63 - last % 64);
    if (first_word == last_word) return (busy[first_word] & head & tail) != 0;
    if ((busy[first_word] & head) || (busy[last_word] & tail)) return true;
    for (uint32_t w = first_word + 1; w < last_word; w++)
        if (busy[w]) return true;
    return false;
}

static void set_busy(uint64_t *busy, uint32_t first, uint32_t last) {
    uint32_t first_word = first / 64, last_word = last / 64;
    uint64_t head = ~UINT64_C(0) << (first % 64);
    uint64_t tail = ~UINT64_C(0) >> (63 - last % 64);
    if (first_word == last_word) {
        busy[first_word] |= head & tail;
        return;
    }
    busy[first_word] |= head;
    busy[last_word] |= tail;
    for (uint32_t w = first_word + 1; w < last_word; w++) busy[w] = ~UINT64_C(0);
}

// Range maximum with range raise, bottom-up without pushing down: the answer for a leaf is the
// maximum of `raised` over its ancestors, for a range that of `filled` below and `raised` above.
static void raise_range(const greedy *g, bucket *b, uint32_t first, uint32_t last, uint64_t to) {
    uint32_t left = first + g->leaf_count, right = last + g->leaf_count;
    for (uint32_t l = left, r = right + 1; l < r; l /= 2, r /= 2) {
        if (l & 1) {
            b->raised[l] = sc_max_u64(b->raised[l], to);
            l++;
        }
        if (r & 1) {
            r--;
            b->raised[r] = sc_max_u64(b->raised[r], to);
        }
    }
    for (uint32_t n = left; n >= 1; n /= 2) b->filled[n] = sc_max_u64(b->filled[n], to);
    for (uint32_t n = right; n >= 1; n /= 2) b->filled[n] = sc_max_u64(b->filled[n], to);
    for (uint32_t l = left, r = right + 1; l < r; l /= 2, r /= 2) {
        if (l & 1) {
            b->filled[l] = sc_max_u64(b->filled[l], to);
            l++;
        }
        if (r & 1) {
            r--;
            b->filled[r] = sc_max_u64(b->filled[r], to);
        }
    }
}

static uint64_t highest_in_range(const greedy *g, const bucket *b, uint32_t first, uint32_t last) {
    uint32_t left = first + g->leaf_count, right = last + g->leaf_count;
    uint64_t highest = 0;
    for (uint32_t l = left, r = right + 1; l < r; l /= 2, r /= 2) {
        if (l & 1) {
            highest = sc_max_u64(highest, b->filled[l]);
            l++;
        }
        if (r & 1) {
            r--;
            highest = sc_max_u64(highest, b->filled[r]);
        }
    }
    for (uint32_t n = left; n >= 1; n /= 2) highest = sc_max_u64(highest, b->raised[n]);
    for (uint32_t n = right; n >= 1; n /= 2) highest = sc_max_u64(highest, b->raised[n]);
    return highest;
}

static bucket *new_bucket(greedy *g, uint64_t size, uint64_t smallest) {
    bucket b = {.size = size};
    b.busy = sc_new_array(g->arena, uint64_t, g->moment_count / 64 + 1);
    // Residents are at least `smallest`, so a bucket below twice that never holds two at once.
    if (smallest > 0 && size >= 2 * smallest) {
        b.raised = sc_new_array(g->arena, uint64_t, 2 * (size_t)g->leaf_count);
        b.filled = sc_new_array(g->arena, uint64_t, 2 * (size_t)g->leaf_count);
    }
    sc_vec_push(g->arena, &g->buckets, b);
    return &sc_vec_last(&g->buckets);
}

// Finds the item's place; returns the bucket and sets the offset inside it.
static uint32_t place(greedy *g, const sc_plan_item *item, uint64_t size, uint64_t smallest,
                      uint64_t *offset) {
    *offset = 0;
    for (uint32_t i = 0; i < g->buckets.count; i++)
        if (!is_busy(g->buckets.data[i].busy, item->first, item->last)) return i;
    for (uint32_t i = 0; i < g->buckets.count; i++) {
        const bucket *b = &g->buckets.data[i];
        if (b->size < size || !b->filled) continue;
        uint64_t top = highest_in_range(g, b, item->first, item->last);
        if (top > 0 && top + size <= b->size) {
            *offset = top;
            return i;
        }
    }
    new_bucket(g, size, smallest);
    return g->buckets.count - 1;
}

static void place_all(greedy *g, sc_plan_item *items, const uint32_t *order, uint32_t count,
                      uint32_t align, uint32_t *bucket_of) {
    uint64_t smallest = 0;
    for (uint32_t i = count; i-- > 0 && smallest == 0;)
        smallest = sc_align_up(items[order[i]].bytes, align);
    for (uint32_t i = 0; i < count; i++) {
        sc_plan_item *item = &items[order[i]];
        uint64_t size = sc_align_up(item->bytes, align);
        uint32_t at = place(g, item, size, smallest, &item->offset);
        bucket *b = &g->buckets.data[at];
        set_busy(b->busy, item->first, item->last);
        if (b->filled && size > 0) raise_range(g, b, item->first, item->last, item->offset + size);
        bucket_of[order[i]] = at;
    }
}

sc_status sc_plan_greedy(sc_ctx *ctx, sc_plan_item *items, uint32_t count, uint32_t align,
                         uint64_t start, uint64_t *total) {
    sc_mark mark = sc_arena_mark(ctx->scratch);
    greedy g = {.arena = ctx->scratch, .leaf_count = 1};
    uint32_t *order = sc_new_array(ctx->scratch, uint32_t, (size_t)count + 1);
    uint32_t *bucket_of = sc_new_array(ctx->scratch, uint32_t, (size_t)count + 1);
    uint64_t *keys = sc_new_array(ctx->scratch, uint64_t, (size_t)count + 1);
    for (uint32_t i = 0; i < count; i++) {
        order[i] = count - 1 - i;
        keys[i] = ~sc_align_up(items[i].bytes, SORT_ALIGN);
        if (items[i].last >= g.moment_count) g.moment_count = items[i].last + 1;
    }
    while (g.leaf_count < g.moment_count) g.leaf_count *= 2;
    sc_order_by(ctx->scratch, order, count, keys);
    place_all(&g, items, order, count, align, bucket_of);

    uint64_t end = start;
    for (uint32_t i = 0; i < g.buckets.count; i++) {
        g.buckets.data[i].offset = end;
        end += g.buckets.data[i].size;
    }
    for (uint32_t i = 0; i < count; i++) items[i].offset += g.buckets.data[bucket_of[i]].offset;
    *total = end;
    sc_arena_rewind(ctx->scratch, mark);
    return SC_OK;
}
