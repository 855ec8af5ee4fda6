// Starts delegates, the parts that backends made. A delegate is started when the first instruction
// that calls it has been read, because only its backend knows how many of a call's arguments are
// inputs.
#include "rt/load/delegates.h"

#include "rt/allocate.h"
#include "rt/load/named.h"
#include "rt/load/segments.h"
#include "rt/run/delegate.h"

static const sc_rt_backend *find_backend(const sc_rt_program *p, sc_str id) {
    const sc_rt_backends *backends = p->options.backends;
    return backends ? backends->find(backends->user, id) : NULL;
}

sc_status sc_rt_delegates_open(sc_ctx *ctx, sc_rt_method *m) {
    sc_fb_vec delegates = sc_pte_ExecutionPlan_delegates(m->plan);
    m->delegates = sc_new_array(&m->program->arena, sc_rt_delegate, (size_t)delegates.count + 1);
    m->delegate_count = delegates.count;
    for (uint32_t i = 0; i < delegates.count; i++) {
        sc_rt_delegate *d = &m->delegates[i];
        d->id = sc_pte_BackendDelegate_id(sc_fb_vec_table(delegates, i));
        if (!d->id.data)
            return sc_fail(ctx, SC_ERR_CORRUPT, NULL,
                           "a delegate of method '" SC_STR_FMT "' names no backend",
                           SC_STR_ARG(m->name));
        d->backend = find_backend(m->program, d->id);
        if (!d->backend)
            return sc_fail(ctx, SC_ERR_DELEGATE,
                           "Register the backend first, with registerBackend() or --import FILE "
                           "on the command line, or lower the model again without it.",
                           "method '" SC_STR_FMT "' calls the backend '" SC_STR_FMT
                           "', which is not registered",
                           SC_STR_ARG(m->name), SC_STR_ARG(d->id));
    }
    return SC_OK;
}

static void **shared_of(sc_rt_program *p, const sc_rt_backend *backend) {
    for (uint32_t i = 0; i < p->shared.count; i++)
        if (p->shared.data[i]->backend == backend) return &p->shared.data[i]->data;
    sc_rt_shared *shared = sc_new(&p->arena, sc_rt_shared);
    shared->backend = backend;
    sc_vec_push(&p->arena, &p->shared, shared);
    return &shared->data;
}

static sc_status find_inline(sc_ctx *ctx, const sc_rt_method *m, const sc_rt_delegate *d,
                             uint32_t index, sc_rt_start *start) {
    sc_fb_vec all = sc_pte_Program_backend_delegate_data(m->program->root);
    if (index >= all.count) return sc_rt_delegate_fail(ctx, m, d, "whose data does not exist");
    sc_fb_vec bytes = sc_pte_BackendDelegateInlineData_data(sc_fb_vec_table(all, index));
    start->processed = bytes.items;
    start->processed_bytes = bytes.count;
    return SC_OK;
}

// `owned` has to be freed when the delegate has started.
static sc_status find_segment(sc_ctx *ctx, const sc_rt_method *m, uint32_t index,
                              sc_rt_start *start, uint8_t **owned) {
    sc_extent extent;
    SC_TRY(sc_rt_segment_at(ctx, m->program, index, &extent));
    const uint8_t *memory = extent.size ? extent.source->memory : NULL;
    start->processed_bytes = extent.size;
    if (memory && ((uintptr_t)memory + extent.offset) % 16 == 0) {
        start->processed = memory + extent.offset;
        return SC_OK;
    }
    SC_TRY(sc_rt_allocate(ctx, extent.size, "the data of a delegate", owned));
    start->processed = *owned;
    return sc_extent_read(ctx, extent, 0, *owned, (size_t)extent.size);
}

static sc_status find_processed(sc_ctx *ctx, const sc_rt_method *m, const sc_rt_delegate *d,
                                sc_fb_table reference, sc_rt_start *start, uint8_t **owned) {
    if (!reference.at) return sc_rt_delegate_fail(ctx, m, d, "that has no data");
    const uint32_t index = sc_pte_BackendDelegateDataReference_index(reference);
    switch (sc_pte_BackendDelegateDataReference_location(reference)) {
    case SC_PTE_DataLocation_INLINE: return find_inline(ctx, m, d, index, start);
    case SC_PTE_DataLocation_SEGMENT: return find_segment(ctx, m, index, start, owned);
    default: return sc_rt_delegate_fail(ctx, m, d, "whose data lies in an unknown place");
    }
}

