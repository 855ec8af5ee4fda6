// The memory of tensors. Planned memory comes in numbered pools. Pool 1 contains the values that a
// run computes: all methods share it, but a method with state in it gets its own pool 1. Higher
// pools contain what methods share on purpose, such as one KV cache for prefill and decode. A
// program has one of each, made with the first method that needs it and set to its initial contents
// for all methods at once. No code relies on fresh memory being zero; state is zeroed or loaded
// explicitly.
#include "rt/load/memory.h"

#include "rt/allocate.h"
#include "rt/deferred.h"
#include "rt/load/constants.h"
#include "rt/load/delegates.h"
#include "rt/load/steps.h"

enum { ACTIVATIONS = 1 };

static sc_status bad(sc_ctx *ctx, const sc_rt_method *m, const char *what) {
    return sc_fail(ctx, SC_ERR_CORRUPT, NULL, "method '" SC_STR_FMT "': %s", SC_STR_ARG(m->name),
                   what);
}

static sc_status allocate(sc_ctx *ctx, uint64_t bytes, const char *what, uint8_t **out) {
    if (bytes > ctx->limits.planned_bytes_max)
        return sc_fail(ctx, SC_ERR_LIMIT, NULL,
                       "%s would take %llu bytes, but the limit "
                       "planned_bytes_max is %llu",
                       what, (unsigned long long)bytes,
                       (unsigned long long)ctx->limits.planned_bytes_max);
    return sc_rt_allocate(ctx, bytes, what, out);
}

// --- Pools ---------------------------------------------------------------------------------------

sc_status sc_rt_pools_declare(sc_ctx *ctx, sc_rt_program *p) {
    for (uint32_t i = 0; i < p->plans.count; i++) {
        sc_fb_vec sizes = sc_pte_ExecutionPlan_non_const_buffer_sizes(sc_rt_plan(p, i));
        p->pool_count = sizes.count > p->pool_count ? sizes.count : p->pool_count;
    }
    p->pools = sc_new_array(&p->arena, sc_rt_pool, p->pool_count);
    for (uint32_t i = 0; i < p->plans.count; i++) {
        sc_fb_vec sizes = sc_pte_ExecutionPlan_non_const_buffer_sizes(sc_rt_plan(p, i));
        for (uint32_t id = 0; id < sizes.count; id++) {
            int64_t bytes = sc_fb_vec_i64(sizes, id);
            if (bytes < 0)
                return sc_fail(ctx, SC_ERR_CORRUPT, NULL, "planned memory %u has a negative size",
                               id);
            p->pools[id].bytes = sc_max_u64(p->pools[id].bytes, (uint64_t)bytes);
        }
    }
    return SC_OK;
}

// Writes the initial state of one plan's tensors into a pool.
static sc_status load_plan_state(sc_ctx *ctx, sc_rt_program *p, sc_fb_table plan, uint32_t id) {
    sc_fb_vec values = sc_pte_ExecutionPlan_values(plan);
    for (uint32_t i = 0; i < values.count; i++) {
        sc_fb_table entry = sc_fb_vec_table(values, i);
        if (sc_pte_EValue_val_type(entry) != SC_PTE_KernelTypes_Tensor) continue;
        sc_fb_table tensor = sc_pte_EValue_val(entry);
        sc_fb_table alloc = sc_pte_Tensor_allocation_info(tensor);
        uint32_t index = sc_pte_Tensor_data_buffer_idx(tensor);
        if (!alloc.at || !index || sc_pte_AllocationDetails_memory_id(alloc) != id) continue;
        uint64_t offset = sc_pte_AllocationDetails_memory_offset_low(alloc) |
                          (uint64_t)sc_pte_AllocationDetails_memory_offset_high(alloc) << 32;
        int8_t dtype = sc_pte_Tensor_scalar_type(tensor);
        sc_fb_vec sizes = sc_pte_Tensor_sizes(tensor);
        uint64_t bytes = dtype < 0 ? 0 : sc_dtype_bytes((sc_dtype)dtype), end;
        for (uint32_t d = 0; d < sizes.count; d++) {
            int32_t size = sc_fb_vec_i32(sizes, d);
            if (size < 0 || !sc_mul_u64(bytes, (uint64_t)size, &bytes))
                return sc_fail(ctx, SC_ERR_CORRUPT, NULL, "a state tensor has an impossible shape");
        }
        if (!sc_add_u64(offset, bytes, &end) || end > p->pools[id].bytes)
            return sc_fail(ctx, SC_ERR_CORRUPT, NULL, "a state tensor lies outside its memory");
        SC_TRY(sc_rt_initial_read(ctx, p, index, p->pools[id].data + offset, (size_t)bytes));
    }
    return SC_OK;
}

