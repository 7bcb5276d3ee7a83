package sweep

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// visits is a target that is a function.
type visits func() Visit

func (v visits) Visit() Visit { return v() }

// TestSweeperVisitsAnObjectByOneWorkerAtATime, also if its time comes again just as it goes to a
// worker: somebody has written what ends earlier meanwhile.
func TestSweeperVisitsAnObjectByOneWorkerAtATime(t *testing.T) {
	t.Parallel()
	e := enginetest.Plain(t, redistest.Shared(t).Client(t))
	s := New(e, nil)
	began, goOn := make(chan struct{}, workers+2), make(chan struct{})
	resume := sync.OnceFunc(func() { close(goOn) })
	t.Cleanup(resume)
	key := core.Key{Kind: "visited", Name: redistest.Name(t)}
	s.Expect(key, e.Wall(), func(Target) Target {
		return visits(func() Visit {
			began <- struct{}{}
			<-goOn
			return Visit{Next: Never}
		})
	})
	<-began
	there, _ := s.objects.Load(key)
	v := there.(*object)
	for range workers {
		s.send(v) // as what was due when the first went
	}
	requireNone(t, began)
	resume()
	redistest.Eventually(t, func() bool { return s.Len() == 0 }, redistest.Soon, time.Millisecond)
	s.send(v) // nobody needs it any more
	requireNone(t, began)
}

func requireNone(t *testing.T, began <-chan struct{}) {
	t.Helper()
	select {
	case <-began:
		t.Fatal("it was visited once more")
	case <-time.After(50 * time.Millisecond):
	}
}

func FuzzDue(f *testing.F) {
	for _, text := range []string{"", "1800000060000", "1.8e12", "-1", "inf", "-inf", "nan", "0x1p40", "1e400", "k"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		at, err := Due(text)
		assert.GreaterOrEqual(t, at, int64(0))
		if err == nil && text != "" {
			assert.LessOrEqual(t, at, int64(9e15))
		}
	})
}

// TestVisitsAreTold with the kind of object, and with how far the clock is ahead.
func TestVisitsAreTold(t *testing.T) {
	t.Parallel()
	told := make(chan core.Sweep, 2)
	e := enginetest.Plain(t, redistest.Shared(t).Client(t))
	s, latch := New(e, func(got core.Sweep) { told <- got }), NewLatch(e, "sets")
	first := true
	s.Expect(core.Key{Kind: "set cache", Name: redistest.Name(t)}, e.Wall(), func(Target) Target {
		return visits(func() (v Visit) {
			v.Expired, v.More, v.Next = 7, first, Never
			if !first {
				v.More, v.Expired = false, 0
				_, v.Err = latch.Early(6000)
			}
			first = false
			return v
		})
	})
	require.Equal(t, core.Sweep{Kind: "set cache", Expired: 7}, redistest.Done(t, told))
	ahead := redistest.Done(t, told)
	require.Equal(t, 6*time.Second, ahead.ClockAhead)
	require.ErrorIs(t, ahead.Err, errAhead)
	require.EqualError(t, ahead.Err, "the clock of this process is ahead of the server's: it sweeps nothing, by 6s")
}
