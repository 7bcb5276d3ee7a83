// Package proc tells whether another process stands still. It serves what stops processes: tests, and the command that
// slows tests down.
package proc
