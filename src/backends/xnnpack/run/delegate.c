// An XNNPACK delegate from its start to its end: reading, finding constants, deriving sizes, calls.
#include "backends/xnnpack/run/delegate.h"

#include "base/hash.h"
#include "base/strides.h"

enum { STEPS_MAX = 1 << 16 };

// --- Failures ------------------------------------------------------------------------------------

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

static sc_status bad_argument(const sc_xnn_delegate *d, uint32_t argument, const char *what) {
    return sc_fail(d->ctx, SC_ERR_DELEGATE, NULL,
                   "argument %u of an XNNPACK delegate of method '" SC_STR_FMT "' %s", argument,
                   SC_STR_ARG(d->method), what);
}

static sc_status no_memory(sc_ctx *ctx) {
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

sc_status sc_xnn_pack(sc_xnn_delegate *d, sc_xnn_step *s, const sc_variant *variant) {
    uint64_t bytes = sc_variant_pack_bytes(variant, &s->record);
    void *data;
    SC_TRY(sc_xnn_own(d, bytes, &data));
    variant->algorithm->pack(&s->record, data);
    s->packed_for = variant;
    // By content: equal weights with other scales, or of another kind of node, are not the same.
    uint64_t hash = sc_hash64(data, (size_t)bytes);
    for (sc_xnn_packing *p = d->shared->packings; p; p = p->next) {
        if (!is_equal(p, variant, data, bytes, hash)) continue;
        sc_xnn_disown(d);
        p->users++;
        s->packing = p;
        return SC_OK;
    }
    sc_xnn_packing *p = sc_try_alloc(sizeof *p);
    if (!p) return no_memory(d->ctx);
    *p = (sc_xnn_packing){d->shared->packings, variant, data, bytes, hash, 1};
    d->owned_count--;
    d->shared->packings = p;
    s->packing = p;
    return SC_OK;
}

static void unpack(sc_xnn_shared *shared, sc_xnn_packing *packing) {
    if (--packing->users) return;
    sc_xnn_packing **at = &shared->packings;
    while (*at != packing) at = &(*at)->next;
    *at = packing->next;
    sc_free(packing->data);
    sc_free(packing);
}

// --- Constants -----------------------------------------------------------------------------------

// Bytes that the payload holds itself lie anywhere in it.
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
    if (size >= constant->size) return SC_OK;
    return sc_fail(d->ctx, SC_ERR_CORRUPT, NULL,
                   "the data '" SC_STR_FMT
                   "' has %llu bytes, but an XNNPACK delegate of method '" SC_STR_FMT
                   "' takes %llu from it",
                   SC_STR_ARG(constant->key), (unsigned long long)size, SC_STR_ARG(d->method),
                   (unsigned long long)constant->size);
}

static void let_go(const sc_xnn_delegate *d, sc_xnn_constant *constant) {
    if (!constant->key.data || !constant->data) return;
    d->named.release(d->named.user, constant->key);
    constant->data = NULL;
}

void sc_xnn_forget(sc_xnn_delegate *d, uint32_t index) {
    if (!d->constant_uses[index]) let_go(d, &d->graph->constants.data[index]);
}

// Scales are asked for while a graph is checked.
static sc_status find_scales(sc_xnn_delegate *d) {
    for (uint32_t v = 0; v < d->graph->values.count; v++) {
        uint32_t scales = d->graph->values.data[v].quant.scales;
        if (scales) SC_TRY(sc_xnn_find(d, scales));
    }
    return SC_OK;
}

static sc_status find_used(sc_xnn_delegate *d) {
    for (uint32_t i = 1; i < d->graph->constants.count; i++)
        if (d->constant_uses[i]) SC_TRY(sc_xnn_find(d, i));
    for (uint32_t v = 0; v < d->graph->values.count; v++) {
        uint32_t constant = d->graph->values.data[v].constant;
        if (constant && d->constant_uses[constant])
            d->operands[v].tensor.data = (void *)(uintptr_t)d->graph->constants.data[constant].data;
    }
    return SC_OK;
}

