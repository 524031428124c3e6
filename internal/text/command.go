package text

import (
	"path/filepath"
	"strings"
)

// Command is the words of a command line.
type Command []string

// Flag adds a flag for each value.
func (c Command) Flag(name string, values ...string) Command {
	for _, v := range values {
		c = append(c, name, v)
	}
	return c
}

// String writes the words so that a shell reads them.
func (c Command) String() string {
	words := make([]string, len(c))
	for i, word := range c {
		words[i] = word
		if word == "" || strings.ContainsAny(word, " '\"\\$&|;<>()[]{}*?#~`!\n\t") {
			words[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
	}
	return strings.Join(words, " ")
}

// FileName returns the name of a file in its own directory, and any other name as it is.
func FileName(path string) string {
	if !strings.ContainsAny(path, `/\`) {
		return path
	}
	return filepath.Base(path)
}
