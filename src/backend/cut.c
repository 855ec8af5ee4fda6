// A part is a copy of its nodes in a graph of its own. Its inputs are weights that move in
// (parameters first, then buffers, then other constants), then the operands of the call, in the
// order of their use. Its outputs are state that is written, then the values that nodes outside
// use, in graph order.
#include "backend/cut.h"

#include <stdlib.h>

#define PART_NAME "lowered_module_"

enum { MOVED_KINDS = 3 };

static const sc_input_kind moved_kinds[MOVED_KINDS] = {SC_INPUT_PARAMETER, SC_INPUT_BUFFER,
                                                       SC_INPUT_CONSTANT_TENSOR};

typedef struct cutter {
    sc_ctx *ctx;
    sc_graph *graph;
    sc_method *method;
    const sc_partition *partition;
    const bool *takes_input;
    uint32_t number;        // the part that is cut
    sc_node *first, *last;  // its nodes
    sc_part *part;
    sc_imap twins;               // value -> its twin in the part
    SC_VEC(sc_value *) reads;    // from outside, once each, as they are met
    SC_VEC(sc_value *) moved;    // the weights among them
    SC_VEC(sc_arg) operands;     // operands that the call passes
    SC_VEC(sc_value *) results;  // values that nodes outside use
    SC_VEC(uint32_t) mutations;  // outputs of the method that the part takes with it
} cutter;

static bool is_inside(const cutter *c, const sc_node *node) {
    bool is_numbered = node && node->op && node->mark != UINT32_MAX;  // calls that this cut makes
                                                                      // are not
    return is_numbered && c->partition->of[node->mark] == c->number;
}

// --- Inputs of a part ----------------------------------------------------------------------------

static const sc_input_sig *signature_of(const cutter *c, const sc_value *value) {
    bool is_input = !value->node && !c->graph->parent;
    return is_input ? &c->method->inputs.data[value->index] : NULL;
}

static bool moves(const cutter *c, const sc_value *value) {
    const sc_input_sig *sig = signature_of(c, value);
    return sig && sig->constant && c->takes_input[value->index];
}

static bool collect_read(void *user, sc_arg *arg) {
    cutter *c = user;
    if (is_inside(c, arg->value->node)) return true;
    if (!sc_imap_add(&c->twins, SC_PTR_KEY(arg->value), 0)) return true;
    sc_vec_push(c->ctx->scratch, &c->reads, arg->value);
    if (moves(c, arg->value)) sc_vec_push(c->ctx->scratch, &c->moved, arg->value);
    return true;
}

static void add_input(cutter *c, const sc_value *from, sc_input_sig sig) {
    sc_arena *arena = c->ctx->arena;
    sc_value *input =
        sc_graph_add_input(c->part->method->graph, sc_name_str(from->name), from->type);
    input->has_dim = from->has_dim;
    input->dim = from->dim;
    input->spec = from->spec;
    sc_vec_push(arena, &c->part->method->inputs, sig);
    sc_imap_set(&c->twins, SC_PTR_KEY(from), SC_PTR_KEY(input));
}

static void add_inputs(cutter *c) {
    for (uint32_t k = 0; k < MOVED_KINDS; k++)
        for (uint32_t i = 0; i < c->moved.count; i++) {
            const sc_input_sig *sig = signature_of(c, c->moved.data[i]);
            if (sig->kind == moved_kinds[k]) add_input(c, c->moved.data[i], *sig);
        }
    for (uint32_t i = 0; i < c->reads.count; i++) {
        sc_value *value = c->reads.data[i];
        if (moves(c, value)) continue;
        add_input(c, value, (sc_input_sig){.kind = SC_INPUT_USER});
        sc_vec_push(c->ctx->scratch, &c->operands, sc_arg_value(value));
    }
}

// --- Its nodes -----------------------------------------------------------------------------------

static sc_status twin_arg(cutter *c, const sc_arg *arg, sc_arg *out) {
    *out = *arg;
    if (arg->kind == SC_ARG_VALUE) {
        const uint64_t *twin = sc_imap_find(&c->twins, SC_PTR_KEY(arg->value));
        SC_ASSERT(twin && *twin);
        *out = sc_arg_value((sc_value *)(uintptr_t)*twin);
    } else if (arg->kind == SC_ARG_GRAPH) {
        return sc_graph_clone(arg->graph, c->part->method, c->part->method->graph, &out->graph);
    } else if (arg->kind == SC_ARG_LIST && arg->count) {
        out->items = sc_new_array(c->ctx->scratch, sc_arg, arg->count);
        for (uint32_t i = 0; i < arg->count; i++)
            SC_TRY(twin_arg(c, &arg->items[i], &out->items[i]));
    }
    return SC_OK;
}

