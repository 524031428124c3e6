package names

import (
	"fmt"
	"maps"
	"slices"

	"github.com/decodesim/decodesim/configs/catalog"
	"github.com/decodesim/decodesim/configs/strict"
)

// DidYouMean ends a reason with the name that was perhaps meant.
func DidYouMean(reason, got string, have []string) string {
	if near := strict.Suggest(got, have); near != "" {
		return fmt.Sprintf("%s; did you mean %q?", reason, near)
	}
	return reason
}

// PublishedName and PublishedGPU are names of the catalogs, or what is unknown about them and which ones a user perhaps
// meant.
func PublishedName(written string) (name, unknown string) {
	name, unknown = CatalogModel(written)
	if unknown != "" {
		short, _ := shortModel(written)
		unknown = DidYouMean(unknown, short, slices.Concat(catalog.ModelNames(), slices.Sorted(maps.Keys(modelAliases))))
	}
	return name, unknown
}

// PublishedGPU returns the catalog's name of an accelerator however drivers and tables spell it, or says what is
// unknown and which name was perhaps meant.
func PublishedGPU(written string) (name, unknown string) {
	name, unknown = CatalogGPU(written)
	if unknown != "" {
		unknown = DidYouMean(unknown, shortGPU(written), slices.Concat(catalog.GPUNames(),
			slices.Sorted(maps.Keys(gpuAliases))))
	}
	return name, unknown
}

// PublishedModel returns the catalog's name of a checkpoint as its repository spells it, and the precision that the
// repository adds to the name as scenarios spell it; empty: the checkpoint's own. Else it says what is unknown.
func PublishedModel(repository string) (model, weights, unknown string) {
	model, unknown = PublishedName(repository)
	if unknown != "" {
		return "", "", unknown
	}
	return model, WeightsOf(model, PrecisionInName(repository)), ""
}
