// Package datafile parses files of measurements before anything is known of their meaning. The first malformed field of
// a row or mapping is kept as an error that names its place.
//
//	source.go    a file, what lies beside it, and the schemas by which it is recognised; file.go: plain or compressed
//	table.go     CSV by column name; rows.go: a run for every row
//	document.go  JSON values; object.go: their fields; settings.go: YAML with such fields
//	value.go     where a JSON value ends, without reading it
package datafile
