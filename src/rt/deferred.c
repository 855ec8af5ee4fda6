// Reads constants that were left in the file. Weights are never in memory twice: each is read,
// packed and let go before the next one is read.
#include "rt/deferred.h"

#include "rt/allocate.h"
#include "rt/operands.h"

enum { READ_BYTES = 8 << 20 };

sc_status sc_rt_weights_progress(sc_ctx *ctx, sc_rt_program *p, uint64_t bytes) {
    const uint64_t done = sc_min_u64(p->weights_done, p->weights_total);
    p->weights_done += bytes;
    return sc_progress(ctx, SC_PHASE_weights, done, p->weights_total);
}

void sc_rt_deferred_free(sc_rt_program *p) {
    for (sc_rt_deferred *d = p->deferred; d; d = d->next) sc_free(d->owned);
}

// --- Bytes ---------------------------------------------------------------------------------------

sc_rt_deferred *sc_rt_deferred_of(const sc_rt_program *p, const sc_tensor *t) {
    const uint64_t *found =
        t->is_constant ? sc_imap_find(&p->deferred_by_mark, SC_PTR_KEY(t->data)) : NULL;
    return found ? (sc_rt_deferred *)(uintptr_t)*found : NULL;
}

sc_status sc_rt_deferred_borrow(sc_ctx *ctx, sc_rt_program *p, const sc_rt_deferred *d,
                                const uint8_t **bytes, uint8_t **owned) {
    const sc_extent *e = &d->extent;
    const uint8_t *memory = d->memory;
    *owned = NULL;
    *bytes = NULL;
    if (!memory && e->source->memory) memory = e->source->memory + e->offset;
    if (memory && (uintptr_t)memory % 16 == 0) {
        *bytes = memory;
        return SC_OK;
    }
    SC_TRY(sc_rt_allocate(ctx, e->size, "a weight", owned));
    sc_status status = SC_OK;
    for (uint64_t at = 0; at < e->size && status == SC_OK; at += READ_BYTES) {
        const size_t size = (size_t)sc_min_u64(READ_BYTES, e->size - at);
        status = sc_rt_weights_progress(ctx, p, size);
        if (status == SC_OK) status = sc_extent_read(ctx, *e, at, *owned + at, size);
    }
    if (status == SC_OK) {
        *bytes = *owned;
        return SC_OK;
    }
    sc_free(*owned);
    *owned = NULL;
    return status;
}

sc_status sc_rt_deferred_need(sc_ctx *ctx, sc_rt_program *p, sc_rt_deferred *d) {
    return d->memory ? SC_OK : sc_rt_deferred_borrow(ctx, p, d, &d->memory, &d->owned);
}

void sc_rt_deferred_show(sc_tensor *t, const uint8_t *memory) {
    t->data = (uint8_t *)(uintptr_t)memory;  // is_constant keeps all code from writing there
    t->capacity_bytes = (uint64_t)t->numel * sc_dtype_bytes((sc_dtype)t->dtype);
}

sc_status sc_rt_deferred_need_all(sc_ctx *ctx, sc_rt_method *m, const sc_rt_instruction *in) {
    sc_rt_operands o = sc_rt_operands_of(m, in, SC_RT_ANY_ACCESS);
    while (sc_rt_operands_next(&o)) {
        sc_rt_deferred *d = o.tensor ? sc_rt_deferred_of(m->program, o.tensor) : NULL;
        if (!d) continue;
        SC_TRY(sc_rt_deferred_need(ctx, m->program, d));
        sc_rt_deferred_show(o.tensor, d->memory);
    }
    return SC_OK;
}
