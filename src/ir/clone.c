// Copies graphs, whole (into another method or parent) or node by node into another graph. Dims
// move between methods by way of text, once per distinct expression, because symbols of different
// methods never mix. Delegated parts are shared unless their symbols differ.
#include "ir/part.h"

typedef struct cloner {
    sc_ctx *ctx;
    sc_graph *target;
    bool other_symbols;
    sc_imap values;  // old value -> index + 1 into `bound`
    SC_VEC(sc_arg) bound;
    sc_imap *exprs;  // old expression -> new expression
    uint32_t depth;
} cloner;

// --- Dims ----------------------------------------------------------------------------------------

static sc_status clone_dim(cloner *c, sc_dim dim, sc_dim *out) {
    *out = dim;
    if (sc_dim_is_int(dim) || !c->other_symbols) return SC_OK;
    uint64_t *known = sc_imap_find(c->exprs, SC_PTR_KEY(dim.expr));
    if (!known) {
        sc_sb text;
        sc_sb_init(&text, c->ctx->scratch);
        sc_dim_print(&text, dim);
        SC_TRY(sc_dim_parse(c->ctx, c->target->method->exprs, sc_sb_str(&text), out));
        if (!sc_dim_is_int(*out))
            sc_imap_add(c->exprs, SC_PTR_KEY(dim.expr), SC_PTR_KEY(out->expr));
        return SC_OK;
    }
    *out = (sc_dim){.expr = (const sc_expr *)(uintptr_t)*known};
    return SC_OK;
}

static sc_status clone_spec(cloner *c, const sc_spec *from, sc_spec *out) {
    *out = *from;
    if (!c->other_symbols) return SC_OK;
    sc_dim sizes[SC_RANK_MAX], strides[SC_RANK_MAX];
    for (uint32_t i = 0; i < from->rank; i++) {
        SC_TRY(clone_dim(c, from->sizes[i], &sizes[i]));
        SC_TRY(clone_dim(c, from->strides[i], &strides[i]));
    }
    out->sizes = sizes;
    out->strides = strides;
    sc_spec_share(c->target->method->exprs, out);
    return clone_dim(c, from->offset, &out->offset);
}

static sc_status clone_type(cloner *c, const sc_value *from, sc_value *to) {
    to->type = from->type;
    to->has_dim = from->has_dim;
    if (from->type == SC_VALUE_TENSOR) SC_TRY(clone_spec(c, &from->spec, &to->spec));
    return from->has_dim ? clone_dim(c, from->dim, &to->dim) : SC_OK;
}

// --- Nodes ---------------------------------------------------------------------------------------

static void bind(cloner *c, const sc_value *from, sc_arg to) {
    sc_vec_push(c->ctx->scratch, &c->bound, to);
    sc_imap_set(&c->values, SC_PTR_KEY(from), c->bound.count);
}

static sc_status clone_graph(cloner *outer, const sc_graph *graph, sc_graph *parent,
                             sc_graph **out);

// For a method with other symbols: copies everything that refers to sizes, and shares the rest.
static sc_status clone_part(const sc_part *part, sc_method *method, const sc_part **out) {
    sc_part *copy = sc_part_new(method, sc_name_str(part->method->name));
    sc_method *own = copy->method;
    *copy = *part;
    copy->method = own;
    own->inputs = part->method->inputs;  // never extended
    own->outputs = part->method->outputs;
    own->facts = part->method->facts;
    *out = copy;
    return sc_graph_clone(part->method->graph, own, NULL, &own->graph);
}

static sc_status clone_arg(cloner *c, const sc_arg *from, sc_arg *out) {
    *out = *from;
    if (from->kind == SC_ARG_VALUE) {
        uint64_t *index = sc_imap_find(&c->values, SC_PTR_KEY(from->value));
        SC_ASSERT(index);
        *out = c->bound.data[*index - 1];
    } else if (from->kind == SC_ARG_GRAPH) {
        return clone_graph(c, from->graph, c->target, &out->graph);
    } else if (from->kind == SC_ARG_PART && c->other_symbols) {
        return clone_part(from->part, c->target->method, &out->part);
    } else if (from->kind == SC_ARG_LIST) {
        out->items = from->count ? sc_new_array(c->ctx->scratch, sc_arg, from->count) : NULL;
        for (uint32_t i = 0; i < from->count; i++)
            SC_TRY(clone_arg(c, &from->items[i], &out->items[i]));
    }
    return SC_OK;
}

static sc_status clone_args(cloner *c, const sc_node *node, sc_arg **out) {
    *out = sc_new_array(c->ctx->scratch, sc_arg, (size_t)node->arg_count + 1);
    for (uint32_t i = 0; i < node->arg_count; i++) SC_TRY(clone_arg(c, &node->args[i], &(*out)[i]));
    return SC_OK;
}

