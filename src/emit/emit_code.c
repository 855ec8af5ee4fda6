// Nodes to instructions. A kernel call holds the functional arguments that the out form keeps, then
// the results as out arguments, then the return slot: the out again, or the list of all outs. None
// of that is in the graph; it follows from the operator's row.
#include "emit/emit_state.h"

#include "program_fbs.h"

#define OPERATOR_NAME_MAX 99   // runtimes look operators up through a buffer of 100 characters
#define SHARED_VECTOR_MAX 256  // bytes; longer vectors are hardly ever equal

// Finds what was written under a key of kind and content, or makes room for it.
static void **shared_slot(sc_emit_state *state, char kind, const void *bytes, size_t size) {
    char key[SHARED_VECTOR_MAX + 1];
    key[0] = kind;
    if (size) memcpy(key + 1, bytes, size);
    sc_str view = {key, size + 1};
    void **found = sc_map_find(&state->vectors, view);
    if (found) return found;
    view = sc_str_copy(state->arena, view);
    sc_map_add(&state->vectors, view, NULL);
    return sc_map_find(&state->vectors, view);
}

sc_fb_ref sc_emit_vector(sc_emit_state *state, const void *items, uint32_t count,
                         uint32_t item_bytes) {
    size_t size = (size_t)count * item_bytes;
    if (size > SHARED_VECTOR_MAX)
        return sc_fb_add_vector(&state->fb, items, count, item_bytes, item_bytes);
    void **slot = shared_slot(state, (char)item_bytes, items, size);
    if (!*slot)
        *slot =
            (void *)(uintptr_t)sc_fb_add_vector(&state->fb, items, count, item_bytes, item_bytes);
    return (sc_fb_ref)(uintptr_t)*slot;
}

sc_fb_ref sc_emit_string(sc_emit_state *state, sc_str text) {
    if (text.size > SHARED_VECTOR_MAX) return sc_fb_add_string(&state->fb, text);
    void **slot = shared_slot(state, 's', text.data, text.size);
    if (!*slot) *slot = (void *)(uintptr_t)sc_fb_add_string(&state->fb, text);
    return (sc_fb_ref)(uintptr_t)*slot;
}

// --- Instructions --------------------------------------------------------------------------------

// Once an operator and method. The program is worth having for the runtime that can run it.
static void warn_of_gaps(sc_ctx *ctx, const sc_op *op) {
    if (!sc_op_has(op, SC_RUNS))
        sc_report(ctx, SC_WARNING, SC_ERR_UNSUPPORTED_OP, "Run it with the official runtime.",
                  "this runtime has no kernel for %s", op->out_name);
    if (sc_op_has(op, SC_UNOFFICIAL))
        sc_report(ctx, SC_WARNING, SC_ERR_UNSUPPORTED_OP,
                  "Run it with Sconce, or rewrite this line with operators of core ATen.",
                  "the official runtime has no kernel for %s", op->out_name);
}

static sc_status operator_index(sc_emit_method *m, const sc_op *op, int32_t *out) {
    sc_str full = sc_str_from(op->out_name);
    uintptr_t known = (uintptr_t)sc_map_get(&m->operator_ids, full);
    if (known) {
        *out = (int32_t)known - 1;
        return SC_OK;
    }
    // The one runtime primitive that is registered with the overload spelled out.
    sc_str overload = op->id == SC_OP_executorch_prim_et_view ? SC_STR("default") : SC_STR("");
    ptrdiff_t dot = sc_str_find_last(full, '.');
    sc_str name = dot < 0 ? full : sc_str_slice(full, 0, (size_t)dot);
    if (dot >= 0) overload = sc_str_slice(full, (size_t)dot + 1, full.size);
    if (full.size > OPERATOR_NAME_MAX)
        return sc_fail(m->state->ctx, SC_ERR_UNSUPPORTED_OP, NULL,
                       "the name of the operator is too long for a .pte");
    sc_fb_builder *fb = &m->state->fb;
    sc_fb_ref name_ref = sc_emit_string(m->state, name);
    sc_fb_ref overload_ref = sc_emit_string(m->state, overload);
    sc_fb_begin(fb);
    sc_pte_Operator_set_name(fb, name_ref);
    sc_pte_Operator_set_overload(fb, overload_ref);
    sc_vec_push(m->state->arena, &m->operators, sc_fb_end_shared(fb));
    sc_map_add(&m->operator_ids, full, (void *)(uintptr_t)m->operators.count);
    *out = (int32_t)m->operators.count - 1;
    warn_of_gaps(m->state->ctx, op);
    return SC_OK;
}

static void append(sc_emit_method *m, sc_emit_instruction instruction) {
    sc_vec_push(m->state->arena, &m->code, instruction);
}

sc_status sc_emit_call(sc_emit_method *m, const sc_op *op, const int32_t *args, uint32_t count,
                       const sc_node *node) {
    sc_emit_instruction call = {SC_EMIT_KERNEL, 0, 0, m->args.count, count, node};
    SC_TRY(operator_index(m, op, &call.a));
    for (uint32_t i = 0; i < count; i++) sc_vec_push(m->state->arena, &m->args, args[i]);
    append(m, call);
    return SC_OK;
}

void sc_emit_move(sc_emit_method *m, int32_t from, int32_t to) {
    append(m, (sc_emit_instruction){SC_EMIT_MOVE, from, to, 0, 0, NULL});
}

uint32_t sc_emit_jump_false(sc_emit_method *m, int32_t condition) {
    append(m, (sc_emit_instruction){SC_EMIT_JUMP_FALSE, condition, 0, 0, 0, NULL});
    return m->code.count - 1;
}

