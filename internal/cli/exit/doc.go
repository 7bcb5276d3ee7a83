// Package exit has the exit codes of the command line, and the errors that carry
// them. Commands return such an error; package cli says it and ends with its code.
package exit
