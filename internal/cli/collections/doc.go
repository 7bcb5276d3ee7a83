// Package collections has the commands of counters, ids, Bloom filters, sets, sorted sets, and of all keys.
package collections
