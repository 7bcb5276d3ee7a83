// Command rueidisson works with the locks of rueidisson and Redisson, and with
// the rate limiters of rueidisson, from a shell: it runs a command while holding
// a lock, shows who holds one, and takes one away; it sets rates, takes tokens
// and watches buckets. See rueidisson help.
package main

import (
	"context"
	"os"

	"github.com/rueidisson/rueidisson/internal/cli"
)

func main() {
	os.Exit(cli.Run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Environ()))
}
