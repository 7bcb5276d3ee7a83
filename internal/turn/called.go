package turn

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
)

// PanicError carries the panic of a function from the goroutine that called it to
// that of its caller.
type PanicError struct {
	value any
	stack []byte
}

// Panicked returns the error of a function that has panicked with value, on its goroutine.
func Panicked(value any) *PanicError { return &PanicError{value, debug.Stack()} }

func (e *PanicError) Error() string { return fmt.Sprintf("%v\n\n%s", e.value, e.stack) }

// Unwrap returns the error that the function panicked with, if it was one.
func (e *PanicError) Unwrap() error {
	err, _ := e.value.(error)
	return err
}

// ErrExited is what a function leaves that ended its goroutine, as a test's
// FailNow does. Its caller's ends, too.
var ErrExited = errors.New("the function ended the goroutine")

// GoOn repeats what a function did, as err tells: it panics, or ends the goroutine.
func GoOn(err error) {
	if panicked, did := err.(*PanicError); did {
		panic(panicked)
	}
	if err == ErrExited {
		runtime.Goexit()
	}
}
