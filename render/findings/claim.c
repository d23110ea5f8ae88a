/* claim.c - the list of claims. See claims.h. */
#include "render/findings/claims.h"

struct claim *claim_add(struct report *rep)
{
    rep->claims = arena_grow(&rep->arena, rep->claims, (size_t)rep->n_claims, &rep->claims_cap, sizeof *rep->claims);
    struct claim *c = &rep->claims[rep->n_claims++];
    *c = (struct claim){.run = -1,
                        .series = -1,
                        .id = "",
                        .sentence = "",
                        .support = "",
                        .confidence_because = "",
                        .evidence = "",
                        .action = {.ours = "", .generic = "", .check = ""},
                        .gain_text = "",
                        .expected = "",
                        .interval_of = "",
                        .threshold_name = "",
                        .rule = "",
                        .window = "",
                        .place = "",
                        .threshold_ratio = -1};
    return c;
}

void claim_number(struct report *rep, struct claim *c, const char *id, const char *unit, double value)
{
    enum { MAX_NUMBERS = 8 };
    if (!c->numbers)
        c->numbers = dcr_arena_alloc(&rep->arena, MAX_NUMBERS * sizeof *c->numbers);
    if (c->n_numbers < MAX_NUMBERS)
        c->numbers[c->n_numbers++] = (struct number){id, unit, value};
}
