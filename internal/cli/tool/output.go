package tool

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"

	"golang.org/x/term"
)

// Output is standard output. It remembers that something could not be written, such as to a full disk.
type Output struct {
	To io.Writer // what a CMD is given

	mu  sync.Mutex
	err error // the first one
}

// Write writes to standard output. It remembers an error, except that of a pipe that is closed.
func (o *Output) Write(text []byte) (int, error) {
	n, err := o.To.Write(text)
	if err != nil && !errors.Is(err, syscall.EPIPE) && !errors.Is(err, io.ErrClosedPipe) { // where the pipe is closed nobody listens
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.err == nil {
			o.err = err
		}
	}
	return n, err
}

// Failed returns the error of what was not written, nil if all was.
func (o *Output) Failed() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err == nil {
		return nil
	}
	return fmt.Errorf("standard output: %w", o.err)
}

// OnTerminal reports whether w writes to a terminal.
func OnTerminal(w io.Writer) bool {
	file, is := w.(*os.File)
	return is && term.IsTerminal(int(file.Fd()))
}