// --- Sizes ---------------------------------------------------------------------------------------

static void set_sizes(sc_xnn_operand *o, const sc_xnn_shape *shape) {
    o->tensor.rank = (uint8_t)shape->rank;
    o->tensor.numel = 1;
    for (uint32_t i = 0; i < shape->rank; i++) {
        o->sizes[i] = shape->dims[i];
        o->tensor.numel *= shape->dims[i];
    }
    (void)sc_strides_of(o->sizes, shape->rank, NULL, o->strides);
    o->rows = 0;
    if (!sc_xnn_is(o, SC_XNN_QDINT8)) return;
    o->rows = 1;
    for (uint32_t i = 0; i + o->value->quant.nonbatch_dims < shape->rank; i++)
        o->rows *= shape->dims[i];
}

// From the sizes of the inputs to a place for every value, and to steps that know their sizes.
static sc_status settle(sc_xnn_delegate *d) {
    SC_TRY(sc_xnn_infer(d->ctx, d->graph, d->shapes));
    for (uint32_t v = 0; v < d->graph->values.count; v++) set_sizes(&d->operands[v], &d->shapes[v]);
    for (uint32_t i = 0; i < d->graph->nodes.count; i++) {
        sc_xnn_step *s = &d->steps[i];
        s->scratch_bytes = 0;
        if (s->runner->prepare) SC_TRY(s->runner->prepare(d, s));
    }
    return sc_xnn_place(d);
}

// --- Starting ------------------------------------------------------------------------------------

static sc_status make_operand(sc_xnn_delegate *d, uint32_t value) {
    sc_xnn_operand *o = &d->operands[value];
    o->value = &d->graph->values.data[value];
    o->tensor.sizes = o->sizes;
    o->tensor.strides = o->strides;
    o->tensor.dim_order = o->dim_order;
    for (uint8_t i = 0; i < SC_XNN_RANK_MAX; i++) o->dim_order[i] = i;
    o->tensor.dtype = sc_xnn_datatypes[o->value->datatype].dtype;
    // Weights of 4 bits: nothing reads them as a tensor.
    if (o->tensor.dtype == SC_DTYPE_NONE) o->tensor.dtype = SC_DTYPE_U8;
    o->tensor.is_constant = o->value->constant != 0;
    d->shapes[value] = o->value->shape;
    if (!o->value->flags) return SC_OK;
    d->arguments[o->value->external_id] = value;
    if (o->value->flags == SC_XNN_EXTERNAL_INPUT)
        d->input_count = sc_max_u32(d->input_count, o->value->external_id + 1);
    return SC_OK;
}

static sc_status make_step(sc_xnn_delegate *d, uint32_t index) {
    sc_xnn_step *s = &d->steps[index];
    const sc_xnn_kind_row *row;
    s->index = index;
    s->node = &d->graph->nodes.data[index];
    s->runner = sc_xnn_runner_of(s->node->kind);
    row = &sc_xnn_kinds[s->node->kind];
    for (uint32_t i = 0; i < row->inputs; i++)
        if (s->node->inputs[i] != SC_XNN_NONE) {
            s->in[i] = &d->operands[s->node->inputs[i]];
            s->in[i]->users++;
        }
    for (uint32_t i = 0; i < row->outputs; i++) s->out[i] = &d->operands[s->node->outputs[i]];
    if (s->node->kind == SC_XNN_ARGMAX_POOL) s->out[1]->is_position = true;
    return s->runner ? SC_OK : sc_xnn_not_executed(d, s);
}

// Constants that a step reads as they are, which is all but what a product packs or copies.
static void note_uses(sc_xnn_delegate *d, const sc_xnn_step *s) {
    const bool is_product = s->runner == &sc_xnn_run_product;
    for (uint32_t i = 0; i < SC_XNN_INPUTS_MAX; i++) {
        if (!s->in[i] || !s->in[i]->value->constant) continue;
        if (is_product && i > 0) continue;
        d->constant_uses[s->in[i]->value->constant] = true;
    }
}

