/* stepless.h - statements about a run without known steps. Inside render/findings. */
#ifndef RENDER_FINDINGS_STEPLESS_H
#define RENDER_FINDINGS_STEPLESS_H

#include "render/metrics/report.h"

/* What to do about such a run. */
struct stepless_advice {
    struct advised first, then; /* then: ADVICE_NONE, or what else helps */
    const char *words;          /* words of first, if an action of a class has them already; NULL = those of its row */
    struct phrase result;       /* its effect or subject; PHRASE_NONE = unknown */
    int is_first;               /* as in struct to_do; 0: nothing needs to be done */
};

/** say_without_steps - headline and support of such a run: from its GPU traces, else from the first of its tables and
 *  monitors that shows something. */
void say_without_steps(struct report *rep, struct run_result *r);
/** is_mostly_at_rest - do the cores that a rank used, its time in MPI and its time in calls on files explain less than
 *  half of the run? Test: tests/unit/test_narrate.c */
int is_mostly_at_rest(const struct run *a);
/** say_evidence - the finding of the first table or monitor that has one; (stepless_evidence.c) returns 0: nothing, and
 *  out is unchanged */
int say_evidence(struct report *rep, const struct run *r, struct said *out);
/** advise_evidence - the advice that follows from that table or monitor.   returns 0: there is none */
int advise_evidence(struct report *rep, const struct run *r, struct stepless_advice *out);
/** say_epochs - where the time of an epoch goes, of the epochs in metrics.csv whose parts are given and fit.
 *  (stepless_epochs.c)   returns 0: there is none. Test: tests/golden/render_text.sh */
int say_epochs(const struct run *r, struct said *out);

/** say_devices - how busy the GPUs were, from traces.
 *  has_steps  the run's steps are counted: else out also says if a trace marks steps that could not be
 *  returns    1, or 0 without a trace of a GPU: out is unchanged */
int say_devices(const struct report *rep, const struct run *r, int has_steps, struct said *out);
/** cause_of_idle - the class that most of the idle time of the least busy GPU belongs to; N_CLASSES: it is busy, or
 * that is not known. */
enum cause_class cause_of_idle(const struct report *rep, const struct run *r);
/** phrase_of_host_line - the function that ran for most of the time in which GPUs waited for their host, by the stacks
 *  in traces. returns  PHRASE_NONE: none are recorded, or no function had a large part */
struct phrase phrase_of_host_line(const struct foreign_trace *traces, int n_traces);
/** phrase_of_stacks - how to record stacks. returns  PHRASE_NONE: they are recorded, or the profiler has none */
struct phrase phrase_of_stacks(const struct run *r, const struct foreign_trace *traces, int n_traces);
/** advise_devices - what to do about the idle time of GPU traces without steps; nothing for a trace with too few
 *  kernels to show a loop. Only trainings get advice on how to mark steps.   returns 0: there are none */
int advise_devices(struct report *rep, const struct run_result *r, struct stepless_advice *out);

#endif
