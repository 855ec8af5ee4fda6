// Delegates: starting what backends made, and calling it. A delegate is started when the first
// instruction that calls it has been read, because only its backend knows how many of a call's
// arguments are inputs.
#include <stdlib.h>

#include "rt/operands.h"

static sc_status fail(sc_ctx *ctx, const sc_rt_method *m, const sc_rt_delegate *d,
                      const char *what) {
    return sc_fail(ctx, SC_ERR_CORRUPT, NULL,
                   "method '" SC_STR_FMT "' calls a delegate of the backend '" SC_STR_FMT "' %s",
                   SC_STR_ARG(m->name), SC_STR_ARG(d->id), what);
}

static sc_rt_declared declared_of(const sc_evalue *value) {
    sc_rt_declared out = {.tag = value->tag};
    if (value->tag != SC_EVALUE_TENSOR) return out;
    out.dtype = value->tensor->dtype;
    out.rank = value->tensor->rank;
    memcpy(out.dim_order, value->tensor->dim_order, out.rank);
    return out;
}

static bool is_like(const sc_rt_declared *declared, const sc_evalue *value) {
    const sc_rt_declared found = declared_of(value);
    return memcmp(declared, &found, sizeof found) == 0;
}

// --- Starting ------------------------------------------------------------------------------------

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
                           "method '" SC_STR_FMT "' has a delegate of no backend",
                           SC_STR_ARG(m->name));
        d->backend = find_backend(m->program, d->id);
        if (!d->backend)
            return sc_fail(ctx, SC_ERR_DELEGATE,
                           "Register the backend first, with registerBackend() or --import FILE "
                           "on the command line, or lower the model again without it.",
                           "method '" SC_STR_FMT "' hands parts to the backend '" SC_STR_FMT
                           "', which this build does not have",
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
    if (index >= all.count) return fail(ctx, m, d, "whose data does not exist");
    sc_fb_vec bytes = sc_pte_BackendDelegateInlineData_data(sc_fb_vec_table(all, index));
    start->processed = bytes.items;
    start->processed_bytes = bytes.count;
    return SC_OK;
}

// `owned` is what has to be freed when the delegate has started.
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
    if (!reference.at) return fail(ctx, m, d, "that has no data");
    const uint32_t index = sc_pte_BackendDelegateDataReference_index(reference);
    switch (sc_pte_BackendDelegateDataReference_location(reference)) {
    case SC_PTE_DataLocation_INLINE: return find_inline(ctx, m, d, index, start);
    case SC_PTE_DataLocation_SEGMENT: return find_segment(ctx, m, index, start, owned);
    default: return fail(ctx, m, d, "whose data lies in an unknown place");
    }
}

uint32_t sc_rt_part_count(const sc_rt_program *p, uint32_t index) {
    return sc_pte_ExecutionPlan_delegates(sc_rt_plan(p, index)).count;
}

// A part of a method that may not be loaded.
typedef struct part_bytes {
    const sc_rt_backend *backend;  // NULL when there is none
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
    // As much of a method and of a delegate as finding the bytes takes.
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
        if (!specs[i].key.data) return fail(ctx, m, d, "with a compile spec that has no key");
    }
    start->specs = specs;
    start->spec_count = list.count;
    return SC_OK;
}

static sc_status start_delegate(sc_ctx *ctx, sc_rt_method *m, sc_rt_delegate *d, sc_fb_table table,
                                uint8_t **owned) {
    sc_rt_start start = {.backend = d->backend,
                         .id = d->id,
                         .method = m->name,
                         .named = sc_rt_named_of(m->program),
                         .args = d->args,
                         .arg_count = d->arg_count,
                         .shared = shared_of(m->program, d->backend)};
    SC_TRY(find_processed(ctx, m, d, sc_pte_BackendDelegate_processed(table), &start, owned));
    SC_TRY(read_specs(ctx, m, d, sc_pte_BackendDelegate_compile_specs(table), &start));
    SC_TRY(d->backend->init(ctx, &start, &d->state, &d->input_count));
    d->is_started = true;
    if (d->input_count > d->arg_count) return fail(ctx, m, d, "with too few arguments");
    return SC_OK;
}

