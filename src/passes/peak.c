// The bytes that a method needs at once, before memory is planned. User inputs are kept until their
// last use, and every result with a place of its own from its node to its last use. While a body
// runs, its values are kept in addition. Sizes without a bound do not count, nor do slices that
// rounds of a loop see; results of branches count twice.
// In wasm: -Os
#include "passes/peak.h"

static uint64_t bytes_of(const sc_value *value) {
    uint64_t bytes = 0;
    if (value->type != SC_VALUE_TENSOR) return 0;
    return sc_spec_bytes_max(&value->spec, &bytes) && bytes < UINT64_C(1) << 40 ? bytes : 0;
}

static bool mark_use(void *user, sc_arg *arg) {
    arg->value->mark = *(const uint32_t *)user;
    return true;
}

uint64_t sc_result_bytes(const sc_node *first, const sc_node *end) {
    uint64_t bytes = 0;
    for (const sc_node *node = first; node != end; node = node->next) {
        for (uint32_t i = 0; i < node->out_count; i++) bytes += bytes_of(node->outs[i]);
        for (uint32_t i = 0; i < node->arg_count; i++)
            if (node->args[i].kind == SC_ARG_GRAPH)
                bytes += sc_result_bytes(node->args[i].graph->first, NULL);
    }
    return bytes;
}

static sc_node *beyond(sc_node *node, sc_span without) {
    return node && node == without.first ? without.end : node;
}

// The place of the last use, in every value.
static void mark_uses(sc_graph *graph, sc_span without) {
    uint32_t place = 1;
    for (sc_node *node = beyond(graph->first, without); node;
         node = beyond(node->next, without), place++) {
        for (uint32_t i = 0; i < node->out_count; i++) node->outs[i]->mark = place;
        sc_node_visit_values(node, mark_use, &place);
    }
    sc_node_visit_values(graph->ret, mark_use, &place);
}

typedef struct freeing {
    uint64_t bytes;
    uint32_t place;
} freeing;

// A value that a node reads twice is freed once.
static bool free_last(void *user, sc_arg *arg) {
    freeing *f = user;
    if (arg->value->mark != f->place) return true;
    f->bytes += bytes_of(arg->value);
    arg->value->mark = 0;
    return true;
}

// The bytes of the inputs, which have been marked. Weights and the state of calls lie elsewhere,
// and the inputs of a body are counted outside it.
static uint64_t held_from_start(sc_graph *graph, bool is_body) {
    const sc_method *method = graph->method;
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < graph->inputs.count; i++) {
        sc_value *input = graph->inputs.data[i];
        if (!is_body && method->inputs.data[i].kind == SC_INPUT_USER && input->first_use)
            bytes += bytes_of(input);
        else
            input->mark = 0;
    }
    return bytes;
}

typedef struct peak {
    sc_span without;
    const sc_node *at;  // the node at the peak, if any value is kept
} peak;

static uint64_t graph_peak(peak *p, sc_graph *graph, bool is_body);

// One body runs after the other.
static uint64_t bodies_peak(peak *p, const sc_node *node) {
    uint64_t most = 0;
    for (uint32_t i = 0; i < node->arg_count; i++) {
        if (node->args[i].kind != SC_ARG_GRAPH) continue;
        const uint64_t bytes = graph_peak(p, node->args[i].graph, true);
        most = bytes > most ? bytes : most;
    }
    return most;
}

static uint64_t graph_peak(peak *p, sc_graph *graph, bool is_body) {
    uint64_t most = 0;
    uint32_t place = 1;
    mark_uses(graph, p->without);
    uint64_t held = held_from_start(graph, is_body);
    for (sc_node *node = beyond(graph->first, p->without); node;
         node = beyond(node->next, p->without), place++) {
        freeing f = {.place = place};
        for (uint32_t i = 0; i < node->out_count; i++) held += bytes_of(node->outs[i]);
        const uint64_t now = held + bodies_peak(p, node);
        if (now > most && !is_body) p->at = node;
        most = now > most ? now : most;
        sc_node_visit_values(node, free_last, &f);
        for (uint32_t i = 0; i < node->out_count; i++)
            if (node->outs[i]->mark == place) f.bytes += bytes_of(node->outs[i]);
        held -= f.bytes;
    }
    return most;
}

uint64_t sc_peak_bytes(sc_graph *graph, sc_span without, const sc_node **at) {
    peak p = {.without = without};
    const uint64_t bytes = graph_peak(&p, graph, false);
    if (at) *at = p.at;
    return bytes;
}