static sc_status check_argument(const sc_xnn_delegate *d, uint32_t index, const sc_evalue *arg) {
    if (d->arguments[index] == SC_XNN_NONE) return SC_OK;
    const sc_xnn_operand *o = &d->operands[d->arguments[index]];
    if (arg->tag != SC_EVALUE_TENSOR) return bad_argument(d, index, "is not a tensor");
    if (arg->tensor->rank > SC_XNN_RANK_MAX)
        return bad_argument(d, index, "has more than 6 dimensions");
    if (sc_xnn_is(o, SC_XNN_QDINT8))
        return bad_argument(d, index,
                            "is quantized when it is run, which only values between "
                            "nodes can be");
    // Positions of maxima are counted in 32 bits; programs have them in 64.
    bool fits = o->is_position
                    ? arg->tensor->dtype == SC_DTYPE_I64 || arg->tensor->dtype == SC_DTYPE_I32
                    : arg->tensor->dtype == o->tensor.dtype;
    if (!fits) return bad_argument(d, index, "has another dtype than the payload gives it");
    return SC_OK;
}

static sc_status make_parts(sc_xnn_delegate *d, const sc_rt_start *start) {
    const sc_xnn_graph *g = d->graph;
    if (g->nodes.count > STEPS_MAX)
        return sc_fail(d->ctx, SC_ERR_LIMIT, NULL,
                       "an XNNPACK delegate of method '" SC_STR_FMT "' has %u nodes; the most that "
                       "are executed is %d",
                       SC_STR_ARG(d->method), g->nodes.count, (int)STEPS_MAX);
    if (g->external_count > start->arg_count)
        return sc_fail(d->ctx, SC_ERR_DELEGATE, NULL,
                       "an XNNPACK delegate takes %u arguments, but method '" SC_STR_FMT
                       "' calls it with %u",
                       g->external_count, SC_STR_ARG(d->method), start->arg_count);
    d->shapes = sc_new_array(&d->arena, sc_xnn_shape, (size_t)g->values.count + 1);
    d->operands = sc_new_array(&d->arena, sc_xnn_operand, (size_t)g->values.count + 1);
    d->steps = sc_new_array(&d->arena, sc_xnn_step, (size_t)g->nodes.count + 1);
    d->arguments = sc_new_array(&d->arena, uint32_t, (size_t)g->external_count + 1);
    d->constant_uses = sc_new_array(&d->arena, uint8_t, (size_t)g->constants.count + 1);
    memset(d->arguments, 0xff, (size_t)g->external_count * sizeof *d->arguments);
    for (uint32_t v = 0; v < g->values.count; v++) SC_TRY(make_operand(d, v));
    for (uint32_t i = 0; i < g->nodes.count; i++) SC_TRY(make_step(d, i));
    for (uint32_t i = 0; i < g->external_count; i++) SC_TRY(check_argument(d, i, start->args[i]));
    for (uint32_t i = 0; i < g->external_count; i++) {
        if (d->arguments[i] == SC_XNN_NONE || i >= d->input_count) continue;
        if (d->operands[d->arguments[i]].value->flags != SC_XNN_EXTERNAL_INPUT)
            return bad_argument(d, i, "is an output that comes before an input");
    }
    return SC_OK;
}

