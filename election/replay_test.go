package election

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/fence"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/internal/scripts"
)

const (
	a = "11111111-1111-4111-8111-111111111111:4611686018427387905"
	b = "22222222-2222-4222-8222-222222222222:4611686018427387906"
)

// bench is one election on a server, to which the scripts are sent by hand.
type bench struct {
	t    *testing.T
	raw  rueidis.Client
	name string
}

func newBench(t *testing.T) *bench {
	t.Helper()
	return &bench{t: t, raw: redistest.Shared(t).Client(t), name: redistest.Name(t)}
}

// hold lets owner hold the lock, and nobody else.
func (e *bench) hold(owner string) {
	e.do("DEL", e.name)
	if owner != "" {
		e.do("HSET", e.name, owner, "1")
		e.do("PEXPIRE", e.name, "30000")
	}
}

func (e *bench) announce(owner string, token, version int, value string) int64 {
	return e.run(announceScript, []string{e.name, e.term()},
		owner, strconv.Itoa(token), strconv.Itoa(version), value, kept, "publish", e.term())
}

func (e *bench) depart(owner string) int64 {
	return e.run(departScript, []string{e.term()}, owner, "publish", e.term())
}

func (e *bench) term() string { return keys.Term(e.name) }

func (e *bench) run(s *scripts.Script, on []string, args ...string) int64 {
	e.t.Helper()
	require.NoError(e.t, s.Header().Check(len(on), len(args)), s.Name)
	n, err := s.Exec(context.Background(), e.raw, on, args).AsInt64()
	require.NoError(e.t, err)
	return n
}

func (e *bench) do(words ...string) rueidis.RedisResult {
	e.t.Helper()
	res := e.raw.Do(context.Background(), e.raw.B().Arbitrary(words...).Build())
	require.NoError(e.t, res.Error())
	return res
}

func (e *bench) state() string {
	held, err := e.do("HGETALL", e.name).AsStrMap()
	require.NoError(e.t, err)
	said, err := e.do("HGETALL", e.term()).AsStrMap()
	require.NoError(e.t, err)
	return fmt.Sprint(held, said)
}

// TestALateSecondRunChangesNothing runs each script, lets something happen, and
// runs the script again as a send that arrives late would.
func TestALateSecondRunChangesNothing(t *testing.T) {
	t.Parallel()
	redistest.LateRuns(t, newBench, func(t *testing.T, e *bench) func() {
		state, heard := e.state(), e.listen()
		return func() {
			require.Equal(t, state, e.state())
			e.do("PUBLISH", e.term(), "last")
			require.Equal(t, "last", <-heard, "and nobody is told of it")
		}
	}, map[string][2]func(e *bench){
		"announce, at once": {
			func(e *bench) { e.hold(a); require.EqualValues(e.t, 2, e.announce(a, 7, 1, "x")) },
			func(e *bench) { require.EqualValues(e.t, 1, e.announce(a, 7, 1, "x")) },
		},
		"announce, after the next value": {
			func(e *bench) { e.hold(a); e.announce(a, 7, 1, "x"); e.announce(a, 7, 2, "y") },
			func(e *bench) { require.EqualValues(e.t, 1, e.announce(a, 7, 1, "x")) },
		},
		"announce, after a later value came before it": {
			func(e *bench) { e.hold(a); e.announce(a, 7, 12, "y") },
			func(e *bench) { require.EqualValues(e.t, 1, e.announce(a, 7, 9, "x")) },
		},
		"announce, of a value that has the version of another": {
			func(e *bench) { e.hold(a); e.announce(a, 7, 1, "x"); e.announce(a, 7, 2, "y") },
			func(e *bench) { require.EqualValues(e.t, 1, e.announce(a, 7, 2, "x")) },
		},
		"announce, after its hold was given back": {
			func(e *bench) { e.hold(a); e.announce(a, 7, 1, "x"); e.hold("") },
			func(e *bench) { require.Zero(e.t, e.announce(a, 7, 2, "y")) },
		},
		"announce, after it resigned": {
			func(e *bench) { e.hold(a); e.announce(a, 7, 1, "x"); e.hold(""); e.depart(a) },
			func(e *bench) { require.Zero(e.t, e.announce(a, 7, 1, "x")) },
		},
		"announce, of one that never led": {
			func(e *bench) { e.hold(b) },
			func(e *bench) { require.Zero(e.t, e.announce(a, 7, 1, "x")) },
		},
		"announce, after its successor's": {
			func(e *bench) { e.hold(a); e.announce(a, 7, 1, "x"); e.hold(b); e.announce(b, 9, 1, "z") },
			func(e *bench) { require.Zero(e.t, e.announce(a, 7, 2, "y")) },
		},
		"depart, at once": {
			func(e *bench) {
				e.hold(a)
				e.announce(a, 7, 1, "x")
				e.hold("")
				require.EqualValues(e.t, 1, e.depart(a))
			},
			func(e *bench) { require.Zero(e.t, e.depart(a)) },
		},
		"depart, after its successor's announce": {
			func(e *bench) { e.hold(a); e.announce(a, 7, 1, "x"); e.hold(b); e.announce(b, 9, 1, "z") },
			func(e *bench) { require.Zero(e.t, e.depart(a)) },
		},
	})
}

