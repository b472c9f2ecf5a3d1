/* report: the table of `lbench time`, for people and for programs. */
#ifndef LBENCH_REPORT_H
#define LBENCH_REPORT_H

#include "measure.h"

/* Who lading is compared with: the fastest of all others, the hand-written loop, and each peer. */
#define RIVAL_BEST 0
#define RIVAL_HAND 1
#define RIVAL_PEER 2
#define RIVALS (RIVAL_PEER + PEERS_MAX)

typedef struct report { const measure_options *o; const peers *rivals; bool csv; } report;

/* What a suite came to: ratios are the rival's time / lading's time, above 1 where lading is faster. */
typedef struct score { int n, below; double log_sum, least; const char *worst; } score;
typedef struct tally { int problems, with_hand; score score[RIVALS][2]; } tally;

void report_header(const report *r);
void report_row(const report *r, const problem *p, const measure_row *row, tally *t);
void report_summary(const report *r, const char *name, const tally *t);
void report_add(tally *sum, const tally *t);

/* between report.c and report_csv.c */
timing report_rival(const measure_row *row, int rival, int dir); /* zero when there is none */
double report_ratio(timing other, timing own);                   /* 0 when one of them is missing */
double report_rate(const problem *p, double ns);                 /* GB/s of packed bytes */
void report_csv_header(const report *r);
void report_csv_row(const report *r, const problem *p, const measure_row *row);

#endif
