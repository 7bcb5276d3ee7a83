// Package rmap is maps that a fleet shares, Go and Java: typed, on the keys of
// Redisson's maps, byte for byte.
package rmap
