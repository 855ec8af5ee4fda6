// What the user does not want to be quantized: patterns with '*' over names of nodes, operators and
// the paths of modules that a node is in; "=linear" is the node of that name and nothing else.
#include "quant/plan.h"

// The last '*' is the only one that ever has to take more than it did.
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

// "aten::add.Tensor", or with the dots that Python has instead of colons, with or without the
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

// The stack is "key,path,type;key,path,type", outermost first; types may have commas of their own.
// A path fits with everything below it, which has it somewhere in its stack.
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
    const sc_str name = sc_name_str(node->name);
    if (pattern.size && pattern.data[0] == '=')
        return sc_str_equal(sc_str_slice(pattern, 1, pattern.size), name);
    return fits(pattern, name) || fits_module(pattern, node->meta.module_stack) ||
           fits_op(ctx, pattern, node->op);
}

bool sc_quant_is_skipped(const sc_quant_plan *plan, const sc_node *node) {
    const sc_quant_config *config = &plan->config;
    sc_mark mark = sc_arena_mark(plan->ctx->scratch);
    bool found = false;
    for (uint32_t i = 0; i < config->skip_count && !found; i++)
        found = fits_node(plan->ctx, config->skip[i], node);
    sc_arena_rewind(plan->ctx->scratch, mark);
    return found;
}
