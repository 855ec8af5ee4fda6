// Sources: derived ones answer any range as if they were in memory; ranges outside fail.
#include "base/base64.h"
#include "setup.h"

// Not in memory, and refuses ranges outside: what a file is.
static sc_status read_guarded(sc_source *source, sc_ctx *ctx, uint64_t offset, void *out,
                              size_t bytes) {
    (void)ctx;
    SC_ASSERT(offset <= source->size && bytes <= source->size - offset);
    memcpy(out, (const uint8_t *)source->user + offset, bytes);
    return SC_OK;
}

static sc_extent guarded(setup *s, const void *bytes, uint64_t size) {
    sc_source *source = sc_new(&s->arena, sc_source);
    *source = (sc_source){.read = read_guarded, .size = size, .user = (void *)(uintptr_t)bytes};
    return sc_extent_whole(source);
}

// Every range of `extent` against the bytes it should have.
static void check_ranges(setup *s, sc_extent extent, const void *expected, size_t size) {
    uint8_t out[256];
    CHECK_EQ_UINT(extent.size, size);
    for (size_t begin = 0; begin <= size; begin++)
        for (size_t end = begin; end <= size; end++) {
            if (!CHECK_OK(sc_extent_read(&s->ctx, extent, begin, out, end - begin))) return;
            if (!CHECK_EQ_MEM(out, (const uint8_t *)expected + begin, end - begin)) return;
        }
}

TEST(strided_source_is_the_dense_tensor) {
    setup s;
    setup_begin(&s);
    int16_t base[24];
    for (int i = 0; i < 24; i++) base[i] = (int16_t)(i * 1000);
    static const struct {
        uint32_t rank;
        int64_t sizes[3], strides[3], offset;
    } rows[] = {
        {2, {3, 4}, {1, 3}, 0},         // transposed
        {2, {4, 6}, {6, 1}, 0},         // dense
        {2, {2, 3}, {12, 2}, 1},        // every other
        {2, {3, 5}, {0, 1}, 2},         // expanded
        {3, {2, 3, 4}, {12, 4, 1}, 0},  // dense
        {3, {4, 1, 3}, {1, 99, 8}, 0},  // permuted, with a dim of one
        {0, {0}, {0}, 23},              // a number
        {2, {0, 3}, {3, 1}, 0},         // nothing
    };
    for (size_t r = 0; r < SC_COUNT_OF(rows); r++) {
        int16_t dense[64];
        size_t count = 0;
        int64_t n[3] = {1, 1, 1}, t[3] = {0, 0, 0};
        for (uint32_t d = 0; d < rows[r].rank; d++) {
            n[d] = rows[r].sizes[d];
            t[d] = rows[r].strides[d];
        }
        for (int64_t i = 0; i < n[0]; i++)
            for (int64_t j = 0; j < n[1]; j++)
                for (int64_t k = 0; k < n[2]; k++)
                    dense[count++] = base[rows[r].offset + i * t[0] + j * t[1] + k * t[2]];
        sc_extent view =
            sc_extent_strided(&s.arena, guarded(&s, base, sizeof(base)), 2, rows[r].rank,
                              rows[r].sizes, rows[r].strides, rows[r].offset);
        check_ranges(&s, view, dense, count * 2);
    }
    setup_end(&s);
}

// A view whose items do not overlap, made up from a seed: dims in any order with gaps between them.
typedef struct shape {
    uint32_t rank, item_bytes;
    int64_t sizes[5], strides[5], offset;
    size_t numel, base_bytes;
} shape;

static uint32_t draw(uint32_t *seed, uint32_t below) {
    *seed = *seed * 1664525u + 1013904223u;
    return (*seed >> 8) % below;
}

static shape draw_shape(uint32_t *seed, size_t numel_max, bool has_gaps) {
    static const uint32_t widths[] = {1, 2, 4, 8, 16, 3};
    shape v = {.rank = 1 + draw(seed, 5), .item_bytes = widths[draw(seed, 6)], .numel = 1};
    uint32_t order[5];
    for (uint32_t d = 0; d < v.rank; d++) {
        uint32_t at = draw(seed, d + 1);
        order[d] = order[at];
        order[at] = d;
        size_t room = numel_max / v.numel;
        v.sizes[d] = 1 + (int64_t)draw(seed, (uint32_t)(room < 700 ? room : 700));
        v.numel *= (size_t)v.sizes[d];
    }
    int64_t span = 1;
    for (uint32_t i = 0; i < v.rank; i++) {
        uint32_t d = order[i];
        v.strides[d] = span + (has_gaps && draw(seed, 3) == 0 ? draw(seed, 5) : 0);
        span += v.strides[d] * (v.sizes[d] - 1);
    }
    v.offset = has_gaps ? draw(seed, 4) : 0;
    v.base_bytes = (size_t)(v.offset + span) * v.item_bytes;
    return v;
}

