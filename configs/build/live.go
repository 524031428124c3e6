package build

import "github.com/decodesim/decodesim/workloads/requests"

// Answers returns what draws the class of each request of a deployment that is sent them from elsewhere, and how many
// tokens the model would emit without a limit: by the laws of the workload, or as recorded, over and over.
func (b *Built) Answers() (*requests.Sampler, error) {
	s := b.Scenario
	pairs, err := recordedLengths(s, nil)
	if err == nil && s.Workload.Trace != nil {
		pairs, err = traceLengths(s, nil)
	}
	if err != nil {
		return nil, err
	}
	sampler, err := requests.NewSampler(s.Workload.Answers(pairs), s.Seed)
	if err != nil {
		return nil, s.Refused(err)
	}
	return sampler, nil
}
