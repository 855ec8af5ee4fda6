// The null backend, ahead of time: a complete example of a backend. It takes the nodes that kernels
// run, and compiles a part to a program of its own.
#include "backend/backend.h"
#include "backends/null/null.h"

// --- Which nodes ---------------------------------------------------------------------------------

static bool passes_number(void *user, sc_arg *arg) {
    (void)user;
    return arg->value->type == SC_VALUE_TENSOR;
}

// The reason for a refusal, or NULL. A program is started with tensors, and its results must be the
// same each time.
static const char *refusal(const sc_node *node) {
    const sc_op_traits never =
        SC_MUTATES | SC_RANDOM | SC_SYMBOLIC | SC_HIGHER_ORDER | SC_ASSERTION;
    if (node->is_kept || !sc_op_has(node->op, SC_RUNS)) return "no kernel runs it";
    if (sc_op_has(node->op, SC_OWN)) return "its kernel is the user's own";
    if (sc_op_has(node->op, never)) return "it does more than compute tensors from tensors";
    if (!sc_node_visit_values(node, passes_number, NULL))
        return "it takes a number that is known only when the program runs";
    for (uint32_t i = 0; i < node->out_count; i++)
        if (node->outs[i]->type != SC_VALUE_TENSOR) return "not all of its results are tensors";
    return NULL;
}

static bool asks_for_state(const sc_survey *survey) {
    for (uint32_t i = 0; i < survey->spec_count; i++)
        if (sc_str_is(survey->specs[i].key, "state")) return true;
    return false;
}

static sc_status survey(const sc_backend *backend, sc_survey *s) {
    (void)backend;
    const bool keeps_state = asks_for_state(s);
    for (const sc_node *node = s->graph->first; node; node = node->next) {
        const char *why = refusal(node);
        sc_claim *claim = sc_claim_of(s, node);
        claim->is_taken = why == NULL;
        if (why) claim->reason = sc_str_from(why);
    }
    // Buffers that the method writes stay with it, unless the options say that parts keep them.
    for (uint32_t i = 0; i < s->graph->inputs.count && keeps_state; i++)
        s->takes_input[i] |= !s->graph->parent && s->graph->method->inputs.data[i].constant;
    return SC_OK;
}

// --- Bytes of parts ------------------------------------------------------------------------------

// Weights are data, named after their contents, so parts that share one find it once.
static sc_status add_weight(sc_ctx *ctx, sc_part *part, sc_extent bytes, char *key) {
    sc_cord *cord = sc_new(ctx->arena, sc_cord);
    SC_TRY(sc_extent_content_key(ctx, bytes, key));
    sc_cord_init(cord, ctx->arena);
    sc_cord_append_extent(cord, bytes);
    sc_part_data data = {.bytes = cord, .align = 16};
    data.key = sc_str_copy(ctx->arena, (sc_str){key, SC_NULL_KEY_BYTES});
    sc_vec_push(ctx->arena, &part->data, data);
    return SC_OK;
}

static sc_status preprocess(const sc_backend *backend, sc_ctx *ctx, const sc_backend_env *env,
                            sc_part *part) {
    const sc_method *method = part->method;
    sc_cord *bytes = sc_new(ctx->arena, sc_cord), keys;
    uint32_t count = 0;
    (void)backend;
    sc_cord_init(bytes, ctx->arena);
    sc_cord_init(&keys, ctx->arena);
    for (uint32_t i = 0; i < method->inputs.count; i++) {
        const sc_input_sig *input = &method->inputs.data[i];
        char key[SC_NULL_KEY_BYTES] = {0};
        if (input->constant && sc_part_writes(part, input->target)) continue;
        if (input->constant) SC_TRY(add_weight(ctx, part, input->constant->data, key));
        sc_cord_append_copy(&keys, key, sizeof key);
        count++;
    }
    const uint8_t head[4] = {(uint8_t)count, (uint8_t)(count >> 8), (uint8_t)(count >> 16),
                             (uint8_t)(count >> 24)};
    sc_cord_append_copy(bytes, head, sizeof head);
    sc_cord_append_cord(bytes, &keys);
    sc_cord_align(bytes, 16);
    SC_TRY(env->emit(env->user, ctx, part, bytes));
    part->processed = bytes;
    return SC_OK;
}

const sc_backend sc_backend_null = {
    .name = "null", .id = SC_NULL_BACKEND, .survey = survey, .preprocess = preprocess};
