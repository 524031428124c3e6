package names

import (
	"fmt"

	"github.com/decodesim/decodesim/configs/catalog"
	"github.com/decodesim/decodesim/configs/strict"
)

// DidYouMean ends a reason with the name that was perhaps meant.
func DidYouMean(reason, got string, have []string) string {
	return didYouMean(reason, strict.Suggest(got, have))
}

func didYouMean(reason, near string) string {
	if reason == "" || near == "" {
		return reason
	}
	return fmt.Sprintf("%s; did you mean %q?", reason, near)
}

// PublishedName and PublishedGPU are names of the catalogs, or what is unknown about them and which ones a user perhaps
// meant.
func PublishedName(written string) (name, unknown string) {
	name, unknown = CatalogModel(written)
	return name, didYouMean(unknown, catalog.NearestModel(written))
}

// PublishedGPU returns the catalog's name of an accelerator however drivers and tables spell it, or says what is
// unknown and which name was perhaps meant.
func PublishedGPU(written string) (name, unknown string) {
	name, unknown = CatalogGPU(written)
	return name, didYouMean(unknown, catalog.NearestGPU(written))
}

// PublishedModel returns the catalog's name of a checkpoint as its repository spells it, and the precision that the
// repository adds to the name as scenarios spell it; empty: the checkpoint's own. Else it says what is unknown.
func PublishedModel(repository string) (model, weights, unknown string) {
	model, unknown = PublishedName(repository)
	if unknown != "" {
		return "", "", unknown
	}
	return model, catalog.WeightsOf(model, catalog.PrecisionInName(repository)), ""
}
