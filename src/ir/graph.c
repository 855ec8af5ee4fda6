// Programs, graphs, nodes and use lists: the primitive edits of which all others consist. Two
// invariants hold. An attached argument that names a value is in that value's use list exactly
// once. No two names in a graph are equal (a node with one result shares its name with it). Schemas
// and shapes are unknown here; build.c knows them.
#include "ir/ir.h"

// --- Programs and methods ------------------------------------------------------------------------

sc_program *sc_program_new(sc_ctx *ctx) {
    sc_program *program = sc_new(ctx->arena, sc_program);
    program->ctx = ctx;
    return program;
}

sc_method *sc_program_method(const sc_program *program, sc_str name) {
    for (uint32_t i = 0; i < program->methods.count; i++)
        if (sc_str_equal(sc_name_str(program->methods.data[i]->name), name))
            return program->methods.data[i];
    return NULL;
}

sc_status sc_program_add_method(sc_program *program, sc_str name, sc_method **out) {
    sc_ctx *ctx = program->ctx;
    if (sc_program_method(program, name))
        return sc_fail(ctx, SC_ERR_ARGUMENT, "Give each method a different name.",
                       "two methods are named '" SC_STR_FMT "'", SC_STR_ARG(name));
    sc_method *method = sc_new(ctx->arena, sc_method);
    method->name = sc_name_intern(ctx->names, name);
    method->program = program;
    method->facts = SC_FACT_SPECS;
    method->exprs = sc_exprs_new(ctx->arena, ctx->names);
    method->graph = sc_graph_new(method, NULL, (sc_str){0});
    sc_vec_push(ctx->arena, &program->methods, method);
    *out = method;
    return SC_OK;
}

// --- Names ---------------------------------------------------------------------------------------

// The map's value: whether the name itself is in use, and the suffix at which a search continues if
// it is.
#define NAME_TAKEN    1u
#define NAME_BASE_MAX 200

static uint64_t name_state(const sc_graph *graph, const sc_name *name) {
    const uint64_t *state = sc_imap_find(&graph->names, SC_PTR_KEY(name));
    return state ? *state : 0;
}

// "add_12" is "add" with a number: the number is dropped before a new one is sought.
static sc_str strip_suffix(sc_str name) {
    size_t end = name.size;
    while (end > 0 && name.data[end - 1] >= '0' && name.data[end - 1] <= '9') end--;
    if (end == name.size || end < 2 || name.data[end - 1] != '_') return name;
    return sc_str_slice(name, 0, end - 1);
}

static const sc_name *numbered(sc_graph *graph, sc_str base, uint64_t number) {
    char text[NAME_BASE_MAX + 24];  // filled from its end
    size_t begin = sizeof(text);
    do text[--begin] = (char)('0' + number % 10);
    while ((number /= 10) > 0);
    text[--begin] = '_';
    begin -= base.size;
    memcpy(text + begin, base.data, base.size);
    return sc_name_intern(graph->ctx->names, (sc_str){text + begin, sizeof(text) - begin});
}

// The counter of a base only grows, so all searches together cost no more than the number of names.
static const sc_name *take_numbered(sc_graph *graph, sc_str base) {
    const sc_name *key = sc_name_intern(graph->ctx->names, base), *name;
    uint64_t state = name_state(graph, key), next = state >> 1;
    uint64_t *taken;
    do {
        name = numbered(graph, base, ++next);
        taken = sc_imap_at(&graph->names, SC_PTR_KEY(name));
    } while (*taken & NAME_TAKEN);
    *taken |= NAME_TAKEN;
    sc_imap_set(&graph->names, SC_PTR_KEY(key), next << 1 | (state & NAME_TAKEN));
    return name;
}

const sc_name *sc_graph_unique_name(sc_graph *graph, sc_str wanted) {
    return sc_graph_take_name(
        graph, sc_name_intern(graph->ctx->names, wanted.size ? wanted : SC_STR("v")));
}

const sc_name *sc_graph_take_name(sc_graph *graph, const sc_name *wanted) {
    uint64_t *state = sc_imap_at(&graph->names, SC_PTR_KEY(wanted));
    if (*state & NAME_TAKEN) {
        sc_str base = strip_suffix(sc_name_str(wanted));
        if (base.size > NAME_BASE_MAX) base.size = NAME_BASE_MAX;
        return take_numbered(graph, base);
    }
    *state |= NAME_TAKEN;
    return wanted;
}

bool sc_graph_has_name(const sc_graph *graph, sc_str name) {
    const sc_name *interned = sc_name_intern(graph->ctx->names, name);
    return (name_state(graph, interned) & NAME_TAKEN) != 0;
}

// --- Use lists -----------------------------------------------------------------------------------

static void attach_use(sc_arg *arg) {
    sc_value *value = arg->value;
    arg->prev_use = value->last_use;
    arg->next_use = NULL;
    if (value->last_use)
        value->last_use->next_use = arg;
    else
        value->first_use = arg;
    value->last_use = arg;
    value->use_count++;
}

