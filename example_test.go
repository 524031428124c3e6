package decodesim_test

import (
	"context"
	"fmt"
	"log"

	"github.com/decodesim/decodesim"
)

// From a scenario to its p50 inter-token latency.
func Example() {
	summary, err := decodesim.Run(context.Background(), "chat-8b", decodesim.Seed(2))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("p50 ITL %.1f ms\n", 1e3*summary.Latency.ITL.P50)
	// Output: p50 ITL 9.1 ms
}

// A change of the scenario, as decodesim run --set has it.
func ExampleSet() {
	for _, replicas := range []string{"1", "2"} {
		summary, err := decodesim.Run(context.Background(), "chat-8b",
			decodesim.Set("pools.serve.replicas="+replicas, "workload.arrivals.rate=40", "workload.requests=2000"))
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s: p99 TTFT %.2f s\n", replicas, summary.Latency.TTFT.P99)
	}
	// Output:
	// 1: p99 TTFT 34.96 s
	// 2: p99 TTFT 0.32 s
}

// Mistakes say what would be accepted.
func ExampleRun_mistake() {
	_, err := decodesim.Run(context.Background(), "chat-8b", decodesim.Set("pools.serve.replicas=none"))
	fmt.Println(err)
	// Output: --set pools.serve.replicas=none: expected an integer, got "none"
}
