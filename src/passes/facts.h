// Facts by name, for the columns of passes.def.
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

#endif
