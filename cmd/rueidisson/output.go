package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"

	"golang.org/x/term"
)

// output is standard output. It remembers that something could not be written, such as to a full disk.
type output struct {
	to io.Writer // what a CMD is given

	mu  sync.Mutex
	err error // the first one
}

// Write writes to standard output. It remembers an error, except that of a pipe that is closed.
func (o *output) Write(text []byte) (int, error) {
	n, err := o.to.Write(text)
	if err != nil && !errors.Is(err, syscall.EPIPE) && !errors.Is(err, io.ErrClosedPipe) { // where the pipe is closed nobody listens
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.err == nil {
			o.err = err
		}
	}
	return n, err
}

// failed returns the error of what was not written, nil if all was.
func (o *output) failed() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err == nil {
		return nil
	}
	return fmt.Errorf("standard output: %w", o.err)
}

// onTerminal reports whether w writes to a terminal.
func onTerminal(w io.Writer) bool {
	file, is := w.(*os.File)
	return is && term.IsTerminal(int(file.Fd()))
}
