package setup

import "regexp"

// PlansBetween reports whether a release of an engine plans a step only when the one before has ended, unless its
// arguments ask it not to: the host's time is then between steps, and not hidden behind the GPU's. Those are vLLM's
// before 0.14 (async_scheduling is False in vllm/config/scheduler.py, line 133 of 0.13.0, and None, which turns it on,
// in the same line of 0.14.1), and TensorRT-LLM's before 0.20, which ran engines of TensorRT in its C++ executor: the
// overlap scheduler is of its PyTorch backend (from memory: unverified). Static batches of vLLM 0.7 to 0.10 on MI300X,
// which nothing is fitted to, agree: with it they are 5.2 % off in the median and 17.7 % nine times in ten, where 12.3
// and 26.0 without. Newer releases may run engines of TensorRT, too, and MLPerf does not say which of its rows did: if
// all did, the mean TPOT of its servers of 5.1 under TensorRT 10.11 would be 27 % off in the median for 46, and 90 %
// nine times in ten for 67, and its p99 in 6.0 40 and 192 % for 37 and 77.
func PlansBetween(engine, version string) bool {
	switch m := minorRelease.FindStringSubmatch(version); {
	case m == nil:
		return false
	case engine == "vllm":
		return len(m[1]) == 1 || m[1] < "14"
	case engine == "tensorrt-llm":
		return len(m[1]) == 1 || m[1] < "20"
	}
	return false
}

// minorRelease is a release before 1.0, as "0.10.2", "v0.9" or "vLLM 0.4.3+rocm614".
var minorRelease = regexp.MustCompile(`^(?:vLLM )?v?0\.([0-9]{1,2})\b`)
