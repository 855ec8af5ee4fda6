// Three bytes become four characters. The last group may be shorter, and '=' fills it up.
#include "base/base64.h"

enum { GROUP_BYTES = 3, GROUP_CHARS = 4, BLOCK_GROUPS = 1024 };

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static void encode_group(const uint8_t *bytes, size_t count, char *out) {
    uint32_t bits = (uint32_t)bytes[0] << 16;
    if (count > 1) bits |= (uint32_t)bytes[1] << 8;
    if (count > 2) bits |= bytes[2];
    for (uint32_t i = 0; i < GROUP_CHARS; i++)
        out[i] = i <= count ? alphabet[bits >> (18 - 6 * i) & 63] : '=';
}

// Reads characters [skip, skip + chars) of the groups from `first` on, all within one block.
static sc_status read_block(const sc_extent *base, sc_ctx *ctx, uint64_t first, size_t skip,
                            char *out, size_t chars) {
    uint8_t bytes[BLOCK_GROUPS * GROUP_BYTES];
    const size_t groups = (skip + chars + GROUP_CHARS - 1) / GROUP_CHARS;
    const uint64_t begin = first * GROUP_BYTES;
    const size_t count = (size_t)sc_min_u64(groups * GROUP_BYTES, base->size - begin);
    SC_TRY(sc_extent_read(ctx, *base, begin, bytes, count));
    size_t at = 0;
    for (size_t g = 0; g < groups; g++) {
        char group[GROUP_CHARS];
        const size_t left = count - g * GROUP_BYTES;
        encode_group(bytes + g * GROUP_BYTES, left < GROUP_BYTES ? left : GROUP_BYTES, group);
        const size_t from = g == 0 ? skip : 0;
        for (size_t i = from; i < GROUP_CHARS && at < chars; i++) out[at++] = group[i];
    }
    return SC_OK;
}

static sc_status read_base64(sc_source *source, sc_ctx *ctx, uint64_t offset, void *out,
                             size_t bytes) {
    const sc_extent *base = source->user;
    char *to = out;
    while (bytes) {
        const size_t skip = (size_t)(offset % GROUP_CHARS);
        const size_t most = BLOCK_GROUPS * GROUP_CHARS - skip;
        const size_t part = bytes < most ? bytes : most;
        SC_TRY(read_block(base, ctx, offset / GROUP_CHARS, skip, to, part));
        to += part;
        offset += part;
        bytes -= part;
    }
    return SC_OK;
}

sc_source *sc_source_base64(sc_arena *arena, sc_extent base) {
    sc_extent *kept = sc_new(arena, sc_extent);
    uint64_t chars;
    *kept = base;
    SC_ASSERT(
        sc_mul_u64(base.size / GROUP_BYTES + (base.size % GROUP_BYTES != 0), GROUP_CHARS, &chars));
    sc_source *source = sc_new(arena, sc_source);
    *source = (sc_source){.read = read_base64, .size = chars, .user = kept};
    source->is_slow = base.source && base.source->is_slow;
    return source;
}

static int digit_of(char c) {
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

sc_status sc_base64_decode(sc_ctx *ctx, sc_arena *arena, sc_str text, const char *what,
                           sc_str *out) {
    size_t size = text.size;
    while (size > 0 && text.size - size < 2 && text.data[size - 1] == '=') size--;
    uint8_t *bytes = sc_arena_alloc(arena, text.size / GROUP_CHARS * GROUP_BYTES);
    size_t count = 0;
    uint32_t bits = 0;
    bool good = text.size % GROUP_CHARS == 0;
    for (size_t i = 0; i < size && good; i++) {
        const int digit = digit_of(text.data[i]);
        good = digit >= 0;
        bits = bits << 6 | ((uint32_t)digit & 63);
        if (i % GROUP_CHARS) bytes[count++] = (uint8_t)(bits >> (6 - 2 * (i % GROUP_CHARS)));
    }
    *out = (sc_str){(const char *)bytes, count};
    return good ? SC_OK : sc_fail(ctx, SC_ERR_FORMAT, NULL, "%s is not base64", what);
}
