// Chooses layers whose weights alone become integers or halves, as torchao's quantize_ does it, and
// computes their scales. No value is observed. Activations stay as they are, or get a scale for
// each token when the program runs (8da4w).
#include <float.h>
#include <math.h>

#include "observe/qparams.h"
#include "passes/passes.h"
#include "quant/layer.h"

static const float HALF_MAX = 65504.0f;

static sc_value *operand(const sc_node *node, uint32_t index) {
    return node->args[index].kind == SC_ARG_VALUE ? node->args[index].value : NULL;
}

// --- Which layers --------------------------------------------------------------------------------

// A float that widens to float32.
static bool is_narrow_float(uint8_t dtype) {
    return sc_dtype_is_float((sc_dtype)dtype) && dtype != SC_DTYPE_F64;
}

static const char *refuse_role(const quant_layer *l) {
    if (sc_quant_is_half_mode(l->plan) || l->role == QUANT_LINEAR) return NULL;
    if (l->plan->config->mode == SC_QUANT_DYNAMIC_INT4)
        return "only linear layers get weights of 4 bits with dynamic activations";
    if (l->role != QUANT_EMBEDDING)
        return "weight-only quantization takes linear layers and embeddings only";
    return NULL;
}

static const char *refuse_matrix(const quant_layer *l) {
    if (l->weight->spec.rank != 2 || l->sizes[0] == 0 || l->sizes[1] == 0)
        return "its weight is not a matrix";
    if (l->role == QUANT_EMBEDDING)
        return sc_quant_weight_bits(l->plan) == 4 && l->sizes[1] % 2
                   ? "two numbers of 4 bits fill a byte, and its rows have an odd number of them"
                   : NULL;
    if (!l->x || l->x->type != SC_VALUE_TENSOR || l->x->spec.dtype != l->weight->spec.dtype ||
        l->x->spec.rank == 0)
        return SC_QUANT_OTHER_INPUT;
    if (l->plan->config->mode != SC_QUANT_DYNAMIC_INT4) return NULL;
    if (!sc_dim_is(l->x->spec.sizes[l->x->spec.rank - 1], l->sizes[1]))
        return "the length of its tokens is not fixed";
    return l->sizes[1] == 1 ? "its tokens are single numbers, and these get no scales" : NULL;
}

static const char *refusal(const quant_layer *l) {
    const char *why = refuse_role(l);
    if (why) return why;
    if (!l->constant) return "its weight is not a constant";
    if (!is_narrow_float(l->weight->spec.dtype)) return SC_QUANT_OTHER_WEIGHT;
    if (!sc_quant_is_half_mode(l->plan)) return refuse_matrix(l);
    return l->weight->spec.dtype == SC_DTYPE_F32 ? NULL : SC_QUANT_HALF_ALREADY;
}

static bool has_weight(quant_role role) {
    return role == QUANT_LINEAR || role == QUANT_CONV || role == QUANT_CONV_TRANSPOSE ||
           role == QUANT_EMBEDDING;
}

static bool read_layer(sc_quant_plan *plan, sc_node *node, quant_layer *l) {
    const quant_role role = sc_quant_role(node->op);
    const bool is_embedding = role == QUANT_EMBEDDING;
    if (!has_weight(role)) return false;
    *l = (quant_layer){.plan = plan, .node = node, .role = role};
    l->x = operand(node, is_embedding);
    l->weight = operand(node, !is_embedding);
    l->constant = l->weight ? sc_quant_constant(plan, l->weight) : NULL;
    if (l->constant) l->elements = sc_quant_elements(&l->constant->spec, l->sizes);
    l->group = plan->config->group_size ? plan->config->group_size : l->sizes[1];
    l->meta = node->meta;
    l->meta.origin = sc_node_origin(node);
    return true;
}

