// Package stats is what results of several runs share: intervals of confidence, and numbers that may be missing.
package stats
