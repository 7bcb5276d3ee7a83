package mapcache

import (
	"sync"
	"testing"
	"time"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// TestAMapIsVisitedByOneAtATime, also if its time comes again just as it goes to a
// worker: somebody has written what ends earlier meanwhile.
func TestAMapIsVisitedByOneAtATime(t *testing.T) {
	t.Parallel()
	e := engineOn(t, redistest.Shared(t).Client(t), nil)
	s := NewSweeper(e, nil)
	began, goOn := make(chan struct{}, workers+2), make(chan struct{})
	resume := sync.OnceFunc(func() { close(goOn) })
	t.Cleanup(resume)
	key := core.Key{Kind: "visited", Name: redistest.Name(t)}
	s.ExpectOf(key, e.Wall(), func() Visit {
		began <- struct{}{}
		<-goOn
		return Visit{Next: Never}
	})
	<-began
	there, _ := s.maps.Load(key)
	v := there.(*visited)
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
