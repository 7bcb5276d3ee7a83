package rmap

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
)

// errPanic carries the panic of a function from the goroutine that called it to
// that of its caller.
type errPanic struct {
	value any
	stack []byte
}

func (e *errPanic) Error() string { return fmt.Sprintf("%v\n\n%s", e.value, e.stack) }

// Unwrap returns the error that the function panicked with, if it was one.
func (e *errPanic) Unwrap() error {
	err, _ := e.value.(error)
	return err
}

// errExited is what a function leaves that ended its goroutine, as a test's
// FailNow does. Its caller's ends, too.
var errExited = errors.New("the function ended the goroutine")

// heed is how long a loader has to return when its context has ended.
const heed = 100 * time.Millisecond

// fewAtATime calls for each of n, for up to 16 at a time.
func fewAtATime(n int, call func(i int)) {
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
