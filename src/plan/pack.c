// Offset packing: items one by one, each at the lowest gap among the placed items that are alive at
// the same time. Which order is best depends on the graph, so best.c tries several.
#include <stdlib.h>

#include "plan/plan.h"

typedef struct entry {
    uint64_t major, minor;  // descending by major, then ascending by minor
    uint32_t index;
} entry;

static int by_key(const void *a, const void *b) {
    const entry *x = a, *y = b;
    if (x->major != y->major) return x->major > y->major ? -1 : 1;
    if (x->minor != y->minor) return x->minor < y->minor ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

// Placed items by offset, as a linked list through `next` (item index + 1, 0 ends it).
typedef struct placed {
    sc_plan_item *items;
    uint32_t *next;
    uint32_t head;
} placed;

// Puts an item into the lowest gap. With `expire`, drops what ended before it begins: valid when
// items come in order of their start, and what makes that order cheap.
static uint64_t place_lowest(placed *p, uint32_t index, uint32_t align, uint64_t start,
                             bool expire) {
    sc_plan_item *item = &p->items[index];
    uint64_t size = sc_align_up(item->bytes, align), offset = start;
    uint32_t *insert_at = NULL;
    for (uint32_t *link = &p->head; *link;) {
        const sc_plan_item *other = &p->items[*link - 1];
        if (expire && other->last < item->first) {
            *link = p->next[*link - 1];
            continue;
        }
        bool together = other->first <= item->last && item->first <= other->last;
        if (together && other->offset >= offset + size) break;
        if (together) offset = sc_max_u64(offset, other->offset + sc_align_up(other->bytes, align));
        link = &p->next[*link - 1];
    }
    for (insert_at = &p->head; *insert_at && p->items[*insert_at - 1].offset < offset;)
        insert_at = &p->next[*insert_at - 1];
    item->offset = offset;
    p->next[index] = *insert_at;
    *insert_at = index + 1;
    return offset + size;
}

static void pack(sc_ctx *ctx, sc_plan_item *items, entry *order, uint32_t count, uint32_t align,
                 uint64_t start, bool expire, uint64_t *total) {
    qsort(order, count, sizeof(entry), by_key);
    placed p = {items, sc_new_array(ctx->scratch, uint32_t, count + 1), 0};
    uint64_t end = start;
    for (uint32_t i = 0; i < count; i++) {
        if (items[order[i].index].bytes == 0) {
            items[order[i].index].offset = start;
            continue;
        }
        end = sc_max_u64(end, place_lowest(&p, order[i].index, align, start, expire));
    }
    *total = end;
}

sc_status sc_plan_by_size(sc_ctx *ctx, sc_plan_item *items, uint32_t count, uint32_t align,
                          uint64_t start, uint64_t *total) {
    sc_mark mark = sc_arena_mark(ctx->scratch);
    entry *order = sc_new_array(ctx->scratch, entry, count + 1);
    for (uint32_t i = 0; i < count; i++) order[i] = (entry){items[i].bytes, items[i].first, i};
    pack(ctx, items, order, count, align, start, false, total);
    sc_arena_rewind(ctx->scratch, mark);
    return SC_OK;
}

sc_status sc_plan_by_lifetime(sc_ctx *ctx, sc_plan_item *items, uint32_t count, uint32_t align,
                              uint64_t start, uint64_t *total) {
    sc_mark mark = sc_arena_mark(ctx->scratch);
    entry *order = sc_new_array(ctx->scratch, entry, count + 1);
    for (uint32_t i = 0; i < count; i++)
        order[i] = (entry){items[i].last - items[i].first, items[i].first, i};
    pack(ctx, items, order, count, align, start, false, total);
    sc_arena_rewind(ctx->scratch, mark);
    return SC_OK;
}

sc_status sc_plan_by_start(sc_ctx *ctx, sc_plan_item *items, uint32_t count, uint32_t align,
                           uint64_t start, uint64_t *total) {
    sc_mark mark = sc_arena_mark(ctx->scratch);
    entry *order = sc_new_array(ctx->scratch, entry, count + 1);
    for (uint32_t i = 0; i < count; i++)
        order[i] = (entry){UINT32_MAX - items[i].first, UINT32_MAX - items[i].last, i};
    pack(ctx, items, order, count, align, start, true, total);
    sc_arena_rewind(ctx->scratch, mark);
    return SC_OK;
}
