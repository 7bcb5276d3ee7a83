package election_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/election"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m, candidateChildren) }

// soon bounds what has to happen, on a machine however slow.
var soon = redistest.Soon

// campaign is elected, in time.
func campaign(t testing.TB, el *election.Election, value string) *election.Term {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), soon)
	defer cancel()
	term, err := el.Campaign(ctx, value)
	require.NoError(t, err)
	return term
}

func resign(t testing.TB, term *election.Term) {
	t.Helper()
	require.NoError(t, term.Resign(context.Background()))
}

// campaignLater campaigns meanwhile.
func campaignLater(ctx context.Context, el *election.Election, value string) <-chan result {
	won := make(chan result, 1)
	go func() { // ends with the term, or with ctx
		term, err := el.Campaign(ctx, value)
		won <- result{term, err}
	}()
	return won
}

type result struct {
	term *election.Term
	err  error
}

func elected(t testing.TB, won <-chan result) *election.Term {
	t.Helper()
	select {
	case r := <-won:
		require.NoError(t, r.err)
		return r.term
	case <-time.After(soon):
		require.FailNow(t, "it was never elected")
		return nil
	}
}

// watcher is an observer that keeps what it was told.
type watcher struct {
	t       testing.TB
	told    chan election.Leader
	notices chan error
	end     chan error
	stop    context.CancelFunc
}

func observe(t testing.TB, el *election.Election) *watcher {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	w := &watcher{t: t, told: make(chan election.Leader, 10_000), notices: make(chan error, 10_000), end: make(chan error, 1), stop: cancel}
	go func() { // ends with ctx, or with the client
		for leader, err := range el.Observe(ctx) {
			if errors.Is(err, rueidisson.ErrNotice) {
				w.notices <- err
				continue
			}
			if err != nil {
				w.end <- err
				return
			}
			w.told <- leader
		}
	}()
	t.Cleanup(cancel)
	return w
}

func (w *watcher) next() election.Leader {
	w.t.Helper()
	select {
	case leader := <-w.told:
		return leader
	case err := <-w.end:
		require.NoError(w.t, err)
	case <-time.After(soon):
		require.FailNow(w.t, "the observer was told nothing")
	}
	return election.Leader{}
}

// until is the first that ok is true for.
func (w *watcher) until(ok func(election.Leader) bool) election.Leader {
	w.t.Helper()
	for {
		if leader := w.next(); ok(leader) {
			return leader
		}
	}
}

func (w *watcher) value(value string) election.Leader {
	w.t.Helper()
	return w.until(func(l election.Leader) bool { return l.Value == value })
}

func (w *watcher) none() {
	w.t.Helper()
	w.until(election.Leader.None)
}
