/* under_asan.h - UNDER_ASAN is defined in code that AddressSanitizer checks, whichever compiler made it. */
#ifndef DCR_TESTS_UNDER_ASAN_H
#define DCR_TESTS_UNDER_ASAN_H

#ifdef __SANITIZE_ADDRESS__ /* gcc */
#define UNDER_ASAN
#elif defined __has_feature /* clang */
#if __has_feature(address_sanitizer)
#define UNDER_ASAN
#endif
#endif

#endif
