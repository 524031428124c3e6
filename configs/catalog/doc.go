// Package catalog holds what is built in, each entry a YAML file: accelerators, models, engines, what engines achieve
// of accelerators, how many drafts a model accepts, scenarios and studies.
//
//	embed.go embedded_file.go    the files, by folder and name
//	gpus.go                      gpus/
//	models.go models_yaml.go     models/
//	models_path.go               a model by its name, or by the path of its file
//	models_guard.go              what of that file is not believed, and what its count is held against
//	models_override.go           keys of models/ in place of what another file says
//	spelling.go                  names as people write them
//	arguments.go                 the arguments of engines
//	engines.go engines_read.go   engines/, with what each engine calls its arguments
//	limits.go static_reserve.go  what engines take on some GPUs, and the memory that SGLang leaves free
//	graphs.go rules.go           the CUDA graphs that an engine captures, and by what a release schedules
//	efficiencies.go kin.go       engines/efficiencies/
//	left_out.go                  how far off an efficiency file of one's own says that its runs were
//	acceptance.go                acceptance/
//	presets.go                   workloads/, which a scenario can begin from
package catalog
