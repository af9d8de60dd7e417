// G-Opt, section 4: NDN Interests, by the longest prefix of their names among $names names.
define($names 1000000);

FromDPDKDevice(0) -> Classifier(12/8624) -> rt :: NDNLookup(FILE inputs/names-${names}.txt);
rt[0], rt[1], rt[2], rt[3] -> ToDPDKDevice(0, BLOCKING false);