static uint8_t *densify(const shape *v, const uint8_t *base) {
    uint8_t *dense = test_alloc(v->numel * v->item_bytes);
    for (size_t i = 0; i < v->numel; i++) {
        int64_t at = v->offset;
        size_t index = i;
        for (uint32_t d = v->rank; d-- > 0; index /= (size_t)v->sizes[d])
            at += (int64_t)(index % (size_t)v->sizes[d]) * v->strides[d];
        memcpy(dense + i * v->item_bytes, base + (size_t)at * v->item_bytes, v->item_bytes);
    }
    return dense;
}

static uint8_t *draw_bytes(uint32_t *seed, size_t count) {
    uint8_t *bytes = test_alloc(count);
    for (size_t i = 0; i < count; i++) bytes[i] = (uint8_t)draw(seed, 256);
    return bytes;
}

static sc_extent view_of(setup *s, const shape *v, sc_extent base) {
    return sc_extent_strided(&s->arena, base, v->item_bytes, v->rank, v->sizes, v->strides,
                             v->offset);
}

// Windows in order, as a file is written, then some anywhere.
static bool reads_as(setup *s, uint32_t *seed, sc_extent extent, const uint8_t *dense,
                     size_t bytes) {
    size_t window = 1 + draw(seed, 1 << (4 + draw(seed, 13)));
    uint8_t *out = test_alloc(bytes);
    if (!CHECK_EQ_UINT(extent.size, bytes)) return false;
    for (size_t at = 0; at < bytes; at += window)
        if (!CHECK_OK(sc_extent_read(&s->ctx, extent, at, out + at,
                                     window < bytes - at ? window : bytes - at)))
            return false;
    if (!CHECK_EQ_MEM(out, dense, bytes)) return false;
    for (int i = 0; i < 8; i++) {
        size_t begin = draw(seed, (uint32_t)bytes),
               size = draw(seed, (uint32_t)(bytes - begin)) + 1;
        if (!CHECK_OK(sc_extent_read(&s->ctx, extent, begin, out, size)) ||
            !CHECK_EQ_MEM(out, dense + begin, size))
            return false;
    }
    return true;
}

TEST(strided_sources_gather_in_blocks) {
    setup s;
    uint32_t seed = 7;
    setup_begin(&s);
    for (int round = 0; round < 300; round++) {
        shape v = draw_shape(&seed, round % 10 == 0 ? 100000 : 2000, true);
        uint8_t *base = draw_bytes(&seed, v.base_bytes);
        s.ctx.limits.gathered_bytes_max = 100 + draw(&seed, 1 << (4 + draw(&seed, 16)));
        sc_extent file = guarded(&s, base, v.base_bytes);
        file.source->is_slow = draw(&seed, 2);
        if (!reads_as(&s, &seed, view_of(&s, &v, file), densify(&v, base), v.numel * v.item_bytes))
            break;
    }
    setup_end(&s);
}

TEST(views_of_views_are_views_of_what_is_below) {
    setup s;
    uint32_t seed = 11;
    setup_begin(&s);
    for (int round = 0; round < 300; round++) {
        shape v = draw_shape(&seed, 2000, round % 2), w = {.rank = v.rank};
        uint8_t *base = draw_bytes(&seed, v.base_bytes), *dense = densify(&v, base);
        int64_t dense_strides[5] = {0}, stride = 1;
        for (uint32_t d = v.rank; d-- > 0; stride *= v.sizes[d]) dense_strides[d] = stride;
        w.item_bytes = v.item_bytes;
        w.numel = v.numel;
        for (uint32_t d = 0; d < v.rank; d++) {
            uint32_t at = draw(&seed, d + 1);
            w.sizes[d] = w.sizes[at];
            w.strides[d] = w.strides[at];
            w.sizes[at] = v.sizes[d];
            w.strides[at] = dense_strides[d];
        }
        if (!reads_as(&s, &seed, view_of(&s, &w, view_of(&s, &v, guarded(&s, base, v.base_bytes))),
                      densify(&w, dense), w.numel * w.item_bytes))
            break;
    }
    setup_end(&s);
}