uint32_t sc_rt_part_count(const sc_rt_program *p, uint32_t index) {
    return sc_pte_ExecutionPlan_delegates(sc_rt_plan(p, index)).count;
}

// A part of a method that may not be loaded.
typedef struct part_bytes {
    const sc_rt_backend *backend;  // NULL if the table has no such backend
    sc_fb_table table;
    sc_rt_start start;
    uint8_t *owned;
} part_bytes;

static part_bytes part_at(const sc_rt_program *p, uint32_t index, uint32_t part) {
    sc_fb_vec delegates = sc_pte_ExecutionPlan_delegates(sc_rt_plan(p, index));
    SC_ASSERT(part < delegates.count);
    part_bytes out = {.table = sc_fb_vec_table(delegates, part)};
    out.start.id = sc_pte_BackendDelegate_id(out.table);
    out.backend = out.start.id.data ? find_backend(p, out.start.id) : NULL;
    return out;
}

static sc_status read_part(sc_ctx *ctx, const sc_rt_program *p, uint32_t index, part_bytes *part) {
    // The members of a method and of a delegate that are needed to find the bytes.
    const sc_rt_method m = {.program = (sc_rt_program *)(uintptr_t)p,
                            .name = sc_pte_ExecutionPlan_name(sc_rt_plan(p, index))};
    const sc_rt_delegate d = {.id = part->start.id};
    return find_processed(ctx, &m, &d, sc_pte_BackendDelegate_processed(part->table), &part->start,
                          &part->owned);
}

sc_status sc_rt_part_print(sc_ctx *ctx, const sc_rt_program *p, uint32_t index, uint32_t part,
                           sc_sb *out) {
    part_bytes of = part_at(p, index, part);
    if (!of.backend || !of.backend->print) return SC_OK;
    sc_status status = read_part(ctx, p, index, &of);
    if (status == SC_OK)
        status = of.backend->print(ctx, of.start.processed, of.start.processed_bytes, out);
    sc_free(of.owned);
    return status;
}

sc_status sc_rt_part_keys(sc_ctx *ctx, const sc_rt_program *p, uint32_t index, uint32_t part,
                          sc_arena *arena, sc_rt_keys *out) {
    part_bytes of = part_at(p, index, part);
    if (!of.backend || !of.backend->keys) return SC_OK;
    sc_status status = read_part(ctx, p, index, &of);
    if (status == SC_OK)
        status = of.backend->keys(ctx, arena, of.start.processed, of.start.processed_bytes, out);
    sc_free(of.owned);
    return status;
}

static sc_status read_specs(sc_ctx *ctx, const sc_rt_method *m, const sc_rt_delegate *d,
                            sc_fb_vec list, sc_rt_start *start) {
    sc_rt_spec *specs = sc_new_array(ctx->scratch, sc_rt_spec, (size_t)list.count + 1);
    for (uint32_t i = 0; i < list.count; i++) {
        sc_fb_table entry = sc_fb_vec_table(list, i);
        sc_fb_vec value = sc_pte_CompileSpec_value(entry);
        specs[i].key = sc_pte_CompileSpec_key(entry);
        specs[i].value = (sc_str){(const char *)value.items, value.count};
        if (!specs[i].key.data)
            return sc_rt_delegate_fail(ctx, m, d, "with a compile spec that has no key");
    }
    start->specs = specs;
    start->spec_count = list.count;
    return SC_OK;
}

