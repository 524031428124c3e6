package catalog

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/decodesim/decodesim/hardware"
)

func catalog(t *testing.T) []hardware.GPU {
	t.Helper()
	var gpus []hardware.GPU
	for _, name := range GPUNames() {
		g, err := GPU(name)
		require.NoError(t, err)
		gpus = append(gpus, g)
	}
	require.Len(t, gpus, 47)
	return gpus
}

func TestAnUnknownGPUIsAnErrorWithASuggestion(t *testing.T) {
	_, err := GPU("h100-smx")
	require.Error(t, err)
	assert.Contains(t, err.Error(), `gpu "h100-smx" not found; did you mean "h100-sxm"?`)
	_, err = GPU("abacus")
	assert.ErrorContains(t, err, `"tpu-v5e"`)
	_, err = GPU("../gpus/h100-sxm")
	assert.ErrorContains(t, err, "not found")
}

// TestEveryNumberOfAGPUHasASource walks the files rather than the structs, so that a number without a source cannot
// pass for an absent one.
func TestEveryNumberOfAGPUHasASource(t *testing.T) {
	for _, name := range GPUNames() {
		_, text, _ := Lookup("gpus", name)
		var root yaml.Node
		require.NoError(t, yaml.Unmarshal(text, &root))
		walkMappings(root.Content[0], func(n *yaml.Node) {
			keys := map[string]string{}
			for i := 0; i < len(n.Content); i += 2 {
				keys[n.Content[i].Value] = n.Content[i+1].Value
			}
			_, isValue := keys["value"]
			_, isPrice := keys["usd_per_hour"]
			if isValue || isPrice {
				assert.NotEmpty(t, keys["source"], "%s line %d", name, n.Line)
			}
		})
	}
}

func walkMappings(n *yaml.Node, visit func(*yaml.Node)) {
	if n.Kind == yaml.MappingNode {
		visit(n)
	}
	for _, child := range n.Content {
		walkMappings(child, visit)
	}
}

func TestPricesNameProviderAndDate(t *testing.T) {
	for _, g := range catalog(t) {
		if g.Price.Known() {
			assert.NotEmpty(t, g.Price.Provider, g.Name)
			assert.Regexp(t, `^20\d\d(-\d\d){0,2}$`, g.Price.Date, g.Name)
		}
	}
}

// TestPeaksAreDense catches a sparse figure beside a dense one: no unit is more than twice as fast at half the width,
// but for rounding (the L40S sheet) and for what Blackwell Ultra adds to fp4 and GeForce to integers and fp4. Of the
// newest parts, the sheets print four times bf16 in 8 bits.
func TestPeaksAreDense(t *testing.T) {
	newest := []string{"vr200", "mi455x", "trainium3"}
	for _, g := range catalog(t) {
		bf16 := g.FLOPS.BF16.Value
		if bf16 == 0 {
			continue
		}
		if slices.Contains(newest, g.Name) {
			assert.LessOrEqual(t, g.FLOPS.FP8.Value, 4.4*bf16, g.Name)
			assert.LessOrEqual(t, g.FLOPS.FP4.Value, 2.03*g.FLOPS.FP8.Value, g.Name)
			continue
		}
		assert.LessOrEqual(t, g.FLOPS.FP8.Value, 2.03*bf16, g.Name)
		assert.LessOrEqual(t, g.FLOPS.TF32.Value, bf16, g.Name)
		assert.LessOrEqual(t, g.FLOPS.FP4.Value, 8.01*bf16, g.Name)
		if g.Name != "rtx-4090" && g.Name != "rtx-5090" && g.Name != "groq-lpu" {
			assert.LessOrEqual(t, g.FLOPS.INT8.Value, 2.03*bf16, g.Name)
		}
	}
}

// ids maps the names of the reference table to the catalog's where they differ.
func ids(id string) string {
	switch id {
	case "gaudi3-oam":
		return "gaudi-3"
	case "tpu7x":
		return "tpu-v7"
	case "groq-lpu-v1":
		return "groq-lpu"
	case "cerebras-wse3":
		return "cerebras-wse-3"
	}
	return id
}

