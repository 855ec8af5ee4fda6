// Loops. Both bodies are traced here, each into a graph of its own.
#include "trace/words/loop.h"

typedef struct body {
    const char *name;
    sc_f_body_fn trace;
} body;

static sc_x take_in(sc_trace *inner, sc_graph *graph, const char *name, sc_x x) {
    sc_value *value = sc_graph_add_input(graph, sc_str_from(name), SC_VALUE_TENSOR);
    value->spec = *sc_x_spec(x);
    return sc_trace_plain(inner, value);
}

static void give_out(sc_trace *inner, sc_graph *graph, sc_x result) {
    const bool is_list = result->kind == SC_X_LIST;
    const uint32_t count = is_list ? result->count : 1;
    sc_arg *args = sc_new_array(inner->arena, sc_arg, count + 1);
    for (uint32_t i = 0; i < count; i++)
        args[i] = sc_trace_arg(inner, is_list ? result->items[i] : result);
    if (inner->status == SC_OK) sc_graph_set_outputs(graph, args, count);
}

// A graph of its own, on inputs like those of the loop.
static sc_graph *traced(sc_trace *t, const body *b, const sc_f_loop *loop) {
    sc_trace inner;
    const sc_name *of = t->source->outs[0]->name;
    sc_str name = sc_str_format(t->arena, "%s_%s", of ? of->text : "loop", b->name);
    sc_graph *graph = sc_graph_new(t->graph->method, t->graph, name);
    sc_x *inputs = sc_new_array(t->arena, sc_x, loop->count + loop->fixed_count + 1);
    sc_trace_begin(&inner, t->ctx, t->arena, graph, &t->hooks);
    inner.plain = 1;
    inner.source = t->source;
    inner.meta = t->meta;
    inner.recorded = t->recorded;
    inner.client = t->client;
    for (uint32_t i = 0; i < loop->count; i++)
        inputs[i] = take_in(&inner, graph, "carried", loop->carried[i]);
    for (uint32_t i = 0; i < loop->fixed_count; i++)
        inputs[loop->count + i] = take_in(&inner, graph, "fixed", loop->fixed[i]);
    give_out(&inner, graph, b->trace(&inner, inputs, loop->user));
    if (t->status == SC_OK) t->status = inner.status;
    t->recorded = inner.recorded;
    return graph;
}

sc_x sc_f_while(sc_trace *t, const sc_f_loop *loop) {
    const body condition = {"goes_on", loop->goes_on}, turn = {"turn", loop->turn};
    if (t->status != SC_OK) return sc_x_list(t, loop->carried, loop->count);
    sc_graph *first = traced(t, &condition, loop), *second = traced(t, &turn, loop);
    if (t->status != SC_OK) return sc_x_list(t, loop->carried, loop->count);
    sc_x carried = sc_x_list(t, loop->carried, loop->count);
    sc_x fixed = sc_x_list(t, loop->fixed, loop->fixed_count);
    sc_x goes_on = sc_x_new(t, (sc_x_data){.kind = SC_X_GRAPH, .graph = first});
    sc_x body_of = sc_x_new(t, (sc_x_data){.kind = SC_X_GRAPH, .graph = second});
    return CALL(t, higher_order_while_loop, goes_on, body_of, carried, fixed);
}
