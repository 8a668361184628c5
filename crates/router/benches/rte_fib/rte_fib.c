/* DPDK's rte_fib and rte_fib6 over the routes and addresses of standard input, as benches/rte_fib/mod.rs
 * writes them: "FAMILY ROUTES ADDRESSES", a line "ADDRESS LENGTH NEXT-HOP" for each route and a line for each
 * address, in hexadecimal. Prints the least nanoseconds that a look-up took, 64 at a time. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rte_eal.h>
#include <rte_fib.h>
#include <rte_fib6.h>
#include <rte_memory.h>

#define BATCH 64
#define TURNS 8

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e9 + t.tv_nsec;
}

/* An address of 32 hexadecimal digits. */
static void read6(const char *text, uint8_t *to) {
    for (int i = 0; i < 16; i++)
        sscanf(text + 2 * i, "%2" SCNx8, to + i);
}

int main(int argc, char **argv) {
    char text[40];
    unsigned family, len, hop;
    size_t routes, n;
    uint64_t hops[BATCH], sum = 0;
    double least = 1e18;
    if (rte_eal_init(argc, argv) < 0 || scanf("%u %zu %zu", &family, &routes, &n) != 3)
        return 1;
    struct rte_fib_conf conf = {
        .type = RTE_FIB_DIR24_8, .max_routes = routes + 1,
        .dir24_8 = { .nh_sz = RTE_FIB_DIR24_8_4B, .num_tbl8 = 1 << 16 },
    };
    struct rte_fib6_conf conf6 = {
        .type = RTE_FIB6_TRIE, .max_routes = routes + 1,
        .trie = { .nh_sz = RTE_FIB6_TRIE_4B, .num_tbl8 = 1 << 18 },
    };
    struct rte_fib *fib = family == 4 ? rte_fib_create("fib", SOCKET_ID_ANY, &conf) : NULL;
    struct rte_fib6 *fib6 = family == 6 ? rte_fib6_create("fib6", SOCKET_ID_ANY, &conf6) : NULL;
    uint32_t *ips = malloc(n * sizeof *ips);
    uint8_t (*ips6)[16] = malloc(n * sizeof *ips6);
    if ((!fib && !fib6) || !ips || !ips6)
        return 2;
    for (size_t i = 0; i < routes; i++) {
        uint8_t ip6[16];
        if (scanf("%39s %u %u", text, &len, &hop) != 3)
            return 3;
        if (family == 6)
            read6(text, ip6);
        if (family == 4 ? rte_fib_add(fib, strtoul(text, NULL, 16), len, hop)
                        : rte_fib6_add(fib6, ip6, len, hop))
            return 4;
    }
    for (size_t i = 0; i < n; i++) {
        if (scanf("%39s", text) != 1)
            return 5;
        if (family == 6)
            read6(text, ips6[i]);
        else
            ips[i] = strtoul(text, NULL, 16);
    }
    for (int turn = 0; turn < TURNS; turn++) {
        double start = now();
        for (size_t i = 0; i + BATCH <= n; i += BATCH) {
            if (family == 4)
                rte_fib_lookup_bulk(fib, ips + i, hops, BATCH);
            else
                rte_fib6_lookup_bulk(fib6, ips6 + i, hops, BATCH);
            sum += hops[i / BATCH % BATCH];
        }
        double took = (now() - start) / n;
        least = took < least ? took : least;
    }
    /* The sum keeps the look-ups from being left out. */
    printf("%.3f %" PRIu64 "\n", least, sum);
    return 0;
}
