// The plan without reuse, with which every other algorithm is compared.
#include "plan/plan.h"

sc_status sc_plan_naive(sc_ctx *ctx, sc_plan_item *items, uint32_t count, uint32_t align,
                        uint64_t start, uint64_t *total) {
    (void)ctx;
    uint64_t end = start;
    for (uint32_t i = 0; i < count; i++) {
        items[i].offset = end;
        end += sc_align_up(items[i].bytes, align);
    }
    *total = end;
    return SC_OK;
}
