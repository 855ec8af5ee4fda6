// The segments of a .pte: where they lie in the file. Each lies inside the file. A segment may be a
// part of another one, such as a weight that is a constant and named data; otherwise no two share
// bytes.
#include "rt/load/segments.h"

sc_status sc_rt_bad_pte(sc_ctx *ctx, const char *what) {
    return sc_fail(ctx, SC_ERR_CORRUPT, NULL, "this .pte is not valid: %s", what);
}

sc_status sc_rt_segment_at(sc_ctx *ctx, const sc_rt_program *p, uint32_t index, sc_extent *out) {
    if (index >= p->segments.count)
        return sc_rt_bad_pte(ctx, "a segment that it names does not exist");
    sc_fb_table segment = sc_fb_vec_table(p->segments, index);
    uint64_t offset = sc_pte_DataSegment_offset(segment), size = sc_pte_DataSegment_size(segment);
    *out = (sc_extent){p->source, p->segment_base + offset, size};
    return SC_OK;
}

static int compare_extents(const void *a, const void *b) {
    const sc_extent *x = a, *y = b;
    if (x->offset != y->offset) return x->offset < y->offset ? -1 : 1;
    return x->size > y->size ? -1 : x->size < y->size;
}

// Sorts by offset, the whole before its parts. Insertion sort suits the sorted lists of real files,
// and the count is bounded for all others.
static sc_status check_overlap(sc_ctx *ctx, sc_extent *extents, uint32_t count) {
    for (uint32_t i = 1; i < count; i++) {
        if (compare_extents(&extents[i - 1], &extents[i]) <= 0) continue;
        if (count > 4096) return sc_rt_bad_pte(ctx, "its segments are not in order");
        sc_extent moved = extents[i];
        uint32_t at = i;
        for (; at > 0 && compare_extents(&extents[at - 1], &moved) > 0; at--)
            extents[at] = extents[at - 1];
        extents[at] = moved;
    }
    uint64_t end = count ? extents[0].offset + extents[0].size : 0;  // of the last whole
    for (uint32_t i = 1; i < count; i++) {
        const uint64_t own = extents[i].offset + extents[i].size;
        if (extents[i].offset < end && own > end)
            return sc_rt_bad_pte(ctx, "two of its segments overlap");
        end = sc_max_u64(end, own);
    }
    return SC_OK;
}

sc_status sc_rt_segments_check(sc_ctx *ctx, sc_rt_program *p) {
    const uint64_t room = p->segment_end - p->segment_base;
    uint32_t count = 0;
    sc_extent *extents = sc_new_array(&p->arena, sc_extent, p->segments.count);
    for (uint32_t i = 0; i < p->segments.count; i++) {
        sc_extent extent;
        SC_TRY(sc_rt_segment_at(ctx, p, i, &extent));
        uint64_t end, offset = extent.offset - p->segment_base;
        if (!sc_add_u64(offset, extent.size, &end) || end > room || (end && !p->segment_base))
            return sc_rt_bad_pte(ctx, "a segment lies outside the file");
        if (extent.size) extents[count++] = extent;
    }
    return check_overlap(ctx, extents, count);
}
