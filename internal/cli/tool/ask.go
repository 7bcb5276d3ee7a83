package tool

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/rueidisson/rueidisson/internal/cli/exit"
)

// CanAsk reports whether there is somebody to ask: a person at a terminal.
func (t *Tool) CanAsk() bool {
	file, is := t.Stdin.(*os.File)
	return is && term.IsTerminal(int(file.Fd())) && !t.JSON
}

// Ask asks a question on standard error, and reports whether the answer is yes. The end of ctx ends it.
func (t *Tool) Ask(ctx context.Context, question string) (bool, error) {
	fmt.Fprintf(t.Stderr, "%s [y/N] ", question)
	type said struct {
		line string
		err  error
	}
	answered := make(chan said, 1)
	go func() { // ends with an answer, or with the process
		line, err := bufio.NewReader(t.Stdin).ReadString('\n')
		answered <- said{line, err}
	}()
	select {
	case got := <-answered:
		if got.err != nil && got.err != io.EOF {
			return false, exit.Usagef("standard input: %v", got.err)
		}
		answer := strings.ToLower(strings.TrimSpace(got.line))
		return answer == "y" || answer == "yes", nil
	case <-ctx.Done():
		fmt.Fprintln(t.Stderr)
		return false, context.Cause(ctx)
	}
}