static sc_status reset_pool(sc_ctx *ctx, sc_rt_program *p, uint32_t id) {
    if (p->pools[id].bytes) memset(p->pools[id].data, 0, (size_t)p->pools[id].bytes);
    for (uint32_t i = 0; i < p->plans.count; i++)
        SC_TRY(load_plan_state(ctx, p, sc_rt_plan(p, i), id));
    return SC_OK;
}

sc_status sc_rt_pools_reset(sc_ctx *ctx, sc_rt_program *p) {
    for (uint32_t id = ACTIVATIONS + 1; id < p->pool_count; id++) {
        if (p->pools[id].data) SC_TRY(reset_pool(ctx, p, id));
    }
    return SC_OK;
}

static sc_status need_pool(sc_ctx *ctx, sc_rt_program *p, uint32_t id) {
    if (p->pools[id].data) return SC_OK;
    SC_TRY(allocate(ctx, p->pools[id].bytes, "the planned memory", &p->pools[id].data));
    return id > ACTIVATIONS ? reset_pool(ctx, p, id) : SC_OK;
}

static sc_status bind_pools(sc_ctx *ctx, sc_rt_method *m) {
    sc_rt_program *p = m->program;
    sc_fb_vec sizes = sc_pte_ExecutionPlan_non_const_buffer_sizes(m->plan);
    m->memory_count = sizes.count;
    m->memory = sc_new_array(&p->arena, sc_rt_pool, sizes.count);
    for (uint32_t i = 0; i < m->value_count; i++) {
        const sc_rt_place *place = &m->places[i];
        uint64_t end;
        if (place->memory_id >= sizes.count && place->memory_id)
            return bad(ctx, m, "a tensor names planned memory that does not exist");
        if (place->memory_id && (!sc_add_u64(place->offset, place->bytes, &end) ||
                                 end > (uint64_t)sc_fb_vec_i64(sizes, place->memory_id)))
            return bad(ctx, m, "a tensor lies outside its planned memory");
        m->owns_activations |= place->is_state && place->memory_id == ACTIVATIONS;
    }
    for (uint32_t id = 1; id < sizes.count; id++) {
        m->memory[id].bytes = (uint64_t)sc_fb_vec_i64(sizes, id);
        if (id == ACTIVATIONS && m->owns_activations) {
            SC_TRY(allocate(ctx, m->memory[id].bytes, "the planned memory", &m->memory[id].data));
        } else {
            SC_TRY(need_pool(ctx, p, id));
            m->memory[id].data = p->pools[id].data;
        }
    }
    return SC_OK;
}

// --- Tensors -------------------------------------------------------------------------------------

static uint8_t empty[64] __attribute__((aligned(64)));  // where empty tensors point; never written

static sc_status bind_tensor(sc_ctx *ctx, sc_rt_method *m, uint32_t index) {
    sc_rt_place *place = &m->places[index];
    sc_tensor *t = m->values[index].tensor;
    const uint8_t *bytes = NULL;
    if (place->memory_id) {
        t->data = place->bytes ? m->memory[place->memory_id].data + place->offset : empty;
        return SC_OK;
    }
    if (!place->is_constant) return SC_OK;
    SC_TRY(sc_rt_constant_at(ctx, m->program, place, &bytes));
    if ((uintptr_t)bytes % sc_dtype_bytes((sc_dtype)t->dtype) != 0)
        return bad(ctx, m, "a constant is misaligned");
    t->data = (uint8_t *)(uintptr_t)bytes;  // is_constant keeps all code from writing there
    if (place->deferred && !place->deferred->memory) t->capacity_bytes = 0;
    return SC_OK;
}

