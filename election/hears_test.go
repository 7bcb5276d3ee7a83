package election_test

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/election"
	"github.com/rueidisson/rueidisson/internal/locktest"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// What is announced is told within 100 ms, of each observer of several, in the middle
// of some times.
func TestAnObserverHearsAtOnce(t *testing.T) {
	t.Parallel()
	server, name := redistest.Shared(t), redistest.Name(t)
	var watchers []*watcher
	for range 3 {
		w := observe(t, locktest.Open(t, server.Addr()).Election(name))
		w.none()
		watchers = append(watchers, w)
	}
	term := campaign(t, locktest.Open(t, server.Addr()).Election(name), "first")
	for _, w := range watchers {
		w.value("first")
	}
	n := 0
	redistest.Within(t, 100*time.Millisecond, func() time.Duration {
		took := make([]time.Duration, 51)
		for i := range took {
			n++
			began := time.Now()
			require.NoError(t, term.SetValue(t.Context(), strconv.Itoa(n)))
			for _, w := range watchers {
				w.value(strconv.Itoa(n))
			}
			took[i] = time.Since(began)
		}
		slices.Sort(took)
		return took[len(took)/2]
	})
	resign(t, term)
}

// What nobody is told of, since the message was lost, is found within 5 s: a new
// value, and that the leader has gone. The rest is what a busy machine takes.
func TestAnObserverFindsWhatItWasNotToldOf(t *testing.T) {
	t.Parallel()
	redistest.Within(t, 7*time.Second, func() time.Duration {
		longest := time.Duration(0)
		server, name := redistest.Shared(t), redistest.Name(t)
		raw, el := server.Client(t), locktest.Open(t, server.Addr()).Election(name)
		w := observe(t, locktest.Open(t, server.Addr()).Election(name))
		term := campaign(t, el, "first")
		w.value("first")
		key := "rueidisson_term:{" + name + "}"
		found := func(change func(), seen func()) {
			t.Helper()
			began := time.Now()
			change()
			seen()
			longest = max(longest, time.Since(began))
		}
		found(func() { do(t, raw, "HSET", key, "value", "unheard", "version", "7") }, func() { w.value("unheard") })
		found(func() { do(t, raw, "DEL", name) }, w.none)
		<-term.Lost()
		return longest
	})
}

// cutOff returns an observer whose connection was cut, the proxy that refuses it another one, and the election by a client
// that is not cut off.
func cutOff(t *testing.T) (w *watcher, proxy *redistest.Proxy, el *election.Election) {
	t.Helper()
	server, name := redistest.Shared(t), redistest.Name(t)
	proxy = redistest.NewProxy(t, server.Addr())
	w = observe(t, locktest.Open(t, proxy.Addr()).Election(name))
	w.none()
	proxy.Refuse()
	proxy.CutAll()
	return w, proxy, locktest.Open(t, server.Addr()).Election(name)
}

// An observer whose connection was cut hears of what happened meanwhile as soon as
// it is back.
func TestAnObserverThatWasCutOffCatchesUp(t *testing.T) {
	t.Parallel()
	w, proxy, el := cutOff(t)
	term := campaign(t, el, "meanwhile")
	proxy.Accept()
	w.value("meanwhile")
	resign(t, term)
	w.none()
}

// TestElectionObserveYieldsOneNoticeWhenDisconnectedAndOneWhenBack, and then the leader of meanwhile.
func TestElectionObserveYieldsOneNoticeWhenDisconnectedAndOneWhenBack(t *testing.T) {
	t.Parallel()
	w, proxy, el := cutOff(t)
	require.ErrorIs(t, redistest.Done(t, w.notices), election.ErrDisconnected)
	campaign(t, el, "meanwhile")
	proxy.Accept()
	require.ErrorIs(t, redistest.Done(t, w.notices), election.ErrReconnected)
	w.value("meanwhile")
	require.Empty(t, w.notices)
}
