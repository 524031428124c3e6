// Package sglang compares the sglang engine with SGLang's own scheduler, step by step. harness.py drives the one that
// is in SGLang's wheel, without torch and without a GPU; the tests here run the same cases: those of a file, or the
// ones that are recorded in testdata.
package sglang
