package redissonlimiter_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/internal/scripts"
	"github.com/rueidisson/rueidisson/ratelimiter/redissonlimiter"
)

// entryOf is an entry of the log with a name in place of the random bytes.
func entryOf(name string, n byte) string {
	return "\x10" + (name + strings.Repeat("-", 16))[:16] + string([]byte{n, 0, 0, 0})
}

// run sends a script by hand, as the engine does, and shows the answer.
func (r *rig) run(script string, args ...string) string {
	r.t.Helper()
	keys := []string{r.name, r.valueKey(), r.logKey(), r.ownValueKey(), r.ownLogKey()}
	cmd := r.clock.B().Arbitrary("EVALSHA").Args(r.clock.sha(script), "5").Keys(keys...).Args(args...).Build()
	msg, err := r.clock.Do(context.Background(), cmd).ToMessage()
	if err != nil {
		return err.Error()
	}
	if list, err := msg.AsIntSlice(); err == nil {
		return fmt.Sprint(list[0])
	}
	n, err := msg.AsInt64()
	require.NoError(r.t, err)
	return strconv.FormatInt(n, 10)
}

func (c *standingClock) sha(script string) string {
	for sum, text := range c.scripts {
		if strings.HasPrefix(text, "-- "+script+".lua: ") {
			return sum
		}
	}
	c.t.Fatal("no script ", script)
	return ""
}

func (r *rig) runTake(name string, n byte) string {
	r.t.Helper()
	return r.run("log_take", strconv.Itoa(int(n)), entryOf(name, n), "0")
}

func (r *rig) runUndo(name string, n byte) string {
	r.t.Helper()
	return r.run("log_undo", entryOf(name, n), strconv.Itoa(int(n)))
}

// state is all that is stored.
func (r *rig) state() string {
	r.t.Helper()
	var text strings.Builder
	fmt.Fprint(&text, r.setting())
	for _, key := range []string{r.valueKey(), r.ownValueKey()} {
		if r.exists(key) {
			fmt.Fprintf(&text, " value %d", r.value(key))
		}
	}
	for _, key := range []string{r.logKey(), r.ownLogKey()} {
		for _, g := range r.entries(key) {
			fmt.Fprintf(&text, " %s %d", g.member[1:3], g.permits)
		}
	}
	return text.String()
}

// TestSecondRuns runs each script that may be sent again, lets
// something happen, and runs it again, as a send does whose reply was lost.
func TestSecondRuns(t *testing.T) {
	t.Parallel()
	const rate, answer0, answer1 = 5, "0", "1"
	for name, c := range map[string]struct {
		before func(r *rig)
		late   func(r *rig)
		left   int64 // afterwards
		logged int
	}{
		"take, at once": {
			func(r *rig) { require.Equal(r.t, answer1, r.runTake("a", 2)) },
			func(r *rig) { require.Equal(r.t, answer1, r.runTake("a", 2)) }, 3, 1,
		},
		"take, after others took the rest": {
			func(r *rig) { r.runTake("a", 2); r.runTake("b", 3) },
			func(r *rig) { require.Equal(r.t, answer1, r.runTake("a", 2)) }, 0, 2,
		},
		"take, in the last moment of its entry": {
			func(r *rig) { r.runTake("a", 2); r.pass(time.Hour - time.Microsecond) },
			func(r *rig) { require.Equal(r.t, answer1, r.runTake("a", 2)) }, 3, 1,
		},
		"take, after the expiry of its entry: granted as of now": {
			func(r *rig) { r.runTake("a", 2); r.pass(time.Hour); require.Len(r.t, r.entries(r.logKey()), 1) },
			func(r *rig) { require.Equal(r.t, answer1, r.runTake("a", 2)); r.pass(time.Hour - time.Second) }, 3, 1,
		},
		"take, after the expiry of its entry: refused, as others took all": {
			func(r *rig) { r.runTake("a", 2); r.pass(time.Hour); r.runTake("b", 5) },
			func(r *rig) { require.Equal(r.t, answer0, r.runTake("a", 2)) }, 0, 1,
		},
		"take, after a refusal": {
			func(r *rig) { r.runTake("b", 5); require.Equal(r.t, answer0, r.runTake("a", 2)); r.pass(time.Hour) },
			func(r *rig) { require.Equal(r.t, answer1, r.runTake("a", 2)) }, 3, 1,
		},
		"take, after the rate was set anew: granted under that": {
			func(r *rig) { r.runTake("a", 2); r.set(atMost(rate, time.Hour)) },
			func(r *rig) { require.Equal(r.t, answer1, r.runTake("a", 2)) }, 3, 1,
		},
		"take, after the rate was set with its state": {
			func(r *rig) { r.runTake("a", 2); r.set(atMost(rate, time.Minute), redissonlimiter.WithKeepState()) },
			func(r *rig) { require.Equal(r.t, answer1, r.runTake("a", 2)) }, 3, 1,
		},
		"take, after the rate became less than what it took": {
			func(r *rig) {
				r.runTake("a", 3)
				r.set(atMost(2, time.Hour), redissonlimiter.WithKeepState())
			},
			func(r *rig) {
				require.Equal(r.t, answer1, r.runTake("a", 3))
				r.set(atMost(rate, time.Hour), redissonlimiter.WithKeepState())
			}, 2, 1,
		},
		"take, after somebody released what it took": {
			func(r *rig) { r.runTake("a", 2); require.NoError(r.t, r.Release(context.Background(), 2)) },
			func(r *rig) { require.Equal(r.t, answer1, r.runTake("a", 2)) }, 3, 1,
		},
		"take, after the value was evicted": {
			func(r *rig) { r.runTake("a", 2); r.do("DEL", r.valueKey()) },
			func(r *rig) { require.Equal(r.t, answer1, r.runTake("a", 2)) }, 3, 1,
		},
		"take, that comes after it was undone: for nobody, for an interval": {
			func(r *rig) { require.Equal(r.t, answer0, r.runUndo("a", 2)) },
			func(r *rig) { r.runTake("a", 2); r.pass(time.Hour) }, 5, 1,
		},
		"undo, at once": {
			func(r *rig) { r.runTake("a", 2); require.Equal(r.t, answer1, r.runUndo("a", 2)) },
			func(r *rig) { require.Equal(r.t, answer0, r.runUndo("a", 2)) }, 5, 0,
		},
		"undo, after others took": {
			func(r *rig) { r.runTake("a", 2); r.runUndo("a", 2); r.runTake("b", 4) },
			func(r *rig) { require.Equal(r.t, answer0, r.runUndo("a", 2)) }, 1, 1,
		},
		"undo, after its entry expired": {
			func(r *rig) { r.runTake("a", 2); r.pass(time.Hour); r.runTake("b", 4) },
			func(r *rig) { require.Equal(r.t, answer0, r.runUndo("a", 2)) }, 1, 1,
		},
		"undo, after the rate was set anew": {
			func(r *rig) { r.runTake("a", 2); r.set(atMost(rate, time.Hour)); r.runTake("b", 4) },
			func(r *rig) { require.Equal(r.t, answer0, r.runUndo("a", 2)) }, 1, 1,
		},
		"undo, after it was released": {
			func(r *rig) { r.runTake("a", 2); require.NoError(r.t, r.Release(context.Background(), 2)) },
			func(r *rig) { require.Equal(r.t, answer0, r.runUndo("a", 2)) }, 5, 0,
		},
		"undo, after Java released it": {
			func(r *rig) { r.runTake("b", 1); r.runTake("a", 2); r.do("SET", r.valueKey(), "5") },
			func(r *rig) { require.Equal(r.t, answer1, r.runUndo("a", 2)) }, 5, 1,
		},
		"undo, after the value was evicted": {
			func(r *rig) { r.runTake("a", 2); r.runTake("b", 1); r.do("DEL", r.valueKey()) },
			func(r *rig) { require.Equal(r.t, answer1, r.runUndo("a", 2)) }, 4, 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := standingRig(t)
			r.set(atMost(rate, time.Hour))
			c.before(r)
			c.late(r)
			require.Len(t, r.entries(r.logKey()), c.logged)
			r.available(c.left)
		})
	}
}

