/* graph_read.c - see graph_read.h. */
#include "trainer/formats/graph_read.h"

#include "trainer/formats/file_kind.h"
#include "trainer/formats/graph_pairs.h"

static int read_kind(struct graph_pairs *p, enum file_kind kind, struct dcr_err *err)
{
    const enum graph_format format = p->file->format;
    if (kind != FILE_TEXT && (format == GRAPH_DISTANCE_LIST || format == GRAPH_WEIGHT_LIST))
        return dcr_err_set(err, DCR_FAIL, "'%s' is no list: leave --graph-format out, or say which matrix it is",
                           p->file->path);
    switch (kind) {
    case FILE_NPY:
        return graph_npy(p, err);
    case FILE_ZIP:
        return graph_npz(p, err);
    case FILE_PICKLE:
        return graph_pickle(p, err);
    case FILE_HDF5:
    case FILE_FOLDER:
        return dcr_err_set(err, DCR_FAIL,
                           "'%s' is %s; a graph is a list or matrix in a CSV, an npy, npz or adj_mx.pkl file",
                           p->file->path, kind == FILE_HDF5 ? "an HDF5 file" : "a folder");
    default:
        return graph_text(p, err);
    }
}

int graph_read(const struct graph_file *file, const struct dataset *d, struct graph_csr *adjacency, size_t *n_unknown,
               struct dcr_err *err)
{
    struct graph_pairs p = {0};
    enum file_kind kind;
    int rc = file_kind_of(file->path, &kind, err);
    if (!rc)
        rc = graph_pairs_begin(&p, file, d, err);
    if (!rc)
        rc = read_kind(&p, kind, err);
    if (!rc)
        rc = graph_pairs_adjacency(&p, adjacency, err);
    if (n_unknown)
        *n_unknown = p.n_unknown;
    graph_pairs_release(&p);
    return rc;
}