static sc_status start_delegate(sc_ctx *ctx, sc_rt_method *m, sc_rt_delegate *d, sc_fb_table table,
                                uint32_t known_count, uint8_t **owned) {
    sc_rt_start start = {.backend = d->backend,
                         .id = d->id,
                         .method = m->name,
                         .named = sc_rt_named_of(m->program),
                         .args = d->args,
                         .arg_count = d->arg_count,
                         .known_count = known_count,
                         .shared = shared_of(m->program, d->backend),
                         .packed = m->program->options.packed,
                         .key = {m->plan_index, (uint32_t)(d - m->delegates) + 1, 0}};
    SC_TRY(find_processed(ctx, m, d, sc_pte_BackendDelegate_processed(table), &start, owned));
    SC_TRY(read_specs(ctx, m, d, sc_pte_BackendDelegate_compile_specs(table), &start));
    SC_TRY(d->backend->init(ctx, &start, &d->state, &d->input_count));
    d->is_started = true;
    if (d->input_count > d->arg_count)
        return sc_rt_delegate_fail(ctx, m, d, "with too few arguments");
    return SC_OK;
}

static sc_status start_called(sc_ctx *ctx, sc_rt_method *m, uint32_t index, uint32_t known_count,
                              const sc_rt_instruction *in) {
    sc_rt_delegate *d = &m->delegates[index];
    sc_fb_vec delegates = sc_pte_ExecutionPlan_delegates(m->plan);
    sc_mark mark = sc_arena_mark(ctx->scratch);
    uint8_t *owned = NULL;
    d->args = in->call.args;
    d->arg_count = in->call.arg_count;
    d->declared = sc_new_array(&m->program->arena, sc_rt_declared, (size_t)d->arg_count + 1);
    for (uint32_t i = 0; i < d->arg_count; i++) d->declared[i] = sc_rt_declared_of(d->args[i]);
    sc_status status =
        start_delegate(ctx, m, d, sc_fb_vec_table(delegates, index), known_count, &owned);
    sc_free(owned);
    sc_arena_rewind(ctx->scratch, mark);
    return status;
}

// --- Calls ---------------------------------------------------------------------------------------

// A further call of a delegate that was started for its first call.
static sc_status check_like(sc_ctx *ctx, const sc_rt_method *m, const sc_rt_delegate *d,
                            const sc_rt_instruction *in) {
    bool alike = in->call.arg_count == d->arg_count;
    for (uint32_t i = 0; alike && i < d->arg_count; i++) {
        const sc_evalue *a = d->args[i], *b = in->call.args[i];
        alike = sc_rt_is_declared(&d->declared[i], b);
        if (!alike || a->tag != SC_EVALUE_TENSOR) continue;
        alike = memcmp(a->tensor->sizes, b->tensor->sizes,
                       a->tensor->rank * sizeof *a->tensor->sizes) == 0 &&
                a->tensor->is_dynamic == b->tensor->is_dynamic;
    }
    return alike ? SC_OK : sc_rt_delegate_fail(ctx, m, d, "in two ways that do not match");
}

// Outputs are written, so an output must contain a tensor or a number.
static sc_status check_outputs(sc_ctx *ctx, const sc_rt_method *m, const sc_rt_delegate *d) {
    for (uint32_t i = 0; i < d->arg_count; i++) {
        const uint8_t tag = d->args[i]->tag;
        bool is_number = tag == SC_EVALUE_INT || tag == SC_EVALUE_DOUBLE || tag == SC_EVALUE_BOOL;
        if (tag == SC_EVALUE_TENSOR || is_number) continue;
        return sc_rt_delegate_fail(ctx, m, d,
                                   "with an argument that is neither a tensor nor a number");
    }
    return SC_OK;
}

sc_status sc_rt_delegate_bind(sc_ctx *ctx, sc_rt_method *m, uint32_t index, uint32_t known_count,
                              sc_rt_instruction *in) {
    sc_rt_delegate *d = &m->delegates[index];
    const bool is_first = !d->is_started;
    if (is_first) SC_TRY(start_called(ctx, m, index, known_count, in));
    SC_TRY(is_first ? check_outputs(ctx, m, d) : check_like(ctx, m, d, in));
    in->delegate = d;
    in->inputs = d->input_count;
    return SC_OK;
}

void sc_rt_delegates_free(sc_rt_method *m) {
    for (uint32_t i = 0; i < m->delegate_count; i++) {
        sc_rt_delegate *d = &m->delegates[i];
        if (d->is_started) d->backend->destroy(d->state);
        d->is_started = false;
    }
}
