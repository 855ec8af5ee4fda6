// The defaults of options.def.
#include "core/options.h"

#define VALUE_BOOL
#define VALUE_COUNT
#define VALUE_WHOLE
#define VALUE_POWER(n)
#define VALUE_CHOICE(words) SC_STR
#define VALUE_BOUNDS(unused) \
    { 0 }
#define VALUE_PLANNER(words) PLANNER_NAMED
#define PLANNER_NAMED(name)        \
    {                              \
        .all = { SC_STR(name), 0 } \
    }

sc_options sc_options_default(void) {
    return (sc_options){
#define OPTION(call, name, kind, value, ...) .name = VALUE_##kind(value),
#include "core/options.def"
#undef OPTION
    };
}

sc_planner sc_planners_of(const sc_planners *planners, sc_str method) {
    for (uint32_t i = 0; i < planners->count; i++)
        if (sc_str_equal(planners->methods[i].method, method)) return planners->methods[i].planner;
    return planners->all;
}

bool sc_options_are_official(const sc_options *options) {
    return !options || sc_str_is(options->target, "executorch");
}
