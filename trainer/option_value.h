/* option_value.h - the values of options: text into a number or a choice, or a sentence that names the option and says
 * what it takes. Called by options.c and by what else reads options (scenario.c). */
#ifndef TRAINER_OPTION_VALUE_H
#define TRAINER_OPTION_VALUE_H

#include "lib/base/err.h"

#include <stdint.h>

/* All: name  the option's, without dashes
 *      out   written on success only
 *      DCR_FAIL  --name takes ..., not 'text' */

/** option_bad - the sentence itself. wanted: "a number of steps" */
int option_bad(const char *name, const char *text, const char *wanted, struct dcr_err *err);
/** option_i64, option_int - a whole number from low to high. */
int option_i64(const char *name, const char *text, int64_t low, int64_t high, int64_t *out,
               struct dcr_err *err) DCR_MUST_CHECK;
int option_int(const char *name, const char *text, int low, int high, int *out, struct dcr_err *err) DCR_MUST_CHECK;
/** option_seed - 0 to 2^63 - 1. */
int option_seed(const char *name, const char *text, uint64_t *out, struct dcr_err *err) DCR_MUST_CHECK;
/** option_real - a finite number above 0, or also 0. */
int option_real(const char *name, const char *text, int may_be_zero, double *out, struct dcr_err *err) DCR_MUST_CHECK;
/** option_choice - index of text in names, which a NULL ends. */
int option_choice(const char *name, const char *text, const char *const *names, int *out,
                  struct dcr_err *err) DCR_MUST_CHECK;

#endif
