// ExecuTorch's greedy planner, offset for offset, so that our best plan can never be larger than
// the official one. Items go by decreasing aligned size, later ones first among equals. Each goes
// to the first bucket without a resident alive at the same time. If there is none, it goes behind
// the residents of the first bucket with room behind them, else to a new bucket. Buckets then lie
// one after another.
//
// The official code compares every item with every resident. Here a bucket is a bitmap over time,
// in pages, so that a long life costs no more than a short one. A second bitmap says which buckets
// are busy throughout a page, so that 64 of them are passed over at once. Only buckets that can
// have two items at a time have a segment tree of how high they are filled at each moment.
#include "base/vec.h"
#include "plan/order.h"
#include "plan/plan.h"

// The official sort rounds sizes to 16, whatever the alignment of the plan.
#define SORT_ALIGN 16

enum { PAGE_MOMENTS = 1024, PAGE_WORDS = PAGE_MOMENTS / 64 };

typedef struct page {
    uint64_t busy[PAGE_WORDS];  // one bit per moment
} page;

typedef struct bucket {
    uint64_t size, offset;
    page **pages;      // NULL: free throughout; &g->busy_page: busy throughout
    uint64_t *raised;  // segment tree: `filled` raised over a whole node
    uint64_t *filled;  // segment tree: highest end below a node
} bucket;

typedef struct greedy {
    sc_arena *arena;
    SC_VEC(bucket) buckets;
    SC_VEC(uint64_t) full;  // [bucket / 64][page]: one bit per bucket, busy throughout the page
    page busy_page;
    uint32_t moment_count, page_count;
    uint32_t leaf_count;  // power of two >= moment_count
} greedy;

// The bits of a word of time, beginning at moment `at`, that lie in first..last.
static uint64_t bits_of(uint32_t at, uint32_t first, uint32_t last) {
    uint64_t bits = ~UINT64_C(0);
    if (first > at) bits &= ~UINT64_C(0) << (first - at);
    if (last < at + 63) bits &= ~UINT64_C(0) >> (at + 63 - last);
    return bits;
}

static bool is_busy(const bucket *b, uint32_t first, uint32_t last) {
    for (uint32_t p = first / PAGE_MOMENTS; p <= last / PAGE_MOMENTS; p++) {
        if (!b->pages[p]) continue;
        uint32_t begin = sc_max_u32(first, p * PAGE_MOMENTS);
        uint32_t end = sc_min_u32(last, p * PAGE_MOMENTS + (PAGE_MOMENTS - 1));
        for (uint32_t w = begin / 64; w <= end / 64; w++)
            if (b->pages[p]->busy[w % PAGE_WORDS] & bits_of(w * 64, begin, end)) return true;
    }
    return false;
}

static void set_busy(greedy *g, uint32_t index, uint32_t first, uint32_t last) {
    bucket *b = &g->buckets.data[index];
    for (uint32_t p = first / PAGE_MOMENTS; p <= last / PAGE_MOMENTS; p++) {
        uint32_t begin = sc_max_u32(first, p * PAGE_MOMENTS);
        uint32_t end = sc_min_u32(last, p * PAGE_MOMENTS + (PAGE_MOMENTS - 1));
        if (end - begin == PAGE_MOMENTS - 1) {
            b->pages[p] = &g->busy_page;
            g->full.data[index / 64 * g->page_count + p] |= UINT64_C(1) << (index % 64);
        }
        if (b->pages[p] == &g->busy_page) continue;
        if (!b->pages[p]) b->pages[p] = sc_new(g->arena, page);
        for (uint32_t w = begin / 64; w <= end / 64; w++)
            b->pages[p]->busy[w % PAGE_WORDS] |= bits_of(w * 64, begin, end);
    }
}

// The first bucket without a resident in first..last, or the count of buckets.
static uint32_t free_bucket(const greedy *g, uint32_t first, uint32_t last) {
    for (uint32_t at = 0; at < g->buckets.count; at += 64) {
        const uint64_t *full = &g->full.data[at / 64 * g->page_count];
        uint64_t busy = 0;
        for (uint32_t p = first / PAGE_MOMENTS; p <= last / PAGE_MOMENTS; p++) busy |= full[p];
        for (uint64_t rest = ~busy; rest; rest &= rest - 1) {
            uint32_t i = at + (uint32_t)__builtin_ctzll(rest);
            if (i >= g->buckets.count) break;
            if (!is_busy(&g->buckets.data[i], first, last)) return i;
        }
    }
    return g->buckets.count;
}

// Range maximum with range raise, bottom-up without pushing down. The answer for a leaf is the
// maximum of `raised` over its ancestors. For a range it is that of `filled` below and `raised`
// above.
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

static void new_bucket(greedy *g, uint64_t size, uint64_t smallest) {
    bucket b = {.size = size};
    b.pages = sc_new_array(g->arena, page *, g->page_count);
    if (g->buckets.count % 64 == 0)
        for (uint32_t p = 0; p < g->page_count; p++) sc_vec_push(g->arena, &g->full, 0);
    // Residents are at least `smallest`, so a bucket of less than twice that never has two at once.
    if (smallest > 0 && size >= 2 * smallest) {
        b.raised = sc_new_array(g->arena, uint64_t, 2 * (size_t)g->leaf_count);
        b.filled = sc_new_array(g->arena, uint64_t, 2 * (size_t)g->leaf_count);
    }
    sc_vec_push(g->arena, &g->buckets, b);
}

// Finds the item's place; returns the bucket and sets the offset inside it.
static uint32_t place(greedy *g, const sc_plan_item *item, uint64_t size, uint64_t smallest,
                      uint64_t *offset) {
    *offset = 0;
    uint32_t found = free_bucket(g, item->first, item->last);
    if (found < g->buckets.count) return found;
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
        set_busy(g, at, item->first, item->last);
        bucket *b = &g->buckets.data[at];
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
    g.page_count = g.moment_count / PAGE_MOMENTS + 1;
    memset(&g.busy_page, 0xff, sizeof g.busy_page);
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