static void detach_use(sc_arg *arg) {
    sc_value *value = arg->value;
    if (arg->prev_use)
        arg->prev_use->next_use = arg->next_use;
    else
        value->first_use = arg->next_use;
    if (arg->next_use)
        arg->next_use->prev_use = arg->prev_use;
    else
        value->last_use = arg->prev_use;
    value->use_count--;
    arg->prev_use = arg->next_use = NULL;
}

static void detach(sc_arg *arg) {
    if (arg->kind == SC_ARG_VALUE)
        detach_use(arg);
    else if (arg->kind == SC_ARG_LIST)
        for (uint32_t i = 0; i < arg->count; i++) detach(&arg->items[i]);
}

// Lists are copied, so that every item has one owner. The reader of the input has bounded their
// depth.
static void copy_into(sc_arena *arena, sc_node *user, sc_arg *slot, const sc_arg *from) {
    *slot = *from;
    slot->user = user;
    if (slot->kind == SC_ARG_VALUE) {
        attach_use(slot);
    } else if (slot->kind == SC_ARG_GRAPH) {
        user->graph->has_bodies = true;
    } else if (slot->kind == SC_ARG_LIST) {
        slot->items = slot->count ? sc_new_array(arena, sc_arg, slot->count) : NULL;
        for (uint32_t i = 0; i < slot->count; i++)
            copy_into(arena, user, &slot->items[i], &from->items[i]);
    }
}

static sc_arg *copy_args(sc_arena *arena, sc_node *user, const sc_arg *args, uint32_t count) {
    sc_arg *copy = count ? sc_new_array(arena, sc_arg, count) : NULL;
    for (uint32_t i = 0; i < count; i++) copy_into(arena, user, &copy[i], &args[i]);
    return copy;
}

void sc_arg_set(sc_arg *slot, sc_arg value) {
    SC_ASSERT(slot->user);
    if (slot->kind == SC_ARG_VALUE && value.kind == SC_ARG_VALUE && slot->value == value.value)
        return;
    sc_arg old = *slot;  // `value` may contain the slot's own items, so these go last
    if (old.kind == SC_ARG_VALUE) detach_use(slot);
    copy_into(slot->user->graph->ctx->arena, old.user, slot, &value);
    if (old.kind == SC_ARG_LIST) detach(&old);
}

void sc_replace_uses(sc_value *old_value, sc_value *new_value) {
    if (old_value == new_value || !old_value->first_use) return;
    for (sc_arg *use = old_value->first_use; use; use = use->next_use) use->value = new_value;
    old_value->first_use->prev_use = new_value->last_use;
    if (new_value->last_use)
        new_value->last_use->next_use = old_value->first_use;
    else
        new_value->first_use = old_value->first_use;
    new_value->last_use = old_value->last_use;
    new_value->use_count += old_value->use_count;
    old_value->first_use = old_value->last_use = NULL;
    old_value->use_count = 0;
}

bool sc_value_is_returned(const sc_value *value) {
    for (const sc_arg *use = value->first_use; use; use = use->next_use)
        if (use->user == value->graph->ret) return true;
    return false;
}

static bool visit_arg(sc_arg *arg, bool (*visit)(void *user, sc_arg *arg), void *user) {
    if (arg->kind == SC_ARG_VALUE) return visit(user, arg);
    if (arg->kind == SC_ARG_LIST)
        for (uint32_t i = 0; i < arg->count; i++)
            if (!visit_arg(&arg->items[i], visit, user)) return false;
    return true;
}

bool sc_node_visit_values(const sc_node *node, bool (*visit)(void *user, sc_arg *arg), void *user) {
    for (uint32_t i = 0; i < node->arg_count; i++)
        if (!visit_arg(&node->args[i], visit, user)) return false;
    return true;
}

// --- Graphs --------------------------------------------------------------------------------------

sc_graph *sc_graph_new(sc_method *method, sc_graph *parent, sc_str name) {
    sc_ctx *ctx = method->program->ctx;
    sc_graph *graph = sc_new(ctx->arena, sc_graph);
    graph->ctx = ctx;
    graph->method = method;
    graph->parent = parent;
    graph->name = name.size ? sc_name_intern(ctx->names, name) : NULL;
    sc_imap_init(&graph->names, ctx->arena);
    graph->ret = sc_new(ctx->arena, sc_node);
    graph->ret->graph = graph;
    return graph;
}

sc_value *sc_graph_add_input(sc_graph *graph, sc_str name, sc_value_type type) {
    sc_value *value = sc_new(graph->ctx->arena, sc_value);
    value->name = sc_graph_unique_name(graph, name);
    value->type = type;
    value->graph = graph;
    value->index = graph->inputs.count;
    sc_vec_push(graph->ctx->arena, &graph->inputs, value);
    return value;
}

void sc_graph_set_outputs(sc_graph *graph, const sc_arg *args, uint32_t count) {
    sc_node *ret = graph->ret;
    sc_arg *old = ret->args;
    uint32_t old_count = ret->arg_count;
    ret->args = copy_args(graph->ctx->arena, ret, args, count);
    ret->arg_count = count;
    for (uint32_t i = 0; i < old_count; i++) detach(&old[i]);
}

