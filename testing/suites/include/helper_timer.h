/* Stopwatches as the helpers of CUDA's samples have them, for programs that come without. */
#pragma once
#include <chrono>

struct StopWatchInterface {
    std::chrono::steady_clock::time_point begin;
    double milliseconds = 0;
};

static inline double suites_since(const StopWatchInterface &watch) {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - watch.begin).count();
}
static inline bool sdkCreateTimer(StopWatchInterface **watch) { return *watch = new StopWatchInterface, true; }
static inline bool sdkDeleteTimer(StopWatchInterface **watch) { return delete *watch, *watch = nullptr, true; }
static inline bool sdkStartTimer(StopWatchInterface **watch) {
    (*watch)->begin = std::chrono::steady_clock::now();
    return true;
}
static inline bool sdkStopTimer(StopWatchInterface **watch) { return (*watch)->milliseconds += suites_since(**watch), true; }
static inline bool sdkResetTimer(StopWatchInterface **watch) { return (*watch)->milliseconds = 0, sdkStartTimer(watch); }
static inline float sdkGetTimerValue(StopWatchInterface **watch) { return float((*watch)->milliseconds); }
static inline float sdkGetAverageTimerValue(StopWatchInterface **watch) { return sdkGetTimerValue(watch); }
