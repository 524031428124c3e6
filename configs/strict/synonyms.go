package strict

import "strings"

// Synonym returns the key that a word of engines and load testers stands for in a scenario; empty: it is no such word.
func Synonym(word string) string {
	switch strings.ReplaceAll(strings.ToLower(word), "-", "_") {
	case "tp", "tp_size", "tensor_parallel_size":
		return "tensor_parallel"
	case "pp", "pp_size", "pipeline_parallel_size":
		return "pipeline_parallel"
	case "dp", "dp_size", "data_parallel_size":
		return "data_parallel"
	case "ep", "ep_size", "enable_expert_parallel":
		return "expert_parallel"
	case "isl", "input", "input_len", "input_tokens", "prompt", "prompts", "random_input_len":
		return "prompt_tokens"
	case "osl", "output_len", "output_length", "random_output_len":
		return "output_tokens"
	}
	return ""
}
