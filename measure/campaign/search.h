#pragma once

#include "measure/campaign/target.h"

namespace heddle::bench {

/** How the zero-loss throughput is looked for. */
struct SearchOptions {
  double loss = 0;           ///< share of the packets that a trial may lose
  double start_pps = 0;      ///< rate of the first trial
  double resolution = 0.01;  ///< of the rate
  double trial_s = 1;
  double final_s = 1;  ///< of the trial that decides
  int retries = 0;     ///< times that a trial that lost packets is made again before it counts
};

struct SearchResult {
  double rate_pps = 0;             ///< the throughput; 0: there is none
  Outcome decisive;                ///< of the trial of final_s at that rate, with stamps
  double lossy_pps = 0;            ///< the lowest rate found to lose packets; 0: none was
  bool generator_limited = false;  ///< what is above rate_pps the generator cannot send
  int trials = 0, retried = 0;     ///< retried: trials that lost packets once, and none when they were made again
  int late = 0;  ///< trials whose losses count although the generator was late, to send or to take: its fault?
};

/** The throughput of RFC 2544, section 26.1: the highest rate at which no packet is lost, or no more than `loss`
 *  allows. From start_pps the rate is doubled until packets are lost, then the interval is halved until it is
 *  `resolution` wide; then a trial of final_s decides (section 24). If that one loses packets, the search goes on below
 *  it. After each trial that has lost packets the target may rest. Throws Error if no rate is found because trials do
 *  not tell what they have lost (Outcome::known()).
 *
 *  A trial in which the generator was late says little when packets were lost, for it sends bursts to catch up: such a
 *  trial is made again. One in which it was late most of the time says nothing of that rate, and the search goes on
 *  below. */
SearchResult find_zero_loss(Target& target, const SearchOptions& options);

}  // namespace heddle::bench
