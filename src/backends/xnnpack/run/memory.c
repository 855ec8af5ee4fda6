// The memory of a delegate: blocks of its own, packed weights that delegates share, constants.
#include "backends/xnnpack/run/delegate.h"
#include "base/hash.h"

sc_status sc_xnn_step_fail(const sc_xnn_delegate *d, const sc_xnn_step *s, sc_status code,
                           const char *what) {
    return sc_fail(d->ctx, code, NULL,
                   "node %u (%s) of an XNNPACK delegate of method '" SC_STR_FMT "' %s", s->index,
                   sc_xnn_kinds[s->node->kind].name, SC_STR_ARG(d->method), what);
}

sc_status sc_xnn_not_executed(const sc_xnn_delegate *d, const sc_xnn_step *s) {
    sc_sb text;
    sc_sb_init(&text, d->ctx->scratch);
    sc_sb_add_text(&text, "is not executed here: it computes from ");
    for (uint32_t i = 0; i < SC_XNN_INPUTS_MAX && s->in[i]; i++)
        sc_sb_addf(&text, "%s%s", i ? ", " : "", sc_xnn_datatypes[s->in[i]->value->datatype].name);
    sc_sb_addf(&text, " to %s", sc_xnn_datatypes[s->out[0]->value->datatype].name);
    return sc_xnn_step_fail(d, s, SC_ERR_DELEGATE, sc_sb_terminate(&text));
}

sc_status sc_xnn_bad_argument(const sc_xnn_delegate *d, uint32_t argument, const char *what) {
    return sc_fail(d->ctx, SC_ERR_DELEGATE, NULL,
                   "argument %u of an XNNPACK delegate of method '" SC_STR_FMT "' %s", argument,
                   SC_STR_ARG(d->method), what);
}

sc_status sc_xnn_no_memory(sc_ctx *ctx) {
    return sc_fail(ctx, SC_ERR_MEMORY, NULL, "no memory for an XNNPACK delegate");
}

// --- Memory --------------------------------------------------------------------------------------

sc_status sc_xnn_own(sc_xnn_delegate *d, uint64_t bytes, void **out) {
    if (d->owned_count == d->owned_capacity) {
        uint32_t capacity = d->owned_capacity ? 2 * d->owned_capacity : 16;
        d->owned = sc_arena_grow(&d->arena, d->owned, d->owned_capacity * sizeof *d->owned,
                                 capacity * sizeof *d->owned);
        d->owned_capacity = capacity;
    }
    *out = bytes <= d->ctx->limits.planned_bytes_max ? sc_try_alloc(sc_max_u64(bytes, 1)) : NULL;
    if (!*out)
        return sc_fail(d->ctx, SC_ERR_MEMORY, NULL,
                       "no memory for %llu bytes of weights of an XNNPACK delegate",
                       (unsigned long long)bytes);
    d->owned[d->owned_count++] = *out;
    return SC_OK;
}

void sc_xnn_disown(sc_xnn_delegate *d) { sc_free(d->owned[--d->owned_count]); }

const uint8_t *sc_xnn_constant_data(const sc_xnn_delegate *d, const sc_xnn_operand *operand) {
    return d->graph->constants.data[operand->value->constant].data;
}

static bool is_equal(const sc_xnn_packing *p, const sc_variant *how, const void *data,
                     uint64_t bytes, uint64_t hash) {
    return p->how == how && p->bytes == bytes && p->hash == hash &&
           memcmp(p->data, data, (size_t)bytes) == 0;
}

static void share(sc_xnn_step *s, sc_xnn_packing *p) {
    p->users++;
    s->packing = p;
}

// A packing that was read from the same place of a packed file.
static sc_xnn_packing *find_read(const sc_xnn_delegate *d, const sc_rt_saved *saved,
                                 const sc_variant *how) {
    sc_xnn_packing *p = saved ? d->shared->packings : NULL;
    while (p && !(p->place == saved->offset && p->how == how && p->bytes == saved->size))
        p = p->next;
    return p;
}

