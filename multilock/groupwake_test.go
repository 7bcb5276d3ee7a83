package multilock_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/locktest"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/lock"
)

// TestAReleaseInAGroupWakesThoseOfItsValues, and not all who wait in the group.
func TestAReleaseInAGroupWakesThoseOfItsValues(t *testing.T) {
	t.Parallel()
	for name, mapper := range map[string]string{"a name": "", "a name with a tag": "{tag}:"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			name := mapper + redistest.Name(t)
			here, there := locktest.Open(t, server.Addr()).LockGroup(name), locktest.Open(t, server.Addr()).LockGroup(name)
			n := redistest.Count(t, 100, 800)
			holds := make([]*lock.Hold, n)
			for i := range holds {
				holds[i] = locktest.Take(t, here.Of(fmt.Sprint(i), fmt.Sprint(-i-1)))
			}
			var waiters sync.WaitGroup
			for i := range holds {
				waiters.Go(func() {
					hold, err := there.Of(fmt.Sprint(i)).Lock(locktest.Bounded(t))
					if err != nil {
						t.Error(err)
						return
					}
					if err := hold.Unlock(t.Context()); err != nil {
						t.Error(err)
					}
				})
			}
			start := time.Now()
			redistest.Eventually(t, func() bool { return server.ScriptCalls(t) >= int64(3*n) }, soon, time.Millisecond, "each has looked twice")
			server.ResetStats()
			for _, hold := range holds {
				require.NoError(t, hold.Unlock(t.Context()))
			}
			waiters.Wait()
			idle := int64(n) * int64(time.Since(start)/(4*time.Second)+1) // each looks every five seconds in any case
			require.LessOrEqual(t, server.ScriptCalls(t), 4*int64(n)+idle, "a release, a look, an acquire, a release")
			t.Logf("%d scripts", server.ScriptCalls(t))
			requireGroup(t, server.Client(t), name, 0)
		})
	}
}

// TestAReleaseOfManyValuesWakesAll: the message does not name them.
func TestAReleaseOfManyValuesWakesAll(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	name := redistest.Name(t)
	here, there := locktest.Open(t, server.Addr()).LockGroup(name), locktest.Open(t, server.Addr()).LockGroup(name)
	var values []string
	for i := range 101 {
		values = append(values, fmt.Sprint(i))
	}
	for _, of := range [][]string{values, values[:100]} {
		redistest.Within(t, 4*time.Second, func() time.Duration { // the next look without a message is after five
			hold := locktest.Take(t, here.Of(of...))
			won := make(chan error, 1)
			go func() {
				second, err := there.Of("7").Lock(locktest.Bounded(t))
				if err == nil {
					err = second.Unlock(t.Context())
				}
				won <- err
			}()
			raw := server.Client(t)
			redistest.Eventually(t, func() bool {
				heard, err := raw.Do(t.Context(), raw.B().PubsubNumsub().Channel(keys.GroupChannel(name)).Build()).AsIntMap()
				return err == nil && heard[keys.GroupChannel(name)] == 1
			}, soon, time.Millisecond)
			began := time.Now()
			require.NoError(t, hold.Unlock(t.Context()))
			require.NoError(t, <-won)
			return time.Since(began)
		})
	}
}
