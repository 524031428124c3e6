// Package vllmargs reads how a server was started, as people paste it, and writes the scenario of that deployment. It
// restates no default: what the command line leaves out stays absent, and is the engine's.
//
// The text is a fragment of a terminal or of a script more often than a script, so no shell's parser reads it. We tried
// mvdan.cc/sh/v3/syntax (3.14, bash, with and without RecoverErrors) on the fragments of TestFragmentsAreRead: it
// refuses the prompt of a virtual environment before the command, the end of an if, a case or a loop without its
// beginning, a line that begins with && and a remark in parentheses. Its package expand cannot leave an unknown
// variable or command as it is written, which the messages about variables need. What would remain ours is the larger
// part of words.go: joining lines that begin with a flag, files that here-documents write, values of variables across
// statements.
//
//	import.go    the command line in, the scenario and what is to be said about it out
//	manifest.go  that of a Compose file or a Kubernetes manifest
//	words.go     a shell's quotes, comments and line ends; variable.go, arithmetic.go: what $ stands for
//	server.go    where in all that the server's command is, and of which engine; version.go: in which version
//	arguments.go its arguments; settings.go: those in a file that they name
//	flag.go      what the tables of flags are made of; value.go: what may follow a flag
//	vllm.go sglang.go tensorrtllm.go idle.go
//	             the flags that are known
//	precision.go names of number formats
//	graphs.go    CUDA graphs, JSON included; hicache.go: SGLang's cache in host memory; lmcache.go: that of LMCache
//	roles.go     servers of a disaggregated deployment
//	speculation.go
//	             drafts, whose acceptance no command line says
//	draft.go     what the flags amount to; layout.go: how the model is split; waits.go: for what prompts wait
//	priorities.go
//	             whether priorities order SGLang's queue
//	scenario.go  the text of the scenario
//	remark.go    the flags that did not become keys
package vllmargs