func TestSecondRunAfterADeleteFindsNoRate(t *testing.T) {
	t.Parallel()
	r := standingRig(t)
	r.set(atMost(5, time.Hour))
	require.Equal(t, "1", r.runTake("a", 2))
	_, err := r.Delete(t.Context())
	require.NoError(t, err)
	require.Contains(t, r.runTake("a", 2), "nil")
	require.Equal(t, "0", r.runUndo("a", 2))
	require.Equal(t, "map[]", r.state())
}

func TestUndoFindsTheGrantOfAnotherType(t *testing.T) {
	t.Parallel()
	r := standingRig(t)
	r.set(atMostEach(5, time.Hour))
	require.Equal(t, "1", r.runTake("a", 2))
	require.EqualValues(t, 3, r.value(r.ownValueKey()))
	require.Equal(t, "1", r.runUndo("a", 2))
	require.EqualValues(t, 5, r.value(r.ownValueKey()))
}

func TestLooksChangeNothing(t *testing.T) {
	t.Parallel()
	r := standingRig(t)
	r.set(atMost(5, time.Hour))
	r.allowed(2)
	before := r.state()
	for range 2 {
		require.Equal(t, "1", r.run("log_take", "1", "", "0"))
		require.Equal(t, "0", r.run("log_take", "4", "", "0"))
		require.Equal(t, "5", r.run("log_read"))
		require.Equal(t, before, r.state())
	}
}

// TestScriptsSayWhichMayBeSentAgain: these are the ones that are shown
// above to bear it.
func TestScriptsSayWhichMayBeSentAgain(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("lua/log_*.lua")
	require.NoError(t, err)
	var safe []string
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		header, err := scripts.ParseHeader(string(text))
		require.NoError(t, err)
		if header.Replay >= scripts.Safe {
			safe = append(safe, strings.TrimSuffix(filepath.Base(file), ".lua"))
		}
	}
	require.ElementsMatch(t, []string{"log_take", "log_undo", "log_read"}, safe)
}

// faultyRig is a rig behind a proxy that loses replies. Its sends time out
// after 250 ms.
func faultyRig(t *testing.T) (*rig, *redistest.Proxy) {
	t.Helper()
	server := redistest.Shared(t)
	proxy := redistest.NewProxy(t, server.Addr())
	r := &rig{t: t, raw: server.Client(t), name: redistest.Name(t)}
	r.e = engineOn(t, logClientOf(t, proxy.Addr()), shortSends)
	r.Limiter = redissonlimiter.New(r.e, r.name)
	return r, proxy
}

func (r *rig) script(name string) redistest.Match {
	return redistest.All(redistest.MatchScript(logText(r.t, name)), redistest.Arg(r.name))
}