TEST(a_permutation_and_its_inverse_are_the_extent_itself) {
    setup s;
    setup_begin(&s);
    uint32_t seed = 3;
    uint8_t *bytes = draw_bytes(&seed, 600);
    sc_extent base = guarded(&s, bytes, 600);
    sc_extent there = sc_extent_strided(&s.arena, base, 4, 3, (const int64_t[]){5, 3, 10},
                                        (const int64_t[]){1, 50, 5}, 0);
    sc_extent back = sc_extent_strided(&s.arena, there, 4, 3, (const int64_t[]){3, 10, 5},
                                       (const int64_t[]){10, 1, 30}, 0);
    CHECK(there.source != base.source);
    CHECK(back.source == base.source && back.offset == 0 && back.size == 600);
    setup_end(&s);
}

// The reads of a source.
static uint64_t read_count, read_bytes;
static sc_status read_counted(sc_source *source, sc_ctx *ctx, uint64_t offset, void *out,
                              size_t bytes) {
    read_count++;
    read_bytes += bytes;
    return read_guarded(source, ctx, offset, out, bytes);
}

static sc_extent counted(setup *s, const void *bytes, uint64_t size) {
    sc_extent extent = guarded(s, bytes, size);
    extent.source->read = read_counted;
    read_count = read_bytes = 0;
    return extent;
}

TEST(what_is_permuted_alike_is_compared_as_it_was) {
    setup s;
    setup_begin(&s);
    uint32_t seed = 4;
    bool same = false;
    shape v = {
        .rank = 2, .item_bytes = 4, .sizes = {300, 200}, .strides = {1, 300}, .numel = 60000};
    uint8_t *bytes = draw_bytes(&seed, v.numel * 4), *twin = test_alloc(v.numel * 4);
    memcpy(twin, bytes, v.numel * 4);
    sc_extent a = view_of(&s, &v, guarded(&s, bytes, v.numel * 4));
    sc_extent b = view_of(&s, &v, counted(&s, twin, v.numel * 4));
    CHECK_OK(sc_extent_equal(&s.ctx, a, b, &same));
    CHECK(same && read_count <= 4 && read_bytes == v.numel * 4);
    // Parts, and other permutations of the same bytes, are looked at as they are.
    CHECK_OK(sc_extent_equal(&s.ctx, (sc_extent){a.source, 40, 80}, (sc_extent){b.source, 40, 80},
                             &same));
    CHECK(same);
    shape w = {
        .rank = 2, .item_bytes = 4, .sizes = {200, 300}, .strides = {1, 200}, .numel = 60000};
    CHECK_OK(sc_extent_equal(&s.ctx, a, view_of(&s, &w, b), &same));
    CHECK(!same);
    twin[v.numel * 4 - 1] ^= 1;
    CHECK_OK(sc_extent_equal(&s.ctx, a, b, &same));
    CHECK(!same);
    setup_end(&s);
}

// The base is read once, in long runs, and what is held stays within the limit.
TEST(a_large_transpose_takes_little_memory_and_long_reads) {
    enum { ROWS = 1000, COLUMNS = 3000, LIMIT = 1 << 20 };
    setup s;
    setup_begin(&s);
    uint32_t seed = 5;
    shape v = {.rank = 2,
               .item_bytes = 4,
               .sizes = {COLUMNS, ROWS},
               .strides = {1, COLUMNS},
               .numel = ROWS * COLUMNS};
    uint8_t *base = draw_bytes(&seed, v.numel * 4);
    sc_extent file = counted(&s, base, v.numel * 4);
    s.ctx.limits.gathered_bytes_max = LIMIT;
    sc_extent view = view_of(&s, &v, file);
    uint64_t held = s.arena.held_bytes + s.scratch.held_bytes;
    uint8_t *out = test_alloc(v.numel * 4);
    for (size_t at = 0; at < v.numel * 4; at += 100000)
        CHECK_OK(sc_extent_read(&s.ctx, view, at, out + at, 100000));
    CHECK_EQ_MEM(out, densify(&v, base), v.numel * 4);
    CHECK_EQ_UINT(read_bytes, v.numel * 4);
    CHECK(read_count <= 12 * ROWS);  // once per row and block
    CHECK(s.arena.held_bytes + s.scratch.held_bytes - held < 2 * LIMIT);
    setup_end(&s);
}

