/* pickle_numpy.h - the five functions that pickle.c knows, and the objects they make. Called by pickle.c. */
#ifndef TRAINER_FORMATS_PICKLE_NUMPY_H
#define TRAINER_FORMATS_PICKLE_NUMPY_H

#include "trainer/formats/pickle_stack.h"

/** pickle_function - one of the five by its name; NULL and a sentence for any other. */
struct pickle_value *pickle_function(struct pickle *p, const char *module, size_t n_module, const char *name,
                                     size_t n_name, struct dcr_err *err);
/** pickle_reduce - what function(arguments) makes; NULL and a sentence when these are not its arguments. */
struct pickle_value *pickle_reduce(struct pickle *p, const struct pickle_value *function,
                                   const struct pickle_value *arguments, struct dcr_err *err);
/** pickle_build - complete an array or its type by the state that NumPy stores. */
int pickle_build(struct pickle *p, struct pickle_value *object, const struct pickle_value *state, struct dcr_err *err);
/** pickle_unescape - a text of protocol 0: 'quoted' with Python's escapes, or raw-unicode-escape. NULL: not one. */
struct pickle_value *pickle_unescape(struct pickle *p, const char *line, size_t n, int is_quoted, struct dcr_err *err);

#endif
