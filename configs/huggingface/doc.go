// Package huggingface reads the config.json of a HuggingFace checkpoint into a llm.Model, by the meaning of its
// fields. What it cannot model is an error that names the field and its value: a layer that is priced as something else
// would be wrong in silence.
//
// Files, in the order a config meets them: read.go (the whole), fields.go (typed access), refuse.go (what is no
// decoder, and where a decoder is nested), family.go (what only the family's code says), needs.go (fields without
// which it would be another model), pattern.go (which layer mixes how), kinds.go and blocks.go (layers that few
// families have), attention.go, recurrence.go, ffn.go, moe.go (which layer has experts), unread.go and vocabulary.go
// (fields that nothing read), ignore.go (those that a user leaves out), quantization.go, formats.go, match.go and
// modules.go (bits by tensor). literals.go is about what Python writes and JSON does not know.
package huggingface
