// Command jars builds the Java peer for every Redisson that the interop tests use. They would do it
// themselves: done before, none of their time goes to Maven, and what is missing is told at once.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/rueidisson/rueidisson/interop/peer"
)

func main() {
	for _, version := range peer.Versions() {
		if err := peer.Build(context.Background(), version); err != nil {
			fmt.Fprintf(os.Stderr, "jars: Redisson %s: %v\n", version, err)
			os.Exit(1)
		}
	}
}
