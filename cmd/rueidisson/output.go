package main

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"syscall"
)

// output is standard output. It remembers that something could not be written, such as to a full disk.
type output struct {
	to io.Writer // what a CMD is given

	mu  sync.Mutex
	err error // the first one
}

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