static sc_status check_groups(const quant_layer *l) {
    const uint32_t size = l->plan->config->group_size;
    if (!size || sc_quant_is_half_mode(l->plan) || l->sizes[1] % size == 0) return SC_OK;
    sc_where_set_node(l->plan->ctx, l->node);
    return sc_fail(
        l->plan->ctx, SC_ERR_ARGUMENT,
        "Use a group size that divides it, use one scale for each channel (0), or skip the layer.",
        "groups of %u do not divide the %lld %s", size, (long long)l->sizes[1],
        l->role == QUANT_EMBEDDING ? "columns of this table" : "inputs of this layer");
}

// --- Ranges --------------------------------------------------------------------------------------

static sc_status range_of(const quant_layer *l, sc_slices slices, float *lows, float *highs) {
    const sc_weight weight = sc_quant_layer_weight(l);
    return sc_weight_ranges(l->plan->ctx, &weight, slices, lows, highs);
}

// Reports why halves cannot represent these numbers.
static sc_status check_halves(const quant_layer *l, sc_quant_range *range, const char **why) {
    sc_ctx *ctx = l->plan->ctx;
    const sc_diag_mark mark = sc_diags_mark(ctx);
    const sc_status status = range_of(l, sc_slices_whole(l->elements), &range->low, &range->high);
    if (status == SC_ERR_ARGUMENT) {
        sc_diags_rewind(ctx, mark);
        *why = "its weight has infinities or NaN";
        return SC_OK;
    }
    if (range->low < -HALF_MAX || range->high > HALF_MAX)
        *why = "its weight has numbers outside the range of float16";
    return status;
}

static uint32_t add_range(sc_quant_plan *plan, sc_value *value, sc_quant_range range) {
    range.place_count = 1;
    const uint64_t *before = sc_imap_find(&plan->weight_of, SC_PTR_KEY(value));
    const quant_weight weight = {.name = value->name,
                                 .config = plan->config,
                                 .range = range,
                                 .before = before ? (uint32_t)*before : 0};
    sc_vec_push(plan->ctx->arena, &plan->weights, weight);
    sc_imap_set(&plan->weight_of, SC_PTR_KEY(value), plan->weights.count);
    return plan->weights.count - 1;
}

// Finds only ranges of the configuration that chooses now. Several configurations, one after the
// other, may quantize layers of one weight.
static uint32_t find_range(const sc_quant_plan *plan, const sc_value *value) {
    const uint64_t *found = sc_imap_find(&plan->weight_of, SC_PTR_KEY(value));
    for (uint32_t i = found ? (uint32_t)*found : 0; i > 0; i = plan->weights.data[i - 1].before)
        if (plan->weights.data[i - 1].config == plan->config) return i - 1;
    return SC_QUANT_NO;
}

static sc_quant_range new_range(const quant_layer *l) {
    const sc_quant_plan *plan = l->plan;
    const bool is_half = sc_quant_is_half_mode(plan);
    const uint32_t bits = is_half ? 16 : sc_quant_weight_bits(plan);
    sc_quant_range range = {.is_weight = true, .bits = (uint8_t)bits};
    if (!is_half) range.group_size = plan->config->group_size;
    range.bytes_before = l->elements * sc_dtype_bytes((sc_dtype)l->weight->spec.dtype);
    range.bytes_after = (l->elements * bits + 7) / 8;
    return range;
}

static void note_tokens(const quant_layer *l) {
    if (l->plan->config->mode != SC_QUANT_DYNAMIC_INT4) return;
    if (find_range(l->plan, l->x) == SC_QUANT_NO)
        (void)add_range(l->plan, l->x, (sc_quant_range){.is_dynamic = true, .bits = 8});
}

// --- Preparing -----------------------------------------------------------------------------------

static sc_status note_layer(const quant_layer *l, const char **why) {
    sc_quant_range range = new_range(l);
    uint32_t number = find_range(l->plan, l->weight);
    SC_TRY(check_groups(l));
    *why = NULL;
    if (number == SC_QUANT_NO) {
        if (sc_quant_is_half_mode(l->plan)) SC_TRY(check_halves(l, &range, why));
        if (*why) return SC_OK;
        number = add_range(l->plan, l->weight, range);
    }
    note_tokens(l);
    quant_note *note = sc_quant_take_note(l->plan, l->node);
    note->weights = l->plan->config;
    note->weight = number;
    return SC_OK;
}