static sc_status start_called(sc_ctx *ctx, sc_rt_method *m, uint32_t index,
                              const sc_rt_instruction *in) {
    sc_rt_delegate *d = &m->delegates[index];
    sc_fb_vec delegates = sc_pte_ExecutionPlan_delegates(m->plan);
    sc_mark mark = sc_arena_mark(ctx->scratch);
    uint8_t *owned = NULL;
    d->args = in->call.args;
    d->arg_count = in->call.arg_count;
    d->declared = sc_new_array(&m->program->arena, sc_rt_declared, (size_t)d->arg_count + 1);
    for (uint32_t i = 0; i < d->arg_count; i++) d->declared[i] = declared_of(d->args[i]);
    sc_status status = start_delegate(ctx, m, d, sc_fb_vec_table(delegates, index), &owned);
    sc_free(owned);
    sc_arena_rewind(ctx->scratch, mark);
    return status;
}

// --- Calls ---------------------------------------------------------------------------------------

// Another call of a delegate that was started for the first.
static sc_status check_like(sc_ctx *ctx, const sc_rt_method *m, const sc_rt_delegate *d,
                            const sc_rt_instruction *in) {
    bool alike = in->call.arg_count == d->arg_count;
    for (uint32_t i = 0; alike && i < d->arg_count; i++) {
        const sc_evalue *a = d->args[i], *b = in->call.args[i];
        alike = is_like(&d->declared[i], b);
        if (!alike || a->tag != SC_EVALUE_TENSOR) continue;
        alike = memcmp(a->tensor->sizes, b->tensor->sizes,
                       a->tensor->rank * sizeof *a->tensor->sizes) == 0 &&
                a->tensor->is_dynamic == b->tensor->is_dynamic;
    }
    return alike ? SC_OK : fail(ctx, m, d, "in two ways that differ");
}

// Outputs are written, so only what holds a tensor or a number can be one.
static sc_status check_outputs(sc_ctx *ctx, const sc_rt_method *m, const sc_rt_delegate *d) {
    for (uint32_t i = 0; i < d->arg_count; i++) {
        const uint8_t tag = d->args[i]->tag;
        bool is_number = tag == SC_EVALUE_INT || tag == SC_EVALUE_DOUBLE || tag == SC_EVALUE_BOOL;
        if (tag == SC_EVALUE_TENSOR || is_number) continue;
        return fail(ctx, m, d, "with an argument that is neither a tensor nor a number");
    }
    return SC_OK;
}

sc_status sc_rt_delegate_bind(sc_ctx *ctx, sc_rt_method *m, uint32_t index, sc_rt_instruction *in) {
    sc_rt_delegate *d = &m->delegates[index];
    const bool is_first = !d->is_started;
    if (is_first) SC_TRY(start_called(ctx, m, index, in));
    SC_TRY(is_first ? check_outputs(ctx, m, d) : check_like(ctx, m, d, in));
    in->delegate = d;
    in->inputs = d->input_count;
    return SC_OK;
}

// The bytes of an operand: of a tensor with elements those, of anything else the value itself.
typedef struct held_bytes {
    uintptr_t begin, end;
    bool is_output;
} held_bytes;

static held_bytes held_by(const sc_evalue *value, bool is_output) {
    const uint64_t bytes = value->tag == SC_EVALUE_TENSOR ? sc_rt_tensor_bytes(value->tensor) : 0;
    const uintptr_t begin = (uintptr_t)(bytes ? value->tensor->data : (const void *)value);
    return (held_bytes){begin, begin + (size_t)(bytes ? bytes : sizeof *value), is_output};
}

static int compare_begins(const void *a, const void *b) {
    const uintptr_t x = ((const held_bytes *)a)->begin, y = ((const held_bytes *)b)->begin;
    return x < y ? -1 : x > y;
}

