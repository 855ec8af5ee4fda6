// Loops, where the data tells how many turns there are: both bodies are traced here.
#include "trace/official/official.h"

typedef struct body {
    const char *name;
    sc_o_body_fn trace;
} body;

// A graph of its own, on inputs like x.
static sc_graph *traced(sc_trace *t, const body *b, const sc_x *x, uint32_t count) {
    sc_trace inner;
    const sc_name *of = t->source->outs[0]->name;
    sc_str name = sc_str_format(t->arena, "%s_%s", of ? of->text : "loop", b->name);
    sc_graph *graph = sc_graph_new(t->graph->method, t->graph, name);
    sc_x *inputs = sc_new_array(t->arena, sc_x, count + 1);
    sc_trace_begin(&inner, t->ctx, t->arena, graph, &t->hooks);
    inner.plain = 1;
    inner.source = t->source;
    inner.meta = t->meta;
    for (uint32_t i = 0; i < count; i++) {
        sc_value *value = sc_graph_add_input(graph, SC_STR("carried"), SC_VALUE_TENSOR);
        value->spec = *sc_x_spec(x[i]);
        inputs[i] = sc_trace_plain(&inner, value);
    }
    sc_x result = b->trace(&inner, inputs);
    const bool is_list = result->kind == SC_X_LIST;
    const uint32_t outs = is_list ? result->count : 1;
    sc_arg *args = sc_new_array(t->arena, sc_arg, outs + 1);
    for (uint32_t i = 0; i < outs; i++)
        args[i] = sc_trace_arg(&inner, is_list ? result->items[i] : result);
    if (t->status == SC_OK) t->status = inner.status;
    if (t->status == SC_OK) sc_graph_set_outputs(graph, args, outs);
    return graph;
}

sc_x sc_o_while(sc_trace *t, const sc_x *x, uint32_t count, uint32_t carried, sc_o_body_fn goes_on,
                sc_o_body_fn turn) {
    const body condition = {"goes_on", goes_on}, loop = {"turn", turn};
    if (t->status != SC_OK) return sc_o_refuse(t);
    sc_x_data graphs[2] = {{.kind = SC_X_GRAPH}, {.kind = SC_X_GRAPH}};
    graphs[0].graph = traced(t, &condition, x, count);
    graphs[1].graph = traced(t, &loop, x, count);
    if (t->status != SC_OK) return sc_o_refuse(t);
    return CALL(t, higher_order_while_loop, sc_x_new(t, graphs[0]), sc_x_new(t, graphs[1]),
                sc_x_list(t, x, carried), sc_x_list(t, x + carried, count - carried));
}
