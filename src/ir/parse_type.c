// The types of values in the textual IR: "f32[2, s0]{1, 2}", "int(s0)".
#include "ir/parse.h"

static sc_status parse_dims(sc_parser *p, sc_exprs *exprs, const char *brackets, sc_dim *out,
                            uint32_t max, uint32_t *count) {
    sc_str items[SC_RANK_MAX];
    SC_TRY(sc_text_items(&p->c, brackets[0], brackets[1], items, max, count));
    for (uint32_t i = 0; i < *count; i++) {
        int64_t value;
        if (sc_parse_i64(items[i], &value))
            out[i] = sc_dim_int(value);
        else
            SC_TRY(sc_dim_parse(p->c.ctx, exprs, items[i], &out[i]));
    }
    return SC_OK;
}

static sc_status parse_one_dim(sc_parser *p, sc_exprs *exprs, const char *brackets, sc_dim *out) {
    uint32_t count;
    SC_TRY(parse_dims(p, exprs, brackets, out, 1, &count));
    return count == 1 ? SC_OK : sc_text_fail(&p->c, "one expression");
}

sc_status sc_parse_spec(sc_parser *p, sc_exprs *exprs, sc_spec *spec) {
    sc_str word;
    SC_TRY(sc_text_word(&p->c, &word));
    sc_dtype dtype = sc_dtype_from_short(word);
    if (dtype == SC_DTYPE_NONE) return sc_text_fail(&p->c, "a dtype");
    sc_dim sizes[SC_RANK_MAX];
    uint32_t rank, stride_count;
    SC_TRY(parse_dims(p, exprs, "[]", sizes, SC_RANK_MAX, &rank));
    *spec = sc_spec_new(p->c.arena, dtype, rank);
    for (uint32_t i = 0; i < rank; i++) {
        if (sc_dim_is_int(sizes[i]) && sizes[i].value < 0)
            return sc_text_fail(&p->c, "sizes that are not negative");
        spec->sizes[i] = sizes[i];
    }
    if (!sc_spec_products_fit(exprs, spec))
        return sc_text_fail(&p->c, "sizes whose product is in range");
    sc_text_skip(&p->c, true);
    if (p->c.at < p->c.text.size && p->c.text.data[p->c.at] == '{') {
        SC_TRY(parse_dims(p, exprs, "{}", spec->strides, rank, &stride_count));
        if (stride_count != rank) return sc_text_fail(&p->c, "a stride for every size");
    } else {
        sc_spec_set_contiguous(exprs, spec);
    }
    sc_text_skip(&p->c, true);
    if (p->c.at < p->c.text.size && p->c.text.data[p->c.at] == '<')
        SC_TRY(parse_one_dim(p, exprs, "<>", &spec->offset));
    spec->requires_grad = sc_text_accept_word_here(&p->c, "grad");
    return SC_OK;
}

sc_status sc_parse_type(sc_parser *p, sc_value *value) {
    sc_exprs *exprs = value->graph->method->exprs;
    SC_TRY(sc_text_expect(&p->c, ':'));
    for (uint32_t i = 1; i < SC_COUNT_OF(sc_text_value_types); i++) {
        if (!sc_text_accept_word(&p->c, sc_text_value_types[i])) continue;
        value->type = (sc_value_type)i;
        if ((value->type == SC_VALUE_INT || value->type == SC_VALUE_BOOL) &&
            p->c.at < p->c.text.size && p->c.text.data[p->c.at] == '(') {
            SC_TRY(parse_one_dim(p, exprs, "()", &value->dim));
            value->has_dim = true;
        }
        return SC_OK;
    }
    value->type = SC_VALUE_TENSOR;
    return sc_parse_spec(p, exprs, &value->spec);
}
