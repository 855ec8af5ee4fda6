// Facts for debuggers about a method that has been written: the node behind each instruction, and
// the nodes behind each call of a part.
#include "emit/emit_plan.h"

typedef struct lister {
    sc_emit_state *state;
    sc_emit_part_call *call;
    sc_imap producers;  // nodes that make results of the part
    SC_VEC(uint32_t) handles;
} lister;

static void add(lister *l, uint32_t handle) { sc_vec_push(l->state->arena, &l->handles, handle); }

// The recursion is as deep as bodies nest, which the importer has bounded.
static void add_nodes(lister *l, const sc_graph *graph) {
    for (const sc_node *node = graph->first; node; node = node->next) {
        for (uint32_t i = 0; i < node->arg_count; i++)
            if (node->args[i].kind == SC_ARG_GRAPH) add_nodes(l, node->args[i].graph);
        if (!sc_imap_find(&l->producers, SC_PTR_KEY(node))) add(l, node->meta.debug_handle);
    }
}

static const sc_node *producer_of(const sc_part *part, uint32_t output) {
    const sc_arg *result = &part->method->graph->ret->args[output];
    return result->kind == SC_ARG_VALUE ? result->value->node : NULL;
}

static bool is_result(const sc_part *part, uint32_t output) {
    return part->method->outputs.data[output].kind == SC_OUTPUT_USER;
}

static void find_producers(lister *l) {
    const sc_part *part = l->call->part;
    sc_imap_init(&l->producers, l->state->arena);
    for (uint32_t i = 0; i < part->method->outputs.count; i++)
        if (is_result(part, i) && producer_of(part, i))
            sc_imap_set(&l->producers, SC_PTR_KEY(producer_of(part, i)), 1);
}

// A result that no node makes has the call's own handle, so that the handles of the others keep
// their places.
static void add_results(lister *l, const sc_node *node) {
    const sc_part *part = l->call->part;
    for (uint32_t i = 0; i < part->method->outputs.count; i++) {
        const sc_node *producer = producer_of(part, i);
        if (is_result(part, i)) add(l, (producer ? producer : node)->meta.debug_handle);
    }
}

static void add_call(sc_emit_state *state, sc_emit_plan *plan, uint32_t instruction,
                     const sc_node *node) {
    sc_emit_part_call call = {
        .instruction = instruction, .part = sc_node_part(node), .output_count = node->out_count};
    lister l = {.state = state, .call = &call};
    find_producers(&l);
    add_nodes(&l, call.part->method->graph);
    add_results(&l, node);
    call.handles = l.handles.data;
    call.handle_count = l.handles.count;
    sc_vec_push(state->arena, &plan->part_calls, call);
}

sc_emit_plan sc_emit_describe(const sc_emit_method *m, const sc_name *name) {
    sc_arena *arena = m->state->arena;
    sc_emit_plan plan = {.name = name,
                         .is_constant = !m->storage,
                         .value_count = m->values.count,
                         .operator_count = m->operators.count,
                         .instruction_count = m->code.count};
    plan.debug_handles = sc_new_array(arena, uint32_t, m->code.count + 1);
    plan.nodes = sc_new_array(arena, const sc_node *, m->code.count + 1);
    for (uint32_t i = 0; i < m->code.count; i++) {
        const sc_emit_instruction *instruction = &m->code.data[i];
        plan.nodes[i] = instruction->node;
        plan.debug_handles[i] = instruction->served ? instruction->served->meta.debug_handle : 0;
        if (instruction->kind == SC_EMIT_DELEGATE) add_call(m->state, &plan, i, instruction->node);
    }
    return plan;
}
