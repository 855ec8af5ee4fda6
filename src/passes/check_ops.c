// Reports every operator that cannot be lowered, for the whole method at once: its name, the node,
// the user's own source line, and what to do about it. Runs twice: right after import for operators
// that nobody knows, and before emission for those that no kernel computes.
#include "passes/passes.h"

// --- The user's line -----------------------------------------------------------------------------

// Python's traceback text: '  File "net.py", line 12, in forward' and the code on the line below.
// The last frame is the innermost one.
static sc_str last_frame(sc_str trace, sc_str *code) {
    sc_str file = {0}, previous = {0};
    *code = (sc_str){0};
    while (trace.size) {
        ptrdiff_t end = sc_str_find(trace, '\n');
        sc_str line = end < 0 ? trace : sc_str_slice(trace, 0, (size_t)end);
        trace = end < 0 ? (sc_str){0} : sc_str_slice(trace, (size_t)end + 1, trace.size);
        while (line.size && (line.data[0] == ' ' || line.data[0] == '\t'))
            line = sc_str_slice(line, 1, line.size);
        if (sc_str_starts_with(line, "File ")) {
            file = line;
            *code = (sc_str){0};
        } else if (line.size && sc_str_starts_with(previous, "File ")) {
            *code = line;
        }
        if (line.size) previous = line;
    }
    return file;
}

static sc_str source_line(sc_arena *arena, const sc_node *node) {
    sc_str code, file = last_frame(node->meta.stack_trace, &code);
    if (code.size)
        return sc_str_format(arena, ": `" SC_STR_FMT "` (" SC_STR_FMT ")", SC_STR_ARG(code),
                             SC_STR_ARG(file));
    if (file.size) return sc_str_format(arena, " (" SC_STR_FMT ")", SC_STR_ARG(file));
    return (sc_str){"", 0};
}

// --- Reports -------------------------------------------------------------------------------------

static const char *foreign_hint(sc_arena *arena, const sc_node *node) {
    const sc_op *similar[3];
    uint32_t count = sc_op_similar(sc_str_from(node->op->name), similar);
    if (count == 0) return "Rewrite this line with operators that PyTorch itself defines.";
    return sc_str_format(arena, "Rewrite this line with another operator, for example %s.",
                         similar[0]->name)
        .data;
}

static void report(sc_ctx *ctx, const sc_node *node, const char *what, const char *hint) {
    sc_where_set_node(ctx, node);
    sc_str line = source_line(ctx->scratch, node);
    sc_report(ctx, SC_ERROR, SC_ERR_UNSUPPORTED_OP, hint, "%s %s" SC_STR_FMT, node->op->name, what,
              SC_STR_ARG(line));
}

// Why an operator cannot be lowered, or NULL.
typedef const char *(*complaint_fn)(const sc_op *op);

typedef struct survey {
    complaint_fn complaint;
    uint32_t found;
} survey;

static sc_status check_graph(sc_ctx *ctx, sc_graph *graph, void *user) {
    survey *s = user;
    for (const sc_node *node = graph->first; node; node = node->next) {
        const char *what = s->complaint(node->op);
        if (!what) continue;
        sc_mark mark = sc_arena_mark(ctx->scratch);
        bool is_foreign = sc_op_has(node->op, SC_FOREIGN);
        report(ctx, node, what, is_foreign ? foreign_hint(ctx->scratch, node) : NULL);
        sc_arena_rewind(ctx->scratch, mark);
        s->found++;
    }
    return SC_OK;
}

static sc_status check(sc_ctx *ctx, sc_method *method, complaint_fn complaint) {
    survey s = {complaint, 0};
    SC_TRY(sc_graphs_visit(ctx, method->graph, check_graph, &s));
    return s.found ? SC_ERR_UNSUPPORTED_OP : SC_OK;
}

static const char *foreign(const sc_op *op) {
    return sc_op_has(op, SC_FOREIGN) ? "is not supported" : NULL;
}

sc_status sc_pass_check_foreign(sc_ctx *ctx, sc_method *method) {
    return check(ctx, method, foreign);
}

// Control flow becomes jumps; every other operator needs a name
// that runtimes know and a kernel somewhere. What one of the two runtimes lacks, emission warns of.
static const char *lack_of(const sc_op *op) {
    if (sc_op_has(op, SC_HIGHER_ORDER) && sc_op_has(op, SC_CORE)) return NULL;
    if (!op->out_name) return "cannot be executed: the runtime has no such operator";
    if (!sc_op_has(op, SC_RUNS) && sc_op_has(op, SC_UNOFFICIAL))
        return "cannot be executed: neither this runtime nor the official one has a kernel for it";
    return NULL;
}

sc_status sc_pass_check_kernels(sc_ctx *ctx, sc_method *method) {
    return check(ctx, method, lack_of);
}
