// How much a graph holds at once, before anything is planned: every result with a place of its own,
// from its node to its last use. Bodies and sizes without a bound do not count.
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
    for (const sc_node *node = first; node != end; node = node->next)
        for (uint32_t i = 0; i < node->out_count; i++) bytes += bytes_of(node->outs[i]);
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
    if (!arg->value->node || arg->value->mark != f->place) return true;
    f->bytes += bytes_of(arg->value);
    arg->value->mark = 0;
    return true;
}

uint64_t sc_peak_bytes(sc_graph *graph, sc_span without, const sc_node **at) {
    uint64_t held = 0, peak = 0;
    uint32_t place = 1;
    mark_uses(graph, without);
    for (sc_node *node = beyond(graph->first, without); node;
         node = beyond(node->next, without), place++) {
        freeing f = {.place = place};
        for (uint32_t i = 0; i < node->out_count; i++) held += bytes_of(node->outs[i]);
        if (held > peak && at) *at = node;
        peak = held > peak ? held : peak;
        sc_node_visit_values(node, free_last, &f);
        for (uint32_t i = 0; i < node->out_count; i++)
            if (node->outs[i]->mark == place) f.bytes += bytes_of(node->outs[i]);
        held -= f.bytes;
    }
    return peak;
}
