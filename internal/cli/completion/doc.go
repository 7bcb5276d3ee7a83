// Package completion has a shell complete commands, flags and names of objects.
package completion
