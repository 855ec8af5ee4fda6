// Hash-consed integer expressions: nodes, symbols, sums and products. It keeps the canonical form
// (see expr.h): equal sums of products are the same pointer. Division, comparison and the other
// opaque atoms are in expr_atom.c; ranges, evaluation and printing in expr_range.c and
// expr_print.c.
#include "core/expr.h"

#include "base/hash.h"

// --- Saturating integers -------------------------------------------------------------------------

int64_t sc_expr_sat_add(int64_t a, int64_t b) {
    if (a == SC_DIM_INF || a == SC_DIM_NEG_INF) return a;
    if (b == SC_DIM_INF || b == SC_DIM_NEG_INF) return b;
    int64_t sum;
    if (sc_add_i64(a, b, &sum)) return sum;
    return a > 0 ? SC_DIM_INF : SC_DIM_NEG_INF;
}

int64_t sc_expr_sat_mul(int64_t a, int64_t b) {
    // Covers nearly all sizes. In wasm, the check for overflow is a function that multiplies 128
    // bits.
    if ((int32_t)a == a && (int32_t)b == b) return a * b;
    if (a == 0 || b == 0) return 0;
    bool infinite =
        a == SC_DIM_INF || a == SC_DIM_NEG_INF || b == SC_DIM_INF || b == SC_DIM_NEG_INF;
    int64_t product;
    if (!infinite && sc_mul_i64(a, b, &product)) return product;
    return (a < 0) == (b < 0) ? SC_DIM_INF : SC_DIM_NEG_INF;
}

