// Memory whose size files or callers decide. A failure reports how much was needed, whose limit was
// in the way, and how much would fit.
#include "rt/allocate.h"

static const char *const hint = "Export the model in half precision, or quantize it, or run it "
                                "where there is more memory, such as in ExecuTorch's own runtime.";

static void add_limit(sc_sb *sb, uint64_t bytes, uint64_t had) {
    uint64_t taken, most;
    if (!sc_memory_extent(&taken, &most)) return;
    const bool is_full = bytes - had > most - taken;
    if (is_full) {
        sc_sb_add_text(sb, ": of the ");
        sc_sb_add_bytes(sb, most);
        sc_sb_add_text(sb, " that WebAssembly can have, ");
        sc_sb_add_bytes(sb, taken - sc_min_u64(had, taken));
        sc_sb_add_text(sb, " are taken");
    } else {
        sc_sb_add_text(sb, ": the host gives no more than ");
        sc_sb_add_bytes(sb, taken);
    }
    if (!had) return;
    sc_sb_add_text(sb, ", and about ");
    sc_sb_add_bytes(sb, is_full ? had + (most - taken) : had);
    sc_sb_add_text(sb, " would fit");
}

sc_status sc_rt_no_memory(sc_ctx *ctx, const char *what, uint64_t bytes, uint64_t had) {
    sc_sb sb;
    sc_sb_init(&sb, ctx->scratch);
    sc_sb_add_bytes(&sb, bytes);
    add_limit(&sb, bytes, had);
    return sc_fail(ctx, SC_ERR_MEMORY, hint, "no memory for %s of %s", what, sc_sb_terminate(&sb));
}

sc_status sc_rt_no_block(sc_ctx *ctx, const char *what, uint64_t bytes) {
    if (bytes <= SC_BLOCK_BYTES_MAX) return sc_rt_no_memory(ctx, what, bytes, 0);
    return sc_fail(ctx, SC_ERR_MEMORY, hint,
                   "no memory for %s of %llu bytes, and a block of memory has at most %llu", what,
                   (unsigned long long)bytes, (unsigned long long)SC_BLOCK_BYTES_MAX);
}

sc_status sc_rt_allocate(sc_ctx *ctx, uint64_t bytes, const char *what, uint8_t **out) {
    *out = sc_try_alloc(sc_max_u64(bytes, 1));
    return *out ? SC_OK : sc_rt_no_block(ctx, what, bytes);
}
