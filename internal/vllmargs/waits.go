package vllmargs

import "strconv"

// waits is how many steps TensorRT-LLM's prompts wait for others, which depends on chunks and attention ranks.
func (d *draft) waits(g *given) error {
	if unknownVariable(g.value()) != "" {
		d.differ(g, "prompts held back")
		return nil
	}
	_, err := g.whole(0, 1<<20)
	d.batchWait = g
	return err
}

// batchWaits says what becomes of them.
func (d *draft) batchWaits() error {
	d.rankWaits.settle(d)
	g := d.batchWait
	switch {
	case g == nil:
	case g.value() == "0":
		d.idle(g, "as without it")
	case d.rankSwitch != nil:
		d.idle(g, "attention ranks do not wait so")
	case d.value("enable_chunked_prefill") == "true":
		d.differ(g, "chunks held back")
	default:
		d.set("batch_wait_timeout_iters", g.value(), g)
	}
	return nil
}

// rankWaits are how the prompts of TensorRT-LLM's attention ranks wait for one another, the parts of
// attention_dp_config: whether they do, for how many steps until each rank has one, and for how many more then.
type rankWaits struct {
	balance           *given
	timeout, batching *given
}

// The defaults of TensorRT-LLM (tensorrt_llm/llmapi/llm_args.py, AttentionDpConfig; from memory, unverified).
const (
	rankTimeout  = "50"
	rankBatching = "10"
)

func (d *draft) rankBalance(g *given) error {
	on, err := g.truth()
	if err != nil {
		return err
	}
	if !on {
		d.idle(g, "as without it")
		return nil
	}
	d.rankWaits.balance = g
	return nil
}

// rankWait reads one of the numbers of steps.
func rankWait(field func(w *rankWaits) **given) reader {
	return func(d *draft, g *given) error {
		*field(&d.rankWaits) = g
		if unknownVariable(g.value()) != "" {
			return nil
		}
		_, err := g.whole(0, 1<<20)
		return err
	}
}

// settle says what becomes of them.
func (w *rankWaits) settle(d *draft) {
	why := ""
	switch ranks := d.rankSwitch != nil && d.tensor.n > 1; {
	case !ranks:
		why = "there is one attention rank"
	case w.balance == nil:
		why = "without enable_balance ranks do not wait"
	}
	if why != "" {
		for _, g := range []*given{w.balance, w.timeout, w.batching} {
			if g != nil {
				d.idle(g, why)
			}
		}
		return
	}
	steps, by := rankTimeout, w.balance
	if w.timeout != nil {
		steps, by = w.timeout.value(), w.timeout
	}
	switch n, err := strconv.Atoi(steps); {
	case err != nil: // a variable without a value
		d.differ(by, "prompts of attention ranks held back")
	case n == 0:
		d.idle(by, "ranks that wait for no step do not wait")
	case d.value("enable_chunked_prefill") == "true":
		d.differ(by, "chunks of attention ranks held back")
	default:
		d.set("batch_wait_timeout_iters", strconv.Itoa(n), by)
	}
	w.settleBatching(d)
}

// settleBatching says that ranks which all have a prompt wait on for more, which is not modelled.
func (w *rankWaits) settleBatching(d *draft) {
	switch g := w.batching; {
	case g == nil:
		d.note("%s: batching_wait_iters is %s by default: prompts wait so many steps more once every rank has one, which is "+
			"not modelled", w.balance.written, rankBatching)
	case g.value() == "0":
		d.idle(g, "as modelled")
	default:
		d.differ(g, "prompts wait on once every rank has one")
	}
}