// Copies a node to the end of the target.
static sc_status clone_node(cloner *c, const sc_node *node) {
    sc_arg *args;
    SC_TRY(clone_args(c, node, &args));
    sc_node *copy =
        sc_node_new_as(c->target, node->op, args, node->arg_count, node->out_count, node->name);
    copy->meta = node->meta;
    copy->arg_names = node->arg_names;
    copy->tag = node->tag;
    copy->is_kept = node->is_kept;
    for (uint32_t i = 0; i < node->out_count; i++) {
        bool follows = node->out_count == 1 && node->outs[i]->name == node->name;
        if (!follows) copy->outs[i]->name = sc_graph_take_name(c->target, node->outs[i]->name);
        SC_TRY(clone_type(c, node->outs[i], copy->outs[i]));
        bind(c, node->outs[i], sc_arg_value(copy->outs[i]));
    }
    sc_graph_append(c->target, copy);
    return SC_OK;
}

static sc_status clone_nodes(cloner *c, const sc_graph *from) {
    for (const sc_node *node = from->first; node; node = node->next) SC_TRY(clone_node(c, node));
    return SC_OK;
}

static cloner cloner_for(sc_graph *target, bool other_symbols, sc_imap *exprs, uint32_t depth) {
    cloner c = {.ctx = target->ctx,
                .target = target,
                .other_symbols = other_symbols,
                .exprs = exprs,
                .depth = depth};
    sc_imap_init(&c.values, c.ctx->scratch);
    return c;
}

static sc_status fill_graph(cloner *c, const sc_graph *graph) {
    for (uint32_t i = 0; i < graph->inputs.count; i++) {
        const sc_value *from = graph->inputs.data[i];
        sc_value *input = sc_graph_add_input(c->target, sc_name_str(from->name), from->type);
        SC_TRY(clone_type(c, from, input));
        bind(c, from, sc_arg_value(input));
    }
    SC_TRY(clone_nodes(c, graph));
    sc_arg *outputs;
    SC_TRY(clone_args(c, graph->ret, &outputs));
    sc_graph_set_outputs(c->target, outputs, graph->ret->arg_count);
    return SC_OK;
}

static sc_status clone_graph(cloner *outer, const sc_graph *graph, sc_graph *parent,
                             sc_graph **out) {
    if (outer->depth + 1 >= outer->ctx->limits.graph_depth_max)
        return sc_fail(outer->ctx, SC_ERR_LIMIT, NULL, "bodies are nested deeper than %u",
                       outer->ctx->limits.graph_depth_max);
    *out =
        sc_graph_new(parent->method, parent, graph->name ? sc_name_str(graph->name) : (sc_str){0});
    cloner c = cloner_for(*out, outer->other_symbols, outer->exprs, outer->depth + 1);
    return fill_graph(&c, graph);
}

// --- Exported ------------------------------------------------------------------------------------

// Copies ranges and hints with the symbols, before any expression is read.
static void copy_symbols(const sc_exprs *from, sc_exprs *to) {
    for (uint32_t i = 0; i < sc_exprs_symbol_count(from); i++) {
        const sc_symbol *symbol = sc_exprs_symbol_at((sc_exprs *)(uintptr_t)from, i);
        uint32_t before = sc_exprs_symbol_count(to);
        sc_symbol *copy = sc_exprs_symbol(to, sc_name_str(symbol->name));
        if (sc_exprs_symbol_count(to) == before) continue;
        copy->range = symbol->range;
        copy->has_hint = symbol->has_hint;
        copy->hint = symbol->hint;
        copy->is_fresh = symbol->is_fresh;
    }
}

sc_status sc_graph_clone(const sc_graph *graph, sc_method *method, sc_graph *parent,
                         sc_graph **out) {
    sc_ctx *ctx = graph->ctx;
    sc_mark mark = sc_arena_mark(ctx->scratch);
    sc_imap exprs;
    sc_imap_init(&exprs, ctx->scratch);
    if (graph->method->exprs != method->exprs) copy_symbols(graph->method->exprs, method->exprs);
    *out = sc_graph_new(method, parent, graph->name ? sc_name_str(graph->name) : (sc_str){0});
    cloner c = cloner_for(*out, graph->method->exprs != method->exprs, &exprs, 0);
    sc_status status = fill_graph(&c, graph);
    sc_arena_rewind(ctx->scratch, mark);
    return status;
}

// --- Node by node --------------------------------------------------------------------------------

struct sc_copier {
    cloner cloner;
};

sc_copier *sc_copier_new(sc_graph *target) {
    sc_copier *copier = sc_new(target->ctx->scratch, sc_copier);
    copier->cloner = cloner_for(target, false, NULL, 0);
    return copier;
}

void sc_copier_bind(sc_copier *copier, const sc_value *from, sc_value *to) {
    bind(&copier->cloner, from, sc_arg_value(to));
}

sc_status sc_copier_add(sc_copier *copier, const sc_node *node) {
    return clone_node(&copier->cloner, node);
}

sc_value *sc_copier_value(sc_copier *copier, const sc_value *from) {
    const uint64_t *index = sc_imap_find(&copier->cloner.values, SC_PTR_KEY(from));
    return index ? copier->cloner.bound.data[*index - 1].value : NULL;
}