static sc_status add_node(cutter *c, const sc_node *node) {
    sc_graph *graph = c->part->method->graph;
    sc_arg *args = sc_new_array(c->ctx->scratch, sc_arg, (size_t)node->arg_count + 1);
    for (uint32_t i = 0; i < node->arg_count; i++) SC_TRY(twin_arg(c, &node->args[i], &args[i]));
    sc_node *twin =
        sc_node_new_as(graph, node->op, args, node->arg_count, node->out_count, node->name);
    twin->meta = node->meta;
    twin->arg_names = node->arg_names;
    twin->is_kept = node->is_kept;
    for (uint32_t i = 0; i < node->out_count; i++) {
        const sc_value *from = node->outs[i];
        sc_value *out = twin->outs[i];
        if (node->out_count > 1) out->name = sc_graph_take_name(graph, from->name);
        out->type = from->type;
        out->has_dim = from->has_dim;
        out->dim = from->dim;
        out->spec = from->spec;
        sc_imap_set(&c->twins, SC_PTR_KEY(from), SC_PTR_KEY(out));
    }
    sc_graph_append(graph, twin);
    return SC_OK;
}

static sc_status add_nodes(cutter *c) {
    for (sc_node *node = c->first;; node = node->next) {
        SC_TRY(add_node(c, node));
        if (node == c->last) return SC_OK;
    }
}

// --- State ---------------------------------------------------------------------------------------

static sc_status fail_state(cutter *c, sc_str target, const char *what) {
    return sc_fail(c->ctx, SC_ERR_ARGUMENT,
                   "Do not let the backend own this buffer, so that the part gets it as an input.",
                   "a part of method '%s' cannot take the buffer '" SC_STR_FMT "': %s",
                   c->method->name->text, SC_STR_ARG(target), what);
}

static bool is_written_by(const sc_output_sig *sig, sc_str target) {
    return sig->kind == SC_OUTPUT_BUFFER_MUTATION && sc_str_equal(sig->target, target);
}

// A buffer that moves in although the method writes it: the part must contain all of its reads and
// writes.
static sc_status take_state(cutter *c, const sc_value *buffer, sc_str target) {
    for (uint32_t i = 0; i < c->method->outputs.count; i++) {
        if (!is_written_by(&c->method->outputs.data[i], target)) continue;
        const sc_arg *now = &c->graph->ret->args[i];
        if (now->kind != SC_ARG_VALUE || !is_inside(c, now->value->node))
            return fail_state(c, target, "it is written outside the part");
        for (const sc_arg *use = buffer->first_use; use; use = use->next_use)
            if (!is_inside(c, use->user))
                return fail_state(c, target, "it is read outside the part");
        sc_vec_push(c->ctx->scratch, &c->mutations, i);
    }
    return SC_OK;
}

static sc_status take_states(cutter *c) {
    for (uint32_t i = 0; i < c->moved.count; i++)
        SC_TRY(take_state(c, c->moved.data[i], signature_of(c, c->moved.data[i])->target));
    return SC_OK;
}

static bool is_taken_mutation(const cutter *c, const sc_arg *use) {
    if (use->user != c->graph->ret) return false;
    for (uint32_t i = 0; i < c->mutations.count; i++)
        if (use == &c->graph->ret->args[c->mutations.data[i]]) return true;
    return false;
}

// --- Outputs of a part ---------------------------------------------------------------------------

static bool is_used_outside(const cutter *c, const sc_value *value) {
    for (const sc_arg *use = value->first_use; use; use = use->next_use)
        if (!is_inside(c, use->user) && !is_taken_mutation(c, use)) return true;
    return false;
}

static void collect_results(cutter *c) {
    for (sc_node *node = c->first;; node = node->next) {
        for (uint32_t i = 0; i < node->out_count; i++)
            if (is_used_outside(c, node->outs[i]))
                sc_vec_push(c->ctx->scratch, &c->results, node->outs[i]);
        if (node == c->last) return;
    }
}

static sc_arg twin_of(cutter *c, const sc_value *value) {
    return sc_arg_value((sc_value *)(uintptr_t)*sc_imap_find(&c->twins, SC_PTR_KEY(value)));
}

static void add_outputs(cutter *c) {
    sc_method *own = c->part->method;
    const uint32_t written = c->mutations.count, count = written + c->results.count;
    sc_arg *outputs = sc_new_array(c->ctx->scratch, sc_arg, (size_t)count + 1);
    for (uint32_t i = 0; i < written; i++) {
        const uint32_t at = c->mutations.data[i];
        outputs[i] = twin_of(c, c->graph->ret->args[at].value);
        sc_vec_push(c->ctx->arena, &own->outputs, c->method->outputs.data[at]);
    }
    for (uint32_t i = 0; i < c->results.count; i++) {
        outputs[written + i] = twin_of(c, c->results.data[i]);
        sc_vec_push(c->ctx->arena, &own->outputs, (sc_output_sig){.kind = SC_OUTPUT_USER});
    }
    sc_graph_set_outputs(own->graph, outputs, count);
}

// --- The call ------------------------------------------------------------------------------------

