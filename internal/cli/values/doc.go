// Package values reads and shows what objects contain: values in the codecs that a
// fleet uses, rates, and texts that are safe on a terminal.
package values
