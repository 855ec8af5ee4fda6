// Declarations that the printer's files share (textual IR).
// Prefix: sc_print_ writes one piece of the text.
#ifndef SC_IR_PRINT_H
#define SC_IR_PRINT_H

#include "ir/part.h"
#include "ir/text.h"

typedef struct sc_printer {
    sc_sb *sb;
    sc_print_options options;
    uint32_t indent;
} sc_printer;

static inline void sc_print_line_start(sc_printer *p) {
    for (uint32_t i = 0; i < p->indent; i++) sc_sb_add_text(p->sb, "  ");
}

// Prints all of a part except its body (print_part.c).
void sc_print_part_header(sc_printer *p, const sc_part *part);

#endif
