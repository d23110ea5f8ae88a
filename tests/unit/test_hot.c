/* test_hot.c - collect/guest/hot.h: is a text at an address that was seen before still the same text? */
#include "collect/guest/hot.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <sys/mman.h>

enum { PAGE_BYTES = 4096, LONGEST = 80 };

static char *pages; /* a readable page, and one that cannot be read */

static int map_pages(void **state)
{
    (void)state;
    void *all = mmap(NULL, 2 * PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED || mprotect((char *)all + PAGE_BYTES, PAGE_BYTES, PROT_NONE) != 0)
        return -1;
    pages = all;
    return 0;
}

static void assert_said(const char *text, const char *known)
{
    int same = hot_same(text, known, (uint32_t)strlen(known) + 1);
    if (same != (strcmp(text, known) == 0))
        fail_msg("'%s' and '%s': %d", text, known, same);
}

/* Every length, with each character changed, cut, or extended past its end; anywhere on a page. */
static void texts_are_told_apart(void **state)
{
    (void)state;
    for (size_t n = 0; n <= LONGEST; n++) {
        char known[LONGEST + 16];
        for (size_t i = 0; i < n; i++)
            known[i] = (char)('a' + i % 26);
        known[n] = '\0';
        for (size_t shift = 0; shift < 8; shift++) {
            char *text = pages + 100 + shift;
            memset(pages, 'x', PAGE_BYTES);
            memcpy(text, known, n + 1);
            assert_said(text, known);
            for (size_t i = 0; i < n; i++) {
                text[i] = '#';
                assert_said(text, known);
                text[i] = '\0';
                assert_said(text, known);
                text[i] = known[i];
            }
            text[n] = 'x';
            text[n + 1] = '\0';
            assert_said(text, known);
        }
    }
}

/* The text was longer when it was seen. Now it ends before a page that cannot be read. */
static void nothing_is_read_behind_the_page(void **state)
{
    (void)state;
    for (size_t n = 0; n <= LONGEST; n++)
        for (size_t longer = 0; longer < 40; longer++) {
            char known[2 * LONGEST], *text = pages + PAGE_BYTES - n - 1;
            memset(text, 'a', n);
            text[n] = '\0';
            memset(known, 'a', n + longer);
            known[n + longer] = '\0';
            assert_said(text, known);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_told_apart),
        cmocka_unit_test(nothing_is_read_behind_the_page),
    };
    return cmocka_run_group_tests(tests, map_pages, NULL);
}
