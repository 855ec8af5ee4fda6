// Packs constant operands, mostly weights, once after a method's instructions have been rewritten,
// instead of in every run. Large constants are read from the file for that, one after the other
// (rt/deferred.h). An original that no other call reads is freed. A packing belongs to the method
// that made it. Calls that pack one constant in the same way share it, also calls of methods that
// are loaded later.
#include "rt/asks.h"
#include "rt/deferred.h"
#include "rt/load/constants.h"
#include "rt/load/steps.h"
#include "rt/operands.h"
#include "rt/saved.h"

// Bytes per method, in addition to the constants themselves. A call beyond this limit is not packed
// unless it needs to be.
static const uint64_t pack_bytes_max = UINT64_C(256) << 20;

typedef struct packer {
    sc_ctx *ctx;
    sc_rt_method *m;
    uint64_t bytes;    // packed so far
    uint64_t scratch;  // that calls request
} packer;

// True if the call always runs on packed constants: its shapes were fixed at load, or do not
// matter.
static bool needs_no_originals(const sc_rt_instruction *in) {
    return in->kind == SC_RT_KERNEL && in->call.packed &&
           (!in->is_dynamic || in->call.packed->always_fits);
}

static void release(const packer *k, const sc_rt_instruction *in) {
    const sc_packing *packing = in->call.packed;
    if (!needs_no_originals(in)) return;
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

// Read from one place of a packed file.
static bool is_read_there(const sc_rt_packed *a, const sc_rt_packed *b) {
    return a->place && a->place == b->place && a->packing.how == b->packing.how &&
           a->packing.bytes == b->packing.bytes;
}

typedef bool is_same_fn(const sc_rt_packed *a, const sc_rt_packed *b);

static void *find_in(const sc_rt_method *m, const sc_rt_packed *packed, is_same_fn *is_same) {
    for (const sc_rt_packed *other = m ? m->packed : NULL; other; other = other->next) {
        if (is_same(other, packed)) return other->packing.data;
    }
    return NULL;
}

// The same bytes of the same constant, in this method or one that is loaded already.
static void *find_same(const sc_rt_method *m, const sc_rt_packed *packed, is_same_fn *is_same) {
    const sc_rt_program *p = m->program;
    void *found = find_in(m, packed, is_same);
    for (uint32_t i = 0; i < p->plans.count && !found; i++)
        found = find_in(p->methods[i], packed, is_same);
    return found;
}

// --- Packing -------------------------------------------------------------------------------------

// An operand that shows its bytes while they are packed.
typedef struct loan {
    sc_tensor *tensor;  // NULL: its bytes were in memory
    void *mark;
    uint8_t *owned;
} loan;

static sc_status lend(const packer *k, sc_tensor *tensor, loan *out) {
    sc_rt_program *p = k->m->program;
    const sc_rt_deferred *constant = sc_rt_deferred_of(p, tensor);
    const uint8_t *bytes = NULL;
    *out = (loan){0};
    if (!constant) return SC_OK;
    SC_TRY(sc_rt_deferred_borrow(k->ctx, p, constant, &bytes, &out->owned));
    out->tensor = tensor;
    out->mark = tensor->data;
    tensor->data = (uint8_t *)(uintptr_t)bytes;
    return SC_OK;
}

static void give_back(const loan *l) {
    if (l->tensor) l->tensor->data = l->mark;
    sc_free(l->owned);
}

static sc_status pack_bytes(const packer *k, const sc_kernel *kernel, const sc_kernel_call *call,
                            const sc_packing *packing) {
    loan weight, bias = {0};
    SC_TRY(lend(k, call->args[packing->arg]->tensor, &weight));
    const sc_status status =
        packing->bias != packing->arg ? lend(k, call->args[packing->bias]->tensor, &bias) : SC_OK;
    if (status == SC_OK) kernel->pack(call, packing);
    give_back(&bias);
    give_back(&weight);
    return status;
}

// Each call has a record of its own, because equal packings may be of different operands.
static void use(const packer *k, sc_rt_instruction *in, const sc_packing *packing, void *data) {
    sc_packing *own = sc_new(&k->m->program->arena, sc_packing);
    *own = *packing;
    own->data = data;
    own->is_only = !in->is_dynamic || packing->always_fits;
    in->packed_from = sc_rt_deferred_of(k->m->program, in->call.args[packing->arg]->tensor);
    in->call.packed = own;
}

static void keep(packer *k, const sc_rt_packed *packed) {
    sc_rt_packed *kept = sc_new(&k->m->program->arena, sc_rt_packed);
    *kept = *packed;
    kept->next = k->m->packed;
    k->m->packed = kept;
    if (!packed->packing.is_needed) k->bytes += packed->packing.bytes;
}

// The packing that a packed file has for the call. It has those of large constants only.
static const sc_rt_saved *find_saved(const packer *k, const sc_rt_instruction *in,
                                     const sc_packing *packing) {
    const sc_rt_program *p = k->m->program;
    if (!sc_rt_deferred_of(p, in->call.args[packing->arg]->tensor)) return NULL;
    return sc_rt_saved_find(p->options.packed,
                            (sc_rt_saved_key){k->m->plan_index, 0, (uint32_t)(in - k->m->code)});
}

static sc_status fill(const packer *k, const sc_kernel *kernel, const sc_kernel_call *call,
                      const sc_packing *packing, const sc_rt_saved *saved) {
    sc_rt_program *p = k->m->program;
    if (!saved) return pack_bytes(k, kernel, call, packing);
    SC_TRY(sc_rt_weights_progress(k->ctx, p, saved->size));
    return sc_rt_saved_read(k->ctx, p->options.packed, saved, packing->data);
}

static sc_status pack_call(packer *k, const sc_kernel *kernel, sc_rt_instruction *in) {
    sc_kernel_call *call = &in->call;
    sc_rt_packed packed = {0};
    sc_packing *packing = &packed.packing;
    const sc_rt_saved *saved = NULL;
    if (!sc_rt_ask_packs(kernel, call, packing) || !may_pack(k->m, in, packing) ||
        (packing->bytes > pack_bytes_max - k->bytes && !packing->is_needed))
        return SC_OK;
    packed.constant = call->args[packing->arg]->tensor->data;
    saved = find_saved(k, in, packing);
    packed.place = saved ? saved->offset : 0;
    if (saved) SC_TRY(sc_rt_saved_check(k->ctx, saved, packing->name, packing->bytes));
    void *shared = find_same(k->m, &packed, is_read_there);
    if (!shared) {
        packing->data = sc_try_alloc(sc_max_u64(packing->bytes, 1));
        if (!packing->data) return SC_OK;  // then the call runs on the constant itself
        const sc_status status = fill(k, kernel, call, packing, saved);
        shared = status == SC_OK ? find_same(k->m, &packed, is_equal) : packing->data;
        if (shared) sc_free(packing->data);
        SC_TRY(status);
    }
    use(k, in, packing, shared ? shared : packing->data);
    if (!shared) keep(k, &packed);
    return SC_OK;
}

// Reads the constants that a call takes besides its packing.
static sc_status need_rest(const packer *k, const sc_rt_instruction *in) {
    sc_rt_method *m = k->m;
    if (!needs_no_originals(in)) return sc_rt_deferred_need_all(k->ctx, m, in);
    for (uint32_t i = 0; i < in->call.arg_count; i++) {
        const sc_evalue *arg = in->call.args[i];
        if (i == in->call.packed->arg || i == in->call.packed->bias) continue;
        sc_rt_deferred *constant =
            arg->tag == SC_EVALUE_TENSOR ? sc_rt_deferred_of(m->program, arg->tensor) : NULL;
        if (constant) SC_TRY(sc_rt_deferred_need(k->ctx, m->program, constant));
    }
    return SC_OK;
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

static sc_status pack_and_measure(packer *k, sc_rt_instruction *in, uint64_t *had) {
    const sc_kernel *kernel = in->call.kernel;
    *had = sc_max_u64(*had, in->call.scratch_bytes);
    SC_TRY(pack_call(k, kernel, in));
    const uint64_t scratch = sc_rt_ask_scratch(kernel, &in->call);
    if (scratch > k->ctx->limits.planned_bytes_max) {
        in->call.packed = NULL;
        return SC_OK;
    }
    release(k, in);
    if (!kernel->scratch) return SC_OK;
    in->call.scratch_bytes = scratch;
    k->scratch = sc_max_u64(k->scratch, scratch);
    return SC_OK;
}

sc_status sc_rt_pack_constants(sc_ctx *ctx, sc_rt_method *m) {
    packer k = {.ctx = ctx, .m = m};
    uint64_t had = 0;
    sc_rt_constants_count(m);
    for (uint32_t i = 0; i < m->code_count; i++) {
        sc_rt_instruction *in = &m->code[i];
        if (in->kind == SC_RT_KERNEL) SC_TRY(pack_and_measure(&k, in, &had));
        SC_TRY(need_rest(&k, in));
    }
    sc_rt_deferred_finish(m);
    sc_rt_constants_forget(m);
    return grow_scratch(&k, had);
}
