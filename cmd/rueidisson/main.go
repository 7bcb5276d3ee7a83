// Command rueidisson works with the locks of rueidisson and Redisson from a
// shell: it runs a command while holding a lock, shows who holds one, and takes
// one away. See rueidisson help.
package main

import (
	"context"
	"os"
)

func main() {
	os.Exit(run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Environ()))
}
