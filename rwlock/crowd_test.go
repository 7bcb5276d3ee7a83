package rwlock_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/locktest"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/lock"
	"github.com/rueidisson/rueidisson/rwlock"
)

// inside counts who is inside of a read-write lock.
type inside struct {
	readers, writers atomic.Int32
	reads, writes    atomic.Int32 // in all
	mixed            atomic.Int32 // how often somebody met who must not be there
}

func (in *inside) read() {
	in.readers.Add(1)
	if in.writers.Load() > 0 {
		in.mixed.Add(1)
	}
	in.readers.Add(-1)
	in.reads.Add(1)
}

func (in *inside) write() {
	if in.writers.Add(1) > 1 || in.readers.Load() > 0 {
		in.mixed.Add(1)
	}
	time.Sleep(time.Millisecond) // its work; readers look who is there
	in.writers.Add(-1)
	in.writes.Add(1)
}

// visit is one turn of goroutine g: of a hundred, one writes.
func (in *inside) visit(ctx context.Context, l *rwlock.Lock, g int) error {
	side, work := l.Read(), in.read
	if g%100 == 0 {
		side, work = l.Write(), in.write
	}
	hold, err := side.Lock(ctx)
	if err != nil {
		return err
	}
	work()
	return hold.Unlock(context.Background())
}

// Where shared holds take newcomers for 50 µs only, nearly each of them is joined
// as it ends.
func TestTenThousandGoroutines(t *testing.T) {
	t.Parallel()
	for title, of := range map[string]struct {
		everyday int
		opts     []rueidisson.Option
	}{
		"shared for long":     {10_000, nil},
		"shared for a moment": {2000, []rueidisson.Option{rueidisson.WithHandover(256, 50*time.Microsecond)}},
		"without hand-over":   {2000, []rueidisson.Option{rueidisson.WithHandover(0, 0)}},
	} {
		opts := of.opts
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			goroutines := redistest.Count(t, of.everyday, 10_000)
			server := redistest.Shared(t)
			name := redistest.Name(t)
			of := [3]*rwlock.Lock{locktest.Open(t, server.Addr(), opts...).RWLock(name)}
			of[1], of[2] = of[0], locktest.Open(t, server.Addr(), opts...).RWLock(name) // as another process
			ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
			defer cancel()
			var in inside
			failed := crowd(goroutines, func(g int) error { return in.visit(ctx, of[g%3], g) })
			require.NoError(t, <-failed)
			require.Zero(t, in.mixed.Load())
			require.EqualValues(t, goroutines, in.reads.Load()+in.writes.Load())
			requireFree(t, server, of[0])
		})
	}
}

// Those who wait are told that the client is closed, and those who hold have
// until then to unlock: nobody's hold is left behind.
func TestACloseAmongReadersAndWriters(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	for range 5 {
		c := locktest.Open(t, server.Addr())
		l, other := c.RWLock(redistest.Name(t)), locktest.Open(t, server.Addr())
		var in inside
		done := make(chan (<-chan error), 1)
		go func() { // ends with the close
			done <- crowd(500, func(g int) error {
				for {
					if err := in.visit(t.Context(), l, g); err != nil {
						return err
					}
				}
			})
		}()
		redistest.Eventually(t, func() bool { return in.writes.Load() > 20 && in.reads.Load() > 1000 }, time.Minute, time.Millisecond)
		closing, cancel := context.WithTimeout(t.Context(), time.Minute)
		require.NoError(t, c.Close(closing), "a hold was left")
		cancel()
		for err := range <-done {
			require.True(t, errors.Is(err, lock.ErrClosed), "%v", err)
		}
		require.Zero(t, in.mixed.Load())
		requireFree(t, server, other.RWLock(l.Name()))
	}
}

// crowd runs f on so many goroutines, and returns their errors when all have ended.
func crowd(goroutines int, f func(g int) error) <-chan error {
	failed := make(chan error, goroutines)
	var all sync.WaitGroup
	for g := range goroutines {
		all.Go(func() {
			if err := f(g); err != nil {
				failed <- fmt.Errorf("goroutine %d: %w", g, err)
			}
		})
	}
	all.Wait()
	close(failed)
	return failed
}

// requireFree: nothing is left of the lock, and it can be had for writing.
func requireFree(t *testing.T, server *redistest.Server, l *rwlock.Lock) {
	t.Helper()
	raw := server.Client(t)
	redistest.Eventually(t, func() bool {
		n, err := raw.Do(t.Context(), raw.B().Exists().Key(l.Name()).Build()).AsInt64()
		require.NoError(t, err)
		return n == 0
	}, 20*time.Second, 5*time.Millisecond, "it is left behind") // before the lease ends by itself
	locktest.Unlock(t, locktest.Take(t, l.Write()))
}
