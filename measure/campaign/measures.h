#pragma once

#include "measure/campaign/campaign.h"
#include "measure/campaign/setup.h"
#include "measure/campaign/target.h"

namespace heddle::bench {

/** Makes one repetition of `measure` ("throughput", "latency", "zero-loss") of a target that runs:
 *
 *  throughput: a trial at the highest rate that the generator can send;
 *  latency: a trial at setup.rate_pps, with time stamps;
 *  zero-loss: the search of RFC 2544, section 26.1, with the latency at the rate that it finds (26.2).
 */
Measurement measure(Target& target, const Setup& setup, const std::string& measure);

}  // namespace heddle::bench
