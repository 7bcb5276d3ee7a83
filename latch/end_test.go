package latch

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/internal/scripts"
)

// slow is a client whose next answer to one script takes a while.
type slow struct {
	*redistest.ScriptRecorder
	t testing.TB
}

func newSlow(t testing.TB, all ...*scripts.Script) slow {
	t.Helper()
	s := slow{redistest.RecordScripts(t, redistest.Shared(t).Client(t)), t}
	for _, one := range all {
		redistest.Do(t, s.Client, "SCRIPT", "LOAD", one.Body()) // an answer that it does not know it is none
		s.Learn(one.Body())
	}
	return s
}

// hold keeps the next answer to a script, once the server has given it. Answered
// waits for that.
func (s slow) hold(script string) (answered, letGo func()) {
	given, on := make(chan struct{}), make(chan struct{})
	var once sync.Once
	s.Around(nil, func(called string) {
		if called == script {
			once.Do(func() {
				close(given)
				<-on
			})
		}
	})
	letGo = sync.OnceFunc(func() { close(on) })
	s.t.Cleanup(letGo)
	return func() { s.t.Helper(); redistest.Done(s.t, given) }, letGo
}

// inside blocks until so many wait, whether they have looked or not.
func inside(t testing.TB, g *waiters, n int) {
	t.Helper()
	require.Eventually(t, func() bool {
		g.Mu.Lock()
		defer g.Mu.Unlock()
		all, _ := g.count()
		return all == n
	}, soon, time.Millisecond)
}

// TestOneThatComesBehindTheOpening: what was asked before it came is not said of it.
func TestOneThatComesBehindTheOpening(t *testing.T) {
	t.Parallel()
	client := newSlow(t, lookScript)
	r := rigOn(t, client, redistest.Name(t)).arm(1)
	other := rigOn(t, redistest.Shared(t).Client(t), r.of.key)
	first := r.awaiting(t.Context())
	r.waiting(1)
	answered, letGo := client.hold("look.lua")
	other.down(0)
	answered()
	other.arm(1)
	second := r.awaiting(t.Context())
	g := r.h.places.Get(r.of.key)
	defer r.h.places.Put(r.of.key, g)
	inside(t, g, 2)
	letGo()
	got(t, first)
	r.waiting(1)
	redistest.Waits(t, second)
	other.down(0)
	got(t, second)
}

// TestTheOpeningIsBehindTheFirstLook: it is armed again when that is answered.
func TestTheOpeningIsBehindTheFirstLook(t *testing.T) {
	t.Parallel()
	client := newSlow(t, lookScript)
	r := rigOn(t, client, redistest.Name(t)).arm(1)
	other := rigOn(t, redistest.Shared(t).Client(t), r.of.key)
	answered, letGo := client.hold("look.lua")
	done := r.awaiting(t.Context())
	answered()
	other.down(0)
	other.arm(1)
	letGo()
	got(t, done)
}

// TestAGenerationEndsBeforeItsPartyHearsThatItIsIn: nobody tells it any more.
func TestAGenerationEndsBeforeItsPartyHearsThatItIsIn(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		parties int
		end     func(t *testing.T, other *barrierRig)
		how     error
	}{
		"it opens": {2, func(t *testing.T, other *barrierRig) {
			_, err := other.Await(t.Context())
			require.NoError(t, err)
		}, nil},
		"it breaks": {3, breaks, ErrBroken},
		"it opens, and the next one breaks": {2, func(t *testing.T, other *barrierRig) {
			_, err := other.Await(t.Context())
			require.NoError(t, err)
			breaks(t, other)
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := newSlow(t, arriveScript)
			r := barrierOn(t, client, redistest.Name(t), c.parties)
			other := barrierOn(t, redistest.Shared(t).Client(t), r.of.key, c.parties)
			answered, letGo := client.hold("arrive.lua")
			a := r.arriving(t.Context())
			answered()
			c.end(t, other)
			letGo()
			require.ErrorIs(t, redistest.Done(t, a).err, c.how)
		})
	}
}

// breaks has a party arrive and give up.
func breaks(t *testing.T, r *barrierRig) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := r.arriving(ctx)
	r.waiting(1)
	cancel()
	require.ErrorIs(t, redistest.Done(t, done).err, ErrBroken)
}

// TestAPartyThatComesBehindTheEndIsOfTheNextGeneration while those of the one that
// ended do not know it yet.
func TestAPartyThatComesBehindTheEndIsOfTheNextGeneration(t *testing.T) {
	t.Parallel()
	client := newSlow(t, watchScript)
	r := barrierOn(t, client, redistest.Name(t), 2)
	other := barrierOn(t, redistest.Shared(t).Client(t), r.of.key, 2)
	first := r.arriving(t.Context())
	r.waiting(1)
	answered, letGo := client.hold("watch.lua")
	_, err := other.Await(t.Context())
	require.NoError(t, err)
	answered()
	second := r.arriving(t.Context())
	g := r.h.places.Get(r.of.key)
	defer r.h.places.Put(r.of.key, g)
	inside(t, g, 2)
	letGo()
	require.NoError(t, redistest.Done(t, first).err)
	r.waiting(1)
	redistest.Waits(t, second)
	_, err = other.Await(t.Context())
	require.NoError(t, err)
	require.NoError(t, redistest.Done(t, second).err)
}
