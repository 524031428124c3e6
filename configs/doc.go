// Package configs turns names and files into a run: the catalogs of accelerators, models, engines and scenarios, and the
// strict reading of a user's own files.
//
//	strict*.go     YAML decoded without mercy: file, line, column, key, and what was meant
//	scenario*.go   what a scenario can say
//	study*.go      what a search for a deployment can say
//	arguments.go engine_names.go
//	               what its engines can be told, and what each calls it
//	layers*.go     --set over environment over file over defaults
//	engine_switch.go
//	               the same scenario under another engine
//	defaults.go    what it leaves out
//	values.go      what it says in the end, key by key
//	validate*.go   what it must not say
//	roles.go split.go handover.go
//	               pools that share the work on a request, and the links between them
//	stream.go      what lies between the engine and its clients, for views
//	speculation*.go acceptance.go
//	               what drafts tokens, and how many of them are accepted
//	recorded.go    lengths as they were, in place of laws
//	gpus.go models*.go engines*.go efficiencies.go
//	               the catalogs
//	huggingface/   a model's config.json
//	build*.go      scenario → parts of a run
package configs
