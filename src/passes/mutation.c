// Writes mutated buffers and inputs back: the graph computes their new values, and a copy_ at the
// end writes each into its place. Outputs that only represented a mutation disappear. Mutated user
// inputs stay outputs, before all others, as in the official exporter.
//
// Between the copies no node may read an old value. If an input that is written is also returned,
// or is the new value of another one, it is cloned before the first copy.
#include "ir/part.h"
#include "passes/passes.h"

typedef struct write_back {
    sc_ctx *ctx;
    sc_method *method;
    sc_graph *graph;
    sc_map inputs;  // target or input name -> sc_value
    SC_VEC(sc_arg) args;
    SC_VEC(sc_output_sig) sigs;
    uint32_t free_handle;  // 0: not read from the graph yet
} write_back;

enum { UNWRITTEN, WRITTEN };

// Buffers are found by their qualified name, user inputs by the name of the placeholder.
static void index_inputs(write_back *w) {
    sc_map_init(&w->inputs, w->ctx->scratch);
    for (uint32_t i = 0; i < w->graph->inputs.count; i++) {
        const sc_input_sig *sig = &w->method->inputs.data[i];
        sc_value *value = w->graph->inputs.data[i];
        value->mark = UNWRITTEN;
        sc_str key = sig->kind == SC_INPUT_USER ? sc_name_str(value->name) : sig->target;
        sc_map_add(&w->inputs, key, value);
    }
}

static sc_status find_target(write_back *w, const sc_output_sig *sig, sc_value **out) {
    *out = sc_map_get(&w->inputs, sig->target);
    if (*out && (*out)->type == SC_VALUE_TENSOR) return SC_OK;
    return sc_fail(w->ctx, SC_ERR_CORRUPT, NULL,
                   "output writes '" SC_STR_FMT "', which is not an input",
                   SC_STR_ARG(sig->target));
}

// Marks values that are written, to find reads of old values.
static sc_status mark_written(write_back *w, bool *any) {
    for (uint32_t i = 0; i < w->method->outputs.count; i++) {
        const sc_output_sig *sig = &w->method->outputs.data[i];
        const sc_arg *arg = &w->graph->ret->args[i];
        sc_value *target;
        if (!sc_output_is_mutation(sig->kind)) continue;
        *any = true;
        SC_TRY(find_target(w, sig, &target));
        if (arg->kind != SC_ARG_VALUE || arg->value->type != SC_VALUE_TENSOR)
            return sc_fail(w->ctx, SC_ERR_CORRUPT, NULL,
                           "'" SC_STR_FMT "' is written with something that is not a tensor",
                           SC_STR_ARG(sig->target));
        if (arg->value != target) target->mark = WRITTEN;
    }
    return SC_OK;
}

// The meta of a copy of an input: no node of the source stands for it.
static sc_meta meta_of_input(write_back *w) {
    if (!w->free_handle) w->free_handle = sc_method_free_handle(w->method);
    return (sc_meta){.debug_handle = w->free_handle++};
}

// The value of a part's graph that a call returns as its result number `index`.
static const sc_value *returned_by_part(const sc_part *part, uint32_t index) {
    const sc_method *method = part->method;
    for (uint32_t i = 0; i < method->outputs.count; i++) {
        if (method->outputs.data[i].kind != SC_OUTPUT_USER || index-- > 0) continue;
        const sc_arg *arg = &method->graph->ret->args[i];
        return arg->kind == SC_ARG_VALUE ? arg->value : NULL;
    }
    return NULL;
}

// The meta of the node that computed a value, also inside a delegate.
static sc_meta meta_of(write_back *w, const sc_value *value) {
    if (!value->node) return meta_of_input(w);
    const sc_part *part = sc_node_part(value->node);
    const sc_value *inner = part ? returned_by_part(part, value->index) : NULL;
    return inner && inner->node ? inner->node->meta : value->node->meta;
}

// An old value that is returned although its place is written: it is copied first.
static sc_status save_old_value(write_back *w, const sc_value *target, sc_arg *arg) {
    if (arg->kind != SC_ARG_VALUE || arg->value->node || arg->value->graph != w->graph)
        return SC_OK;
    if (arg->value->mark != WRITTEN || arg->value == target) return SC_OK;
    sc_node *clone;
    const sc_meta meta = meta_of_input(w);
    SC_TRY(sc_build(w->graph, NULL, sc_op_get(SC_OP_dim_order_ops__clone_dim_order), arg, 1, &meta,
                    &clone));
    sc_arg_set(arg, sc_arg_value(clone->outs[0]));
    return SC_OK;
}

static sc_status save_old_values(write_back *w) {
    for (uint32_t i = 0; i < w->method->outputs.count; i++) {
        const sc_output_sig *sig = &w->method->outputs.data[i];
        sc_value *target = NULL;
        if (sc_output_is_mutation(sig->kind)) SC_TRY(find_target(w, sig, &target));
        SC_TRY(save_old_value(w, target, &w->graph->ret->args[i]));
    }
    return SC_OK;
}

static sc_status write(write_back *w, sc_value *target, sc_value *value, sc_value **out) {
    *out = target;
    if (value == target) return SC_OK;
    sc_node *copy;
    sc_arg args[2] = {sc_arg_value(target), sc_arg_value(value)};
    const sc_meta meta = meta_of(w, value);
    SC_TRY(sc_build(w->graph, NULL, sc_op_get(SC_OP_copy_), args, 2, &meta, &copy));
    *out = copy->outs[0];
    return SC_OK;
}

static void keep_output(write_back *w, sc_arg arg, sc_output_sig sig) {
    sc_vec_push(w->ctx->scratch, &w->args, arg);
    sc_vec_push(w->ctx->scratch, &w->sigs, sig);
}

static sc_status write_all(write_back *w) {
    for (uint32_t i = 0; i < w->method->outputs.count; i++) {
        sc_output_sig sig = w->method->outputs.data[i];
        sc_value *target, *written;
        if (!sc_output_is_mutation(sig.kind)) continue;
        SC_TRY(find_target(w, &sig, &target));
        SC_TRY(write(w, target, w->graph->ret->args[i].value, &written));
        if (sig.kind == SC_OUTPUT_INPUT_MUTATION) keep_output(w, sc_arg_value(written), sig);
    }
    for (uint32_t i = 0; i < w->method->outputs.count; i++)
        if (!sc_output_is_mutation(w->method->outputs.data[i].kind))
            keep_output(w, w->graph->ret->args[i], w->method->outputs.data[i]);
    return SC_OK;
}

sc_status sc_pass_mutation(sc_ctx *ctx, sc_method *method) {
    sc_mark mark = sc_arena_mark(ctx->scratch);
    write_back w = {.ctx = ctx, .method = method, .graph = method->graph};
    bool any = false;
    index_inputs(&w);
    sc_status status = mark_written(&w, &any);
    if (status == SC_OK && any) status = save_old_values(&w);
    if (status == SC_OK && any) status = write_all(&w);
    if (status == SC_OK && any) {
        sc_graph_set_outputs(w.graph, w.args.data, w.args.count);
        for (uint32_t i = 0; i < w.sigs.count; i++) method->outputs.data[i] = w.sigs.data[i];
        method->outputs.count = w.sigs.count;
    }
    sc_arena_rewind(ctx->scratch, mark);
    return status;
}
