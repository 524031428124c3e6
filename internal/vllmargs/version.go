package vllmargs

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/decodesim/decodesim/configs/catalog"
)

// vllmImage matches images whose entry point is vLLM's server, and the version in the tag.
var vllmImage = regexp.MustCompile(`(?:^|/)vllm-openai[\w.-]*(?::v?(\d+)\.(\d+)[\w.-]*|:[^@]*)?(?:@.*)?$`)

// image returns the server of a container that is given nothing but its arguments.
func image(words []string) *server {
	if i := slices.IndexFunc(words, vllmImage.MatchString); i >= 0 {
		return &server{engine: vllmV1, args: words[i+1:], image: words[i]}
	}
	return nil
}

// imageIn returns vLLM's image among the words in front of a server; empty: there is none.
func imageIn(words []string) string {
	if i := slices.IndexFunc(words, vllmImage.MatchString); i >= 0 {
		return words[i]
	}
	return ""
}

// beforeV1 reports whether the tag of an image is of a vLLM whose default is V0. V1 is the default from 0.8 on:
// unverified.
func beforeV1(image string) bool {
	m := vllmImage.FindStringSubmatch(image)
	if m == nil || m[1] == "" {
		return false
	}
	major, _ := strconv.Atoi(m[1])
	minor, _ := strconv.Atoi(m[2])
	return major == 0 && minor < 8
}

// vllmPackage matches what pip is asked to install.
var vllmPackage = regexp.MustCompile(`\bvllm(?:\[[^\]]*\])?==v?(\d+)\.(\d+)[\w.+-]*`)

// release returns what says which release of vLLM a server is: its image or, before it, what pip installed. If neither
// says it, that is the image: latest names no release either; empty: there is none.
func (l *lexer) release(s *server) string {
	m := vllmImage.FindStringSubmatch(s.image)
	if m != nil && m[1] != "" {
		return s.image
	}
	for _, words := range l.statements {
		for _, w := range words {
			if text := vllmPackage.FindString(w); text != "" {
				return text
			}
		}
	}
	return s.image
}

// released sets the version of the engine to the newest one it knows that is no newer than what the command line says.
func (d *draft) released(by string) error {
	m := vllmImage.FindStringSubmatch(by)
	if m == nil {
		m = vllmPackage.FindStringSubmatch(by)
	}
	if m == nil || d.engine != vllmV1 {
		return nil
	}
	e, err := catalog.Engine(d.engine)
	if err != nil {
		return err
	}
	if m[1] == "" {
		d.note("%s does not say which release of vLLM it is; the rules of %s, the newest that are known, stand for it",
			clip(by), e.Arguments.Version)
		return nil
	}
	is := m[1] + "." + m[2]
	known := string(e.Known(is))
	d.pool = append(d.pool, setting{key: "version", value: known, by: by})
	if known != is {
		d.note("%s is vLLM %s; the rules of %s stand for it", clip(by), is, known)
	}
	return nil
}

// choose settles the engine: what --engine says, then the variable, then the version of the image.
func (s *server) choose(engine, useV1 string) error {
	switch {
	case s.engine != vllmV1:
	case useV1 == "0":
		s.engine = vllmV0
	case useV1 == "" && beforeV1(s.image):
		s.engine = vllmV0
		s.note = fmt.Sprintf("%s is older than vLLM 0.8, the first whose default is V1 (unverified): the engine is %s",
			clip(s.image), vllmV0)
	}
	if engine == "" || engine == s.engine {
		return nil
	}
	if s.engine != "" {
		if family(engine) != family(s.engine) {
			return fmt.Errorf("--engine %s: the command line starts %s; expected no --engine, or %s", engine, family(s.engine),
				strings.Join(ofFamily(s.engine), " or "))
		}
		s.note = fmt.Sprintf("--engine %s counts; the command line by itself says %s", engine, s.engine)
	}
	s.engine = engine
	return nil
}

// family is the program that runs an engine.
func family(engine string) string {
	switch engine {
	case vllmV0, vllmV1:
		return "vLLM"
	case sglang:
		return "SGLang"
	}
	return "TensorRT-LLM"
}

func ofFamily(engine string) []string {
	return slices.DeleteFunc(Engines(), func(e string) bool { return family(e) != family(engine) })
}