sc_status sc_rt_delegate_check(sc_ctx *ctx, const sc_rt_method *m, const sc_rt_instruction *in) {
    const sc_kernel_call *call = &in->call;
    sc_mark mark = sc_arena_mark(ctx->scratch);
    held_bytes *held = sc_new_array(ctx->scratch, held_bytes, (size_t)call->arg_count + 1);
    uintptr_t outputs_end = 0, all_end = 0;
    bool is_apart = true;
    for (uint32_t i = 0; i < call->arg_count; i++) {
        const sc_evalue *value = call->args[i];
        held[i] = held_by(value, i >= in->inputs);
        if (i >= in->inputs && value->tag == SC_EVALUE_TENSOR && value->tensor->is_constant)
            return fail(ctx, m, in->delegate, "that would write to a constant");
    }
    // In order of memory, an output begins behind everything before it, all else behind outputs.
    qsort(held, call->arg_count, sizeof *held, compare_begins);
    for (uint32_t i = 0; i < call->arg_count; i++) {
        is_apart &= held[i].begin >= (held[i].is_output ? all_end : outputs_end);
        if (held[i].is_output && held[i].end > outputs_end) outputs_end = held[i].end;
        if (held[i].end > all_end) all_end = held[i].end;
    }
    sc_arena_rewind(ctx->scratch, mark);
    return is_apart ? SC_OK : fail(ctx, m, in->delegate, "that would write over its own operands");
}

sc_status sc_rt_delegate_run(sc_ctx *ctx, const sc_rt_method *m, const sc_rt_instruction *in) {
    const sc_rt_delegate *d = in->delegate;
    for (uint32_t i = 0; i < d->arg_count; i++) {
        const sc_evalue *arg = in->call.args[i];
        if (!is_like(&d->declared[i], arg))
            return fail(ctx, m, d, "with values of other kinds than those it was started with");
        if (arg->tag == SC_EVALUE_TENSOR && !arg->tensor->data)
            return fail(ctx, m, d, "with a tensor whose memory is gone");
    }
    // Calls whose tensors are moved and freed have been checked with other memory than they have
    // now.
    if (in->is_dynamic) SC_TRY(sc_rt_delegate_check(ctx, m, in));
    sc_rt_sink *sink = m->program->sink;
    const sc_rt_hearing hearing = {sink, m, in};
    sc_rt_delegate_call call = {in->call.args, d->input_count, d->arg_count,
                                sink ? &hearing : NULL};
    sc_mark mark = sc_arena_mark(ctx->scratch);
    sc_status status = d->backend->execute(ctx, d->state, &call);
    sc_arena_rewind(ctx->scratch, mark);
    return status;
}

sc_status sc_rt_output_resize(sc_ctx *ctx, sc_tensor *output, const int64_t *sizes, uint32_t rank) {
    bool same = rank == output->rank;
    for (uint32_t d = 0; same && d < rank; d++) same = sizes[d] == output->sizes[d];
    if (same) return SC_OK;
    if (rank != output->rank || !output->is_dynamic)
        return sc_fail(ctx, SC_ERR_SHAPE, NULL,
                       "a delegate gives a result of other sizes than the method declares");
    return sc_rt_tensor_resize(ctx, output, sizes, rank);
}

void sc_rt_output_write(sc_tensor *output, const void *row_major) {
    sc_rt_tensor_write(output, output->data, row_major);
}

sc_status sc_rt_delegates_reset(sc_ctx *ctx, sc_rt_method *m) {
    for (uint32_t i = 0; i < m->delegate_count; i++) {
        const sc_rt_delegate *d = &m->delegates[i];
        if (d->is_started && d->backend->reset) SC_TRY(d->backend->reset(ctx, d->state));
    }
    return SC_OK;
}

void sc_rt_delegates_free(sc_rt_method *m) {
    for (uint32_t i = 0; i < m->delegate_count; i++) {
        sc_rt_delegate *d = &m->delegates[i];
        if (d->is_started) d->backend->destroy(d->state);
        d->is_started = false;
    }
}
