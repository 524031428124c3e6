// Package commands writes how the replicas of a scenario are started: as `vllm serve`, `python -m sglang.launch_server`
// or `trtllm-serve`. It is the reverse of vllmargs, which reads such lines, and a test imports what it writes.
//
// A command line says the model, the GPUs of a replica and how they share it, the limits of batch, tokens and memory,
// the cache, number formats that an engine converts to by itself, drafts and the role of a pool. It does not say the
// GPU, how many replicas there are and what routes requests to them, how drafts are accepted, or anything of the load,
// of failures and of scaling; and a checkpoint that is quantized says so itself. What a scenario asks for that its
// engine has no argument for is a remark.
//
//	commands.go     the command of each pool, and all of them as a script
//	writer.go       words and remarks of one command
//	vllm.go sglang.go tensorrtllm.go
//	                the arguments of each engine, by the names that vllmargs knows
//	speculation.go  what drafts, in the words of each
package commands
