// Package published tests what papers and vendors say of engines, of disaggregation and of speculation against what
// scenarios of their loads give, and writes the pages of docs/ that say so. It has tests only.
//
//	papers_test.go           Orca, vLLM and Sarathi-Serve: docs/papers.md
//	disaggregation_*_test.go prompts and tokens in separate pools: docs/disaggregation.md
//	speculation_test.go      drafts: docs/speculation.md
//	gallery_test.go          every built-in scenario with its headline: docs/gallery.md
//	page_test.go             a page of docs/, compared or written
package published
