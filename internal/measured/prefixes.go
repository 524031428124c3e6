package measured

// prefix is how many tokens the prompts of a group have in common, as far as the run let prompts repeat.
type prefix struct{ groups, each, tokens int }

// repeat makes prompts repeat: groups × each distinct ones, shuffled once and cycled, of which a group shares the first
// tokens. It returns what is left of a prompt behind those.
func (s *setup) repeat(p prefix, prompt int) (rest int) {
	if p.groups > 0 && p.each > 0 {
		s.load("distinct_prompts: %d", p.groups*p.each)
	}
	if p.groups > 0 && p.tokens > 0 && p.tokens < prompt {
		s.load("prefix: {groups: %d, tokens: %d}", p.groups, p.tokens)
		return prompt - p.tokens
	}
	return prompt
}

// cachePrefixes says whether the engine keeps the prefixes of prompts.
func (s *setup) cachePrefixes(on bool) {
	s.arg("enable_prefix_caching", on)
}
