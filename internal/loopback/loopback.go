// Package loopback knows the names of this machine, for servers that are for nobody else.
package loopback

import (
	"net"
	"strings"
)

// Named reports whether a Host header names this machine. Another name is a page that a browser was lured to.
func Named(host string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = host
	}
	name = strings.Trim(name, "[]")
	ip := net.ParseIP(name)
	return name == "localhost" || strings.HasSuffix(name, ".localhost") || ip != nil && ip.IsLoopback()
}
