// The header of a delegated part in the textual IR, which is written where a call names it:
//
//   part lowered_module_0 "XnnpackBackend" {
//     spec "threads" "\x04"
//     processed "XH00" zeros 12 extent 4096
//     events 0 [1, 2]
//     events "conv #1" [3]
//     data "weights" align 16 file "weights" layout f32[2, 3] "..."
//     input %x: f32[2]
//     ...
//     return %y
//   }
//
// - Header lines may be left out but not reordered; "events" alone means that the backend names no
//   events.
// - Bytes are text or \x00, zeros N, or, like the contents of constants, only counted: extent N.
// - The body has its own names and a method's signature, and uses the symbols around it.
#include "ir/print.h"

static void print_bytes(sc_printer *p, const sc_cord *cord) {
    for (uint32_t i = 0; i < cord->chunks.count; i++) {
        const sc_chunk *chunk = &cord->chunks.data[i];
        bool is_text = chunk->kind == SC_CHUNK_BYTES && chunk->size <= SC_TEXT_BYTES_MAX;
        sc_sb_add_char(p->sb, ' ');
        if (is_text)
            sc_text_print_bytes(p->sb, (sc_str){(const char *)chunk->bytes, (size_t)chunk->size});
        else
            sc_sb_addf(p->sb, "%s %llu", chunk->kind == SC_CHUNK_ZEROS ? "zeros" : "extent",
                       (unsigned long long)chunk->size);
    }
    sc_sb_add_char(p->sb, '\n');
}

static void print_specs(sc_printer *p, const sc_part *part) {
    for (uint32_t i = 0; i < part->specs.count; i++) {
        sc_print_line_start(p);
        sc_sb_add_text(p->sb, "spec ");
        sc_text_print_bytes(p->sb, part->specs.data[i].key);
        sc_sb_add_char(p->sb, ' ');
        sc_text_print_bytes(p->sb, part->specs.data[i].value);
        sc_sb_add_char(p->sb, '\n');
    }
}

static void print_event(sc_printer *p, const sc_part_event *event) {
    sc_sb_add_char(p->sb, ' ');
    if (event->name.data)
        sc_text_print_bytes(p->sb, event->name);
    else
        sc_sb_add_i64(p->sb, event->id);
    sc_sb_add_text(p->sb, " [");
    for (uint32_t i = 0; i < event->handle_count; i++)
        sc_sb_addf(p->sb, "%s%u", i > 0 ? ", " : "", event->handles[i]);
    sc_sb_add_char(p->sb, ']');
}

static void print_events(sc_printer *p, const sc_part *part) {
    for (uint32_t i = 0; part->has_events && (i == 0 || i < part->events.count); i++) {
        sc_print_line_start(p);
        sc_sb_add_text(p->sb, "events");
        if (i < part->events.count) print_event(p, &part->events.data[i]);
        sc_sb_add_char(p->sb, '\n');
    }
}

static void print_data(sc_printer *p, const sc_part *part) {
    for (uint32_t i = 0; i < part->data.count; i++) {
        const sc_part_data *data = &part->data.data[i];
        sc_print_line_start(p);
        sc_sb_add_text(p->sb, "data ");
        sc_text_print_bytes(p->sb, data->key);
        sc_sb_addf(p->sb, " align %llu", (unsigned long long)data->align);
        if (data->tag.size) {
            sc_sb_add_text(p->sb, " file ");
            sc_text_print_bytes(p->sb, data->tag);
        }
        if (data->layout) {
            sc_sb_add_text(p->sb, " layout ");
            sc_spec_print(p->sb, part->method->exprs, data->layout);
        }
        print_bytes(p, data->bytes);
    }
}

void sc_print_part_header(sc_printer *p, const sc_part *part) {
    print_specs(p, part);
    if (part->processed->size) {
        sc_print_line_start(p);
        sc_sb_add_text(p->sb, "processed");
        print_bytes(p, part->processed);
    }
    print_events(p, part);
    print_data(p, part);
}
