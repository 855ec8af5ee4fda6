// The defaults of options.def.
#include "core/options.h"

#define VALUE_BOOL
#define VALUE_COUNT
#define VALUE_WHOLE
#define VALUE_POWER(n)
#define VALUE_CHOICE(words) SC_STR
#define VALUE_BOUNDS(unused) \
    { 0 }

sc_options sc_options_default(void) {
    return (sc_options){
#define OPTION(call, name, kind, value, ...) .name = VALUE_##kind(value),
#include "core/options.def"
#undef OPTION
    };
}

bool sc_options_are_official(const sc_options *options) {
    return !options || sc_str_is(options->target, "executorch");
}
