// The precisions of operators, by name.
#include "backend/backend.h"

static const struct {
    sc_precision precision;
    const char *name;
} PRECISIONS[] = {{SC_PRECISION_FP32, "fp32"},
                  {SC_PRECISION_STATIC_QUANT, "static_quant"},
                  {SC_PRECISION_DYNAMIC_QUANT, "dynamic_quant"}};

const char *sc_precision_name(sc_precision precision) {
    uint32_t i = 0;
    while (PRECISIONS[i].precision != precision) i++;
    return PRECISIONS[i].name;
}

static uint32_t precision_of(sc_str name) {
    for (uint32_t i = 0; i < SC_COUNT_OF(PRECISIONS); i++)
        if (sc_str_is(name, PRECISIONS[i].name)) return PRECISIONS[i].precision;
    return 0;
}

sc_status sc_precisions_read(sc_ctx *ctx, const sc_option_names *names, uint32_t *out) {
    *out = names->count ? 0 : SC_PRECISION_ALL;
    for (uint32_t i = 0; i < names->count; i++) {
        const uint32_t precision = precision_of(names->items[i]);
        if (!precision)
            return sc_fail(ctx, SC_ERR_OPTION, "Use fp32, static_quant or dynamic_quant.",
                           "there is no precision '" SC_STR_FMT "'", SC_STR_ARG(names->items[i]));
        *out |= precision;
    }
    return SC_OK;
}