// columns maps the headings of the reference table to the catalog's paths.
func columns() map[string]string {
	return map[string]string{
		"mem_B": "memory_bytes", "mem_bw_Bps": "bandwidth_bps", "l2_B": "on_chip_bytes", "scaleup_Bps_dir": "scale_up_bps",
		"domain": "domain", "pcie_Bps_dir": "pcie_bps", "nic_Bps_dir": "nic_bps", "tdp_W": "tdp_w", "year": "year",
		"fp32": "flops.fp32", "tf32": "flops.tf32", "bf16_fp16": "flops.bf16", "fp8": "flops.fp8", "int8": "flops.int8",
		"fp4": "flops.fp4", "int4": "flops.int4",
	}
}

// TestGPUsEqualTheReferenceTable compares every cell of the transcription table, marks included: k is unverified, c is
// a conflict.
func TestGPUsEqualTheReferenceTable(t *testing.T) {
	shared := os.Getenv("DECODESIM_SHARED")
	if shared == "" {
		shared = "../../shared"
	}
	text, err := os.ReadFile(filepath.Join(shared, "reference", "accelerators.md"))
	if err != nil {
		t.Skip("no reference data: set DECODESIM_SHARED")
	}
	_, section, ok := strings.Cut(string(text), "\n## 7.")
	require.True(t, ok)
	section, _, _ = strings.Cut(section, "\n## ")
	var head []string
	rows := 0
	for line := range strings.Lines(section) {
		if !strings.HasPrefix(line, "| ") {
			continue
		}
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		if cells[0] == "id" {
			head = cells
			continue
		}
		rows++
		compareRow(t, head, cells)
	}
	assert.Equal(t, 52, rows)
}

func compareRow(t *testing.T, head, cells []string) {
	g, err := GPU(ids(cells[0]))
	require.NoError(t, err)
	fields := map[string]hardware.Quantity{}
	for _, f := range g.Fields() {
		fields[f.Path] = f.Quantity
	}
	for i := 1; i < len(cells); i++ {
		what := g.Name + " " + head[i]
		number := strings.TrimRight(cells[i], "kc")
		want, err := strconv.ParseFloat(number, 64)
		if head[i] == "usd_per_h" {
			// The table has a price for this card that no source it lists states, so the catalog has none.
			if g.Name != "rtx-pro-6000-ws" {
				assert.Equal(t, want, g.Price.USDPerHour, what)
			}
			continue
		}
		got := fields[columns()[head[i]]]
		assert.Equal(t, err == nil, got.Known(), what)
		if err != nil {
			continue
		}
		marks := cells[i][len(number):]
		assert.Equal(t, want, got.Value, what)
		if strings.Contains(marks, "c") {
			assert.NotEmpty(t, got.Conflict, what)
		}
		assert.True(t, got.Unverified || !strings.Contains(marks, "k"), what)
	}
}

// Accelerators are found as people write them, and those that cannot be priced say why.
func TestAcceleratorsAreFoundAsPeopleWriteThem(t *testing.T) {
	for written, want := range map[string]string{"Rubin": "vr200", "DGX Spark": "gb10", "GH200": "gh200-96gb",
		"Mac Studio M5 Ultra": "m5-ultra", "AWS Trainium3": "trainium3", "Google TPU v6e": "tpu-v6e",
		"CS-3": "cerebras-wse-3", "Groq": "groq-lpu",
		"Jetson AGX Thor": "jetson-thor", "Microsoft Maia 200": "maia-200", "Intel Gaudi 3": "gaudi-3",
		"NVIDIA A100 80GB PCIe": "a100-pcie-80gb", "A100 PCIe": "a100-pcie-80gb", "NVIDIA H200 NVL": "h200-nvl",
		"NVIDIA GB200 NVL72": "gb200", "AMD Instinct MI350X": "mi350x"} {
		name, ok := GPUNamed(written)
		assert.True(t, ok, written)
		assert.Equal(t, want, name)
	}
	for name := range unpriced {
		_, ok := GPUNamed(name)
		assert.False(t, ok, name)
		_, err := Accelerator(name)
		require.ErrorContains(t, err, "cannot be priced: ")
	}
	for alias, name := range gpuAliases {
		assert.Contains(t, GPUNames(), name, alias)
	}
}
