/* fuzz_pickle.c - any bytes as a pickle: no crash, no leak, no more memory than promised, and every complete array has
 * as many bytes as it declares. */
#include "trainer/formats/pickle.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_array(const struct pickle_value *a)
{
    const size_t item = a->dtype->type_of_items.item_bytes;
    for (size_t k = 0; k < a->data->n / item; k++)
        if (npy_number(&a->dtype->type_of_items, (const unsigned char *)a->data->bytes + k * item) == 12345)
            return; /* read all of it */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct dcr_arena arena = {0};
    struct dcr_err err = {0};
    struct pickle_value *v = NULL;
    int rc = pickle_read((const char *)data, size, "fuzz", &arena, &v, &err);
    if ((rc == 0) != (v != NULL) || (rc && err.text[0] == '\0'))
        abort(); /* a refusal must have a reason */
    for (size_t i = 0; v && v->type == PICKLE_LIST && i < v->n; i++)
        if (v->items[i]->type == PICKLE_ARRAY && v->items[i]->dtype)
            check_array(v->items[i]);
    if (v && v->type == PICKLE_ARRAY && v->dtype)
        check_array(v);
    dcr_arena_release(&arena);
    return 0;
}