// Layers of another kind are left to other configurations.
static bool is_asked_for(const quant_layer *l) {
    switch (l->plan->config->layers) {
    case SC_QUANT_LINEAR: return l->role == QUANT_LINEAR;
    case SC_QUANT_EMBEDDINGS: return l->role == QUANT_EMBEDDING;
    default: return true;
    }
}

static sc_status prepare_node(sc_quant_plan *plan, sc_node *node) {
    quant_layer l;
    if (sc_quant_note(plan, node) || !read_layer(plan, node, &l) || !is_asked_for(&l)) return SC_OK;
    if (sc_quant_is_skipped(plan, node)) {
        sc_quant_leave(plan, node);
        return SC_OK;
    }
    const char *why = refusal(&l);
    if (!why) SC_TRY(note_layer(&l, &why));
    if (why) sc_quant_why_not(plan, node, "%s", why);
    return SC_OK;
}

static sc_status check_config(const sc_quant_plan *plan) {
    const uint32_t bits = sc_quant_weight_bits(plan);
    if (!sc_quant_is_half_mode(plan) && bits != 4 && bits != 8)
        return sc_fail(plan->ctx, SC_ERR_ARGUMENT, NULL, "weights have 4 or 8 bits, not %u", bits);
    if (plan->config->group_size > (1 << 20))
        return sc_fail(plan->ctx, SC_ERR_ARGUMENT, NULL, "groups of %u are too large",
                       plan->config->group_size);
    return SC_OK;
}

// Warns of weights in groups. XNNPACK multiplies them only with dynamically quantized inputs. The
// kernels here multiply those of 4 bits with floats, too.
static void warn_of_groups(sc_quant_plan *plan) {
    const sc_quant_config *config = plan->config;
    const bool is_taken = config->mode != SC_QUANT_WEIGHT_ONLY;
    if (is_taken || !config->group_size) return;
    for (uint32_t i = 0; i < plan->notes.count; i++) {
        const quant_note *note = plan->notes.data[i];
        if (note->weights != config || sc_quant_role(note->node->op) != QUANT_LINEAR) continue;
        sc_where_set_method(plan->ctx, plan->method);
        sc_report(plan->ctx, SC_WARNING, SC_ERR_UNSUPPORTED,
                  "Take one scale for each channel (groupSize 0), or quantize activations, too: "
                  "xnnpack_torchao_int8da_int4w_per_tensor.",
                  "method '%s': weights of %u bits in groups are widened in every run%s",
                  plan->method->name->text, sc_quant_weight_bits(plan),
                  sc_quant_weight_bits(plan) == 4
                      ? " of ExecuTorch's runtime, though not of Sconce's"
                      : ", because no runtime multiplies with them");
        return;
    }
}

enum { NAMES_MAX = 8 };

// Refuses rows that end within a byte, and tokens without a dimension of tokens. XNNPACK has no
// multiplication for either, although torchao quantizes both.
static bool is_outside_xnnpack(const sc_quant_plan *plan, const quant_note *note) {
    if (note->weights != plan->config) return false;
    return operand(note->node, 1)->spec.sizes[1].value % 2 || operand(note->node, 0)->spec.rank < 2;
}

static void warn_of_rows(sc_quant_plan *plan) {
    uint32_t count = 0;
    sc_sb names;
    if (plan->config->mode != SC_QUANT_DYNAMIC_INT4) return;
    sc_sb_init(&names, plan->ctx->arena);
    for (uint32_t i = 0; i < plan->notes.count; i++) {
        const quant_note *note = plan->notes.data[i];
        if (!is_outside_xnnpack(plan, note)) continue;
        if (count < NAMES_MAX)
            sc_sb_addf(&names, "%s%s", count ? ", " : "", note->node->name->text);
        count++;
    }
    if (count > NAMES_MAX) sc_sb_addf(&names, " and %u more", count - NAMES_MAX);
    sc_where_set_method(plan->ctx, plan->method);
    if (count)
        sc_report(plan->ctx, SC_WARNING, SC_ERR_UNSUPPORTED,
                  "Skip these layers: XNNPACK can multiply with them as floats.",
                  "method '%s': XNNPACK cannot run these layers once they are quantized, because "
                  "they have an odd number of inputs or an input of one dimension: %s",
                  plan->method->name->text, sc_sb_terminate(&names));
}

