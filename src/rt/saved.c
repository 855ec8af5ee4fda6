#include "rt/saved.h"

#include "base/hash.h"
#include "rt/rt.h"

enum { READ_BYTES = 8 << 20 };

static const char *const save_again = "Load the .pte, and save it again with savePacked().";

int sc_rt_saved_compare(const sc_rt_saved_key *a, const sc_rt_saved_key *b) {
    if (a->method != b->method) return a->method < b->method ? -1 : 1;
    if (a->delegate != b->delegate) return a->delegate < b->delegate ? -1 : 1;
    return a->call < b->call ? -1 : a->call > b->call;
}

const sc_rt_saved *sc_rt_saved_find(const sc_rt_packed_file *file, sc_rt_saved_key key) {
    uint32_t from = 0, to = file ? file->saved_count : 0;
    while (from < to) {
        const uint32_t middle = from + (to - from) / 2;
        const int order = sc_rt_saved_compare(&key, &file->saved[middle].key);
        if (order == 0) return &file->saved[middle];
        if (order < 0)
            to = middle;
        else
            from = middle + 1;
    }
    return NULL;
}

sc_status sc_rt_saved_check(sc_ctx *ctx, const sc_rt_saved *saved, const char *variant,
                            uint64_t size) {
    if (sc_str_is(saved->variant, variant) && saved->size == size) return SC_OK;
    return sc_fail(ctx, SC_ERR_VERSION, save_again,
                   "a packed program has %llu bytes of weights for " SC_STR_FMT
                   ", but on this machine they are %llu bytes for %s",
                   (unsigned long long)saved->size, SC_STR_ARG(saved->variant),
                   (unsigned long long)size, variant);
}

sc_status sc_rt_saved_read(sc_ctx *ctx, const sc_rt_packed_file *file, const sc_rt_saved *saved,
                           void *out) {
    const sc_extent extent = {file->source, saved->offset, saved->size};
    for (uint64_t at = 0; at < saved->size; at += READ_BYTES) {
        const size_t size = (size_t)sc_min_u64(READ_BYTES, saved->size - at);
        SC_TRY(sc_extent_read(ctx, extent, at, (uint8_t *)out + at, size));
    }
    if (sc_hash64_wide(out, (size_t)saved->size) == saved->sum) return SC_OK;
    return sc_fail(ctx, SC_ERR_CORRUPT, save_again,
                   "some weights of this packed program are damaged");
}
