package configs

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMixesThatCannotBeAreRefused: all classes have arrivals of their own or none has, in place of shares and of the
// workload's; and clients share what arrivals say.
func TestMixesThatCannotBeAreRefused(t *testing.T) {
	const (
		head = "model: llama-3.1-8b\npools: [{gpu: h100-sxm}]\nworkload:\n  requests: 9\n" +
			"  prompt_tokens: {distribution: fixed, mean: 9}\n  output_tokens: {distribution: fixed, mean: 9}\n"
		poisson = "arrivals: {process: poisson, rate: 3}"
	)
	for _, c := range []struct{ workload, want string }{
		{"  classes: [{name: a, " + poisson + "}, {name: b}]\n",
			"classes[1].arrivals: missing; expected arrivals of every class"},
		{"  classes: [{name: a, share: 1, " + poisson + "}]\n", "classes[0].share: 1 stands beside arrivals"},
		{"  classes: [{name: a, arrivals: {process: poison, rate: 3}}]\n", `did you mean "poisson"?`},
		{"  classes: [{name: a, arrivals: {process: gamma, rate: 3}}]\n", "classes[0].arrivals.cv: missing; accepted"},
		{"  " + poisson + "\n  classes: [{name: a}]\n", "classes[0].share: missing; expected a number above 0 and at most 1"},
		{"  " + poisson + "\n  classes: [{name: a, " + poisson + "}]\n", "classes[0].arrivals: stands beside arrivals"},
		{"  classes: [{name: a, " + poisson + "}]\n  sessions: {turns: {distribution: fixed, mean: 2}}\n",
			"sessions: stands beside classes with arrivals of their own"},
		{"  classes: [{name: a, " + poisson + "}]\n  clients: {count: 3}\n", "clients: stands beside classes"},
		{"  clients: {count: 3}\n", "says not when requests come"},
		{"  " + poisson + "\n  clients: {count: 0}\n", "clients.count: 0 is out of range; expected a whole number from 1"},
		{"  " + poisson + "\n  clients: {count: 3, cv_spread: 1}\n", "clients.cv_spread: is 1; accepted: 0, for arrivals"},
		{"  " + poisson + "\n  clients: {count: 3}\n  distinct_prompts: 4\n", "distinct_prompts: stands beside clients"},
		{"  closed_loop: {concurrency: 2}\n  clients: {count: 3}\n", "clients: stands without arrivals"},
	} {
		_, err := Read("mix.yaml", []byte(head+c.workload), Options{})
		require.ErrorContains(t, err, c.want, c.workload)
	}
	s, err := Read("mix.yaml", []byte(head+"  classes: [{name: a, arrivals: {process: poisson, rate: 3}}, "+
		"{name: b, arrivals: {process: poisson, rate: 1}}]\n"), Options{})
	require.NoError(t, err)
	s.Workload.SetReplay("t.csv")
	require.InDelta(t, 0.75, s.Workload.Classes[0].Share, 1e-9, "a replay draws classes by the shares of their arrivals")
	require.Nil(t, s.Workload.Classes[1].Arrivals)
}
