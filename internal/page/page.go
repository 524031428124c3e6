package page

// Page is the results of a command as somebody else reads them.
type Page struct {
	Kind     string // over the question: "Run", "Comparison"
	Caption  string // what it is of; also the title of the document
	Question string
	Answer   string // in two sentences
	Mood     Mood   // of the answer
	Facts    []Fact // the numbers of the answer
	Sections []Section
	Foot     string // by what the page was written
}

// Mood says whether an answer is what was asked for.
type Mood string

// The moods.
const (
	Plain Mood = ""
	Good  Mood = "good"
	Bad   Mood = "bad"
)

// Fact is a number that stands by itself.
type Fact struct {
	Name  string
	Value Cell
	Note  string // such as what it is limited to
	Mood  Mood
}

// Section is blocks under a heading.
type Section struct {
	Title  string
	Lead   string // a sentence on what is to be seen
	Blocks []Block
}

// Block is one thing of a section: exactly one field is set.
type Block struct {
	Text   string
	List   []string
	Alerts []string // warnings
	Table  *Table
	Plots  []Plot // beside each other where there is room
	Bars   *Bars
	Code   *Code
	Fold   *Fold
}

// Code is text to copy.
type Code struct {
	Name string // of the file; empty: a command
	Text string
}

// Fold is blocks that a reader opens; on paper they are open.
type Fold struct {
	Title  string
	Blocks []Block
}
