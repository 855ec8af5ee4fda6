// Formatted text, as by snprintf, for the conversions that Sconce uses. libc's printf would bring
// three times as much code into the module.
// Prefix: sc_print and sc_vprint write into memory of the caller.
#ifndef SC_PRINT_H
#define SC_PRINT_H

#include <stdarg.h>

#include "base/base.h"

// Writes at most `capacity` bytes, the terminator included, and returns how many the whole text has
// without it. Conversions are %d %u %x %c %s %f %g %%, with the flag 0, a width, a precision, and
// the lengths l, ll and z. Others are a broken assumption.
size_t sc_print(char *text, size_t capacity, const char *format, ...) SC_PRINTF(3, 4);
size_t sc_vprint(char *text, size_t capacity, const char *format, va_list args);

#endif