static sc_node *make_call(cutter *c) {
    sc_arg args[2] = {sc_arg_part(c->part), sc_arg_list(c->operands.data, c->operands.count)};
    sc_node *call = sc_node_new(c->graph, sc_op_get(SC_OP_higher_order_executorch_call_delegate),
                                args, SC_COUNT_OF(args), c->results.count, NULL);
    call->mark = UINT32_MAX;
    for (uint32_t i = 0; i < c->results.count; i++) {
        sc_value *from = c->results.data[i], *to = call->outs[i];
        if (c->results.count > 1)
            to->name = sc_graph_unique_name(c->graph, sc_name_str(from->name));
        to->type = from->type;
        to->has_dim = from->has_dim;
        to->dim = from->dim;
        to->spec = from->spec;
    }
    sc_graph_insert_before(c->first, call);
    return call;
}

static void drop_outputs(cutter *c) {
    if (c->mutations.count == 0) return;
    sc_arg *kept = sc_new_array(c->ctx->scratch, sc_arg, c->graph->ret->arg_count);
    uint32_t count = 0;
    for (uint32_t i = 0, next = 0; i < c->graph->ret->arg_count; i++) {
        if (next < c->mutations.count && c->mutations.data[next] == i) {
            next++;
            continue;
        }
        kept[count] = c->graph->ret->args[i];
        c->method->outputs.data[count++] = c->method->outputs.data[i];
    }
    c->method->outputs.count = count;
    sc_graph_set_outputs(c->graph, kept, count);
}

static int compare_indexes(const void *a, const void *b) {
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

static void replace(cutter *c, sc_node *call) {
    for (uint32_t i = 0; i < c->results.count; i++)
        sc_replace_uses(c->results.data[i], call->outs[i]);
    for (sc_node *node = c->last, *prev;; node = prev) {
        prev = node->prev;
        bool is_first = node == c->first;
        sc_node_erase(node);
        if (is_first) return;
    }
}

static sc_status cut_part(cutter *c, sc_str name, sc_cut_part *out) {
    c->part = sc_part_new(c->method, name);
    sc_imap_init(&c->twins, c->ctx->scratch);
    for (sc_node *node = c->first;; node = node->next) {
        (void)sc_node_visit_values(node, collect_read, c);
        if (node == c->last) break;
    }
    SC_TRY(take_states(c));
    if (c->mutations.count)
        qsort(c->mutations.data, c->mutations.count, sizeof *c->mutations.data, compare_indexes);
    add_inputs(c);
    SC_TRY(add_nodes(c));
    collect_results(c);
    add_outputs(c);
    *out = (sc_cut_part){.part = c->part, .call = make_call(c), .number = c->number};
    drop_outputs(c);
    replace(c, out->call);
    return SC_OK;
}

// Removes weights that only parts read: they have moved there.
static void drop_inputs(sc_graph *graph, const bool *takes_input) {
    sc_method *method = graph->method;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < graph->inputs.count; i++) {
        sc_value *value = graph->inputs.data[i];
        if (takes_input[i] && method->inputs.data[i].constant && value->use_count == 0) continue;
        graph->inputs.data[kept] = value;
        value->index = kept;
        method->inputs.data[kept++] = method->inputs.data[i];
    }
    graph->inputs.count = method->inputs.count = kept;
}

// The next number after those of all parts of the graph: passes may have removed calls.
static uint64_t first_free_number(const sc_graph *graph) {
    uint64_t next = 0;
    for (const sc_node *node = graph->first; node; node = node->next) {
        const sc_part *part = sc_node_part(node);
        int64_t number;
        if (!part) continue;
        sc_str name = sc_name_str(part->method->name);
        if (sc_str_starts_with(name, PART_NAME) &&
            sc_parse_i64(sc_str_slice(name, sizeof PART_NAME - 1, name.size), &number) &&
            number >= 0 && (uint64_t)number >= next)
            next = (uint64_t)number + 1;
    }
    return next;
}

sc_status sc_partition_cut(sc_ctx *ctx, sc_graph *graph, const sc_partition *partition,
                           const bool *takes_input, sc_cut_parts *parts) {
    uint64_t next_name = first_free_number(graph);
    for (sc_node *node = graph->first, *next; node; node = next) {
        const uint32_t number = node->mark == UINT32_MAX ? 0 : partition->of[node->mark];
        next = node->next;
        if (!number) continue;
        cutter c = {.ctx = ctx,
                    .graph = graph,
                    .method = graph->method,
                    .partition = partition,
                    .takes_input = takes_input,
                    .number = number,
                    .first = node,
                    .last = node};
        while (c.last->next && partition->of[c.last->next->mark] == number) c.last = c.last->next;
        next = c.last->next;
        sc_cut_part made = {0};
        sc_mark mark = sc_arena_mark(ctx->scratch);
        sc_str name =
            sc_str_format(ctx->scratch, PART_NAME "%llu", (unsigned long long)next_name++);
        sc_status status = cut_part(&c, name, &made);
        sc_arena_rewind(ctx->scratch, mark);
        SC_TRY(status);
        sc_vec_push(ctx->arena, parts, made);
    }
    if (!graph->parent) drop_inputs(graph, takes_input);
    return SC_OK;
}
