/* names.c - what parts, classes, verdicts and kinds are called in files and in prose. */
#include "render/metrics/report.h"

const char *part_key(enum part p)
{
    static const char *const keys[] = {
#define X(id, key, name) key,
        REPORT_PARTS(X)
#undef X
    };
    return keys[p];
}

const char *loss_class_key(enum loss_class c)
{
    static const char *const keys[] = {
#define X(id, key) key,
        LOSS_CLASSES(X)
#undef X
    };
    return keys[c];
}

const char *loss_class_name(enum loss_class c)
{
    static const char *const names[N_LOSS_CLASSES] = {
#define LOST(id, title, counts) [LOST_##id] = title,
#include "render/say/names.def"
    };
    return names[c];
}

const char *loss_class_what(enum loss_class c)
{
    static const char *const what[N_LOSS_CLASSES] = {
#define LOST(id, title, counts) [LOST_##id] = counts,
#include "render/say/names.def"
    };
    return what[c];
}

const char *series_names_key(enum series_names of)
{
    static const char *const keys[] = {
#define X(id, key, words) key,
        SERIES_NAMES(X)
#undef X
    };
    return keys[of];
}

const char *series_names_words(enum series_names of)
{
    static const char *const words[] = {
#define X(id, key, words) words,
        SERIES_NAMES(X)
#undef X
    };
    return words[of];
}

const char *part_name(enum part p)
{
    static const char *const names[] = {
#define X(id, key, name) name,
        REPORT_PARTS(X)
#undef X
    };
    return names[p];
}

const char *class_key(enum cause_class c)
{
    static const char *const keys[] = {
#define X(id, key) key,
        REPORT_CLASSES(X)
#undef X
    };
    return keys[c];
}

const char *class_words(enum cause_class c, enum class_form form)
{
    static const char *const words[N_CLASSES][N_CLASS_FORMS] = {
#define CAUSE(id, title, inside, time, limits, share) [CLASS_##id] = {title, inside, time, limits, share},
#include "render/say/names.def"
    };
    return words[c][form];
}

const char *verdict_word(enum verdict v)
{
    static const char *const words[] = {"n/a", "fine", "watch", "limits"};
    return words[v];
}

const char *judged_by_words(enum judged_by b)
{
    static const char *const words[] = {"",
#define X(id, words_) words_,
                                        JUDGED_BY(X)
#undef X
    };
    return words[b];
}

struct judged judged_of(const struct class_result *c)
{
    return c->judged.by ? c->judged
                        : (struct judged){.ratio = c->share_ratio,
                                          .threshold = c->threshold_name,
                                          .threshold_ratio = c->threshold_ratio,
                                          .interval = c->share_interval};
}

const char *gain_basis_word(enum gain_basis b)
{
    return b == GAIN_BOUND ? "upper bound" : "estimate";
}

const char *confidence_word(enum confidence c)
{
    static const char *const words[] = {"low", "medium", "high"};
    return words[c];
}

const char *scaling_word(enum scaling_kind k)
{
    static const char *const words[] = {"none", "strong", "weak", "unknown"};
    return words[k];
}

const char *shared_key(enum shared_kind k)
{
    static const char *const keys[] = {"",
#define X(id, key) key,
                                       SHARED_KINDS(X)
#undef X
    };
    return keys[k];
}

const char *note_key(enum note_id id)
{
    static const char *const keys[] = {
#define X(id, key) key,
        REPORT_NOTES(X)
#undef X
    };
    return keys[id];
}

const char *law_key(enum law_id id)
{
    static const char *const keys[] = {"",
#define X(id, key) key,
                                       SCALING_LAWS(X)
#undef X
    };
    return keys[id];
}

const char *law_source_words(enum law_source s)
{
    static const char *const words[] = {"",
#define X(id, words) words,
                                        LAW_SOURCES(X)
#undef X
    };
    return words[s];
}

const char *law_parameter_key(enum law_parameter_id id)
{
    static const char *const keys[] = {
#define X(id, key, unit) key,
        LAW_PARAMETERS(X)
#undef X
    };
    return keys[id];
}

const char *law_parameter_unit(enum law_parameter_id id)
{
    static const char *const units[] = {
#define X(id, key, unit) unit,
        LAW_PARAMETERS(X)
#undef X
    };
    return units[id];
}

const char *peaks_word(enum peaks p)
{
    static const char *const words[] = {"",
#define X(id, word) word,
                                        PEAKS(X)
#undef X
    };
    return words[p];
}

const char *roof_bound_key(enum roof_bound b)
{
    static const char *const words[] = {"",
#define X(id, key, word) key,
                                        ROOF_BOUNDS(X)
#undef X
    };
    return words[b];
}

const char *roof_bound_word(enum roof_bound b)
{
    static const char *const words[] = {"",
#define X(id, key, word) word,
                                        ROOF_BOUNDS(X)
#undef X
    };
    return words[b];
}

const char *steps_source_words(enum steps_source s)
{
    static const char *const words[] = {"",
#define X(id, words) words,
                                        STEPS_SOURCES(X)
#undef X
    };
    return words[s];
}

const char *memory_source_word(enum memory_source s)
{
    static const char *const words[] = {
#define X(id, word) word,
        MEMORY_SOURCES(X)
#undef X
    };
    return words[s];
}

const char *counted_memory_key(const struct counted_memory *m)
{
    return m->is_of_controllers ? "memory_controllers" : "cache_misses";
}

const char *throughput_source_words(const struct run_result *r)
{
    static const char *const words[] = {"",
#define X(id, words) words,
                                        THROUGHPUT_SOURCES(X)
#undef X
    };
    return r->throughput_source == THROUGHPUT_OF_SUMMARY ? r->run->summary.source : words[r->throughput_source];
}
