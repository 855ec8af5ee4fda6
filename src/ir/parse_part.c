// Headers of delegated parts in the textual IR (grammar at the top of print_part.c).
#include "ir/parse.h"

#define PIECE_BYTES_MAX (INT64_C(1) << 40)

static sc_status parse_count(sc_parser *p, int64_t max, int64_t *out) {
    SC_TRY(sc_text_i64(&p->c, out));
    return *out >= 0 && *out <= max ? SC_OK : sc_text_fail(&p->c, "a number in range");
}

// --- Bytes ---------------------------------------------------------------------------------------

static sc_status parse_piece(sc_parser *p, sc_cord *cord, bool *found) {
    bool is_zeros = sc_text_accept_word_here(&p->c, "zeros");
    bool is_extent = !is_zeros && sc_text_accept_word_here(&p->c, "extent");
    int64_t size = 0;
    sc_str text;
    *found = true;
    if (is_zeros || is_extent) {
        SC_TRY(parse_count(p, PIECE_BYTES_MAX, &size));
        if (is_zeros)
            sc_cord_append_zeros(cord, (uint64_t)size);
        else
            sc_cord_append_extent(cord,
                                  sc_extent_whole(sc_source_zeros(p->c.arena, (uint64_t)size)));
    } else if (sc_text_quote_is_here(&p->c)) {
        SC_TRY(sc_text_quoted(&p->c, &text));
        sc_cord_append_bytes(cord, text.data, text.size);
    } else {
        *found = false;
    }
    return SC_OK;
}

static sc_status parse_bytes(sc_parser *p, const sc_cord **out) {
    sc_cord *cord = sc_new(p->c.arena, sc_cord);
    bool found;
    sc_cord_init(cord, p->c.arena);
    do SC_TRY(parse_piece(p, cord, &found));
    while (found);
    *out = cord;
    return SC_OK;
}

// --- The header ----------------------------------------------------------------------------------

static sc_status parse_spec(sc_parser *p, sc_part *part) {
    sc_compile_spec spec;
    SC_TRY(sc_text_quoted(&p->c, &spec.key));
    SC_TRY(sc_text_quoted(&p->c, &spec.value));
    sc_vec_push(p->c.arena, &part->specs, spec);
    return SC_OK;
}

static sc_status parse_handles(sc_parser *p, sc_part_event *event) {
    SC_VEC(uint32_t) handles = {0};
    int64_t handle;
    SC_TRY(sc_text_expect(&p->c, '['));
    while (!sc_text_accept(&p->c, ']')) {
        if (handles.count > 0) SC_TRY(sc_text_expect(&p->c, ','));
        SC_TRY(parse_count(p, UINT32_MAX, &handle));
        sc_vec_push(p->c.arena, &handles, (uint32_t)handle);
    }
    event->handles = handles.data;
    event->handle_count = handles.count;
    return SC_OK;
}

static sc_status parse_event(sc_parser *p, sc_part *part) {
    sc_part_event event = {0};
    part->has_events = true;
    sc_text_skip(&p->c, true);
    if (p->c.at < p->c.text.size && p->c.text.data[p->c.at] == '\n') return SC_OK;
    if (sc_text_quote_is_here(&p->c))
        SC_TRY(sc_text_quoted(&p->c, &event.name));
    else
        SC_TRY(sc_text_i64(&p->c, &event.id));
    SC_TRY(parse_handles(p, &event));
    sc_vec_push(p->c.arena, &part->events, event);
    return SC_OK;
}

static sc_status parse_layout(sc_parser *p, sc_part *part, const sc_spec **out) {
    sc_spec *spec = sc_new(p->c.arena, sc_spec);
    SC_TRY(sc_parse_spec(p, part->method->exprs, spec));
    *out = spec;
    return SC_OK;
}

static sc_status parse_data(sc_parser *p, sc_part *part) {
    sc_part_data data = {0};
    int64_t align;
    SC_TRY(sc_text_quoted(&p->c, &data.key));
    if (!sc_text_accept_word_here(&p->c, "align")) return sc_text_fail(&p->c, "an alignment");
    SC_TRY(parse_count(p, INT64_MAX, &align));
    data.align = (uint64_t)align;
    if (sc_text_accept_word_here(&p->c, "file")) SC_TRY(sc_text_quoted(&p->c, &data.tag));
    if (sc_text_accept_word_here(&p->c, "layout")) SC_TRY(parse_layout(p, part, &data.layout));
    SC_TRY(parse_bytes(p, &data.bytes));
    sc_vec_push(p->c.arena, &part->data, data);
    return SC_OK;
}

sc_status sc_parse_part_header(sc_parser *p, sc_part *part) {
    while (sc_text_begins(&p->c, "spec")) SC_TRY(parse_spec(p, part));
    if (sc_text_begins(&p->c, "processed")) SC_TRY(parse_bytes(p, &part->processed));
    while (sc_text_begins(&p->c, "events")) SC_TRY(parse_event(p, part));
    while (sc_text_begins(&p->c, "data")) SC_TRY(parse_data(p, part));
    return SC_OK;
}
