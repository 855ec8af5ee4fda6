// Declarations that the parser's files share (textual IR).
// Prefix: sc_parse_ reads one piece of the text; in base/str.h it reads a number.
#ifndef SC_IR_PARSE_H
#define SC_IR_PARSE_H

#include "ir/part.h"
#include "ir/text.h"

typedef struct sc_parser {
    sc_text_cursor c;
    sc_program *program;
    sc_map foreign;  // name -> sc_op
    uint64_t node_count;
} sc_parser;

// One body and the values that its text may name.
typedef struct sc_parse_scope {
    sc_graph *graph;
    sc_map values;
    uint32_t depth;
} sc_parse_scope;

sc_status sc_parse_spec(sc_parser *p, sc_exprs *exprs, sc_spec *spec);
// Reads ": f32[2]" into the value's type, spec and dim.
sc_status sc_parse_type(sc_parser *p, sc_value *value);
// List items are on scratch. `depth` counts the lists around it.
sc_status sc_parse_arg(sc_parser *p, const sc_parse_scope *s, uint32_t depth, sc_arg *out);
sc_status sc_parse_graph(sc_parser *p, const sc_parse_scope *outer, sc_graph **out);
sc_status sc_parse_part(sc_parser *p, const sc_parse_scope *outer, const sc_part **out);
// Reads all of a part except its name, backend and body (parse_part.c).
sc_status sc_parse_part_header(sc_parser *p, sc_part *part);

#endif