static sc_status fill(const sc_xnn_delegate *d, const sc_xnn_step *s, const sc_variant *variant,
                      void *data) {
    if (s->saved) return sc_rt_saved_read(d->ctx, d->packed, s->saved, data);
    variant->algorithm->pack(&s->record, data);
    return SC_OK;
}

sc_status sc_xnn_pack(sc_xnn_delegate *d, sc_xnn_step *s, const sc_variant *variant) {
    uint64_t bytes = sc_variant_pack_bytes(variant, &s->record);
    void *data;
    if (s->saved) SC_TRY(sc_rt_saved_check(d->ctx, s->saved, variant->name, bytes));
    sc_xnn_packing *read = find_read(d, s->saved, variant);
    s->packed_for = variant;
    if (read) {
        share(s, read);
        return SC_OK;
    }
    SC_TRY(sc_xnn_own(d, bytes, &data));
    SC_TRY(fill(d, s, variant, data));
    // Compares contents: equal weights with other scales, or of another kind of node, are
    // different.
    uint64_t hash = s->saved ? s->saved->sum : sc_hash64_wide(data, (size_t)bytes);
    for (sc_xnn_packing *p = d->shared->packings; p; p = p->next) {
        if (!is_equal(p, variant, data, bytes, hash)) continue;
        sc_xnn_disown(d);
        share(s, p);
        return SC_OK;
    }
    sc_xnn_packing *p = sc_try_alloc(sizeof *p);
    if (!p) return sc_xnn_no_memory(d->ctx);
    const uint64_t place = s->saved ? s->saved->offset : 0;
    *p = (sc_xnn_packing){d->shared->packings, variant, data, bytes, hash, place, 1};
    d->owned_count--;
    d->shared->packings = p;
    s->packing = p;
    return SC_OK;
}

void sc_xnn_unpack(sc_xnn_shared *shared, sc_xnn_packing *packing) {
    if (--packing->users) return;
    sc_xnn_packing **at = &shared->packings;
    while (*at != packing) at = &(*at)->next;
    *at = packing->next;
    sc_free(packing->data);
    sc_free(packing);
}

// --- Constants -----------------------------------------------------------------------------------

// Bytes in the payload itself may be unaligned.
static sc_status align_constant(sc_xnn_delegate *d, sc_xnn_constant *constant) {
    void *copy;
    if ((uintptr_t)constant->data % SC_XNN_DATA_ALIGN == 0) return SC_OK;
    SC_TRY(sc_xnn_own(d, constant->size, &copy));
    if (constant->size) memcpy(copy, constant->data, (size_t)constant->size);
    constant->data = copy;
    return SC_OK;
}

sc_status sc_xnn_find(sc_xnn_delegate *d, uint32_t index) {
    sc_xnn_constant *constant = &d->graph->constants.data[index];
    uint64_t size = 0;
    if (!constant->key.data) return align_constant(d, constant);
    if (constant->data) return SC_OK;
    SC_TRY(d->named.find(d->named.user, d->ctx, constant->key, &constant->data, &size));
    d->finds[index]++;
    if (size >= constant->size) return SC_OK;
    return sc_fail(d->ctx, SC_ERR_CORRUPT, NULL,
                   "the data '" SC_STR_FMT
                   "' has %llu bytes, but an XNNPACK delegate of method '" SC_STR_FMT
                   "' takes %llu from it",
                   SC_STR_ARG(constant->key), (unsigned long long)size, SC_STR_ARG(d->method),
                   (unsigned long long)constant->size);
}

void sc_xnn_release(const sc_xnn_delegate *d, sc_xnn_constant *constant) {
    if (!constant->key.data || !constant->data) return;
    d->named.release(d->named.user, constant->key);
    constant->data = NULL;
}

void sc_xnn_forget(sc_xnn_delegate *d, uint32_t index) {
    if (!d->constant_uses[index]) sc_xnn_release(d, &d->graph->constants.data[index]);
}