int64_t sc_expr_floordiv_i64(int64_t a, int64_t b) {
    if (b == 0) return 0;
    if (b == -1) return sc_expr_sat_mul(a, -1);
    if (a == SC_DIM_INF || a == SC_DIM_NEG_INF)
        return (a > 0) == (b > 0) ? SC_DIM_INF : SC_DIM_NEG_INF;
    int64_t quotient = a / b;
    return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

int64_t sc_expr_mod_i64(int64_t a, int64_t b) {
    if (b == 0 || b == -1) return 0;
    int64_t rest = a % b;
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

int64_t sc_expr_pow_i64(int64_t base, int64_t exponent) {
    int64_t result = 1;
    // Any base but 0 and +-1 saturates within 64 steps.
    if (base == 0 || base == 1) return exponent <= 0 ? 1 : base;
    if (base == -1) return exponent % 2 ? -1 : 1;
    for (int64_t i = 0; i < exponent && i < 64; i++) result = sc_expr_sat_mul(result, base);
    return result;
}

// --- Nodes ---------------------------------------------------------------------------------------

sc_exprs *sc_exprs_new(sc_arena *arena, sc_names *names) {
    sc_exprs *exprs = sc_new(arena, sc_exprs);
    exprs->arena = arena;
    exprs->names = names;
    sc_map_init(&exprs->by_name, arena);
    return exprs;
}

sc_exprs *sc_expr_owner(sc_exprs *exprs, sc_dim a, sc_dim b) {
    if (exprs) return exprs;
    if (a.expr) return a.expr->owner;
    return b.expr ? b.expr->owner : NULL;
}

static uint64_t hash_dim(sc_dim d) {
    return d.expr ? d.expr->hash : sc_hash64_mix(0x51ed27, (uint64_t)d.value);
}

static uint64_t hash_node(const sc_expr *e) {
    uint64_t h = sc_hash64_mix(e->kind * 16u + e->cmp, (uint64_t)e->constant);
    if (e->kind == EXPR_SYMBOL) return sc_hash64_mix(h, e->symbol->index);
    for (uint32_t i = 0; i < e->count; i++) {
        if (e->kind == EXPR_MONO)
            h = sc_hash64_mix(h, e->factors[i]->hash);
        else if (e->kind == EXPR_SUM)
            h = sc_hash64_mix(sc_hash64_mix(h, e->terms[i].mono->hash),
                              (uint64_t)e->terms[i].coefficient);
        else
            h = sc_hash64_mix(h, hash_dim(e->args[i]));
    }
    return h;
}

static bool same_node(const sc_expr *a, const sc_expr *b) {
    if (a->hash != b->hash || a->kind != b->kind || a->cmp != b->cmp || a->count != b->count ||
        a->constant != b->constant)
        return false;
    if (a->kind == EXPR_SYMBOL) return a->symbol == b->symbol;
    for (uint32_t i = 0; i < a->count; i++) {
        bool same = a->kind == EXPR_MONO  ? a->factors[i] == b->factors[i]
                    : a->kind == EXPR_SUM ? a->terms[i].mono == b->terms[i].mono &&
                                                a->terms[i].coefficient == b->terms[i].coefficient
                                          : sc_dim_equal(a->args[i], b->args[i]);
        if (!same) return false;
    }
    return true;
}

static const sc_expr **find_slot(const sc_exprs *exprs, const sc_expr *wanted) {
    uint32_t mask = exprs->slot_count - 1, i = (uint32_t)wanted->hash & mask;
    while (exprs->slots[i] && !same_node(exprs->slots[i], wanted)) i = (i + 1) & mask;
    return &exprs->slots[i];
}

static void grow(sc_exprs *exprs) {
    const sc_expr **old = exprs->slots;
    uint32_t old_count = exprs->slot_count;
    exprs->slot_count = old_count ? old_count * 2 : 64;
    exprs->slots = sc_new_array(exprs->arena, const sc_expr *, exprs->slot_count);
    for (uint32_t i = 0; i < old_count; i++)
        if (old[i]) *find_slot(exprs, old[i]) = old[i];
}

static const void *copy_operands(sc_arena *arena, const sc_expr *e) {
    size_t item = e->kind == EXPR_MONO  ? sizeof *e->factors
                  : e->kind == EXPR_SUM ? sizeof *e->terms
                                        : sizeof *e->args;
    void *copy = sc_arena_alloc_array(arena, item, e->count);
    if (e->count) memcpy(copy, e->args, item * e->count);
    return copy;
}

static void measure(sc_expr *e) {
    uint32_t depth = 0, weight = 1;
    for (uint32_t i = 0; e->kind != EXPR_SYMBOL && i < e->count; i++) {
        const sc_expr *child = e->kind == EXPR_MONO  ? e->factors[i]
                               : e->kind == EXPR_SUM ? e->terms[i].mono
                                                     : e->args[i].expr;
        depth = child && child->depth > depth ? child->depth : depth;
        weight += child ? child->weight : 1;
    }
    e->depth = (uint16_t)(depth + 1);
    e->weight = weight;
}

// The one node equal to `*draft`, or NULL if it would be too deep or too heavy.
static const sc_expr *intern(sc_exprs *exprs, sc_expr *draft) {
    draft->owner = exprs;
    draft->hash = hash_node(draft);
    measure(draft);
    if (draft->depth > EXPR_DEPTH_MAX || draft->weight > EXPR_WEIGHT_MAX) return NULL;
    if (exprs->count * 2 >= exprs->slot_count) grow(exprs);
    const sc_expr **slot = find_slot(exprs, draft);
    if (*slot) return *slot;
    sc_expr *e = sc_new(exprs->arena, sc_expr);
    *e = *draft;
    if (e->kind != EXPR_SYMBOL) e->args = copy_operands(exprs->arena, draft);
    exprs->count++;
    return *slot = e;
}

// --- Lists of dims -------------------------------------------------------------------------------

static dims_slot *find_dims(const sc_exprs *exprs, const sc_dim *dims, uint32_t count,
                            uint32_t hash) {
    uint32_t mask = exprs->dims_slot_count - 1, i = hash & mask;
    for (;; i = (i + 1) & mask) {
        dims_slot *slot = &exprs->dims[i];
        if (!slot->dims) return slot;
        if (slot->hash != hash || slot->count != count) continue;
        uint32_t same = 0;
        while (same < count && sc_dim_equal(slot->dims[same], dims[same])) same++;
        if (same == count) return slot;
    }
}

static void grow_dims(sc_exprs *exprs) {
    dims_slot *old = exprs->dims;
    uint32_t old_count = exprs->dims_slot_count;
    exprs->dims_slot_count = old_count ? old_count * 2 : 32;
    exprs->dims = sc_new_array(exprs->arena, dims_slot, exprs->dims_slot_count);
    for (uint32_t i = 0; i < old_count; i++)
        if (old[i].dims) *find_dims(exprs, old[i].dims, old[i].count, old[i].hash) = old[i];
}

sc_dim *sc_dims_share(sc_exprs *exprs, const sc_dim *dims, uint32_t count) {
    if (exprs->dims_count * 2 >= exprs->dims_slot_count) grow_dims(exprs);
    uint64_t mixed = count;
    for (uint32_t i = 0; i < count; i++) mixed = sc_hash64_mix(mixed, hash_dim(dims[i]));
    uint32_t hash = (uint32_t)(mixed ^ mixed >> 32);
    dims_slot *slot = find_dims(exprs, dims, count, hash);
    if (slot->dims) return slot->dims;
    *slot = (dims_slot){sc_new_array(exprs->arena, sc_dim, count), count, hash};
    if (count) memcpy(slot->dims, dims, count * sizeof *dims);
    exprs->dims_count++;
    return slot->dims;
}

// --- Symbols -------------------------------------------------------------------------------------

static sc_dim dim_of(const sc_expr *expr) { return (sc_dim){0, expr}; }

sc_symbol *sc_exprs_symbol(sc_exprs *exprs, sc_str name) {
    symbol_record *record = sc_map_get(&exprs->by_name, name);
    if (record) return &record->symbol;
    record = sc_new(exprs->arena, symbol_record);
    record->symbol.name = sc_name_intern(exprs->names, name);
    record->symbol.range = EXPR_RANGE_ALL;
    record->index = exprs->symbols.count;
    sc_vec_push(exprs->arena, &exprs->symbols, record);
    sc_map_add(&exprs->by_name, sc_name_str(record->symbol.name), record);
    sc_expr draft = {.kind = EXPR_SYMBOL, .symbol = record};
    record->expr = intern(exprs, &draft);
    return &record->symbol;
}

sc_dim sc_exprs_fresh(sc_exprs *exprs, sc_range range) {
    char text[16];
    size_t size;
    do {
        char digits[12];
        size_t count = 0;
        uint32_t n = exprs->next_unbacked++;
        do digits[count++] = (char)('0' + n % 10);
        while (n /= 10);
        size = 0;
        text[size++] = 'u';
        while (count) text[size++] = digits[--count];
    } while (sc_map_get(&exprs->by_name, (sc_str){text, size}));
    sc_symbol *symbol = sc_exprs_symbol(exprs, (sc_str){text, size});
    symbol->range = range;
    symbol->is_fresh = true;
    return sc_dim_from_symbol(exprs, symbol);
}

uint32_t sc_exprs_symbol_count(const sc_exprs *exprs) { return exprs->symbols.count; }

sc_symbol *sc_exprs_symbol_at(sc_exprs *exprs, uint32_t index) {
    SC_ASSERT(index < exprs->symbols.count);
    return &exprs->symbols.data[index]->symbol;
}

uint32_t sc_symbol_index(const sc_symbol *symbol) { return ((const symbol_record *)symbol)->index; }

sc_dim sc_dim_from_symbol(SC_UNUSED sc_exprs *exprs, sc_symbol *symbol) {
    return dim_of(((symbol_record *)symbol)->expr);
}

sc_symbol *sc_dim_symbol(sc_dim d) {
    return d.expr && d.expr->kind == EXPR_SYMBOL ? &d.expr->symbol->symbol : NULL;
}

// Judged by its name, as torch.export gives it: s77 is the size of an input, u0 is not.
bool sc_symbol_is_unbacked(const sc_symbol *symbol) { return symbol->name->text[0] == 'u'; }

bool sc_dim_linear(sc_dim d, sc_symbol **symbol, int64_t *scale, int64_t *offset) {
    const sc_expr *e = d.expr;
    bool is_sum = e && e->kind == EXPR_SUM;
    if (is_sum && e->count != 1) return false;
    sc_symbol *found = is_sum ? sc_dim_symbol(dim_of(e->terms[0].mono)) : sc_dim_symbol(d);
    if (!found) return false;
    *symbol = found;
    *scale = is_sum ? e->terms[0].coefficient : 1;
    *offset = is_sum ? e->constant : 0;
    return true;
}

void sc_dim_visit_symbols(sc_dim d, void (*visit)(void *user, sc_symbol *symbol), void *user) {
    const sc_expr *e = d.expr;
    if (!e) return;
    if (e->kind == EXPR_SYMBOL) {
        visit(user, &e->symbol->symbol);
        return;
    }
    for (uint32_t i = 0; i < e->count; i++) {
        sc_dim part = e->kind == EXPR_SUM    ? dim_of(e->terms[i].mono)
                      : e->kind == EXPR_MONO ? dim_of(e->factors[i])
                                             : e->args[i];
        sc_dim_visit_symbols(part, visit, user);
    }
}

// --- Order ---------------------------------------------------------------------------------------

static int compare_u64(uint64_t a, uint64_t b) { return a < b ? -1 : a > b; }

static int compare_symbols(const sc_symbol *a, const sc_symbol *b) {
    // By letter, then by length, so that s9 comes before s10.
    if (a->name->text[0] != b->name->text[0]) return a->name->text[0] < b->name->text[0] ? -1 : 1;
    if (a->name->size != b->name->size) return a->name->size < b->name->size ? -1 : 1;
    return memcmp(a->name->text, b->name->text, a->name->size);
}

static int compare(const sc_expr *a, const sc_expr *b);

int sc_expr_compare_dims(sc_dim a, sc_dim b) {
    if (sc_dim_equal(a, b)) return 0;
    if (!a.expr && !b.expr) return a.value < b.value ? -1 : 1;
    if (!a.expr || !b.expr) return a.expr ? -1 : 1;
    return compare(a.expr, b.expr);
}

static int compare_sums(const sc_expr *a, const sc_expr *b) {
    for (uint32_t i = 0; i < a->count && i < b->count; i++) {
        int order = compare(a->terms[i].mono, b->terms[i].mono);
        if (order) return order;
        if (a->terms[i].coefficient != b->terms[i].coefficient)
            return a->terms[i].coefficient < b->terms[i].coefficient ? -1 : 1;
    }
    if (a->count != b->count) return a->count > b->count ? -1 : 1;
    return a->constant < b->constant ? -1 : a->constant > b->constant;
}

static int compare_atoms(const sc_expr *a, const sc_expr *b) {
    if (a == b) return 0;
    if (a->kind != b->kind) return a->kind < b->kind ? -1 : 1;
    if (a->kind == EXPR_SYMBOL) return compare_symbols(&a->symbol->symbol, &b->symbol->symbol);
    if (a->kind == EXPR_SUM) return compare_sums(a, b);
    int order = compare_u64(a->cmp, b->cmp);
    for (uint32_t i = 0; !order && i < a->count && i < b->count; i++)
        order = sc_expr_compare_dims(a->args[i], b->args[i]);
    return order ? order : compare_u64(a->count, b->count);
}

static const sc_expr *const *factors_of(const sc_expr *const *e, uint32_t *count) {
    *count = (*e)->kind == EXPR_MONO ? (*e)->count : 1;
    return (*e)->kind == EXPR_MONO ? (*e)->factors : e;
}

// The graded order of products.
static int compare(const sc_expr *a, const sc_expr *b) {
    if (a == b) return 0;
    uint32_t a_count, b_count;
    const sc_expr *const *fa = factors_of(&a, &a_count), *const *fb = factors_of(&b, &b_count);
    if (a_count != b_count) return a_count > b_count ? -1 : 1;  // higher degree first
    for (uint32_t i = 0; i < a_count; i++) {
        int order = compare_atoms(fa[i], fb[i]);
        if (order) return order;
    }
    return 0;
}

// --- Products ------------------------------------------------------------------------------------

static const sc_expr *mono_from(sc_exprs *exprs, const sc_expr **factors, uint32_t count) {
    if (count <= 1) return count ? factors[0] : NULL;
    sc_expr draft = {.kind = EXPR_MONO, .count = count, .factors = factors};
    return intern(exprs, &draft);
}

const sc_expr *sc_expr_mono_mul(sc_exprs *exprs, const sc_expr *a, const sc_expr *b) {
    uint32_t a_count, b_count, count = 0, i = 0, j = 0;
    const sc_expr *const *fa = factors_of(&a, &a_count), *const *fb = factors_of(&b, &b_count);
    const sc_expr *merged[2 * EXPR_DEGREE_MAX];
    if (a_count + b_count > EXPR_DEGREE_MAX) return NULL;
    while (i < a_count || j < b_count) {
        bool from_a = j == b_count || (i < a_count && compare_atoms(fa[i], fb[j]) <= 0);
        merged[count++] = from_a ? fa[i++] : fb[j++];
    }
    return mono_from(exprs, merged, count);
}

bool sc_expr_mono_div(sc_exprs *exprs, const sc_expr *a, const sc_expr *b, const sc_expr **out) {
    uint32_t a_count, b_count, count = 0, j = 0;
    const sc_expr *const *fa = factors_of(&a, &a_count), *const *fb = factors_of(&b, &b_count);
    const sc_expr *rest[EXPR_DEGREE_MAX];
    for (uint32_t i = 0; i < a_count; i++) {
        if (j < b_count && fa[i] == fb[j])
            j++;
        else
            rest[count++] = fa[i];
    }
    if (j != b_count) return false;
    *out = mono_from(exprs, rest, count);
    return true;
}

// --- Sums ----------------------------------------------------------------------------------------

void sc_expr_poly_from(expr_poly *out, sc_dim d) {
    out->constant = 0;
    out->count = 0;
    out->overflow = false;
    if (!d.expr) {
        out->constant = d.value;
    } else if (d.expr->kind == EXPR_SUM) {
        out->constant = d.expr->constant;
        out->count = d.expr->count;
        memcpy(out->terms, d.expr->terms, d.expr->count * sizeof(expr_term));
    } else {
        out->count = 1;
        out->terms[0] = (expr_term){1, d.expr};
    }
}

void sc_expr_poly_add_term(expr_poly *p, int64_t coefficient, const sc_expr *mono) {
    uint32_t low = 0, high = p->count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (compare(p->terms[middle].mono, mono) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    if (low < p->count && p->terms[low].mono == mono) {
        int64_t sum = sc_expr_sat_add(p->terms[low].coefficient, coefficient);
        p->terms[low].coefficient = sum;
        if (sum == 0) {
            p->count--;
            memmove(&p->terms[low], &p->terms[low + 1], (p->count - low) * sizeof(expr_term));
        }
        return;
    }
    if (p->count == EXPR_TERM_MAX) {
        p->overflow = true;
        return;
    }
    memmove(&p->terms[low + 1], &p->terms[low], (p->count - low) * sizeof(expr_term));
    p->terms[low] = (expr_term){coefficient, mono};
    p->count++;
}

static bool is_infinite(int64_t value) { return value == SC_DIM_INF || value == SC_DIM_NEG_INF; }

sc_dim sc_expr_from_poly(sc_exprs *exprs, const expr_poly *p, sc_range fallback) {
    if (p->count == 0 || is_infinite(p->constant)) return sc_dim_int(p->constant);
    for (uint32_t i = 0; i < p->count; i++)
        if (is_infinite(p->terms[i].coefficient)) return sc_exprs_fresh(exprs, fallback);
    if (p->overflow) return sc_exprs_fresh(exprs, fallback);
    if (p->count == 1 && p->constant == 0 && p->terms[0].coefficient == 1)
        return dim_of(p->terms[0].mono);
    sc_expr draft = {
        .kind = EXPR_SUM, .count = p->count, .constant = p->constant, .terms = p->terms};
    const sc_expr *e = intern(exprs, &draft);
    return e ? dim_of(e) : sc_exprs_fresh(exprs, fallback);
}

sc_dim sc_expr_atom(sc_exprs *exprs, expr_kind kind, sc_cmp cmp, const sc_dim *args, uint32_t count,
                    sc_range fallback) {
    sc_expr draft = {.kind = (uint8_t)kind, .cmp = (uint8_t)cmp, .count = count, .args = args};
    const sc_expr *e = intern(exprs, &draft);
    return e ? dim_of(e) : sc_exprs_fresh(exprs, fallback);
}

// a + scale * b
static sc_dim add_scaled(sc_exprs *exprs, sc_dim a, int64_t scale, sc_dim b) {
    exprs = sc_expr_owner(exprs, a, b);
    expr_poly sum, other;
    sc_expr_poly_from(&sum, a);
    sc_expr_poly_from(&other, b);
    sum.constant = sc_expr_sat_add(sum.constant, sc_expr_sat_mul(scale, other.constant));
    for (uint32_t i = 0; i < other.count; i++)
        sc_expr_poly_add_term(&sum, sc_expr_sat_mul(scale, other.terms[i].coefficient),
                              other.terms[i].mono);
    sc_range scaled = sc_expr_range_mul((sc_range){scale, scale}, sc_dim_range(b));
    return sc_expr_from_poly(exprs, &sum, sc_expr_range_add(sc_dim_range(a), scaled));
}

sc_dim sc_dim_add(sc_exprs *exprs, sc_dim a, sc_dim b) {
    if (!a.expr && !b.expr) return sc_dim_int(sc_expr_sat_add(a.value, b.value));
    if (sc_dim_is(b, 0)) return a;
    return sc_dim_is(a, 0) ? b : add_scaled(exprs, a, 1, b);
}

sc_dim sc_dim_sub(sc_exprs *exprs, sc_dim a, sc_dim b) {
    if (!a.expr && !b.expr)
        return sc_dim_int(sc_expr_sat_add(a.value, sc_expr_sat_mul(b.value, -1)));
    return sc_dim_is(b, 0) ? a : add_scaled(exprs, a, -1, b);
}

sc_dim sc_dim_neg(sc_exprs *exprs, sc_dim a) { return sc_dim_sub(exprs, sc_dim_int(0), a); }

// result += coefficient * mono * b
static void add_product(sc_exprs *exprs, expr_poly *result, int64_t coefficient,
                        const sc_expr *mono, const expr_poly *b) {
    if (b->constant) sc_expr_poly_add_term(result, sc_expr_sat_mul(coefficient, b->constant), mono);
    for (uint32_t i = 0; i < b->count && !result->overflow; i++) {
        const sc_expr *product = sc_expr_mono_mul(exprs, mono, b->terms[i].mono);
        if (!product)
            result->overflow = true;
        else
            sc_expr_poly_add_term(result, sc_expr_sat_mul(coefficient, b->terms[i].coefficient),
                                  product);
    }
}

sc_dim sc_dim_mul(sc_exprs *exprs, sc_dim a, sc_dim b) {
    if (!a.expr && !b.expr) return sc_dim_int(sc_expr_sat_mul(a.value, b.value));
    if (sc_dim_is(a, 1) || sc_dim_is(b, 0)) return b;
    if (sc_dim_is(b, 1) || sc_dim_is(a, 0)) return a;
    exprs = sc_expr_owner(exprs, a, b);
    expr_poly pa, pb, product = {0};
    sc_expr_poly_from(&pa, a);
    sc_expr_poly_from(&pb, b);
    product.constant = sc_expr_sat_mul(pa.constant, pb.constant);
    for (uint32_t i = 0; pa.constant && i < pb.count; i++)
        sc_expr_poly_add_term(&product, sc_expr_sat_mul(pa.constant, pb.terms[i].coefficient),
                              pb.terms[i].mono);
    for (uint32_t i = 0; i < pa.count && !product.overflow; i++)
        add_product(exprs, &product, pa.terms[i].coefficient, pa.terms[i].mono, &pb);
    // An overflowing poly may have lost all its terms; it must still become a fresh symbol.
    sc_range bound = sc_expr_range_mul(sc_dim_range(a), sc_dim_range(b));
    return product.overflow ? sc_exprs_fresh(exprs, bound)
                            : sc_expr_from_poly(exprs, &product, bound);
}
