// As ExecuTorch has it: views and operators of other libraries cannot stay whole. An operator that
// writes is replaced by the one that does not, so keeping it has no effect.
#include "api/compile/preserved.h"

#include "ops/library.h"
#include "ops/suggest.h"

static const sc_op *op_named(sc_str name) { return sc_op_find_python(name); }

static sc_status refuse(sc_ctx *ctx, sc_str name, const char *hint, const char *why) {
    return sc_fail(ctx, SC_ERR_OPTION, hint, "preserve_ops names '" SC_STR_FMT "', which %s",
                   SC_STR_ARG(name), why);
}

static sc_status check_name(sc_ctx *ctx, sc_str name) {
    const sc_op *op = op_named(name);
    if (!op) return refuse(ctx, name, sc_op_suggest(ctx->arena, name), "is not a known operator");
    if (sc_op_library(op))
        return refuse(ctx, name, "Let a backend keep it, with opsToNotDecompose.",
                      "is not an operator of ATen");
    if (sc_op_has(op, SC_VIEW) || sc_op_may_return_alias(op))
        return refuse(ctx, name, "Leave it out: views become copies.",
                      "is a view and cannot stay whole");
    if (sc_op_has(op, SC_INPLACE) || sc_op_has(op, SC_MUTATES))
        sc_report(ctx, SC_WARNING, SC_ERR_OPTION,
                  "Name the operator that returns its result instead.",
                  "preserve_ops names %s, which has no effect: operators that write in place are "
                  "replaced",
                  op->name);
    return SC_OK;
}

bool sc_preserved_has(const sc_options *options, const sc_node *node) {
    for (uint32_t i = 0; i < options->preserve_ops.count; i++)
        if (op_named(options->preserve_ops.items[i]) == node->op) return true;
    return false;
}

static bool wants(void *user, const sc_node *node) {
    const sc_preserved *preserved = user;
    const sc_keep *others = preserved->others;
    return sc_preserved_has(preserved->options, node) ||
           (others && others->wants(others->user, node));
}

sc_status sc_preserved_init(sc_ctx *ctx, const sc_options *options, const sc_keep *others,
                            sc_preserved *out) {
    *out = (sc_preserved){.options = options, .others = others, .keep = {wants, out}};
    for (uint32_t i = 0; i < options->preserve_ops.count; i++)
        SC_TRY(check_name(ctx, options->preserve_ops.items[i]));
    return SC_OK;
}