void sc_emit_jump_back(sc_emit_method *m, int32_t condition, uint32_t destination) {
    append(m,
           (sc_emit_instruction){SC_EMIT_JUMP_FALSE, condition, (int32_t)destination, 0, 0, NULL});
}

void sc_emit_land(sc_emit_method *m, uint32_t jump) {
    m->code.data[jump].b = (int32_t)m->code.count;
}

// --- Nodes ---------------------------------------------------------------------------------------

typedef struct call_args {
    int32_t *ids;
    uint32_t count;
} call_args;

static sc_status emit_inputs(sc_emit_method *m, const sc_node *node, call_args *call) {
    const sc_schema *schema = node->op->schema;
    for (uint32_t i = 0; i < schema->param_count; i++) {
        if (!sc_op_out_keeps(node->op, i)) continue;
        SC_TRY(sc_emit_arg(m, &schema->params[i], &node->args[i], &call->ids[call->count]));
        call->count++;
    }
    return SC_OK;
}

static sc_status emit_outputs(sc_emit_method *m, const sc_node *node, call_args *call) {
    int32_t *outs = call->ids + call->count;
    for (uint32_t i = 0; i < node->out_count; i++) {
        if (node->outs[i]->type == SC_VALUE_NONE)
            return sc_fail(m->state->ctx, SC_ERR_UNSUPPORTED_OP, "Ask for all of its results.",
                           "%s without all of its results cannot be called", node->op->name);
        SC_TRY(sc_emit_value(m, node->outs[i], &outs[i]));
    }
    if (sc_op_has(node->op, SC_SYMBOLIC) || sc_op_has(node->op, SC_MUTATES)) {
        call->count += node->out_count;
        return SC_OK;
    }
    const sc_schema *schema = node->op->schema;
    bool is_list = schema->return_count == 1 && schema->returns[0].is_list;
    if (!is_list && sc_op_out_count(node->op) != node->out_count)
        return sc_fail(m->state->ctx, SC_ERR_INTERNAL, NULL, "%s has %u results, its row says %u",
                       node->op->name, node->out_count, sc_op_out_count(node->op));
    int32_t last = outs[0];
    if (is_list || node->out_count > 1)
        last = sc_emit_list(m, SC_PTE_KernelTypes_TensorList, outs, node->out_count);
    if (is_list) outs[0] = last;
    call->count += is_list ? 1 : node->out_count;
    call->ids[call->count++] = last;
    return SC_OK;
}

static sc_status emit_kernel(sc_emit_method *m, const sc_node *node) {
    sc_ctx *ctx = m->state->ctx;
    if (!node->op->out_name)
        return sc_fail(ctx, SC_ERR_UNSUPPORTED_OP, NULL, "no runtime has a kernel for %s",
                       node->op->name);
    sc_mark mark = sc_arena_mark(ctx->scratch);
    call_args call = {0};
    call.ids = sc_new_array(ctx->scratch, int32_t,
                            (size_t)node->op->schema->param_count + node->out_count + 1);
    sc_status status = emit_inputs(m, node, &call);
    if (status == SC_OK) status = emit_outputs(m, node, &call);
    if (status == SC_OK) status = sc_emit_call(m, node->op, call.ids, call.count, node);
    sc_arena_rewind(ctx->scratch, mark);
    return status;
}

// A view whose shape is known only at run time: points the result at the base's memory.
static sc_status emit_view(sc_emit_method *m, const sc_node *node) {
    int32_t size = sc_op_param_index(node->op, "size");
    if (size < 0)
        return sc_fail(m->state->ctx, SC_ERR_INTERNAL, NULL, "%s cannot be a view at run time",
                       node->op->name);
    int32_t ids[3];
    SC_TRY(sc_emit_value(m, node->args[0].value, &ids[0]));
    SC_TRY(sc_emit_arg(m, &node->op->schema->params[size], &node->args[size], &ids[1]));
    SC_TRY(sc_emit_value(m, node->outs[0], &ids[2]));
    return sc_emit_call(m, sc_op_get(SC_OP_executorch_prim_et_view), ids, 3, node);
}

static bool all_aliases(const sc_emit_method *m, const sc_node *node) {
    for (uint32_t i = 0; i < node->out_count; i++)
        if (sc_storage_of(m->storage, node->outs[i])->kind != SC_STORAGE_ALIAS) return false;
    return node->out_count > 0;
}

static bool all_known(const sc_node *node) {
    for (uint32_t i = 0; i < node->out_count; i++)
        if (!node->outs[i]->has_dim || !sc_dim_is_int(node->outs[i]->dim)) return false;
    return true;
}

static sc_status emit_node(sc_emit_method *m, const sc_node *node) {
    sc_where_set_node(m->state->ctx, node);
    if (sc_op_has(node->op, SC_ASSERTION)) return SC_OK;
    if (sc_op_has(node->op, SC_HIGHER_ORDER)) return sc_emit_control(m, node);
    if (sc_op_has(node->op, SC_SYMBOLIC) && all_known(node)) return SC_OK;
    if (all_aliases(m, node))
        return sc_spec_is_static(&node->outs[0]->spec) ? SC_OK : emit_view(m, node);
    return emit_kernel(m, node);
}

sc_status sc_emit_graph(sc_emit_method *m, const sc_graph *graph) {
    sc_ctx *ctx = m->state->ctx;
    if (++m->depth > ctx->limits.graph_depth_max)
        return sc_fail(ctx, SC_ERR_LIMIT, NULL, "control flow is nested deeper than %u",
                       ctx->limits.graph_depth_max);
    for (const sc_node *node = graph->first; node; node = node->next) SC_TRY(emit_node(m, node));
    m->depth--;
    return SC_OK;
}
