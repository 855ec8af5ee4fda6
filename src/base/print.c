// The conversions of printf.
#include "base/print.h"

#include <math.h>

#include "base/exact.h"

typedef struct printer {
    char *text;
    size_t capacity, size;
} printer;

static void put(printer *p, const char *bytes, size_t count) {
    if (count > 0 && p->size < p->capacity) {
        const size_t room = p->capacity - p->size;
        memcpy(p->text + p->size, bytes, count < room ? count : room);
    }
    p->size += count;
}

static void put_char(printer *p, char c) { put(p, &c, 1); }

static void put_zeros(printer *p, int count) {
    for (; count > 0; count--) put_char(p, '0');
}

// A conversion: the part between the '%' and the letter.
typedef struct conversion {
    bool is_padded_with_zeros;
    int width;
    int precision;  // -1: not given
    char length;    // 0, 'l', 'z', or 'q' for "ll"
} conversion;

static void put_padded(printer *p, const conversion *c, bool is_negative, const char *text,
                       size_t count) {
    const int missing = c->width - (int)count - is_negative;
    for (int i = 0; i < missing && !c->is_padded_with_zeros; i++) put_char(p, ' ');
    if (is_negative) put_char(p, '-');
    if (c->is_padded_with_zeros) put_zeros(p, missing);
    put(p, text, count);
}

static void put_integer(printer *p, const conversion *c, bool is_negative, uint64_t magnitude,
                        uint32_t base) {
    char text[20];
    size_t at = sizeof text;
    do text[--at] = "0123456789abcdef"[magnitude % base];
    while (magnitude /= base);
    put_padded(p, c, is_negative, text + at, sizeof text - at);
}

// --- Floating point ------------------------------------------------------------------------------

// The digits from one place to another, where place 0 is before the point and -1 behind it. Places
// without a digit have a zero.
static void put_places(printer *p, const sc_exact_digits *number, int from, int to) {
    for (int place = from; place >= to; place--) {
        const int index = number->exponent - place;
        put_char(p, index >= 0 && index < (int)number->count ? number->digits[index] : '0');
    }
}

static void put_fixed(printer *p, const sc_exact_digits *number, int decimals) {
    put_places(p, number, number->count && number->exponent > 0 ? number->exponent : 0, 0);
    if (decimals > 0) put_char(p, '.');
    put_places(p, number, -1, -decimals);
}

// %g: the shorter of two notations, without zeros at the end.
static void put_general(printer *p, const sc_exact_digits *number, int precision) {
    const int last = (int)number->count - 1, exponent = number->count ? number->exponent : 0;
    if (exponent >= -4 && exponent < precision) {
        put_fixed(p, number, last > exponent ? last - exponent : 0);
        return;
    }
    put(p, number->digits, 1);
    if (last > 0) put_char(p, '.');
    put(p, number->digits + 1, (size_t)last);
    put(p, exponent < 0 ? "e-" : "e+", 2);
    const conversion two = {.is_padded_with_zeros = true, .width = 2};
    const int magnitude = exponent < 0 ? -exponent : exponent;
    put_integer(p, &two, false, (uint64_t)magnitude, 10);
}

static void put_double(printer *p, const conversion *c, char letter, double value) {
    const int precision = c->precision < 0 ? 6 : c->precision;
    SC_ASSERT(!c->width);
    if (signbit(value)) put_char(p, '-');
    value = fabs(value);
    if (isnan(value) || isinf(value)) {
        put(p, isnan(value) ? "nan" : "inf", 3);
    } else if (letter == 'f') {
        const sc_exact_digits number = sc_exact_round(value, UINT32_MAX, (uint32_t)precision);
        put_fixed(p, &number, precision);
    } else {
        const int significant = precision ? precision : 1;
        const sc_exact_digits number = sc_exact_round(value, (uint32_t)significant, UINT32_MAX);
        put_general(p, &number, significant);
    }
}

// --- The format ----------------------------------------------------------------------------------

// Reads a number, or takes it from the arguments where a '*' stands.
static const char *read_number(const char *at, int *out, va_list *args) {
    *out = 0;
    if (*at == '*') {
        *out = va_arg(*args, int);
        return at + 1;
    }
    for (; *at >= '0' && *at <= '9'; at++) *out = *out * 10 + (*at - '0');
    return at;
}

static const char *read_conversion(const char *at, conversion *c, va_list *args) {
    *c = (conversion){.is_padded_with_zeros = *at == '0', .precision = -1};
    at = read_number(at + c->is_padded_with_zeros, &c->width, args);
    if (*at == '.') at = read_number(at + 1, &c->precision, args);
    if (*at == 'z' || *at == 'l') c->length = *at++;
    if (*at == 'l') c->length = *at++ == 'l' ? 'q' : 0;
    return at;
}

static void put_text(printer *p, const conversion *c, const char *text) {
    size_t count = 0;
    // An empty text may be NULL.
    if (c->precision < 0)
        count = strlen(text);
    else
        while (count < (size_t)c->precision && text[count]) count++;
    put_padded(p, c, false, text, count);
}

static void put_signed(printer *p, const conversion *c, va_list *args) {
    const int64_t value = c->length == 'q'   ? va_arg(*args, long long)
                          : c->length == 'l' ? va_arg(*args, long)
                                             : va_arg(*args, int);
    put_integer(p, c, value < 0, value < 0 ? 0 - (uint64_t)value : (uint64_t)value, 10);
}

static void put_unsigned(printer *p, const conversion *c, va_list *args, uint32_t base) {
    const uint64_t value = c->length == 'q'   ? va_arg(*args, unsigned long long)
                           : c->length == 'l' ? va_arg(*args, unsigned long)
                           : c->length == 'z' ? va_arg(*args, size_t)
                                              : va_arg(*args, unsigned);
    put_integer(p, c, false, value, base);
}

static void put_argument(printer *p, const conversion *c, char letter, va_list *args) {
    switch (letter) {
    case '%': put_char(p, '%'); break;
    case 'c': put_char(p, (char)va_arg(*args, int)); break;
    case 's': put_text(p, c, va_arg(*args, const char *)); break;
    case 'd': put_signed(p, c, args); break;
    case 'u': put_unsigned(p, c, args, 10); break;
    case 'x': put_unsigned(p, c, args, 16); break;
    case 'f':
    case 'g': put_double(p, c, letter, va_arg(*args, double)); break;
    default: sc_panic(__FILE__, __LINE__, "sc_print does not know this conversion");
    }
}

size_t sc_vprint(char *text, size_t capacity, const char *format, va_list args) {
    printer p = {.text = text, .capacity = capacity};
    va_list rest;
    va_copy(rest, args);
    for (;;) {
        const size_t plain = strcspn(format, "%");
        put(&p, format, plain);
        format += plain;
        if (!*format) break;
        conversion c;
        format = read_conversion(format + 1, &c, &rest);
        put_argument(&p, &c, *format++, &rest);
    }
    va_end(rest);
    if (capacity) text[p.size < capacity ? p.size : capacity - 1] = '\0';
    return p.size;
}

size_t sc_print(char *text, size_t capacity, const char *format, ...) {
    va_list args;
    va_start(args, format);
    const size_t size = sc_vprint(text, capacity, format, args);
    va_end(args);
    return size;
}
