/* The two words of a batched lookup, for compilers: without gopt it runs one lookup after the other.

     foreach (i, n) { ... }    n independent lookups, i = 0 ... n - 1
     g_expensive(address);     the access to *address that follows probably misses the caches

   A program may define them itself instead, as long as it does not while gopt reads it (#ifndef __GOPT__). */
#ifndef GOPT_H
#define GOPT_H

#ifdef __GOPT__
#define foreach(i, n) for (int i = __gopt_foreach(n);;)
#define g_expensive(address) __gopt_expensive(address)
#else
#ifdef __cplusplus
#define foreach(i, n) for (decltype((n) + 0) i = 0; i < (n); ++i)
#else
#define foreach(i, n) for (__typeof__((n) + 0) i = 0; i < (n); ++i)
#endif
#ifndef g_expensive
#define g_expensive(address) ((void)0)
#endif
#endif

#endif