static sc_status load(sc_xnn_delegate *d, const sc_rt_start *start) {
    void *payload;
    SC_TRY(sc_xnn_own(d, start->processed_bytes, &payload));
    memcpy(payload, start->processed, (size_t)start->processed_bytes);
    SC_TRY(sc_xnn_read(d->ctx, &d->arena, payload, start->processed_bytes, &d->graph));
    SC_TRY(make_parts(d, start));
    SC_TRY(find_scales(d));
    SC_TRY(sc_xnn_check(d->ctx, d->graph, SC_XNN_RUNTIME_LATEST));
    for (uint32_t v = 0; v < d->graph->values.count; v++) set_sizes(&d->operands[v], &d->shapes[v]);
    // Weights are found one after the other, and go as soon as they are packed.
    for (uint32_t i = 0; i < d->graph->nodes.count; i++) {
        note_uses(d, &d->steps[i]);
        if (d->steps[i].runner->load) SC_TRY(d->steps[i].runner->load(d, &d->steps[i]));
    }
    SC_TRY(find_used(d));
    for (uint32_t i = 1; i < d->graph->constants.count; i++) sc_xnn_forget(d, i);
    return settle(d);
}

static void destroy(void *state) {
    sc_xnn_delegate *d = state;
    for (uint32_t i = 0; d->steps && i < d->graph->nodes.count; i++)
        if (d->steps[i].packing) unpack(d->shared, d->steps[i].packing);
    for (uint32_t i = 1; d->graph && i < d->graph->constants.count; i++)
        let_go(d, &d->graph->constants.data[i]);
    while (d->owned_count) sc_xnn_disown(d);
    sc_arena_deinit(&d->arena);
    sc_free(d);
}

static sc_status init(sc_ctx *ctx, const sc_rt_start *start, void **state, uint32_t *input_count) {
    if (!*start->shared) {
        sc_xnn_shared *shared = *start->shared = sc_try_alloc(sizeof(sc_xnn_shared));
        if (!shared) return no_memory(ctx);
        *shared = (sc_xnn_shared){0};
    }
    sc_xnn_delegate *d = sc_try_alloc(sizeof *d);
    if (!d) return no_memory(ctx);
    *d = (sc_xnn_delegate){
        .ctx = ctx, .method = start->method, .named = start->named, .shared = *start->shared};
    sc_arena_init(&d->arena);
    sc_status status = load(d, start);
    if (status != SC_OK) {
        destroy(d);
        return status;
    }
    *state = d;
    *input_count = d->input_count;
    return SC_OK;
}

static void release(void *state) {
    sc_xnn_shared *shared = state;
    while (shared->packings) {
        shared->packings->users = 1;
        unpack(shared, shared->packings);
    }
    sc_free(shared->workspace);
    sc_free(shared);
}

// --- Calls ---------------------------------------------------------------------------------------

// Sizes as they lie in memory: a tensor in another dim order is row-major in those.
static bool shape_of(const sc_xnn_operand *o, const sc_tensor *t, sc_xnn_shape *shape) {
    uint64_t bytes;
    shape->rank = t->rank;
    for (uint32_t i = 0; i < t->rank; i++) {
        int64_t size = t->sizes[t->dim_order[i]];
        if (size > UINT32_MAX) return false;
        shape->dims[i] = (uint32_t)size;
    }
    if (t->rank == 0) *shape = (sc_xnn_shape){1, {1}};
    return sc_xnn_bytes(o->value->datatype, shape, &bytes);
}

static sc_status take_sizes(sc_xnn_delegate *d, const sc_rt_delegate_call *call, bool *changes) {
    for (uint32_t i = 0; i < d->input_count; i++) {
        uint32_t value = d->arguments[i];
        if (value == SC_XNN_NONE) continue;
        sc_tensor *t = call->args[i]->tensor;
        sc_xnn_shape shape;
        if (!shape_of(&d->operands[value], t, &shape))
            return bad_argument(d, i, "is larger than any XNNPACK tensor");
        d->operands[value].tensor.data = t->data;
        if (sc_xnn_shape_is(&shape, &d->shapes[value])) continue;
        d->shapes[value] = shape;
        *changes = true;
    }
    return SC_OK;
}

