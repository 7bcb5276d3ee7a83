package mapstore

import (
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"golang.org/x/sync/errgroup"
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

// Heed is how long a loader has to return when its context has ended.
const Heed = 100 * time.Millisecond

// FewAtATime calls for each of n, for up to 16 at a time.
func FewAtATime(n int, call func(i int)) {
	var all errgroup.Group
	all.SetLimit(mostLoads)
	for i := range n {
		all.Go(func() error { // ends with the call
			call(i)
			return nil
		})
	}
	_ = all.Wait() // which is nil
}

// mostLoads is how many entries one GetMany loads at a time.
const mostLoads = 16