// Tensors without planned memory, mostly graph inputs and outputs, get memory of ours.
static sc_status bind_unplanned(sc_ctx *ctx, sc_rt_method *m) {
    uint64_t total = 0;
    for (int pass = 0; pass < 2; pass++) {
        uint64_t at = 0;
        for (uint32_t i = 0; i < m->value_count; i++) {
            const sc_rt_place *place = &m->places[i];
            if (m->values[i].tag != SC_EVALUE_TENSOR || place->memory_id || place->is_constant)
                continue;
            if (pass) m->values[i].tensor->data = place->bytes ? m->loose_memory + at : empty;
            if (!sc_add_u64(at, place->bytes, &at) || at > UINT64_MAX - 64)
                return bad(ctx, m, "its tensors are too large");
            at = sc_align_up(at, 64);
        }
        total = at;
        if (!pass && total) SC_TRY(allocate(ctx, total, "unplanned tensors", &m->loose_memory));
    }
    return SC_OK;
}

static sc_status bind_staging(sc_ctx *ctx, sc_rt_method *m) {
    uint64_t total = 0;
    m->staged = sc_new_array(&m->program->arena, sc_rt_staged, m->input_count);
    for (int pass = 0; pass < 2; pass++) {
        uint64_t at = 0;
        for (uint32_t i = 0; i < m->input_count; i++) {
            if (m->values[m->inputs[i]].tag != SC_EVALUE_TENSOR) continue;
            if (pass) m->staged[i].bytes = m->stage_memory + at;
            if (!sc_add_u64(at, m->places[m->inputs[i]].bytes, &at) || at > UINT64_MAX - 64)
                return bad(ctx, m, "its inputs are too large");
            at = sc_align_up(at, 64);
        }
        total = at;
        if (!pass) SC_TRY(allocate(ctx, total, "the inputs", &m->stage_memory));
    }
    return SC_OK;
}

sc_status sc_rt_memory_reset(sc_ctx *ctx, sc_rt_method *m) {
    m->remembered.is_valid = false;
    // Random numbers start again, too.
    for (uint32_t i = 0; i < m->code_count; i++) m->code[i].call.seed = m->program->options.seed;
    for (uint32_t i = 0; i < m->value_count; i++) {
        const sc_rt_place *place = &m->places[i];
        if (!place->is_state || place->memory_id != ACTIVATIONS || !place->bytes) continue;
        uint8_t *data = m->memory[ACTIVATIONS].data + place->offset;
        if (!place->buffer_index && !place->datum) memset(data, 0, (size_t)place->bytes);
    }
    // Loaded bytes come after zeroed ones, because a view of a loaded state may have looked
    // uninitialised.
    for (uint32_t i = 0; i < m->value_count; i++) {
        const sc_rt_place *place = &m->places[i];
        if (!place->memory_id || !place->bytes) continue;
        uint8_t *data = m->memory[place->memory_id].data + place->offset;
        if (place->datum) {
            memcpy(data, place->datum->bytes, (size_t)place->bytes);
        } else if (place->buffer_index && place->memory_id == ACTIVATIONS) {
            SC_TRY(sc_rt_initial_read(ctx, m->program, place->buffer_index, data,
                                      (size_t)place->bytes));
        }
    }
    return SC_OK;
}

sc_status sc_rt_memory_bind(sc_ctx *ctx, sc_rt_method *m) {
    SC_TRY(sc_rt_deferred_find(ctx, m));
    SC_TRY(sc_rt_constants_load(ctx, m));
    SC_TRY(bind_pools(ctx, m));
    for (uint32_t i = 0; i < m->value_count; i++) {
        if (m->values[i].tag == SC_EVALUE_TENSOR) SC_TRY(bind_tensor(ctx, m, i));
    }
    SC_TRY(bind_unplanned(ctx, m));
    SC_TRY(bind_staging(ctx, m));
    for (uint32_t i = 0; i < m->loose_count; i++) {
        sc_rt_loose *loose = &m->loose[i];
        loose->initial = m->values[loose->value];
        if (loose->initial.tag == SC_EVALUE_TENSOR) loose->tensor = *loose->initial.tensor;
    }
    return sc_rt_memory_reset(ctx, m);
}

void sc_rt_memory_free(sc_rt_method *m) {
    sc_rt_delegates_free(m);
    if (m->owns_activations && m->memory) sc_free(m->memory[ACTIVATIONS].data);
    sc_free(m->loose_memory);
    sc_free(m->stage_memory);
    sc_free(m->scratch);
    for (sc_rt_folded *folded = m->folded; folded; folded = folded->next) sc_free(folded->memory);
    for (sc_rt_packed *packed = m->packed; packed; packed = packed->next)
        sc_free(packed->packing.data);
}
