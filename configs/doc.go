// Package configs is what a scenario can say, and how one is loaded: strictly, in layers, with every default written
// in.
//
//	scenario*.go   what a scenario can say, how it is read and written
//	study*.go      what a search for a deployment can say
//	layouts.go     how a replica is split, and a pool
//	engine_names.go
//	               what its engines call their arguments, and what it says in the end, key by key
//	layers*.go     --set over environment over file over defaults
//	engine_switch.go
//	               the same scenario under another engine
//	defaults.go defaults_engine.go assumed.go
//	               what it leaves out, what an engine takes then, and what of the whole nobody gave
//	names.go       names as people write them, in place of which those of the catalogs come
//	references.go  sections in whose place a name or a path may stand
//	bounds.go      ranges and lists of names, which stand in the tags of the fields they are about
//	validate*.go   what it must not say beside that
//	roles.go       pools that share the work on a request, and the links between them
//	speculation.go what drafts tokens, and how many of them are accepted
//	strict/        YAML decoded without mercy
//	catalog/       what is built in
//	huggingface/   a model's config.json
//	slo/           the rules of an SLO as contracts write them
//	build/         scenario → parts of a run
package configs
