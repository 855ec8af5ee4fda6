// Facts by name, for the columns of passes.def, and the check that they hold.
// Prefix: sc_facts_ checks facts.
#ifndef SC_PASSES_FACTS_H
#define SC_PASSES_FACTS_H

#include "passes/pass.h"

enum {
    NONE = 0,
    SPECS = SC_FACT_SPECS,
    CORE = SC_FACT_CORE,
    IS_EDGE = SC_FACT_EDGE,
    WRITTEN = SC_FACT_WRITTEN,
    NO_DEAD = SC_FACT_NO_DEAD,
    HANDLES = SC_FACT_HANDLES,
    EXECUTABLE = SC_FACT_EXECUTABLE
};

// Is every fact of the method true of its graph and bodies? SC_ERR_INTERNAL names the first node
// that contradicts one.
sc_status sc_facts_verify(sc_ctx *ctx, const sc_method *method);

#endif
