// Package usage checks what is typed: arguments, durations, commands and flags that do
// not exist. Its errors end the program with exit.Usage.
package usage
