package kv

import "fmt"

// Contents is a tree of what prompts begin with. A node is an extent of tokens that continues its parent's; node 0, the
// root, is the empty prompt, and the zero Contents has no other node. A request whose Content is n reads the tokens on
// the path from the root to n: its first tokens, if its prompt is shorter than the path, or all of them and then a tail
// of its own.
//
// Siblings differ from their first token on. The owner of the tree, usually the source, may add nodes during a run,
// before the requests that name them.
type Contents struct{ nodes []content }

// content is a node: its parent, and the tokens from the root to its end.
type content struct{ parent, end int32 }

// contentMax bounds the tokens of a path.
const contentMax = 1<<31 - 1

// Add appends a node of so many tokens under parent and returns its number.
func (c *Contents) Add(parent, tokens int32) int32 {
	if parent < 0 || int(parent) > len(c.nodes) {
		panic(fmt.Sprintf("sim: the parent of a content node is %d; there are %d nodes", parent, c.Len()))
	}
	if tokens < 1 || tokens > contentMax-c.Tokens(parent) {
		panic(fmt.Sprintf("sim: a content node of %d tokens after %d; it must have at least 1, and its path at most %d",
			tokens, c.Tokens(parent), contentMax))
	}
	c.nodes = append(c.nodes, content{parent, c.Tokens(parent) + tokens})
	return int32(len(c.nodes))
}

// Len returns the number of nodes, the root included.
func (c *Contents) Len() int { return len(c.nodes) + 1 }

// Tokens returns the tokens on the path from the root to the end of node n.
func (c *Contents) Tokens(n int32) int32 {
	if n == 0 {
		return 0
	}
	return c.nodes[n-1].end
}

// Parent returns the node that n continues; 0 for the root itself.
func (c *Contents) Parent(n int32) int32 {
	if n == 0 {
		return 0
	}
	return c.nodes[n-1].parent
}
