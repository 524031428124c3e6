package catalog

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/decodesim/decodesim/configs/strict"
	"github.com/decodesim/decodesim/hardware"
)

// seed adds the files of some folders.
func seed(f *testing.F, dirs ...string) {
	for _, dir := range dirs {
		for _, name := range Names(dir) {
			_, text, _ := Lookup(dir, name)
			f.Add(text)
		}
	}
}

// FuzzModelFile reads any text as a model like those of the catalog: what is accepted can be counted.
func FuzzModelFile(f *testing.F) {
	seed(f, "models")
	f.Fuzz(func(t *testing.T, text []byte) {
		spec, err := readModel("fuzzed.yaml", text)
		if err != nil {
			return
		}
		m, err := spec.model("fuzzed.yaml")
		if err != nil {
			return
		}
		if m.ParamsTotal() <= 0 || m.ActiveAll() > m.ParamsTotal() || m.CacheBytes(100, 2) < 0 || m.StateBytes() < 0 {
			t.Fatalf("%d parameters, %d active, %g bytes of cache", m.ParamsTotal(), m.ActiveAll(), m.CacheBytes(100, 2))
		}
	})
}

// FuzzOverride puts any text over a model.
func FuzzOverride(f *testing.F) {
	for _, text := range []string{"{context: 4096}", "{hidden: 64, vocab: 10}", "{weights: {dtype: fp8, classes: [head]}}",
		"{layers: [{repeat: 3, run: [{count: 2, mixer: a, ffn: f}]}], mixers: [{name: a, attention: {heads: 4, " +
			"kv_heads: 1, key_dim: 16, value_dim: 16, window: 8}}], ffns: [{name: f, width: 256}]}"} {
		f.Add(text, 8e9, 1e9)
	}
	f.Fuzz(func(t *testing.T, text string, total, active float64) {
		r, err := ModelSource{Config: "mixtral-8x7b", Override: Override(text), Total: total, Active: active}.Read()
		if err == nil && r.Model.ParamsTotal() <= 0 {
			t.Fatalf("%d parameters", r.Model.ParamsTotal())
		}
	})
}

// FuzzGPUFile reads any text as an accelerator.
func FuzzGPUFile(f *testing.F) {
	seed(f, "gpus")
	f.Fuzz(func(_ *testing.T, text []byte) {
		var g hardware.GPU
		if _, err := strict.Decode("fuzzed.yaml", text, &g); err == nil {
			_ = g.Validate()
		}
	})
}

// FuzzEfficiencyFile reads any text as efficiencies, of one GPU or of several.
func FuzzEfficiencyFile(f *testing.F) {
	seed(f, "engines/efficiencies")
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text []byte) {
		path := filepath.Join(dir, "fuzzed.yaml")
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		if one, err := LoadEfficiency(path); err == nil {
			if err := one.Validate(); err != nil {
				t.Fatal(err)
			}
		}
		_, _ = EfficienciesAt(path)
	})
}

// FuzzNames resolves any name of a model and of an accelerator.
func FuzzNames(f *testing.F) {
	for _, name := range []string{"meta-llama/Llama-3.3-70B-Instruct", "8xH100", "nvidia/", "-it-it", "0×",
		"NVIDIA A100-SXM4-80GB"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if model, ok := ModelNamed(name); ok {
			if _, err := Model(model); err != nil {
				t.Fatal(err)
			}
		}
		gpu, _ := CountedGPU(name)
		if gpu, ok := GPUNamed(gpu); ok {
			if _, err := GPU(gpu); err != nil {
				t.Fatal(err)
			}
		}
		_, _ = NearestModel(name), NearestGPU(name)
	})
}