static sc_status take_inputs(sc_xnn_delegate *d, const sc_rt_delegate_call *call) {
    bool changes = false;
    sc_status status = take_sizes(d, call, &changes);
    if (status == SC_OK && changes) status = settle(d);
    // What is half taken or half settled is settled anew by the next call.
    for (uint32_t i = 0; status != SC_OK && i < d->input_count; i++)
        if (d->arguments[i] != SC_XNN_NONE) d->shapes[d->arguments[i]].rank = 0;
    return status;
}

static sc_status give_output(sc_xnn_delegate *d, uint32_t index, sc_tensor *t) {
    sc_xnn_operand *o = &d->operands[d->arguments[index]];
    int64_t sizes[SC_XNN_RANK_MAX];
    o->tensor.data = t->data;
    if (t->rank == 0) return o->tensor.numel == 1 ? SC_OK : bad_argument(d, index, "is one number");
    if (t->rank != o->tensor.rank)
        return bad_argument(d, index, "has another number of dimensions than the result");
    for (uint32_t i = 0; i < t->rank; i++) sizes[t->dim_order[i]] = o->sizes[i];
    return sc_rt_output_resize(d->ctx, t, sizes, t->rank);
}

static sc_status give_outputs(sc_xnn_delegate *d, const sc_rt_delegate_call *call) {
    for (uint32_t i = d->input_count; i < d->graph->external_count; i++)
        if (d->arguments[i] != SC_XNN_NONE) SC_TRY(give_output(d, i, call->args[i]->tensor));
    return SC_OK;
}

// Results of 32 bits where the program has 64, from the last one on.
static void widen_outputs(const sc_xnn_delegate *d, const sc_rt_delegate_call *call) {
    for (uint32_t i = d->input_count; i < d->graph->external_count; i++) {
        if (d->arguments[i] == SC_XNN_NONE) continue;
        const sc_tensor *t = call->args[i]->tensor;
        if (!d->operands[d->arguments[i]].is_position || t->dtype != SC_DTYPE_I64) continue;
        char *bytes = t->data;
        for (int64_t k = t->numel; k-- > 0;) {
            int32_t narrow;
            memcpy(&narrow, bytes + k * 4, sizeof narrow);
            int64_t wide = narrow;
            memcpy(bytes + k * 8, &wide, sizeof wide);
        }
    }
}

static sc_status execute(sc_ctx *ctx, void *state, const sc_rt_delegate_call *call) {
    sc_xnn_delegate *d = state;
    d->ctx = ctx;
    SC_TRY(take_inputs(d, call));
    SC_TRY(give_outputs(d, call));
    sc_xnn_point(d);
    SC_TRY(sc_xnn_run_steps(d, call->hearing));
    widen_outputs(d, call);
    return SC_OK;
}

static sc_status print(sc_ctx *ctx, const uint8_t *processed, uint64_t size, sc_sb *out) {
    sc_xnn_graph *graph = NULL;
    sc_arena arena;
    sc_arena_init(&arena);
    sc_status status = sc_xnn_read(ctx, &arena, processed, size, &graph);
    if (status == SC_OK) sc_xnn_print(out, graph);
    sc_arena_deinit(&arena);
    return status;
}

static sc_status keys(sc_ctx *ctx, sc_arena *arena, const uint8_t *processed, uint64_t size,
                      sc_rt_keys *out) {
    sc_xnn_graph *graph = NULL;
    sc_arena own;
    sc_arena_init(&own);
    sc_status status = sc_xnn_read(ctx, &own, processed, size, &graph);
    for (uint32_t i = 1; status == SC_OK && i < graph->constants.count; i++) {
        const sc_str key = graph->constants.data[i].key;
        if (key.data) sc_vec_push(arena, out, sc_str_copy(arena, key));
    }
    sc_arena_deinit(&own);
    return status;
}

const sc_rt_backend sc_rt_backend_xnnpack = {.init = init,
                                             .execute = execute,
                                             .destroy = destroy,
                                             .release = release,
                                             .print = print,
                                             .keys = keys};
