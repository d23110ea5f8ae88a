/* talp.c - the trees of TALP's efficiencies: factors, the lowest factor, the product. */
#include "render/model/talp.h"

static const struct {
    const char *key, *title;
    enum talp_efficiency parent;
} tree[N_TALP] = {
#define X(name, key, title, parent) {key, title, TALP_##parent},
    TALP_EFFICIENCIES(X)
#undef X
};

const char *talp_key(enum talp_efficiency e)
{
    return tree[e].key;
}

const char *talp_title(enum talp_efficiency e)
{
    return tree[e].title;
}

enum talp_efficiency talp_parent(enum talp_efficiency e)
{
    return tree[e].parent;
}

static enum talp_efficiency root_of(enum talp_efficiency e)
{
    while (tree[e].parent != TALP_NONE)
        e = tree[e].parent;
    return e;
}

void talp_clean(double *v, double n_gpus)
{
    const double root[] = {[TALP_PARALLEL] = v[TALP_PARALLEL], [TALP_GPU] = v[TALP_GPU]};
    for (int e = 0; e < N_TALP; e++) {
        enum talp_efficiency r = root_of((enum talp_efficiency)e);
        int is_gone = r == TALP_GPU && n_gpus >= 0 && n_gpus < 1;
        if (is_gone || v[e] < 0 || (v[e] <= 0 && root[r] > 0))
            v[e] = -1;
    }
}

enum talp_efficiency talp_lowest_factor(const double *v, enum talp_efficiency of)
{
    enum talp_efficiency lowest = TALP_NONE;
    for (int e = 0; e < N_TALP; e++)
        if (tree[e].parent == of && v[e] >= 0 && (lowest == TALP_NONE || v[e] < v[lowest]))
            lowest = (enum talp_efficiency)e;
    return lowest;
}

/* The product with each factor larger by `by`, and none below 0. */
static double product(const double *v, enum talp_efficiency of, double by)
{
    double p = 1;
    for (int e = 0; e < N_TALP; e++)
        if (tree[e].parent == of && v[e] >= 0)
            p *= v[e] + by > 0 ? v[e] + by : 0;
    return p;
}

double talp_product(const double *v, enum talp_efficiency of)
{
    return talp_lowest_factor(v, of) == TALP_NONE ? -1 : product(v, of, 0);
}

int talp_agrees(const double *v, enum talp_efficiency of)
{
    const double half = 0.005 + 1e-9; /* of the last decimal, and of the arithmetic here */
    if (v[of] < 0 || talp_product(v, of) < 0)
        return 1;
    return product(v, of, -half) <= v[of] + half && product(v, of, half) >= v[of] - half;
}