// --- Nodes ---------------------------------------------------------------------------------------

// "aten::add.Tensor" -> "add".
static sc_str base_name(const sc_op *op) {
    sc_str name = sc_str_from(op->name);
    ptrdiff_t colon = sc_str_find_last(name, ':');
    if (colon >= 0) name = sc_str_slice(name, (size_t)colon + 1, name.size);
    ptrdiff_t dot = sc_str_find(name, '.');
    return dot > 0 ? sc_str_slice(name, 0, (size_t)dot) : name;
}

sc_node *sc_node_new(sc_graph *graph, const sc_op *op, const sc_arg *args, uint32_t arg_count,
                     uint32_t out_count, const char *name_hint) {
    sc_str wanted = name_hint ? sc_str_from(name_hint) : base_name(op);
    return sc_node_new_as(graph, op, args, arg_count, out_count,
                          sc_name_intern(graph->ctx->names, wanted));
}

sc_node *sc_node_new_as(sc_graph *graph, const sc_op *op, const sc_arg *args, uint32_t arg_count,
                        uint32_t out_count, const sc_name *wanted) {
    sc_arena *arena = graph->ctx->arena;
    sc_node *node = sc_pool_new(arena, &graph->nodes, sc_node);
    node->op = op;
    node->graph = graph;
    node->name = sc_graph_take_name(graph, wanted);
    node->args = copy_args(arena, node, args, arg_count);
    node->arg_count = arg_count;
    node->out_count = out_count;
    node->outs = out_count > 1 ? sc_new_array(arena, sc_value *, out_count) : &node->only_out;
    for (uint32_t i = 0; i < out_count; i++) {
        sc_value *value = node->outs[i] = sc_pool_new(arena, &graph->values, sc_value);
        *value = (sc_value){.type = SC_VALUE_NONE, .graph = graph, .node = node, .index = i};
    }
    if (out_count == 1) node->only_out->name = node->name;
    return node;
}

static void link_between(sc_graph *graph, sc_node *before, sc_node *node, sc_node *after) {
    SC_ASSERT(node->graph == graph && !node->prev && !node->next && graph->first != node);
    node->prev = before;
    node->next = after;
    if (before)
        before->next = node;
    else
        graph->first = node;
    if (after)
        after->prev = node;
    else
        graph->last = node;
    graph->node_count++;
}

static void unlink_node(sc_node *node) {
    sc_graph *graph = node->graph;
    if (!node->prev && graph->first != node) return;  // never inserted
    if (node->prev)
        node->prev->next = node->next;
    else
        graph->first = node->next;
    if (node->next)
        node->next->prev = node->prev;
    else
        graph->last = node->prev;
    node->prev = node->next = NULL;
    graph->node_count--;
}

void sc_graph_append(sc_graph *graph, sc_node *node) {
    link_between(graph, graph->last, node, NULL);
}

void sc_graph_insert_before(sc_node *position, sc_node *node) {
    if (position == position->graph->ret)
        sc_graph_append(position->graph, node);
    else
        link_between(position->graph, position->prev, node, position);
}

void sc_graph_reorder(sc_graph *graph, sc_node *const *order, uint32_t count) {
    SC_ASSERT(count == graph->node_count);
    for (uint32_t i = 0; i < count; i++) {
        order[i]->prev = i ? order[i - 1] : NULL;
        order[i]->next = i + 1 < count ? order[i + 1] : NULL;
    }
    graph->first = count ? order[0] : NULL;
    graph->last = count ? order[count - 1] : NULL;
}

void sc_node_erase(sc_node *node) {
    for (uint32_t i = 0; i < node->out_count; i++) SC_ASSERT(node->outs[i]->use_count == 0);
    for (uint32_t i = 0; i < node->arg_count; i++) detach(&node->args[i]);
    node->arg_count = 0;
    unlink_node(node);
}

// --- Places in errors ----------------------------------------------------------------------------

void sc_where_set_method(sc_ctx *ctx, const sc_method *method) {
    ctx->where.method = method ? sc_name_str(method->name) : (sc_str){0};
    ctx->where.node = ctx->where.op = ctx->where.stack_trace = (sc_str){0};
}

void sc_where_set_node(sc_ctx *ctx, const sc_node *node) {
    if (!node || !node->op) {
        sc_where_set_method(ctx, node ? node->graph->method : NULL);
        return;
    }
    ctx->where.method = sc_name_str(node->graph->method->name);
    ctx->where.node = sc_name_str(node->name);
    ctx->where.op = sc_str_from(node->op->name);
    ctx->where.stack_trace = node->meta.stack_trace;
}

void sc_where_set_origin(sc_ctx *ctx, const sc_node *node) {
    sc_where_set_node(ctx, node);
    if (!node || !node->op || !node->meta.origin) return;
    const sc_str origin = sc_name_str(node->meta.origin);
    if (sc_str_equal(origin, ctx->where.node)) return;
    ctx->where.node = origin;
    ctx->where.op = (sc_str){0};
}
