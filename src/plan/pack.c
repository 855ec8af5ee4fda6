// Offset packing places items one by one, each at the lowest gap among the placed items that are
// alive at the same time. Which order is best depends on the graph, so best.c tries several.
#include "plan/order.h"
#include "plan/plan.h"

// Placed items by offset, as a linked list through `next` (item index + 1, 0 ends it).
typedef struct placed {
    sc_plan_item *items;
    uint32_t *next;
    uint32_t head;
} placed;

static uint64_t place_lowest(placed *p, uint32_t index, uint32_t align, uint64_t start) {
    sc_plan_item *item = &p->items[index];
    uint64_t size = sc_align_up(item->bytes, align), offset = start;
    for (uint32_t at = p->head; at; at = p->next[at - 1]) {
        const sc_plan_item *other = &p->items[at - 1];
        if (other->first > item->last || item->first > other->last) continue;
        if (other->offset >= offset + size) break;
        offset = sc_max_u64(offset, other->offset + sc_align_up(other->bytes, align));
    }
    uint32_t *insert_at = &p->head;
    while (*insert_at && p->items[*insert_at - 1].offset < offset)
        insert_at = &p->next[*insert_at - 1];
    item->offset = offset;
    p->next[index] = *insert_at;
    *insert_at = index + 1;
    return offset + size;
}

// By decreasing `keys`, among equals by increasing start.
static void pack(sc_ctx *ctx, sc_plan_item *items, uint64_t *keys, uint32_t count, uint32_t align,
                 uint64_t start, uint64_t *total) {
    uint64_t *starts = sc_new_array(ctx->scratch, uint64_t, (size_t)count + 1);
    for (uint32_t i = 0; i < count; i++) {
        starts[i] = items[i].first;
        keys[i] = ~keys[i];
    }
    uint32_t *order = sc_order_new(ctx->scratch, count);
    sc_order_by(ctx->scratch, order, count, starts);
    sc_order_by(ctx->scratch, order, count, keys);
    placed p = {items, sc_new_array(ctx->scratch, uint32_t, (size_t)count + 1), 0};
    uint64_t end = start;
    for (uint32_t i = 0; i < count; i++) {
        if (items[order[i]].bytes == 0)
            items[order[i]].offset = start;
        else
            end = sc_max_u64(end, place_lowest(&p, order[i], align, start));
    }
    *total = end;
}

sc_status sc_plan_by_size(sc_ctx *ctx, sc_plan_item *items, uint32_t count, uint32_t align,
                          uint64_t start, uint64_t *total) {
    sc_mark mark = sc_arena_mark(ctx->scratch);
    uint64_t *keys = sc_new_array(ctx->scratch, uint64_t, (size_t)count + 1);
    for (uint32_t i = 0; i < count; i++) keys[i] = items[i].bytes;
    pack(ctx, items, keys, count, align, start, total);
    sc_arena_rewind(ctx->scratch, mark);
    return SC_OK;
}

sc_status sc_plan_by_lifetime(sc_ctx *ctx, sc_plan_item *items, uint32_t count, uint32_t align,
                              uint64_t start, uint64_t *total) {
    sc_mark mark = sc_arena_mark(ctx->scratch);
    uint64_t *keys = sc_new_array(ctx->scratch, uint64_t, (size_t)count + 1);
    for (uint32_t i = 0; i < count; i++) keys[i] = items[i].last - items[i].first;
    pack(ctx, items, keys, count, align, start, total);
    sc_arena_rewind(ctx->scratch, mark);
    return SC_OK;
}
