// Values of a record's program, computed here. Private to src/api.
// Prefix: sc_reference_ runs the record's program, to which a dump is compared.
#ifndef SC_INSPECTOR_REFERENCE_H
#define SC_INSPECTOR_REFERENCE_H

#include "api/inspect/inspector.h"

typedef SC_VEC(sc_numbers) sc_numbers_vec;

typedef struct sc_reference {
    const sc_inspect_reference *rows;  // one value of each handle
    uint32_t count;
    sc_numbers_vec outputs;
    const char *inputs;  // "representative" or "example"
    sc_arena *values;    // arena of the elements
} sc_reference;

// Runs a stage of a method, whose edge program is `edge`. Elements are on `out->values`.
sc_status sc_reference_run(sc_ctx *ctx, const sc_etrecord *record, const sc_etrecord_program *stage,
                           const sc_etrecord_program *edge, sc_reference *out);

#endif
