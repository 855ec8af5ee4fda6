// The arguments of nodes in the textual IR.
#include "ir/parse.h"

static sc_status find_value(sc_parser *p, const sc_parse_scope *s, sc_value **out) {
    sc_str name;
    SC_TRY(sc_text_expect(&p->c, '%'));
    SC_TRY(sc_text_name(&p->c, &name));
    *out = sc_map_get(&s->values, name);
    return *out ? SC_OK : sc_text_fail(&p->c, "a value defined above");
}

static sc_status parse_number(sc_parser *p, sc_arg *out) {
    sc_text_cursor *c = &p->c;
    size_t end = c->at + (c->text.data[c->at] == '-');
    while (end < c->text.size) {
        char next = c->text.data[end];
        bool sign = (next == '-' || next == '+') && c->text.data[end - 1] == 'e';
        if (!sign && !sc_text_is_word(next)) break;
        end++;
    }
    sc_str text = sc_str_slice(c->text, c->at, end);
    int64_t i;
    double f;
    if (sc_parse_i64(text, &i))
        *out = sc_arg_int(i);
    else if (sc_parse_f64(text, &f))
        *out = sc_arg_float(f);
    else
        return sc_text_fail(c, "a number");
    c->at = end;
    return SC_OK;
}

static sc_status parse_in_parens(sc_parser *p, const char *word, sc_arg *out) {
    SC_TRY(sc_text_expect(&p->c, '('));
    if (word[0] == 'd') {
        *out = (sc_arg){.kind = SC_ARG_DEVICE};
        SC_TRY(sc_text_quoted(&p->c, &out->str));
    } else {
        int64_t code;
        SC_TRY(sc_text_i64(&p->c, &code));
        if (code < 0 || code > UINT8_MAX) return sc_text_fail(&p->c, "a layout code");
        *out = (sc_arg){.kind = SC_ARG_LAYOUT, .code = (uint8_t)code};
    }
    return sc_text_expect(&p->c, ')');
}

static sc_status parse_word_arg(sc_parser *p, const sc_parse_scope *s, sc_arg *out) {
    sc_text_cursor *c = &p->c;
    sc_str word = sc_text_peek_word(c);
    *out = sc_arg_none();
    if (sc_text_accept_word(c, "None")) return SC_OK;
    if (sc_text_accept_word(c, "device")) return parse_in_parens(p, "device", out);
    if (sc_text_accept_word(c, "layout")) return parse_in_parens(p, "layout", out);
    if (sc_str_is(word, "graph")) {
        out->kind = SC_ARG_GRAPH;
        return sc_parse_graph(p, s, &out->graph);
    }
    if (sc_str_is(word, "part")) {
        out->kind = SC_ARG_PART;
        return sc_parse_part(p, s, &out->part);
    }
    sc_dtype dtype = sc_dtype_from_short(word);
    if (sc_str_is(word, "True") || sc_str_is(word, "False"))
        *out = sc_arg_bool(word.data[0] == 'T');
    else if (sc_str_is(word, "strided"))
        out->kind = SC_ARG_LAYOUT;
    else if (dtype != SC_DTYPE_NONE)
        *out = sc_arg_dtype(dtype);
    else
        for (uint32_t i = 0; i < SC_COUNT_OF(sc_text_formats); i++)
            if (sc_str_is(word, sc_text_formats[i])) *out = sc_arg_format((sc_memory_format)i);
    if (out->kind == SC_ARG_NONE) return sc_text_fail(c, "an argument");
    c->at += word.size;
    return SC_OK;
}

static sc_status parse_list(sc_parser *p, const sc_parse_scope *s, uint32_t depth, sc_arg *out) {
    SC_VEC(sc_arg) items = {0};
    if (depth >= SC_TEXT_LIST_DEPTH_MAX)
        return sc_text_fail(&p->c, "lists that are nested less deeply");
    SC_TRY(sc_text_expect(&p->c, '['));
    while (!sc_text_accept(&p->c, ']')) {
        if (items.count > 0) SC_TRY(sc_text_expect(&p->c, ','));
        sc_arg item;
        SC_TRY(sc_parse_arg(p, s, depth + 1, &item));
        sc_vec_push(p->c.ctx->scratch, &items, item);
    }
    *out = sc_arg_list(items.data, items.count);
    return SC_OK;
}

sc_status sc_parse_arg(sc_parser *p, const sc_parse_scope *s, uint32_t depth, sc_arg *out) {
    char next = sc_text_peek(&p->c);
    if (next == '%') {
        *out = (sc_arg){.kind = SC_ARG_VALUE};
        return find_value(p, s, &out->value);
    }
    if (next == '[') return parse_list(p, s, depth, out);
    if (next == '"') {
        *out = (sc_arg){.kind = SC_ARG_STR};
        return sc_text_quoted(&p->c, &out->str);
    }
    sc_str word = sc_text_peek_word(&p->c);
    if (next == '-' || (next >= '0' && next <= '9') || sc_str_is(word, "inf") ||
        sc_str_is(word, "nan"))
        return parse_number(p, out);
    return parse_word_arg(p, s, out);
}
