//go:build !unix

package inputs

// unawaited has nothing to change where files are never pipes, as in a web page.
const unawaited = 0
