package formats

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/decodesim/decodesim/configs"
)

// FuzzMeasurements reads any bytes as a file of measurements: the scenario of every run that is to be simulated loads.
func FuzzMeasurements(f *testing.F) {
	results, err := filepath.Glob(filepath.Join("..", "benchtools", "testdata", "*"))
	if err != nil {
		f.Fatal(err)
	}
	tables, err := filepath.Glob(filepath.Join(os.Getenv("DECODESIM_SHARED"), "groundtruth", "*.[cj]s*"))
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range append(results, tables...) {
		text, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		if lines := bytes.SplitAfterN(text, []byte("\n"), 5); len(lines) == 5 && filepath.Ext(path) != ".json" {
			text = bytes.Join(lines[:4], nil)
		}
		if len(text) < 20_000 {
			f.Add(text)
		}
	}
	f.Add([]byte("rate,prompt_tokens,output_tokens,tpot_ms\n8,1000,200,11\n"))
	f.Add([]byte("request_id,arrival_s,input_tokens,output_tokens,ttft_ms,tpot_ms,e2e_ms\n1,0,5,6,1,2,3\n"))
	const experts = "deployment_id,gpu,engine,version,model_shape,hidden,inter,topk,experts,moe_dtype,moe_tp,moe_ep," +
		"num_tokens,rows_per_expert,routing,latency_us,kernel,flag\n"
	f.Add([]byte(experts + "d,H100,vllm,1,m,64,32,2,8,fp8_block,0,1,4,1,bal,10,k,\n"))
	f.Add([]byte(experts + "d,H100,vllm,1,m,64,32,2,8,fp8_block,x,1,4,1,bal,10,k,\n"))
	path := filepath.Join(f.TempDir(), "data")
	f.Fuzz(func(t *testing.T, text []byte) {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		m, err := Read(path, "")
		if err != nil {
			if !strings.Contains(err.Error(), "data") {
				t.Fatalf("an error that does not say its file: %v", err)
			}
			return
		}
		if len(m.Runs) > 50 || m.Takes() && m.On("chat-8b") != nil || m.Whole() != nil {
			return
		}
		for i := range m.Runs {
			r := &m.Runs[i]
			if r.Skip != "" || r.Scenario == "" || strings.Contains(r.Scenario, "file:") {
				continue
			}
			_, err := configs.Read("run", []byte(r.Scenario), configs.Options{})
			if err != nil && (strings.Contains(err.Error(), "not YAML") || strings.Contains(err.Error(), "unknown key")) {
				t.Fatalf("run %s is no scenario: %v\n%s", r.ID, err, r.Scenario)
			}
		}
	})
}
