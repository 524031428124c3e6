package traces

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// format is a layout of traces: the names of its columns (CSV) or keys (JSON lines). Others are not read, among them
// Azure's NumImages, and Unread names them. Block ids have a key of their own choice, and only where a trace is asked
// for what prompts share. Columns of optional roles may be absent.
type format struct {
	name   string
	column [numRoles]string // by role; empty: it has none, or nobody asks for it
	time   timeUnit
	// failures: a row without output is a failed request, which is counted and not replayed.
	failures bool
	block    int32 // tokens of a block of hash_ids; 0: Mooncake's 512
}

// The roles of columns, in the order in which a row is checked; those from limitRole on are optional.
const (
	timeRole = iota
	promptRole
	outputRole
	idsRole
	limitRole   // the client's max_tokens
	cancelRole  // when the client cancelled it, after its arrival
	sessionRole // an id of the conversation or task that it is a turn of
	adapterRole // the number of its LoRA adapter, if a trace is asked for these
	chatRole    // its own id, by which the next turn of its session names it: sessionRole has the id of the turn before
	numRoles
)

type timeUnit uint8

const (
	noTime timeUnit = iota
	seconds
	milliseconds
	date
)

// formats returns the layouts that are known, an earlier one winning over a later one that also fits:
//
//	decodesim   the project's own, with seconds or milliseconds, and the requests.csv of a run
//	azure       Azure LLM inference traces 2023 and 2024, and 2025 multimodal (AzurePublicDataset)
//	bailian     Qwen-Bailian anonymous usage traces (alibaba-edu), which have the keys of Mooncake's and other units:
//	            timestamps are seconds, blocks have 16 tokens, and chat_id tells them apart (names and units unverified)
//	mooncake    FAST'25 release, and with the session_id that AIPerf adds; timestamps are milliseconds
//	burstgpt    with or without Session ID and Elapsed time; failed requests have 0 response tokens (Timestamp without
//	            its unit is unverified)
//	vidur       vidur and splitwise-sim (column names unverified)
//	lengths     no arrivals
func formats() []format {
	return []format{
		{name: "decodesim", time: seconds, column: [numRoles]string{timeRole: "arrival_s", promptRole: "input_tokens",
			outputRole: "output_tokens", limitRole: "max_output_tokens", cancelRole: "cancelled_after_s",
			sessionRole: "session_id", adapterRole: "adapter_id"}},
		{name: "decodesim", time: milliseconds, column: [numRoles]string{"arrival_ms", "input_tokens", "output_tokens"}},
		{name: "decodesim", time: seconds, column: [numRoles]string{timeRole: "arrival_s", promptRole: "prompt_tokens",
			outputRole: "output_tokens", limitRole: "max_output_tokens", cancelRole: "cancelled_after_s",
			sessionRole: "session_id", adapterRole: "adapter_id"}},
		{name: "azure", time: date, column: [numRoles]string{"TIMESTAMP", "ContextTokens", "GeneratedTokens"}},
		{name: "bailian", time: seconds, block: 16, column: [numRoles]string{timeRole: "timestamp",
			promptRole: "input_length", outputRole: "output_length", sessionRole: "parent_chat_id", chatRole: "chat_id"}},
		{name: "mooncake", time: milliseconds, column: [numRoles]string{timeRole: "timestamp", promptRole: "input_length",
			outputRole: "output_length", sessionRole: "session_id"}},
		{name: "burstgpt", time: seconds, failures: true, column: [numRoles]string{timeRole: "Timestamp",
			promptRole: "Request tokens", outputRole: "Response tokens", sessionRole: "Session ID"}},
		{name: "burstgpt", time: seconds, failures: true, column: [numRoles]string{timeRole: "Timestamp(s)",
			promptRole: "Request tokens", outputRole: "Response tokens", sessionRole: "Session ID"}},
		{name: "vidur", time: seconds,
			column: [numRoles]string{"arrived_at", "num_prefill_tokens", "num_decode_tokens"}},
		{name: "lengths", column: [numRoles]string{"", "input_tokens", "output_tokens"}},
	}
}

// layout says where a file keeps the columns of its format.
type layout struct {
	format format
	role   []int8 // CSV: role of each column, −1: ignored
	ids    string // JSON: the key of the block ids; empty: there are none
	block  int32  // tokens of one of these blocks

	unread []string // beginnings of the names of columns or keys that nothing is read from
	more   bool     // there are more than unreadMost of them
	others keySet   // those of the JSON line at hand
}

// unreadMost bounds how many names are kept of what is not read.
const unreadMost = 64

// beginning returns as much of a name as tells that it is longer than what is said of it.
func beginning[T string | []byte](name T) T { return name[:min(len(name), clipMost+1)] }

// leaveOut notes a column or key that nothing is read from.
func (l *layout) leaveOut(name string) {
	name = strings.Clone(beginning(name))
	switch {
	case name == "" || name == l.ids || slices.Contains(l.unread, name):
	case len(l.unread) == unreadMost:
		l.more = true
	default:
		l.unread = append(l.unread, name)
	}
}

// left returns the names of what is not read, such that a terminal can show them in one line.
func (l *layout) left() (names []string) {
	for _, name := range l.unread {
		names = append(names, nameOf([]byte(name)))
	}
	if l.more {
		names = append(names, "and others")
	}
	return names
}

// nameOf returns a name as it is, or in quotes if it would not be seen for what it is.
func nameOf(name []byte) string {
	if quoted := clip(name); quoted != `"`+string(name)+`"` || bytes.Contains(name, []byte(",")) {
		return quoted
	}
	return string(name)
}