TEST(swapped_source_reverses_items) {
    setup s;
    setup_begin(&s);
    const uint8_t bytes[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    const uint8_t by4[16] = {3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12};
    const uint8_t by8[16] = {7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8};
    sc_extent base = guarded(&s, bytes, 16);
    check_ranges(&s, sc_extent_whole(sc_source_swapped(&s.arena, base, 4)), by4, 16);
    check_ranges(&s, sc_extent_whole(sc_source_swapped(&s.arena, base, 8)), by8, 16);
    check_ranges(&s, sc_extent_whole(sc_source_swapped(&s.arena, base, 1)), bytes, 16);
    setup_end(&s);
}

TEST(extents_stay_inside) {
    setup s;
    setup_begin(&s);
    char out[8];
    sc_extent part, whole = sc_extent_whole(sc_source_from_memory(&s.arena, "0123456789", 10));
    CHECK(sc_extent_slice(whole, 2, 5, &part) && part.offset == 2 && part.size == 5);
    CHECK(!sc_extent_slice(whole, 2, 9, &part));
    CHECK(!sc_extent_slice(whole, 11, 0, &part));
    CHECK(!sc_extent_slice(whole, UINT64_MAX, 2, &part));
    CHECK_STATUS(sc_extent_read(&s.ctx, whole, 5, out, 6), SC_ERR_TRUNCATED);
    CHECK_STATUS(sc_extent_read(&s.ctx, whole, UINT64_MAX, out, 6), SC_ERR_TRUNCATED);
    CHECK_OK(sc_extent_read(&s.ctx, (sc_extent){0}, 0, out, 0));
    setup_end(&s);
}

TEST(extents_load_and_hash) {
    setup s;
    setup_begin(&s);
    const uint8_t *loaded;
    uint8_t digest[32];
    char *text = test_alloc(100000);
    memset(text, 'a', 100000);
    sc_extent in_memory = sc_extent_whole(sc_source_from_memory(&s.arena, text, 100000));
    CHECK_OK(sc_extent_load(&s.ctx, &s.arena, in_memory, 100000, &loaded));
    CHECK(loaded == (const uint8_t *)text);
    sc_extent file = guarded(&s, text, 100000);
    CHECK_OK(sc_extent_load(&s.ctx, &s.arena, file, 100000, &loaded));
    CHECK_EQ_MEM(loaded, text, 100000);
    CHECK_STATUS(sc_extent_load(&s.ctx, &s.arena, file, 99999, &loaded), SC_ERR_LIMIT);
    CHECK_OK(sc_extent_sha256(&s.ctx, file, digest));
    const uint8_t head[4] = {0x6d, 0x1c, 0xf2, 0x2d};
    CHECK_EQ_MEM(digest, head, 4);
    check_ranges(&s, sc_extent_whole(sc_source_zeros(&s.arena, 9)), "\0\0\0\0\0\0\0\0", 9);
    setup_end(&s);
}

enum { EDGE = 64 };
static const int64_t square[2] = {EDGE, EDGE}, swapped[2] = {1, EDGE};

static sc_extent turn(setup *s, sc_extent base) {
    return sc_extent_strided(&s->arena, base, 4, 2, square, swapped, 0);
}

// A block that one context holds of a view is neither another context's nor another view's.
TEST(views_are_read_by_several_contexts) {
    static float x[EDGE * EDGE], y[EDGE * EDGE], out[EDGE * EDGE];
    setup a, inner;
    setup_begin(&a);
    setup_begin(&inner);
    for (int i = 0; i < EDGE * EDGE; i++) x[i] = (float)i, y[i] = (float)-i;
    sc_extent of_x = turn(&a, guarded(&a, x, sizeof x)), of_y = turn(&a, guarded(&a, y, sizeof y));
    CHECK_OK(sc_extent_read(&inner.ctx, of_y, 0, out, sizeof out));
    CHECK_EQ_INT((int)out[1], -EDGE);
    CHECK_OK(sc_extent_read(&a.ctx, of_x, 0, out, sizeof out));
    CHECK_EQ_INT((int)out[1], EDGE);
    CHECK_OK(sc_extent_read(&a.ctx, of_y, 0, out, sizeof out));
    CHECK_EQ_INT((int)out[1], -EDGE);
    setup_end(&inner);
    setup_end(&a);
}

// Views of views that are not one view (the bytes between are reversed) take a block each, of which
// there are two: the third does without.
TEST(views_below_views_find_no_block_busy) {
    static float x[EDGE * EDGE], out[EDGE * EDGE];
    setup s;
    int wrong = 0;
    setup_begin(&s);
    s.ctx.limits.gathered_bytes_max = 4000;
    for (int i = 0; i < EDGE * EDGE; i++) x[i] = (float)i;
    sc_extent view = turn(&s, guarded(&s, x, sizeof x));
    for (int i = 0; i < 2; i++)
        view = turn(&s, sc_extent_whole(sc_source_swapped(&s.arena, view, 4)));
    CHECK_OK(sc_extent_read(&s.ctx, view, 0, out, sizeof out));
    for (int i = 0; i < EDGE; i++)
        for (int j = 0; j < EDGE; j++) wrong += out[i * EDGE + j] != x[j * EDGE + i];
    CHECK_EQ_INT(wrong, 0);
    setup_end(&s);
}

// Large blocks, of slow sources, go when the last byte of a view is read, or one cannot be.
TEST(large_blocks_go_with_the_end_of_a_view) {
    enum { SIDE = 515 };
    static float x[SIDE * SIDE];
    static uint8_t out[sizeof x];
    static const int64_t sizes[2] = {SIDE, SIDE}, strides[2] = {1, SIDE};
    setup s;
    setup_begin(&s);
    s.ctx.limits.gathered_bytes_max = 64 << 10;
    sc_extent base = guarded(&s, x, sizeof x);
    base.source->is_slow = true;
    for (int cut = 0; cut < 2; cut++) {
        sc_extent view = sc_extent_strided(&s.arena, base, 4, 2, sizes, strides, 0);
        uint64_t held = s.arena.held_bytes, end = view.size - (cut ? 200 : 400);
        CHECK_OK(sc_extent_read(&s.ctx, view, 0, out, (size_t)end));
        CHECK(s.arena.held_bytes > held + (64 << 10));
        CHECK_OK(sc_extent_read(&s.ctx, view, end, out, (size_t)(view.size - end)));
        CHECK(s.arena.held_bytes <= held + (64 << 10));
    }
    setup_end(&s);
}

// --- Base64 --------------------------------------------------------------------------------------

TEST(bytes_are_base64_when_they_are_read) {
    setup s;
    setup_begin(&s);
    static const char *const texts[] = {"", "AP8=", "AP+A", "AP+AZg==", "AP+AZm8="};
    static const uint8_t bytes[] = {0, 0xff, 0x80, 'f', 'o'};
    for (size_t i = 0; i < SC_COUNT_OF(texts); i++) {
        const size_t count = i == 0 ? 0 : i + 1;
        sc_str back;
        sc_extent text = sc_extent_whole(sc_source_base64(&s.arena, guarded(&s, bytes, count)));
        check_ranges(&s, text, texts[i], strlen(texts[i]));
        CHECK_OK(sc_base64_decode(&s.ctx, &s.arena, sc_str_from(texts[i]), "it", &back));
        if (CHECK_EQ_UINT(back.size, count)) CHECK_EQ_MEM(back.data, bytes, count);
    }
    setup_end(&s);
}

TEST(long_base64_is_made_in_blocks) {
    setup s;
    setup_begin(&s);
    const size_t count = 10000;
    uint8_t *bytes = sc_arena_alloc(&s.arena, count);
    for (size_t i = 0; i < count; i++) bytes[i] = (uint8_t)(i * 7 + i / 256);
    const uint8_t *text;
    sc_str back;
    sc_extent extent = sc_extent_whole(sc_source_base64(&s.arena, guarded(&s, bytes, count)));
    REQUIRE_OK(sc_extent_load(&s.ctx, &s.arena, extent, 1 << 20, &text));
    REQUIRE_OK(
        sc_base64_decode(&s.ctx, &s.arena, (sc_str){(const char *)text, extent.size}, "it", &back));
    if (CHECK_EQ_UINT(back.size, count)) CHECK_EQ_MEM(back.data, bytes, count);
    setup_end(&s);
}

TEST(what_is_not_base64_is_refused) {
    static const char *const texts[] = {
        "A", "AAA", "AAAA=", "A===", "AA=A", "AA A", "====", "AA-_"};
    setup s;
    setup_begin(&s);
    sc_str back;
    for (size_t i = 0; i < SC_COUNT_OF(texts); i++)
        CHECK_STATUS(sc_base64_decode(&s.ctx, &s.arena, sc_str_from(texts[i]), "it", &back),
                     SC_ERR_FORMAT);
    setup_end(&s);
}
