package rueidissontest_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/lock"
	"github.com/rueidisson/rueidisson/rueidissontest"
)

// exampleT stands for the *testing.T that a test function is given.
type exampleT struct {
	testing.TB
	cleanups []func()
}

func (t *exampleT) Helper()                   {}
func (t *exampleT) Cleanup(f func())          { t.cleanups = append(t.cleanups, f) }
func (t *exampleT) Context() context.Context  { return context.Background() }
func (t *exampleT) Logf(string, ...any)       {}
func (t *exampleT) Fatalf(f string, a ...any) { panic(fmt.Sprintf(f, a...)) }

func (t *exampleT) end() {
	for i := len(t.cleanups) - 1; i >= 0; i-- {
		t.cleanups[i]()
	}
}

func ExampleNewClient() {
	t := &exampleT{} // in a test: func TestStock(t *testing.T)
	defer t.end()

	c := rueidissontest.NewClient(t)

	hold, err := c.Lock("stock:42").Lock(t.Context())
	if err != nil {
		t.Fatalf("%v", err)
	}
	_, err = c.Lock("stock:42").TryLock(t.Context())
	fmt.Println("busy:", errors.Is(err, lock.ErrNotAcquired))
	fmt.Println("unlock:", hold.Unlock(t.Context()))
	// Output:
	// busy: true
	// unlock: <nil>
}

// A process dies while it holds a lock. The next one gets it when the lease is
// over, for which the test need not wait.
func ExampleServer_Forward() {
	t := &exampleT{}
	defer t.end()

	s := rueidissontest.NewServer(t, rueidissontest.WithManualClock())
	crashed, next := s.NewClient(t), s.NewClient(t)

	if _, err := crashed.Lock("orders").Lock(t.Context(), lock.WithLease(time.Minute)); err != nil {
		t.Fatalf("%v", err)
	}
	left, _ := next.Lock("orders").Remaining(t.Context())
	fmt.Println("left:", left)

	s.Forward(time.Minute)
	hold, err := next.Lock("orders").TryLock(t.Context())
	fmt.Println("free:", err == nil)
	fmt.Println("unlock:", hold.Unlock(t.Context()))
	// Output:
	// left: 1m0s
	// free: true
	// unlock: <nil>
}

// How code takes the loss of a hold: the server forgets it, and the next
// renewal, a third of the watchdog timeout away, tells the holder.
func ExampleWithManualClock() {
	t := &exampleT{}
	defer t.end()

	s := rueidissontest.NewServer(t, rueidissontest.WithManualClock())
	c := s.NewClient(t, rueidisson.WithWatchdogTimeout(300*time.Millisecond))

	err := lock.Do(t.Context(), c.Lock("report"), func(ctx context.Context) error {
		s.Forward(time.Second)
		<-ctx.Done()
		return context.Cause(ctx)
	})
	fmt.Println(errors.Is(err, lock.ErrLost))
	// Output: true
}
