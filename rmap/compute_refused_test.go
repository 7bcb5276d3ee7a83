package rmap

import (
	"errors"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/rmap/internal/mapstore"
	"github.com/rueidisson/rueidisson/rmap/internal/maptest"
)

// TestComputePanicLeavesWhatOthersMade: those before it in the turn are written, and those
// after it see that.
func TestComputePanicLeavesWhatOthersMade(t *testing.T) {
	t.Parallel()
	m, _ := fresh(t)
	require.NoError(t, m.Put(t.Context(), "k", 5))
	release, began := make(chan struct{}), make(chan struct{})
	go func() { // ends with the release
		_, _, _ = m.Compute(t.Context(), "k", func(old int, _ bool) (int, Verdict, error) {
			close(began)
			<-release
			return old, Keep, nil
		})
	}()
	<-began
	seen, panicked := make(chan int, 3), make(chan any, 3)
	for i, f := range []func(old int, had bool) (int, Verdict, error){
		increment,
		func(int, bool) (int, Verdict, error) { panic("mine alone") },
		func(old int, _ bool) (int, Verdict, error) { return old, Keep, nil },
	} {
		go func() { // ends with the turn
			defer func() { panicked <- recover() }()
			n, _, err := m.Compute(t.Context(), "k", f)
			assert.NoError(t, err)
			seen <- n
		}()
		e := m.m.EntryOf("k")
		require.Eventually(t, func() bool { return behind(m, e) == i+1 }, maptest.Soon, time.Millisecond)
	}
	close(release)
	panics := 0
	for range 3 {
		if redistest.Done(t, panicked) != nil {
			panics++
		}
	}
	require.Equal(t, 1, panics)
	for range 2 {
		require.Equal(t, 6, redistest.Done(t, seen))
	}
	n, there, err := m.Get(t.Context(), "k")
	require.NoError(t, err)
	require.True(t, there)
	require.Equal(t, 6, n)
}

// computed is what became of one Compute.
type computed struct {
	who   string
	err   error
	panic any
}

// TestComputeNobodyIsAnsweredFromWhatWasNotWritten: Computes of one turn see what those
// before them have made. If that is not written, whoever rests on it has the error of the
// write, also where its function had an error of its own, or panicked.
func TestComputeNobodyIsAnsweredFromWhatWasNotWritten(t *testing.T) {
	t.Parallel()
	for what, refuse := range map[string]struct {
		how  func(t *testing.T, admin rueidis.Client, p *redistest.Proxy)
		want func(t *testing.T, err error)
	}{
		"OOM": {
			func(t *testing.T, admin rueidis.Client, _ *redistest.Proxy) {
				maptest.Raws(t, admin, "CONFIG SET maxmemory 1")
			},
			func(t *testing.T, err error) { require.ErrorContains(t, err, "OOM") },
		},
		"lost reply": {
			func(_ *testing.T, _ rueidis.Client, p *redistest.Proxy) {
				p.DropReply(redistest.MatchScript(mapstore.ChangeScript.Body()), 1)
			},
			func(t *testing.T, err error) { require.ErrorIs(t, err, ErrOutcomeUnknown) },
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			client, proxy := redistest.ThroughProxy(t, server)
			m := New[string, string](maptest.EngineOn(t, client), "seats")
			require.NoError(t, m.Put(t.Context(), "warm", ""))
			_, _, err := m.Compute(t.Context(), "warm", func(string, bool) (string, Verdict, error) { return "", Store, nil })
			require.NoError(t, err) // the script is known

			release, began := make(chan struct{}), make(chan struct{})
			go func() { // ends with the release
				_, _, _ = m.Compute(t.Context(), "1A", func(old string, _ bool) (string, Verdict, error) {
					close(began)
					<-release
					return old, Keep, nil
				})
			}()
			<-began
			own, taken := errors.New("of what was read"), errors.New("taken by ann")
			outcomes := make(chan computed, 5)
			for i, one := range []struct {
				who string
				f   func(old string, had bool) (string, Verdict, error)
			}{
				{"early", func(string, bool) (string, Verdict, error) { return "", Keep, own }},
				{"ann", func(_ string, had bool) (string, Verdict, error) { return "ann", Store, nil }},
				{"bob", func(old string, _ bool) (string, Verdict, error) {
					if old == "ann" {
						return "", Keep, taken
					}
					return "bob", Store, nil
				}},
				{"carol", func(old string, _ bool) (string, Verdict, error) {
					if old == "ann" {
						panic("taken")
					}
					return "carol", Store, nil
				}},
				{"dora", func(old string, _ bool) (string, Verdict, error) { return old, Keep, nil }},
			} {
				go func() { // ends with the turn
					c := computed{who: one.who}
					defer func() {
						c.panic = recover()
						outcomes <- c
					}()
					_, _, c.err = m.Compute(t.Context(), "1A", one.f)
				}()
				e := m.m.EntryOf("1A")
				require.Eventually(t, func() bool { waiting, _ := m.m.Hub.Turns.Look(e); return waiting == i+1 }, maptest.Soon, time.Millisecond)
			}
			refuse.how(t, server.Client(t), proxy)
			close(release)
			for range 5 {
				c := redistest.Done(t, outcomes)
				require.Nil(t, c.panic, c.who)
				if c.who == "early" {
					require.ErrorIs(t, c.err, own, "it rests on what was there")
					continue
				}
				require.Error(t, c.err, c.who)
				require.NotErrorIs(t, c.err, taken, c.who)
				refuse.want(t, c.err)
			}
		})
	}
}
