// The user's exceptions: patterns with '*' over names of nodes, operators and the paths of modules
// that a node is in. "=linear" is only the node of that name.
#include "quant/plan.h"

// Only the last '*' may ever have to match more than it did.
static bool fits(sc_str pattern, sc_str text) {
    size_t p = 0, t = 0, star = SIZE_MAX, mark = 0;
    while (t < text.size) {
        if (p < pattern.size && pattern.data[p] == '*') {
            star = p++;
            mark = t;
        } else if (p < pattern.size && pattern.data[p] == text.data[t]) {
            p++, t++;
        } else if (star != SIZE_MAX) {
            p = star + 1;
            t = ++mark;
        } else {
            return false;
        }
    }
    while (p < pattern.size && pattern.data[p] == '*') p++;
    return p == pattern.size;
}

// Matches "aten::add.Tensor", or the same with Python's dots instead of colons, with or without the
// namespace.
static bool fits_op(sc_ctx *ctx, sc_str pattern, const sc_op *op) {
    const sc_str name = op->schema->name;
    const ptrdiff_t colon = sc_str_find(name, ':');
    if (fits(pattern, name)) return true;
    if (colon < 0 || (size_t)colon + 2 > name.size) return false;
    const sc_str space = sc_str_slice(name, 0, (size_t)colon);
    const sc_str rest = sc_str_slice(name, (size_t)colon + 2, name.size);
    const sc_str dotted =
        sc_str_format(ctx->scratch, SC_STR_FMT "." SC_STR_FMT, SC_STR_ARG(space), SC_STR_ARG(rest));
    return fits(pattern, rest) || fits(pattern, dotted);
}

// The stack is "key,path,type;key,path,type", outermost first; types may contain commas. A path
// matches all nodes below it too, because their stacks contain it.
static bool fits_module(sc_str pattern, sc_str stack) {
    while (stack.size > 0) {
        const ptrdiff_t end = sc_str_find(stack, ';');
        const sc_str entry = sc_str_slice(stack, 0, end < 0 ? stack.size : (size_t)end);
        const ptrdiff_t comma = sc_str_find(entry, ',');
        const sc_str after = sc_str_slice(entry, (size_t)(comma + 1), entry.size);
        const ptrdiff_t second = sc_str_find(after, ',');
        const sc_str path = sc_str_slice(after, 0, second < 0 ? after.size : (size_t)second);
        if (path.size > 0 && fits(pattern, path)) return true;
        stack = sc_str_slice(stack, end < 0 ? stack.size : (size_t)end + 1, stack.size);
    }
    return false;
}

static bool fits_node(sc_ctx *ctx, sc_str pattern, const sc_node *node) {
    return fits(pattern, sc_name_str(node->name)) ||
           fits_module(pattern, node->meta.module_stack) || fits_op(ctx, pattern, node->op);
}

// --- All of them ---------------------------------------------------------------------------------

typedef struct skipping {
    sc_quant_plan *plan;
    const sc_quant_config *config;
    sc_imap *skipped;
    sc_map exact;            // the name after '=' -> index of its first pattern, + 1
    SC_VEC(uint32_t) loose;  // indices of all other patterns
    bool *fits;              // by pattern, for exact ones by the first: does it match a node?
} skipping;

static bool is_exact(sc_str pattern) { return pattern.size && pattern.data[0] == '='; }
static sc_str name_in(sc_str pattern) { return sc_str_slice(pattern, 1, pattern.size); }

static bool is_asked_for(skipping *s, const sc_graph *graph, const sc_node *node) {
    const sc_str name = sc_name_str(sc_graph_origin(graph, sc_name_str(node->name)));
    const uintptr_t exact = (uintptr_t)sc_map_get(&s->exact, name);
    if (exact) s->fits[exact - 1] = true;
    bool found = exact != 0;
    // Tries all patterns, because each must know whether it matches a node.
    for (uint32_t i = 0; i < s->loose.count; i++) {
        const uint32_t pattern = s->loose.data[i];
        if (fits_node(s->plan->ctx, s->config->skip[pattern], node))
            s->fits[pattern] = found = true;
    }
    return found;
}

static sc_status skip_in(sc_ctx *ctx, sc_graph *graph, void *user) {
    skipping *s = user;
    for (const sc_node *node = graph->first; node; node = node->next)
        if (is_asked_for(s, graph, node)) sc_imap_set(s->skipped, SC_PTR_KEY(node), 1);
    (void)ctx;
    return SC_OK;
}

static void sort(skipping *s) {
    for (uint32_t i = 0; i < s->config->skip_count; i++) {
        const sc_str pattern = s->config->skip[i];
        if (is_exact(pattern))
            (void)sc_map_add(&s->exact, name_in(pattern), (void *)((uintptr_t)i + 1));
        else
            sc_vec_push(s->plan->ctx->scratch, &s->loose, i);
    }
}

static bool fits_anything(const skipping *s, uint32_t index) {
    const sc_str pattern = s->config->skip[index];
    if (!is_exact(pattern)) return s->fits[index];
    return s->fits[(uintptr_t)sc_map_get(&s->exact, name_in(pattern)) - 1];
}

static sc_status begin(sc_quant_plan *plan, const sc_quant_config *config, sc_imap *skipped) {
    sc_ctx *ctx = plan->ctx;
    const sc_mark mark = sc_arena_mark(ctx->scratch);
    skipping s = {.plan = plan, .config = config, .skipped = skipped};
    s.fits = sc_new_array(ctx->scratch, bool, (size_t)config->skip_count + 1);
    memset(s.fits, 0, config->skip_count * sizeof *s.fits);
    sc_map_init(&s.exact, ctx->scratch);
    sort(&s);
    SC_TRY(sc_graphs_visit(ctx, plan->method->graph, skip_in, &s));
    for (uint32_t i = 0; i < config->skip_count; i++)
        if (!fits_anything(&s, i))
            sc_quant_remark(plan, "skip: '" SC_STR_FMT "' matches no node, module or operator",
                            SC_STR_ARG(config->skip[i]));
    sc_arena_rewind(ctx->scratch, mark);
    return SC_OK;
}

sc_status sc_quant_begin_skips(sc_quant_plan *plan) {
    plan->skipped = sc_new_array(plan->ctx->arena, sc_imap, plan->config_count);
    for (uint32_t i = 0; i < plan->config_count; i++) {
        sc_imap_init(&plan->skipped[i], plan->ctx->arena);
        if (plan->configs[i].skip_count) SC_TRY(begin(plan, &plan->configs[i], &plan->skipped[i]));
    }
    return SC_OK;
}

bool sc_quant_is_skipped(const sc_quant_plan *plan, const sc_node *node) {
    const sc_imap *skipped = &plan->skipped[plan->config - plan->configs];
    return sc_imap_find(skipped, SC_PTR_KEY(node)) != NULL;
}
