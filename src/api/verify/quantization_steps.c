// Finds the results that depend on quantization. A value halfway between two steps may be rounded
// to either, and a backend may round once where the graph rounds twice. So each quantization on the
// way allows an error of one step. A step is the scale of the last dequantization, if it is a
// constant. The search goes through parts, too.
#include <math.h>

#include "api/verify/compare.h"
#include "ir/part.h"

typedef struct tracing {
    sc_ctx *ctx;
    sc_imap steps;  // value -> sc_quantization_steps *; values without quantization are absent
    sc_quantization_steps read;  // of the operands of a node
    bool reads_float, reads_byte;
} tracing;

static sc_quantization_steps worse(sc_quantization_steps a, sc_quantization_steps b) {
    return (sc_quantization_steps){sc_max_u32(a.times, b.times), fmax(a.step, b.step)};
}

static bool is_byte(const sc_value *value) {
    return value->type == SC_VALUE_TENSOR &&
           (value->spec.dtype == SC_DTYPE_I8 || value->spec.dtype == SC_DTYPE_U8);
}

static bool is_float(const sc_value *value) {
    return value->type == SC_VALUE_TENSOR && sc_dtype_is_float((sc_dtype)value->spec.dtype);
}

static sc_quantization_steps quantum_of(const tracing *t, const sc_value *value) {
    const uint64_t *found = sc_imap_find(&t->steps, SC_PTR_KEY(value));
    return found ? *(const sc_quantization_steps *)(uintptr_t)*found : (sc_quantization_steps){0};
}

static bool read_value(void *user, sc_arg *arg) {
    tracing *t = user;
    t->reads_float |= is_float(arg->value);
    t->reads_byte |= is_byte(arg->value);
    t->read = worse(t->read, quantum_of(t, arg->value));
    return true;
}

// The constant scale of a call, or 0.
static double scale_of(const sc_node *node) {
    const sc_schema *schema = sc_op_has(node->op, SC_FOREIGN) ? NULL : node->op->schema;
    for (uint32_t i = 0; schema && i < schema->param_count && i < node->arg_count; i++)
        if (sc_str_is(schema->params[i].name, "scale") && node->args[i].kind == SC_ARG_FLOAT)
            return fabs(node->args[i].f);
    return 0;
}

static void keep(tracing *t, const sc_value *value, sc_quantization_steps found) {
    if (!found.times) return;
    sc_quantization_steps *kept = sc_new(t->ctx->scratch, sc_quantization_steps);
    *kept = found;
    sc_imap_set(&t->steps, SC_PTR_KEY(value), SC_PTR_KEY(kept));
}

static void trace(tracing *t, const sc_graph *graph);

// The step of all results of a graph within a node; the node may give only some of them.
static sc_quantization_steps trace_inner(tracing *t, const sc_graph *graph) {
    sc_quantization_steps sum = {0};
    trace(t, graph);
    for (uint32_t i = 0; i < graph->ret->arg_count; i++)
        if (graph->ret->args[i].kind == SC_ARG_VALUE)
            sum = worse(sum, quantum_of(t, graph->ret->args[i].value));
    return sum;
}

// The inputs of a part have the steps of its call's arguments; its constants have no step.
static sc_quantization_steps trace_part(tracing *t, const sc_node *node, const sc_method *method) {
    const sc_arg *passed = &node->args[1];
    uint32_t given = 0;
    for (uint32_t i = 0; i < method->inputs.count; i++) {
        if (method->inputs.data[i].kind != SC_INPUT_USER || given >= passed->count) continue;
        const sc_arg *operand = &passed->items[given++];
        if (operand->kind == SC_ARG_VALUE)
            keep(t, method->graph->inputs.data[i], quantum_of(t, operand->value));
    }
    return trace_inner(t, method->graph);
}

// Operators differ in which operand becomes which input of a body, so all inputs depend on all
// operands.
static sc_quantization_steps trace_body(tracing *t, const sc_graph *body,
                                        sc_quantization_steps read) {
    for (uint32_t i = 0; i < body->inputs.count; i++) keep(t, body->inputs.data[i], read);
    return trace_inner(t, body);
}

static sc_quantization_steps trace_node(tracing *t, const sc_node *node) {
    const sc_part *part = sc_node_part(node);
    t->read = (sc_quantization_steps){0};
    t->reads_float = t->reads_byte = false;
    (void)sc_node_visit_values(node, read_value, t);
    const sc_quantization_steps read = t->read;
    sc_quantization_steps sum = read;
    if (part) return trace_part(t, node, part->method);
    const bool gives_byte = node->out_count && is_byte(node->outs[0]);
    const bool gives_float = node->out_count && is_float(node->outs[0]);
    if (gives_byte && t->reads_float) return (sc_quantization_steps){sum.times + 1, scale_of(node)};
    if (gives_float && t->reads_byte && sum.times) sum.step = scale_of(node);
    for (uint32_t i = 0; i < node->arg_count; i++)
        if (node->args[i].kind == SC_ARG_GRAPH)
            sum = worse(sum, trace_body(t, node->args[i].graph, read));
    return sum;
}

static void trace(tracing *t, const sc_graph *graph) {
    for (const sc_node *node = graph->first; node; node = node->next) {
        const sc_quantization_steps found = trace_node(t, node);
        for (uint32_t i = 0; i < node->out_count; i++) keep(t, node->outs[i], found);
    }
}

sc_quantization_steps *sc_output_quantization(sc_ctx *ctx, const sc_graph *graph, uint32_t count) {
    const sc_node *ret = graph->ret;
    sc_quantization_steps *out = sc_new_array(ctx->arena, sc_quantization_steps, (size_t)count + 1);
    sc_mark mark = sc_arena_mark(ctx->scratch);
    tracing t = {.ctx = ctx};
    sc_imap_init(&t.steps, ctx->scratch);
    trace(&t, graph);
    // Inputs that are written come before the actual results, and may be left out of the graph.
    for (uint32_t i = 1; i <= count && i <= ret->arg_count; i++)
        if (ret->args[ret->arg_count - i].kind == SC_ARG_VALUE)
            out[count - i] = quantum_of(&t, ret->args[ret->arg_count - i].value);
    sc_arena_rewind(ctx->scratch, mark);
    return out;
}
