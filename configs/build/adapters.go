package build

import (
	"fmt"
	"math"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/strict"
	"github.com/decodesim/decodesim/hardware"
	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/workloads"
)

// loraOf returns what a replica of p has for LoRA adapters.
func loraOf(s *configs.Scenario, p *configs.Pool, gpu *hardware.GPU) (l hardware.LoRA, err error) {
	if !p.EnableLoRA {
		return l, nil
	}
	l = hardware.LoRA{Slots: p.MaxLoRAs, RankMax: p.MaxLoRARank, Modules: p.LoRATargetModules,
		StorageBps: p.LoRALoadBps, Used: s.Workload.Adapted()}
	l.HostLinkBps, err = hostLinkBps(p, gpu)
	if err != nil {
		return l, s.Errorf(s.PoolPath(p, "enable_lora"), "adapters come over the link to host memory: %s; expected "+
			"host_link_bps", strict.Message(err))
	}
	return l, nil
}

// adapt gives the requests their adapters, and the pools what they have for these.
func (b *Built) adapt() error {
	s := b.Scenario
	w := &s.Workload
	t := b.trace()
	named := t != nil && t.Columns().Adapters
	if named && w.Adapters == nil {
		b.Replicas[0].notes = append(b.Replicas[0].notes, "adapter_id of the trace is not read: workload.adapters says "+
			"how many adapters there are, and without it requests are of the model itself")
	}
	if !w.Adapted() {
		b.noteUnused()
		return nil
	}
	if named && w.Adapters != nil {
		if err := checkNamed(s); err != nil {
			return err
		}
	}
	rank := math.MaxInt
	for i := range s.Pools {
		rank = min(rank, s.Pools[i].MaxLoRARank)
	}
	m := w.AdapterMix(rank)
	m.Answers, m.Named = s.Decoding.Choices().N, named
	source, ranks, err := workloads.NewAdapted(b.requests, m, b.contents(), s.Seed)
	if err != nil {
		return s.Refused(err)
	}
	b.requests = source
	for i, r := range b.Replicas {
		r.notes = append(r.notes, adaptersUnmeasured)
		b.Config.Pools[i].Adapters, err = r.adapters(s, &s.Pools[i], ranks)
		if err != nil {
			return err
		}
	}
	return nil
}

// checkNamed refuses laws of adapters where a trace says which one each request has.
func checkNamed(s *configs.Scenario) error {
	a := s.Workload.Adapters
	for i := range s.Workload.Classes {
		if s.Workload.Classes[i].Adapters != nil {
			return s.Errorf(fmt.Sprintf("workload.classes[%d].adapters", i), "%s names the adapter of each request by "+
				"adapter_id; expected workload.adapters alone", s.Workload.Trace.File)
		}
	}
	if a.Zipf != 0 || len(a.Weights) > 0 || a.BaseShare != 0 {
		return s.Errorf("workload.adapters", "%s names the adapter of each request by adapter_id, so nothing is drawn; "+
			"expected count and rank alone, without zipf, weights and base_share", s.Workload.Trace.File)
	}
	return nil
}

// adaptersUnmeasured is what a reader of results with adapters should know.
const adaptersUnmeasured = "adapters: no server with LoRA adapters was measured; a step reads and multiplies them at " +
	"what dense layers achieve, and launching their kernels is not counted"

// adapters returns what an instance of p has for adapters of such ranks.
func (r *Replica) adapters(s *configs.Scenario, p *configs.Pool, ranks []int) (a sim.Adapters, err error) {
	a = sim.Adapters{Slots: p.MaxLoRAs, Host: p.MaxCPULoRAs}
	if p.LoRALoadBps == 0 && a.Host < len(ranks) {
		return a, s.Errorf(s.PoolPath(p, "max_cpu_loras"), "%d does not hold all of the %d adapters in host memory, and "+
			"nothing says how fast the others come from storage; expected lora_load_bps, or at least %d", a.Host, len(ranks),
			len(ranks))
	}
	for _, rank := range ranks {
		host, storage := r.Deployment.CopyTimes(rank)
		a.Copies = append(a.Copies, host)
		if p.LoRALoadBps > 0 {
			a.Reads = append(a.Reads, storage)
		}
	}
	if last := len(ranks) - 1; a.Copies[last] > sim.Seconds(slowestS) {
		return a, s.Errorf(s.PoolPath(p, "host_link_bps"), "%g takes %v for an adapter; expected %g s at most", p.HostLinkBps,
			a.Copies[last], float64(slowestS))
	}
	return a, nil
}

// slowestS bounds the seconds in which an adapter comes, so that steps stay within the clock.
const slowestS = 3600

// noteUnused warns of slots that no request uses.
func (b *Built) noteUnused() {
	for i, r := range b.Replicas {
		if p := &b.Scenario.Pools[i]; p.EnableLoRA {
			r.notes = append(r.notes, fmt.Sprintf("enable_lora: the slots of adapters, %d of them, take %.2f GB of each GPU, "+
				"and no request has one: workload.adapters says which do", p.MaxLoRAs, r.Memory.Adapters/1e9))
		}
	}
}