// openAI returns the layout of recorded lengths under the names that the OpenAI API gives to token counts.
func openAI() format {
	return format{name: "openai", column: [numRoles]string{"", "prompt_tokens", "completion_tokens"}}
}

// lengthFormats returns the layouts of recorded lengths: those of traces without their arrivals, and OpenAI's. Without
// arrivals and blocks a Bailian trace is one of Mooncake's.
func lengthFormats() []format {
	var list []format
	for _, f := range append(formats(), openAI()) {
		f.column[timeRole], f.time = "", noTime
		f.leave([numRoles]int{})
		if f.block == 0 && !slices.ContainsFunc(list, func(g format) bool { return g.column == f.column }) {
			list = append(list, f)
		}
	}
	return list
}

// match finds the first of formats whose columns are all among names. A column that is there twice would leave open
// which of the two counts, and another format that also fits would hide that.
func match(names []string, formats []format) (layout, error) {
	for _, f := range formats {
		l := layout{format: f, role: make([]int8, len(names))}
		found := [numRoles]int{}
		for i, name := range names {
			l.role[i] = -1
			for role, column := range f.column {
				if name == column && column != "" {
					l.role[i] = int8(role)
					found[role]++
				}
			}
		}
		if found[promptRole] == 0 || found[outputRole] == 0 || found[timeRole] == 0 && f.time != noTime ||
			found[chatRole] == 0 && f.column[chatRole] != "" {
			continue
		}
		if role := slices.IndexFunc(found[:], func(n int) bool { return n > 1 }); role >= 0 {
			return layout{}, &repeated{f.column[role], found[role]}
		}
		if role, other := f.otherwise(names); role >= 0 {
			return layout{}, &ambiguous{f.column[role], other}
		}
		l.format.leave(found)
		for i, name := range names {
			if l.role[i] < 0 {
				l.leaveOut(name)
			}
		}
		return l, nil
	}
	written := clip([]byte(strings.Join(names, ",")))
	if lacks := lacking(names, formats); lacks != "" {
		return layout{}, fmt.Errorf("columns %s lack %s", written, lacks)
	}
	return layout{}, fmt.Errorf("columns %s are of no known trace; accepted: %s", written, known(formats))
}

// lacking says which column would make a trace of what has all the others of a format, of which there are at least
// three; empty: there is no such format.
func lacking(names []string, formats []format) string {
	var lacks []string
	accepted := "all of its columns"
	for i := range formats {
		required := strings.Split(formats[i].required(), ",")
		missing := slices.DeleteFunc(slices.Clone(required), func(c string) bool { return slices.Contains(names, c) })
		if len(required) > 2 && len(missing) == 1 {
			lacks = append(lacks, missing[0]+" of a trace of "+formats[i].name)
			if missing[0] == formats[i].column[timeRole] {
				accepted = "a trace with arrivals, or these lengths with an arrival process"
			}
		}
	}
	if len(lacks) == 0 {
		return ""
	}
	return strings.Join(lacks, "; or ") + "; accepted: " + accepted
}

// repeated is the error of a column that a file has several times.
type repeated struct {
	column string
	times  int
}

func (e *repeated) Error() string {
	return fmt.Sprintf("column %s is there %d times; accepted: once", e.column, e.times)
}

// otherwise finds a name among names by which another format has a column that f must have: which of the two counts is
// not for the reader to guess.
func (f *format) otherwise(names []string) (role int, other string) {
	known := append(formats(), openAI())
	for _, name := range names {
		for i := range known {
			role := slices.Index(known[i].column[:limitRole], name)
			if role >= 0 && name != "" && f.column[role] != "" && name != f.column[role] {
				return role, name
			}
		}
	}
	return -1, ""
}

// ambiguous is the error of a file that has one thing under two names.
type ambiguous struct{ column, other string }

func (e *ambiguous) Error() string {
	return fmt.Sprintf("columns %s and %s are two names of one thing; accepted: one of them", e.column, e.other)
}

// leave takes the optional columns out of f that a file does not have.
func (f *format) leave(found [numRoles]int) {
	for role := limitRole; role < numRoles; role++ {
		if found[role] == 0 {
			f.column[role] = ""
		}
	}
}

// required lists the columns that a file must have.
func (f *format) required() string {
	all := append(slices.Clone(f.column[:limitRole]), f.column[chatRole])
	return strings.Join(slices.DeleteFunc(all, func(name string) bool { return name == "" }), ",")
}

// known lists the columns of formats.
func known(formats []format) string {
	var list []string
	for _, f := range formats {
		list = append(list, fmt.Sprintf("%s (%s)", f.required(), f.name))
	}
	return strings.Join(list, "; ") + "; as CSV with a header or as JSON lines"
}

// parse reads a time of the format.
func (u timeUnit) parse(b []byte) (instant, bool) {
	switch u {
	case seconds:
		return parseSeconds(b)
	case milliseconds:
		return parseMilliseconds(b)
	case date:
		if len(b) > 2 && b[0] == '"' && b[len(b)-1] == '"' { // a JSON string
			b = b[1 : len(b)-1]
		}
		return parseDate(b)
	}
	return instant{}, true
}

// accepted says what parse takes.
func (u timeUnit) accepted() string {
	switch u {
	case milliseconds:
		return "a number of milliseconds, 0 or more"
	case date:
		return `a date such as "2023-11-16 18:15:46.6805900", or with a suffix such as "+00:00"`
	}
	return "a number of seconds, 0 or more"
}

// clipMost is how many bytes of a text a reader needs to find it.
const clipMost = 60

// clip quotes a value for an error, shortened to what a reader needs to find it.
func clip(b []byte) string {
	if len(b) > clipMost {
		return fmt.Sprintf("%q…", b[:clipMost])
	}
	return fmt.Sprintf("%q", b)
}
