package crew

import (
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
)

// Join does nothing in a process that a user has started. In one that [Start]
// has, it does not return: it runs serve, which ends when in has ended, and says
// what was wrong on standard error, behind who.
func Join(variable, who string, serve func(in io.Reader, out io.Writer) error) {
	if os.Getenv(variable) == "" {
		return
	}
	// Ctrl-C goes to every process of the terminal. A member ends in order, when
	// the one that started it closes its standard input.
	signal.Ignore(os.Interrupt)
	if err := serve(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", who, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// OneAtATime lets several goroutines, such as those that copy what members say
// on standard error, write to out.
func OneAtATime(out io.Writer) io.Writer { return &lockedWriter{out: out} }

type lockedWriter struct {
	mu  sync.Mutex
	out io.Writer
}

func (w *lockedWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.out.Write(p)
}
