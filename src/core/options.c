// The defaults of options.def.
#include "core/options.h"

#define VALUE_BOOL
#define VALUE_COUNT
#define VALUE_WHOLE
#define VALUE_POWER(n)
#define VALUE_CHOICE(words) SC_STR
#define VALUE_NAMES(unused) \
    { 0 }
#define VALUE_BOUNDS(unused) \
    { 0 }
#define VALUE_PLANNER(words) PLANNER_NAMED
#define VALUE_SIZES(words)   SIZES_NAMED
#define VALUE_FILES(unused) \
    { 0 }
#define SIZES_NAMED(name) \
    { .all = SC_STR(name) }
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

bool sc_option_names_have(const sc_option_names *names, const char *name) {
    for (uint32_t i = 0; i < names->count; i++)
        if (sc_str_is(names->items[i], name)) return true;
    return false;
}

sc_planner sc_planners_of(const sc_planners *planners, sc_str method) {
    for (uint32_t i = 0; i < planners->count; i++)
        if (sc_str_equal(planners->methods[i].method, method)) return planners->methods[i].planner;
    return planners->all;
}

// Goes back to the last * where the text after it does not fit, so that the time is bounded by the
// product of both lengths.
static bool fits_pattern(sc_str pattern, sc_str name) {
    size_t p = 0, n = 0, star = SIZE_MAX, resume = 0;
    while (n < name.size) {
        if (p < pattern.size && pattern.data[p] == '*') {
            star = p++;
            resume = n;
        } else if (p < pattern.size && pattern.data[p] == name.data[n]) {
            p++;
            n++;
        } else if (star != SIZE_MAX) {
            p = star + 1;
            n = ++resume;
        } else {
            return false;
        }
    }
    while (p < pattern.size && pattern.data[p] == '*') p++;
    return p == pattern.size;
}

bool sc_weight_file_fits(const sc_weight_file *rule, sc_str name) {
    return fits_pattern(rule->pattern, name);
}

sc_str sc_weight_files_of(const sc_weight_files *files, sc_str name) {
    for (uint32_t i = 0; i < files->count; i++)
        if (sc_weight_file_fits(&files->rules[i], name)) return files->rules[i].file;
    return (sc_str){0};
}

bool sc_options_are_official(const sc_options *options) {
    return !options || sc_str_is(options->target, "executorch");
}
