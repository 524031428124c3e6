// Package configs is what a scenario can say, and how one is loaded: strictly, in layers, with every default written
// in.
//
//	scenario*.go   what a scenario can say
//	study*.go      what a search for a deployment can say
//	engine_names.go
//	               what its engines call their arguments
//	layers*.go     --set over environment over file over defaults
//	engine_switch.go
//	               the same scenario under another engine
//	defaults.go    what it leaves out
//	values.go      what it says in the end, key by key
//	bounds.go      ranges and lists of names, which stand in the tags of the fields they are about
//	validate*.go   what it must not say beside that
//	roles.go split.go
//	               pools that share the work on a request, and the links between them
//	stream.go      what lies between the engine and its clients, for views
//	speculation*.go
//	               what drafts tokens, and how many of them are accepted
//	recorded.go    lengths as they were, in place of laws
//	strict/        YAML decoded without mercy
//	catalog/       what is built in
//	huggingface/   a model's config.json
//	slo/           the rules of an SLO as contracts write them
//	build/         scenario → parts of a run
package configs
