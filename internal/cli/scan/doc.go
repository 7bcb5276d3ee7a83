// Package scan looks through the keys of all masters, up to a bound.
package scan
