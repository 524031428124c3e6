// Package inputs reads the files that users name. Each is opened without waiting and read up to a bound.
package inputs