// listen hears the channel of the term.
func (e *bench) listen() <-chan string {
	heard, stands := make(chan string, 100), make(chan struct{})
	conn, release := e.raw.Dedicate()
	e.t.Cleanup(release)
	conn.SetPubSubHooks(rueidis.PubSubHooks{
		OnMessage:      func(m rueidis.PubSubMessage) { heard <- m.Message },
		OnSubscription: func(rueidis.PubSubSubscription) { close(stands) },
	})
	require.NoError(e.t, conn.Do(context.Background(), conn.B().Subscribe().Channel(e.term()).Build()).Error())
	<-stands
	return heard
}

func TestEachTermKnowsTheOneBefore(t *testing.T) {
	t.Parallel()
	e := newBench(t)
	heard := e.listen()
	after := func() string {
		text, err := e.do("HGET", e.term(), "after").ToString()
		require.NoError(t, err)
		return text
	}
	e.hold(a)
	e.announce(a, 7, 1, "x")
	require.Equal(t, "0", after())
	e.announce(a, 7, 2, "y")
	require.Equal(t, "0", after(), "it is not its own successor")
	e.hold(b)
	e.announce(b, 9, 1, "z") // the first one was killed
	require.Equal(t, "7", after())
	e.hold("")
	e.depart(b)
	e.hold(a)
	e.announce(a, 11, 1, "x")
	require.Equal(t, "9", after())
	for _, want := range []string{"7", "7", "9", "0", "11"} {
		require.Equal(t, want, <-heard)
	}
	left, err := e.do("PTTL", e.term()).AsInt64()
	require.NoError(t, err)
	require.InDelta(t, 24*time.Hour.Milliseconds(), left, 60_000, "it is forgotten some day")
}

func TestWhatAnObserverTells(t *testing.T) {
	t.Parallel()
	leader := func(token int64, value string) (Leader, sight) {
		made, err := fence.New("x", token)
		require.NoError(t, err)
		return Leader{Value: value, Fence: made}, sight{last: token, owner: a, value: value}
	}
	type step struct {
		token, after int64 // token 0: nobody leads
		value        string
		told, gap    bool
	}
	for name, steps := range map[string][]step{
		"from the first leader on":    {{0, 0, "", true, false}, {7, 0, "x", true, false}, {7, 0, "x", false, false}},
		"a value":                     {{7, 3, "x", true, false}, {7, 3, "y", true, false}, {7, 3, "y", false, false}},
		"leaders without a pause":     {{7, 3, "x", true, false}, {9, 7, "x", true, false}},
		"leaders with a pause":        {{7, 3, "x", true, false}, {0, 0, "", true, false}, {0, 0, "", false, false}, {9, 7, "x", true, false}},
		"one was missed":              {{7, 3, "x", true, false}, {0, 0, "", true, false}, {11, 9, "x", true, true}, {11, 9, "x", false, true}, {11, 9, "y", true, false}},
		"the server forgot the terms": {{7, 3, "x", true, false}, {0, 0, "", true, false}, {11, 0, "x", true, true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o, last := observer{}, int64(0)
			for i, s := range steps {
				l, seen := Leader{}, sight{last: last}
				if s.token > 0 {
					l, seen = leader(s.token, s.value)
					last, seen.after = s.token, s.after
				}
				require.Equal(t, s.told, o.news(l, seen), "step %d", i)
				require.Equal(t, s.gap, o.told.Gap, "step %d", i)
			}
		})
	}
}