static sc_status prepare_by(sc_quant_plan *plan, const sc_quant_config *config) {
    const uint32_t notes = plan->notes.count;
    plan->config = config;
    SC_TRY(check_config(plan));
    for (sc_node *node = plan->method->graph->first; node; node = node->next)
        SC_TRY(prepare_node(plan, node));
    warn_of_groups(plan);
    warn_of_rows(plan);
    sc_quant_remark_idle(plan, notes);
    return SC_OK;
}

sc_status sc_quant_prepare_weights(sc_quant_plan *plan) {
    sc_imap_init(&plan->weight_of, plan->ctx->arena);
    for (uint32_t i = 0; i < plan->config_count; i++)
        if (!sc_quant_has_places(&plan->configs[i])) SC_TRY(prepare_by(plan, &plan->configs[i]));
    return SC_OK;
}

// --- Converting ----------------------------------------------------------------------------------

// The scale of each group of a row: its largest magnitude over half the range of integers. Layers
// with one weight share its scales.
static sc_status choose_scales(const quant_layer *l, sc_quant_range *range) {
    sc_ctx *ctx = l->plan->ctx;
    const int32_t largest = range->bits == 4 ? 7 : 127;
    const sc_slices slices = sc_slices_groups(l->elements, (uint64_t)l->group);
    if (range->scales) return SC_OK;
    float *scales = sc_new_array(ctx->arena, float, slices.count);
    const sc_mark mark = sc_arena_mark(ctx->scratch);
    float *lows = sc_new_array(ctx->scratch, float, slices.count);
    float *highs = sc_new_array(ctx->scratch, float, slices.count);
    SC_TRY(range_of(l, slices, lows, highs));
    range->low = INFINITY;
    range->high = -INFINITY;
    for (uint64_t i = 0; i < slices.count; i++) {
        scales[i] = sc_qparams_symmetric(lows[i], highs[i], -largest - 1, largest, FLT_MIN).scale;
        range->low = fminf(range->low, lows[i]);
        range->high = fmaxf(range->high, highs[i]);
    }
    sc_arena_rewind(ctx->scratch, mark);
    range->scales = scales;
    range->count = (uint32_t)slices.count;
    range->bytes_after += slices.count * sizeof *scales;
    return SC_OK;
}

static sc_status convert_layer(const quant_layer *l, quant_weight *weight) {
    sc_where_set_node(l->plan->ctx, l->node);
    if (!sc_quant_is_half_mode(l->plan)) SC_TRY(choose_scales(l, &weight->range));
    return sc_quant_convert_layer(l, weight->range.scales);
}

static uint32_t count_layers(const sc_quant_plan *plan) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < plan->notes.count; i++) count += plan->notes.data[i]->weights != NULL;
    return count;
}

sc_status sc_quant_convert_weights(sc_quant_plan *plan) {
    const uint32_t count = count_layers(plan);
    uint32_t done = 0;
    for (sc_node *node = plan->method->graph->first, *next; node; node = next) {
        const quant_note *note = sc_quant_note(plan, node);
        quant_layer l;
        next = node->next;
        if (!note || !note->weights) continue;
        SC_TRY(sc_progress(plan->ctx, SC_PHASE_settle, done++, count));
        plan->config = note->weights;
        if (!read_layer(plan, node, &l)) continue;
        l.parts = plan->weights.data[note->weight].parts;
        SC_TRY(convert_layer(&l, &plan->weights.data[note->weight]));
    }
    return count ? sc_progress(plan->ctx, SC_PHASE_settle, count, count) : SC_OK;
}
