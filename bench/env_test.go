package bench

import (
	"os"
	"strconv"
)

// env is what a parent told its child.
func env(name string) string { return os.Getenv(name) }

func number(name string) int {
	n, _ := strconv.Atoi(env(name))
	return n
}
