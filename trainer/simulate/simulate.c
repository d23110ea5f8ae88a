/* simulate.c - see simulate.h: demand, incidents, the cell transmission model, and the readings of detectors. */
#include "trainer/simulate/simulate.h"

#include "lib/base/buf.h"
#include "lib/base/fs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DT_S 5.0                       /* a step of the simulation */
#define CAPACITY_VEH_S (2000.0 / 3600) /* of one lane, by the fundamental diagram */

struct sim_ramp {
    double queue;            /* vehicles waiting */
    double peak;             /* vehicles per DT at the height of demand */
    double wobble;           /* slow random part of demand, AR(1) */
    double morning, evening; /* heights of the two peaks, around 1 */
    double inflow;           /* vehicles per DT during this row */
};

/* ---- demand: how many vehicles want to enter, by place and hour -------------------------------------- */

#define PEAK_LOAD 1.5 /* peak demand over capacity at the links of percentile PEAK_PERCENTILE */
#define PEAK_PERCENTILE 0.85

static double bell(double hour, double centre, double width)
{
    double z = (hour - centre) / width;
    return exp(-z * z / 2);
}

static double plateau(double hour, double from, double to)
{
    return 1 / ((1 + exp(-2 * (hour - from))) * (1 + exp(2 * (hour - to))));
}

/* Demand relative to its peak: night floor, daytime plateau, two rush hours on working days. Monday is 0. */
static double demand_shape(double hour, int weekday, double morning, double evening)
{
    if (weekday >= 5)
        return 0.10 + (weekday == 5 ? 0.52 : 0.44) * plateau(hour, 9.5, 20.5);
    double late = weekday == 4 ? 1.6 : 1.2; /* Friday's evening peak is wider */
    return 0.10 + 0.46 * plateau(hour, 6, 20) + 0.44 * morning * bell(hour, 7.8, 0.9) +
           0.44 * evening * bell(hour, 17.2, late);
}

static void set_ramp(struct sim_ramp *r, double relative, double bias)
{
    r->peak = relative;
    r->morning = 1 - 0.35 * bias;
    r->evening = 1 + 0.35 * bias;
}

/* Uncongested flow through every link at the height of one peak, per unit of demand: turning shares applied until
 * nothing changes. load (n_links) receives the flow over capacity between the ramps, where it is highest. */
