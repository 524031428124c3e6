package catalog

import (
	"regexp"
	"slices"

	"github.com/decodesim/decodesim/configs/catalog"
	"github.com/decodesim/decodesim/configs/strict"
	"github.com/decodesim/decodesim/internal/measured"
)

// releases are those of each engine that have constants of their own, the oldest first: minor ones, for few deployments
// were measured under two patches of one. Kernels become faster: of DeepSeek-R1 on eight B200, TensorRT-LLM 1.2 takes
// two thirds of the time of a token that 1.1 does.
type releases map[string][]strict.Release

// releaseDeployments is of how many deployments a release has to be measured to be one of its own. What fewer have in
// common may as well be what the deployment is.
const releaseDeployments = 3

// separate reports whether the releases of an engine have constants of their own. Those of TensorRT-LLM have, whose
// DeepSeek-R1 was measured under two. Each of vLLM's was measured on models that hardly any other was, and would take
// what these differ by: E2E under open load, deployments left out, would be 16.8 % off nine times in ten instead of
// 12.8 %, and Llama-3.1-70B on H100, measured under 0.10 alone, be built in 17 % slower than under 0.10.
func separate(engine string) bool { return engine == "tensorrt-llm" }

var minorRelease = regexp.MustCompile(`^[0-9]+\.[0-9]+`)

// releasesOf returns the releases that runs are of.
func releasesOf(runs []measured.Run) releases {
	deployments := map[[2]string]map[string]bool{}
	for i := range runs {
		l := &runs[i].Labels
		of := [2]string{l.Engine, minorRelease.FindString(l.Version)}
		if runs[i].Skip != "" || of[1] == "" || !separate(l.Engine) {
			continue
		}
		if deployments[of] == nil {
			deployments[of] = map[string]bool{}
		}
		deployments[of][l.Deployment()] = true
	}
	k := releases{}
	for of, by := range deployments {
		if len(by) >= releaseDeployments {
			k[of[0]] = append(k[of[0]], strict.Release(of[1]))
		}
	}
	for _, all := range k {
		slices.SortFunc(all, catalog.CompareReleases)
	}
	return k
}

func releaseGroup(engine string, r strict.Release) string { return engine + " " + string(r) }

// newest names the group of the newest release of an engine; empty: there are none to tell apart.
func (k releases) newest(engine string) string {
	all := k[engine]
	if len(all) < 2 {
		return ""
	}
	return releaseGroup(engine, all[len(all)-1])
}
