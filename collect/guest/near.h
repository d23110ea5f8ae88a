/* near.h - variables that are written when the library is loaded lie together. Most processes of a job record nothing,
 * and each page that is written costs them a page fault. */
#ifndef DCC_GUEST_NEAR_H
#define DCC_GUEST_NEAR_H

#define NEAR __attribute__((section(".data.near")))

#endif