static void peak_loads(const struct sim_network *net, const struct sim_ramp *ramps, int is_evening, double *in,
                       double *next, double *load)
{
    memset(in, 0, net->n_links * sizeof *in);
    for (int pass = 0; pass < 300; pass++) {
        memset(next, 0, net->n_links * sizeof *next);
        for (size_t k = 0; k < net->n_nodes; k++) {
            const struct sim_node *n = &net->nodes[k];
            for (int a = 0; a < SIMULATE_MAX_ARMS; a++) {
                const struct sim_ramp *origin = &ramps[net->n_links + k];
                double arriving = 0;
                if (a == 4)
                    arriving = origin->peak * (is_evening ? origin->evening : origin->morning);
                else if (n->in[a] >= 0) {
                    const struct sim_ramp *on = &ramps[n->in[a]];
                    const struct sim_link *l = &net->links[n->in[a]];
                    double inside = in[n->in[a]] + on->peak * (is_evening ? on->evening : on->morning);
                    load[n->in[a]] = inside / (CAPACITY_VEH_S * DT_S * l->n_lanes);
                    arriving = inside * (1 - l->exit_ratio);
                }
                for (int out = 0; out < 4; out++)
                    if (n->out[out] >= 0)
                        next[n->out[out]] += arriving * n->turn[a][out];
            }
        }
        memcpy(in, next, net->n_links * sizeof *in);
    }
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Peaks of all ramps, such that at the worse peak the links of one percentile are loaded just above capacity. Queues
 * then form at the same share of the network for any size and seed. ramps: of links, then of nodes. */
static int calibrate_demand(const struct sim_network *net, struct sim_ramp *ramps, struct dcr_err *err)
{
    size_t n = net->n_links;
    double worst = 0, *work = calloc(3 * n, sizeof *work);
    if (!work)
        return dcr_err_set(err, DCR_FATAL, "out of memory for %zu links", n);
    for (size_t i = 0; i < n; i++)
        set_ramp(&ramps[i], net->links[i].on_demand, net->links[i].commuter_bias);
    for (size_t k = 0; k < net->n_nodes; k++)
        set_ramp(&ramps[n + k], net->nodes[k].origin, net->nodes[k].commuter_bias);
    for (int is_evening = 0; is_evening < 2; is_evening++) {
        double *load = work + 2 * n;
        peak_loads(net, ramps, is_evening, work, work + n, load);
        qsort(load, n, sizeof *load, by_value);
        double at = load[(size_t)(PEAK_PERCENTILE * (double)(n - 1))];
        worst = at > worst ? at : worst;
    }
    for (size_t i = 0; i < n + net->n_nodes; i++)
        ramps[i].peak *= PEAK_LOAD / worst;
    free(work);
    return 0;
}

/* ---- traffic --------------------------------------------------------------------------------------- */

#define ROW_S (DATASET_STEP_MINUTES * 60)
#define STEPS_PER_ROW ((int)(ROW_S / DT_S))
#define ROWS_PER_DAY (24 * 60 / DATASET_STEP_MINUTES)
#define WARM_UP_ROWS 36 /* three hours of night traffic before the first row */

#define WAVE_MPS 5.0       /* of the backward wave; the jam density follows */
#define CAPACITY_DROP 0.06 /* a queue discharges that much below capacity */

#define MOST_LEAVE 0.45 /* share that takes the off-ramp before a standing queue */
#define MOST_WAIT 120.0 /* vehicles that queue at a ramp; further ones take another way */

#define MPS_TO_MPH (1 / 0.44704)
#define SPEED_SPREAD_MPH 7.0 /* s.d. of single vehicles */
#define SENSOR_NOISE_MPH 0.6
#define INCIDENTS_PER_KM_DAY 0.035
#define OUTAGES_PER_SENSOR_DAY 0.25
#define BLACKOUTS_PER_DAY 0.10

struct cell {
    double n;        /* vehicles */
    double capacity; /* vehicles per DT, now (incidents lower it) */
    double full;     /* vehicles at jam density */
    double critical; /* vehicles above which the cell is congested */
    double out_rate; /* free_mps * DT / cell length */
    double in_rate;  /* WAVE_MPS * DT / cell length */
    double flow;     /* vehicles leaving it in this step */
    double joining;  /* vehicles entering it from ramps and interchanges */
};

struct link {
    double staying;    /* share of the flow over the off-ramp's cell that stays on the carriageway */
    int incident_rows; /* rows left of the incident */
    size_t incident_cell;
};

struct sensor {
    double speed_flow, flow; /* sums over a row */
    int outage_rows;
};

struct sim {
    const struct simulate_config *c;
    struct sim_network net;
    struct cell *cells;
    struct link *links;
    struct sensor *sensors;
    struct sim_ramp *ramps; /* on-ramps of links, then origins of nodes */
    int blackout_rows;
    double day_factor;
    uint64_t n_demand, n_incident, n_sensor, n_outage; /* numbers drawn so far */
};

static int start(struct sim *s, struct dcr_err *err)
{
    struct sim_network *net = &s->net;
    int rc = sim_network_build(net, s->c->n_sensors, s->c->seed, err);
    if (rc)
        return rc;
    s->cells = calloc(net->n_cells, sizeof *s->cells);
    s->links = calloc(net->n_links, sizeof *s->links);
    s->sensors = calloc(net->n_sensors, sizeof *s->sensors);
    s->ramps = calloc(net->n_links + net->n_nodes, sizeof *s->ramps);
    if (!s->cells || !s->links || !s->sensors || !s->ramps)
        return dcr_err_set(err, DCR_FATAL, "out of memory for a network of %zu cells", net->n_cells);
    for (size_t i = 0; i < net->n_links; i++)
        for (size_t k = 0; k < net->links[i].n_cells; k++) {
            const struct sim_link *l = &net->links[i];
            struct cell *c = &s->cells[l->first_cell + k];
            double per_m = l->n_lanes * CAPACITY_VEH_S * (1 / l->free_mps + 1 / WAVE_MPS); /* jam density */
            c->capacity = l->n_lanes * CAPACITY_VEH_S * DT_S;
            c->full = per_m * SIMULATE_CELL_M;
            c->critical = l->n_lanes * CAPACITY_VEH_S / l->free_mps * SIMULATE_CELL_M;
            c->out_rate = l->free_mps * DT_S / SIMULATE_CELL_M;
            c->in_rate = WAVE_MPS * DT_S / SIMULATE_CELL_M;
        }
    return calibrate_demand(net, s->ramps, err);
}

static void finish(struct sim *s)
{
    free(s->cells);
    free(s->links);
    free(s->sensors);
    free(s->ramps);
    sim_network_release(&s->net);
}

/* fmin and fmax of numbers. The C library's are function calls, because they must also handle NaN, and make a data set
 * take three times as long. */
static inline double lesser(double a, double b)
{
    return a < b ? a : b;
}

static inline double greater(double a, double b)
{
    return a > b ? a : b;
}

/* What a cell can send and take in one step (Daganzo 1994, equation 4 with the capacity drop of a queue). */
static double sending(const struct cell *c)
{
    double most = c->n > c->critical * 1.05 ? c->capacity * (1 - CAPACITY_DROP) : c->capacity;
    return lesser(c->n * c->out_rate, most);
}

static double receiving(const struct cell *c)
{
    return lesser(c->capacity, (c->full - c->n) * c->in_rate);
}

/* Drivers who see a queue ahead leave by the ramp. Otherwise a closed loop of queues would never dissolve. */
static double stay_ratio(const struct sim_link *l, const struct cell *ahead)
{
    double queue = greater(0, (ahead->n - ahead->critical) / (ahead->full - ahead->critical));
    return 1 - (l->exit_ratio + (MOST_LEAVE - l->exit_ratio) * lesser(1, queue));
}

/* Flows inside one link. The interchange decides the outflow of its last cell. */
static void flow_link(struct sim *s, size_t i)
{
    const struct sim_link *l = &s->net.links[i];
    struct cell *c = s->cells + l->first_cell;
    struct sim_ramp *on = &s->ramps[i];
    for (size_t k = 0; k + 1 < l->n_cells; k++) {
        double stays = 1;
        if (k == l->off_cell)
            stays = s->links[i].staying = stay_ratio(l, &c[k + 1]);
        double send = sending(&c[k]), take = receiving(&c[k + 1]);
        if (k + 1 == l->on_cell) {
            /* the ramp and the carriageway share the room in proportion to what they bring */
            double ramp = lesser(on->queue + on->inflow, CAPACITY_VEH_S * DT_S);
            double share = send + ramp > take ? take / (send + ramp) : 1;
            c[k].flow = send * share;
            on->queue = lesser(MOST_WAIT, on->queue + on->inflow - ramp * share);
            c[k + 1].joining += ramp * share;
        } else {
            c[k].flow = lesser(send, take / stays);
        }
    }
}

/* Interchanges: every arm in asks for room in the arms out by its turning shares. An arm out that is too full lets the
 * same share of every request pass. Traffic keeps its order, so the worst direction holds up the whole arm. */
static void flow_node(struct sim *s, size_t k)
{
    const struct sim_network *net = &s->net;
    const struct sim_node *node = &net->nodes[k];
    struct sim_ramp *origin = &s->ramps[net->n_links + k];
    double send[SIMULATE_MAX_ARMS] = {0}, pass[SIMULATE_MAX_ARMS] = {1, 1, 1, 1, 1}, in[4] = {0};
    for (int a = 0; a < 4; a++)
        if (node->in[a] >= 0) {
            const struct sim_link *l = &net->links[node->in[a]];
            send[a] = sending(&s->cells[l->first_cell + l->n_cells - 1]);
        }
    send[4] = lesser(origin->queue + origin->inflow, 3 * CAPACITY_VEH_S * DT_S);
    for (int out = 0; out < 4; out++) {
        double asked = 0;
        for (int a = 0; a < SIMULATE_MAX_ARMS; a++)
            asked += send[a] * node->turn[a][out];
        if (node->out[out] < 0 || asked <= 0)
            continue;
        double room = receiving(&s->cells[net->links[node->out[out]].first_cell]);
        for (int a = 0; a < SIMULATE_MAX_ARMS && asked > room; a++)
            if (node->turn[a][out] > 0)
                pass[a] = lesser(pass[a], room / asked);
    }
    for (int a = 0; a < SIMULATE_MAX_ARMS; a++)
        for (int out = 0; out < 4; out++)
            in[out] += send[a] * pass[a] * node->turn[a][out];
    for (int a = 0; a < 4; a++)
        if (node->in[a] >= 0) {
            const struct sim_link *l = &net->links[node->in[a]];
            s->cells[l->first_cell + l->n_cells - 1].flow = send[a] * pass[a];
        }
    origin->queue = lesser(3 * MOST_WAIT, origin->queue + origin->inflow - send[4] * pass[4]);
    for (int out = 0; out < 4; out++)
        if (node->out[out] >= 0)
            s->cells[net->links[node->out[out]].first_cell].joining += in[out];
}

/* Speeds of the vehicles that pass the detectors in this step, weighted by their number. */
static void sense(struct sim *s)
{
    for (size_t i = 0; i < s->net.n_sensors; i++) {
        const struct sim_link *l = &s->net.links[s->net.sensors[i].link];
        const struct cell *c = &s->cells[l->first_cell + s->net.sensors[i].cell];
        double q = c->flow, n = c->n;
        if (n <= 1e-9)
            continue;
        double mps = lesser(l->free_mps, q * SIMULATE_CELL_M / (n * DT_S));
        s->sensors[i].speed_flow += q * mps;
        s->sensors[i].flow += q;
    }
}

static void advance(struct sim *s)
{
    const struct sim_network *net = &s->net;
    for (size_t i = 0; i < net->n_links; i++)
        flow_link(s, i);
    for (size_t k = 0; k < net->n_nodes; k++)
        flow_node(s, k);
    sense(s);
    for (size_t i = 0; i < net->n_links; i++) {
        const struct sim_link *l = &net->links[i];
        struct cell *c = s->cells + l->first_cell;
        for (size_t k = 0; k < l->n_cells; k++) {
            double out = c[k].flow;
            c[k].n += c[k].joining - out;
            c[k].joining = 0;
            if (k + 1 < l->n_cells)
                c[k + 1].n += k == l->off_cell ? out * s->links[i].staying : out;
        }
    }
}

/* Demand of the row that begins now; row counts from the first recorded one and may be negative. */
static void set_demand(struct sim *s, long row)
{
    long day = row < 0 ? 0 : row / ROWS_PER_DAY;
    double hour = row < 0 ? 0 : (double)(row % ROWS_PER_DAY) * 24 / ROWS_PER_DAY;
    if (row >= 0 && row % ROWS_PER_DAY == 0)
        s->day_factor = exp(0.05 * sim_normal(s->c->seed, SIM_DRAW_DEMAND, s->n_demand++));
    for (size_t i = 0; i < s->net.n_links + s->net.n_nodes; i++) {
        struct sim_ramp *r = &s->ramps[i];
        r->wobble = 0.95 * r->wobble + 0.03 * sim_normal(s->c->seed, SIM_DRAW_DEMAND, s->n_demand++);
        double shape = demand_shape(hour, (int)(day % 7), r->morning, r->evening);
        r->inflow = greater(0, r->peak * shape * s->day_factor * (1 + r->wobble));
    }
}

/* Incidents begin and end with a row: a cell loses part of its capacity for some tens of minutes. */
static void set_incidents(struct sim *s)
{
    for (size_t i = 0; i < s->net.n_links; i++) {
        const struct sim_link *l = &s->net.links[i];
        struct link *now = &s->links[i];
        double normal = l->n_lanes * CAPACITY_VEH_S * DT_S;
        if (now->incident_rows > 0 && --now->incident_rows == 0)
            s->cells[now->incident_cell].capacity = normal;
        double km = (double)l->n_cells * SIMULATE_CELL_M / 1000;
        double u = sim_uniform(s->c->seed, SIM_DRAW_INCIDENT, s->n_incident++);
        if (now->incident_rows > 0 || u >= INCIDENTS_PER_KM_DAY * km / ROWS_PER_DAY)
            continue;
        double where = sim_uniform(s->c->seed, SIM_DRAW_INCIDENT, s->n_incident++);
        double left = 0.25 + 0.45 * sim_uniform(s->c->seed, SIM_DRAW_INCIDENT, s->n_incident++);
        double minutes = 35 * exp(0.5 * sim_normal(s->c->seed, SIM_DRAW_INCIDENT, s->n_incident++));
        now->incident_cell = l->first_cell + (size_t)(where * (double)l->n_cells);
        now->incident_rows = 1 + (int)(minutes / DATASET_STEP_MINUTES);
        s->cells[now->incident_cell].capacity = normal * left;
    }
}

/* Number of rows of an outage with the given mean, 0 when none begins. It is geometric, so that the end cannot be
 * foreseen. */
static int draw_outage(struct sim *s, double per_day, double mean_rows)
{
    double u = sim_uniform(s->c->seed, SIM_DRAW_OUTAGE, s->n_outage++);
    if (u >= per_day / ROWS_PER_DAY)
        return 0;
    double v = sim_uniform(s->c->seed, SIM_DRAW_OUTAGE, s->n_outage++);
    return 1 + (int)(-mean_rows * log(1 - v));
}

/* Turns the sums of a row into readings: few vehicles give a noisy mean, an outage a missing one. */
static void read_out(struct sim *s, float *out)
{
    if (s->blackout_rows > 0)
        s->blackout_rows--;
    else
        s->blackout_rows = draw_outage(s, BLACKOUTS_PER_DAY, 10);
    for (size_t i = 0; i < s->net.n_sensors; i++) {
        struct sensor *now = &s->sensors[i];
        if (now->outage_rows > 0)
            now->outage_rows--;
        else
            now->outage_rows = draw_outage(s, OUTAGES_PER_SENSOR_DAY, 25);
        double mph = now->flow > 0 ? now->speed_flow / now->flow * MPS_TO_MPH : 0;
        double noise = sim_normal(s->c->seed, SIM_DRAW_SENSOR, s->n_sensor++);
        mph += noise *
               sqrt(SENSOR_NOISE_MPH * SENSOR_NOISE_MPH + SPEED_SPREAD_MPH * SPEED_SPREAD_MPH / greater(1, now->flow));
        mph = lesser(85, greater(1, mph));
        int is_missing = now->outage_rows > 0 || s->blackout_rows > 0 || now->flow <= 0;
        out[i] = is_missing ? 0 : (float)(round(mph * 100) / 100);
        now->speed_flow = now->flow = 0;
    }
}

int simulate_traffic(const struct simulate_config *c, struct dataset *d, struct sim_distances *distances,
                     struct dcr_err *err)
{
    struct sim s = {.c = c, .day_factor = 1};
    memset(d, 0, sizeof *d);
    memset(distances, 0, sizeof *distances);
    if (c->n_days < 1 || c->n_days > 366)
        return dcr_err_set(err, DCR_FAIL, "a simulation takes 1 to 366 days, not %zu", c->n_days);
    int rc = start(&s, err);
    if (!rc)
        rc = dataset_alloc(d, c->n_days * ROWS_PER_DAY, c->n_sensors, err);
    if (!rc)
        rc = sim_network_distances(&s.net, distances, err);
    if (rc)
        goto out;
    for (long row = -WARM_UP_ROWS; row < (long)d->n_rows; row++) {
        set_demand(&s, row);
        if (row >= 0)
            set_incidents(&s);
        for (int i = 0; i < STEPS_PER_ROW; i++)
            advance(&s);
        if (row < 0)
            continue;
        read_out(&s, d->speed_mph + (size_t)row * c->n_sensors);
        d->time_of_day[row] = (float)((double)(row % ROWS_PER_DAY) / ROWS_PER_DAY);
        d->week_slot[row] = (uint16_t)(row % DATASET_WEEK_SLOTS);
    }
    for (size_t i = 0; i < c->n_sensors; i++)
        snprintf(d->id[i], DATASET_ID_BYTES, "s%04zu", i + 1);
    d->is_generated = 1;
    snprintf(d->description, sizeof d->description,
             "generated: cell transmission model, %zu sensors, %zu day%s, seed %llu", c->n_sensors, c->n_days,
             c->n_days == 1 ? "" : "s", (unsigned long long)c->seed);
out:
    finish(&s);
    if (rc) {
        dataset_release(d);
        sim_distances_release(distances);
    }
    return rc;
}

int simulate_adjacency(const struct sim_distances *distances, size_t n_sensors, struct graph_csr *a,
                       struct dcr_err *err)
{
    return graph_from_distances((int)n_sensors, (int64_t)distances->n, distances->from, distances->to,
                                distances->metres, a, err);
}

/* ---- as files, for --write-data -------------------------------------------------------------------- */

static int write_buf(const char *dir, const char *name, const struct dcr_buf *b, struct dcr_err *err)
{
    char path[4096];
    if (b->failed || snprintf(path, sizeof path, "%s/%s", dir, name) >= (int)sizeof path)
        return dcr_err_set(err, DCR_FAIL, "cannot write '%s' in '%.200s': %s", name, dir,
                           b->failed ? "out of memory" : "the name is too long");
    return dcr_write_file(path, b->data, b->len, err);
}

/* Date of a day counted from Monday 2018-01-01; one year is enough. */
static void put_date(struct dcr_buf *b, size_t day)
{
    static const size_t length[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    size_t year = 2018, month = 0;
    while (day >= length[month]) {
        day -= length[month++];
        if (month == 12) {
            month = 0;
            year++;
        }
    }
    dcr_buf_printf(b, "%zu-%02zu-%02zu", year, month + 1, day + 1);
}

int simulate_write(const char *dir, const struct dataset *d, const struct sim_distances *distances, struct dcr_err *err)
{
    const size_t rows_per_day = 24 * 60 / DATASET_STEP_MINUTES;
    struct dcr_buf speeds = {0}, pairs = {0};
    dcr_buf_puts(&speeds, "timestamp");
    for (size_t i = 0; i < d->n_sensors; i++)
        dcr_buf_printf(&speeds, ",%s", d->id[i]);
    dcr_buf_putc(&speeds, '\n');
    for (size_t row = 0; row < d->n_rows; row++) {
        size_t minutes = row % rows_per_day * DATASET_STEP_MINUTES;
        put_date(&speeds, row / rows_per_day);
        dcr_buf_printf(&speeds, " %02zu:%02zu", minutes / 60, minutes % 60);
        for (size_t i = 0; i < d->n_sensors; i++)
            dcr_buf_printf(&speeds, ",%.9g", (double)d->speed_mph[row * d->n_sensors + i]);
        dcr_buf_putc(&speeds, '\n');
    }
    dcr_buf_puts(&pairs, "from,to,metres\n");
    for (size_t k = 0; k < distances->n; k++)
        dcr_buf_printf(&pairs, "%s,%s,%.1f\n", d->id[distances->from[k]], d->id[distances->to[k]],
                       distances->metres[k]);
    int rc = dcr_mkdirs(dir, err);
    if (!rc)
        rc = write_buf(dir, "speeds.csv", &speeds, err);
    if (!rc)
        rc = write_buf(dir, "distances.csv", &pairs, err);
    dcr_buf_release(&speeds);
    dcr_buf_release(&pairs);
    return rc;
}
