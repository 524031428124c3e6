package measured

// PublishedModel returns the catalog's name of a checkpoint as its repository spells it, and the precision that the
// repository adds to the name as scenarios spell it; empty: the checkpoint's own. Else it says what is unknown.
func PublishedModel(repository string) (model, weights, unknown string) {
	if model, unknown = pointModel(repository); unknown != "" {
		return "", "", unknown
	}
	return model, weightsOf(model, precisionInName(repository)), ""
}

// WeightsOf returns a precision of a model of the catalog as scenarios spell it; empty: the checkpoint's own.
func WeightsOf(model, precision string) string { return weightsOf(model, precision) }

// PublishedGPU returns the catalog's name of an accelerator however drivers and tables spell it, or says what is unknown.
func PublishedGPU(system string) (gpu, unknown string) { return pointGPU(system) }
