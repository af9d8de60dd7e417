#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace heddle::bench {

enum class NameForm { ndn, url };

/** `count` different names, in random order; the same for the same seed. ndn: "/org/wikipedia/en/wiki/Click", the
 *  host's labels from the top-level domain on and then the path, as the NDN literature makes names of URLs (Wang et
 *  al.: "Wire Speed Name Lookup: A GPU-based Approach", NSDI 2013); url: "http://en.wikipedia.org/wiki/Click".
 *
 *  Statistics are those of 47,938 URLs of Web pages (kasztp's, in the data of the Ada URL parser): the number of a
 *  host's labels (mean 3.1) and of a path's components (2.0), the lengths of labels (second-level domain 7.2 bytes), of
 *  inner components (6.1) and of the last (10.7). Labels and components are as popular as Zipf's law says, with the
 *  exponents fitted there: second-level domains 0.89, further labels 0.99, inner components 0.98, last components 0.76;
 *  a third label is "www" in 56 %. */
std::vector<std::string> generate_names(size_t count, NameForm form, uint64_t seed);

}  // namespace heddle::bench
