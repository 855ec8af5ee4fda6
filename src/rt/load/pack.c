// Packs constant operands, mostly weights, once after a method's instructions have been rewritten,
// instead of in every run. An original that no other call reads is freed. A packing belongs to the
// method that made it. Calls that pack one constant in the same way share it, also calls of methods
// that are loaded later.
#include "rt/asks.h"
#include "rt/load/constants.h"
#include "rt/load/steps.h"
#include "rt/operands.h"

// Bytes per method, in addition to the constants themselves. A call beyond this limit is not
// packed.
static const uint64_t pack_bytes_max = UINT64_C(256) << 20;

typedef struct packer {
    sc_ctx *ctx;
    sc_rt_method *m;
    uint64_t bytes;    // packed so far
    uint64_t scratch;  // that calls request
} packer;

// The call always runs on packed constants: its shapes were fixed at load.
static void release(const packer *k, const sc_rt_instruction *in) {
    const sc_packing *packing = in->call.packed;
    if (!packing || in->is_dynamic) return;
    sc_rt_constants_release(k->m, in->call.args[packing->arg]->tensor);
    if (packing->bias != packing->arg)
        sc_rt_constants_release(k->m, in->call.args[packing->bias]->tensor);
}

// --- Operands to pack ----------------------------------------------------------------------------

// Are the packed operands constants in every run, and is everything else that changes a tensor?
static bool may_pack(const sc_rt_method *m, const sc_rt_instruction *in,
                     const sc_packing *packing) {
    const sc_evalue *packed = in->call.args[packing->arg], *bias = in->call.args[packing->bias];
    sc_rt_operands o = sc_rt_operands_of(m, in, SC_RT_TAKES);
    while (sc_rt_operands_next(&o)) {
        const sc_rt_place *place = &m->places[o.value - m->values];
        const bool is_packed = o.value == packed || o.value == bias;
        if (is_packed ? !o.tensor || !o.tensor->is_constant || place->is_loose
                      : !o.tensor && (place->is_written || place->is_loose))
            return false;
    }
    return true;
}

// --- Sharing -------------------------------------------------------------------------------------

static bool is_equal(const sc_rt_packed *a, const sc_rt_packed *b) {
    return a->constant == b->constant && a->packing.how == b->packing.how &&
           a->packing.bytes == b->packing.bytes &&
           memcmp(a->packing.data, b->packing.data, (size_t)a->packing.bytes) == 0;
}

static const sc_packing *find_in(const sc_rt_method *m, const sc_rt_packed *packed) {
    for (const sc_rt_packed *other = m ? m->packed : NULL; other; other = other->next) {
        if (is_equal(other, packed)) return &other->packing;
    }
    return NULL;
}

// The same bytes of the same constant, in this method or one that is loaded already.
static const sc_packing *find_equal(const sc_rt_method *m, const sc_rt_packed *packed) {
    const sc_rt_program *p = m->program;
    const sc_packing *found = find_in(m, packed);
    for (uint32_t i = 0; i < p->plans.count && !found; i++) found = find_in(p->methods[i], packed);
    return found;
}

// --- Packing -------------------------------------------------------------------------------------

static void pack_call(packer *k, const sc_kernel *kernel, sc_rt_instruction *in) {
    sc_kernel_call *call = &in->call;
    sc_rt_packed packed = {0};
    sc_packing *packing = &packed.packing;
    if (!sc_rt_ask_packs(kernel, call, packing) || !may_pack(k->m, in, packing) ||
        packing->bytes > pack_bytes_max - k->bytes)
        return;
    packing->data = sc_try_alloc(sc_max_u64(packing->bytes, 1));
    if (!packing->data) return;  // then the call runs on the constant itself
    packed.constant = call->args[packing->arg]->tensor->data;
    kernel->pack(call, packing);
    call->packed = find_equal(k->m, &packed);
    if (call->packed) {
        sc_free(packing->data);
        return;
    }
    sc_rt_packed *kept = sc_new(&k->m->program->arena, sc_rt_packed);
    *kept = packed;
    kept->next = k->m->packed;
    k->m->packed = kept;
    k->bytes += packing->bytes;
    call->packed = &kept->packing;
}

// Calls may need more scratch than was allocated, for packed operands or operands of another
// layout.
static sc_status grow_scratch(packer *k, uint64_t had) {
    sc_rt_method *m = k->m;
    if (k->scratch <= had) return SC_OK;
    uint8_t *scratch = sc_try_alloc(k->scratch);
    if (!scratch)
        return sc_fail(k->ctx, SC_ERR_MEMORY, NULL, "no memory for %llu bytes of scratch space",
                       (unsigned long long)k->scratch);
    sc_free(m->scratch);
    m->scratch = scratch;
    for (uint32_t i = 0; i < m->code_count; i++) m->code[i].call.scratch = scratch;
    return SC_OK;
}

sc_status sc_rt_pack_constants(sc_ctx *ctx, sc_rt_method *m) {
    packer k = {.ctx = ctx, .m = m};
    uint64_t had = 0;
    sc_rt_constants_count(m);
    for (uint32_t i = 0; i < m->code_count; i++) {
        sc_rt_instruction *in = &m->code[i];
        if (in->kind != SC_RT_KERNEL) continue;
        const sc_kernel *kernel = in->call.kernel;
        had = sc_max_u64(had, in->call.scratch_bytes);
        pack_call(&k, kernel, in);
        const uint64_t scratch = sc_rt_ask_scratch(kernel, &in->call);
        if (scratch > ctx->limits.planned_bytes_max) {
            in->call.packed = NULL;
            continue;
        }
        release(&k, in);
        if (!kernel->scratch) continue;
        in->call.scratch_bytes = scratch;
        k.scratch = sc_max_u64(k.scratch, scratch);
    }
    sc_rt_constants_forget(m);
    return grow_scratch(&k, had);
}
