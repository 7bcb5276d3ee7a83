package election_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
)

// What is announced is told within 100 ms, of each observer of several. A machine
// that stalls may spoil a few.
func TestAnObserverHearsAtOnce(t *testing.T) {
	t.Parallel()
	server, name := redistest.Shared(t), redistest.Name(t)
	var watchers []*watcher
	for range 3 {
		w := observe(t, open(t, server.Addr()).Election(name))
		w.none()
		watchers = append(watchers, w)
	}
	term := campaign(t, open(t, server.Addr()).Election(name), "first")
	for _, w := range watchers {
		w.value("first")
	}
	late := 0
	for i := range 100 {
		began := time.Now()
		require.NoError(t, term.SetValue(t.Context(), strconv.Itoa(i)))
		for _, w := range watchers {
			w.value(strconv.Itoa(i))
		}
		if time.Since(began) > 100*time.Millisecond {
			late++
		}
	}
	require.Less(t, late, 20)
	resign(t, term)
}

// What nobody is told of, since the message was lost, is found within 5 s: a new
// value, and that the leader has gone. The rest is what a busy machine takes.
func TestAnObserverFindsWhatItWasNotToldOf(t *testing.T) {
	t.Parallel()
	server, name := redistest.Shared(t), redistest.Name(t)
	raw, el := server.Client(t), open(t, server.Addr()).Election(name)
	w := observe(t, open(t, server.Addr()).Election(name))
	term := campaign(t, el, "first")
	w.value("first")
	key := "rueidisson_term:{" + name + "}"
	found := func(change func(), seen func()) {
		t.Helper()
		began := time.Now()
		change()
		seen()
		require.Less(t, time.Since(began), 7*time.Second)
	}
	found(func() { do(t, raw, "HSET", key, "value", "unheard", "version", "7") }, func() { w.value("unheard") })
	found(func() { do(t, raw, "DEL", name) }, w.none)
	<-term.Lost()
}

// An observer whose connection was cut hears of what happened meanwhile as soon as
// it is back.
func TestAnObserverThatWasCutOffCatchesUp(t *testing.T) {
	t.Parallel()
	server, name := redistest.Shared(t), redistest.Name(t)
	proxy := redistest.NewProxy(t, server.Addr())
	w := observe(t, open(t, proxy.Addr()).Election(name))
	w.none()
	el := open(t, server.Addr()).Election(name)
	proxy.Refuse()
	proxy.CutAll()
	term := campaign(t, el, "meanwhile")
	proxy.Accept()
	w.value("meanwhile")
	resign(t, term)
	w.none()
}
