package ratelimiter

import (
	"context"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/internal/scripts"
)

// right checks one call, and that decide.lua gets as many numbers as its buckets
// and runs are made of.
func right(t *testing.T, c redistest.ScriptCall) {
	t.Helper()
	c.Check(t)
	assert.NotContains(t, c.Args, "", c.Script)
	if c.Script == "decide.lua" {
		runs := len(c.Args) - 8*len(c.Keys)
		assert.GreaterOrEqual(t, runs, 0)
		assert.Zero(t, runs%(2+len(c.Keys)), "decide.lua takes runs of %d numbers, and got %d", 2+len(c.Keys), runs)
	}
}

// operation is what a user does, and the scripts that it sends then.
type operation struct {
	name    string
	do      func(ctx context.Context, l *Limiter) error
	scripts []string
}

var operations = []operation{
	{"rate", func(ctx context.Context, l *Limiter) error { _, err := l.Rate(ctx); return err }, []string{"rule_read.lua"}},
	{"try set rate", func(ctx context.Context, l *Limiter) error {
		_, _, err := l.TrySetRate(ctx, PerHour(5))
		return err
	}, []string{"rule_create.lua"}},
	{"set rate", func(ctx context.Context, l *Limiter) error { return l.SetRate(ctx, PerHour(5)) }, []string{"rule_set.lua"}},
	{"pause", func(ctx context.Context, l *Limiter) error { return l.Pause(ctx) }, []string{"rule_pause.lua"}},
	{"resume", func(ctx context.Context, l *Limiter) error { return l.Resume(ctx) }, []string{"rule_pause.lua"}},
	{"take", func(ctx context.Context, l *Limiter) error { _, err := l.Take(ctx, 1); return err }, []string{"take.lua"}},
	{"peek", func(ctx context.Context, l *Limiter) error { _, err := l.Peek(ctx); return err }, []string{"decide.lua"}},
	{"wait", func(ctx context.Context, l *Limiter) error { return l.Wait(ctx) }, []string{"decide.lua"}},
	{"charge", func(ctx context.Context, l *Limiter) error { _, err := l.Charge(ctx, 7); return err }, []string{"decide.lua"}},
	{"reserve and cancel", func(ctx context.Context, l *Limiter) error {
		r, err := l.Reserve(ctx)
		if err != nil {
			return err
		}
		return r.Cancel(ctx)
	}, []string{"decide.lua", "cancel.lua"}},
	{"refund", func(ctx context.Context, l *Limiter) error { return l.Refund(ctx, 2) }, []string{"decide.lua"}},
	{"all", func(ctx context.Context, l *Limiter) error {
		_, err := All(l.For("v"), New(l.core.Engine, l.Name()+"2").For("v", WithRule(PerHour(3)))).Take(ctx, 1)
		return err
	}, []string{"decide.lua"}},
	{"reset", func(ctx context.Context, l *Limiter) error { return l.Reset(ctx) }, []string{"reset.lua"}},
	{"prefetch", func(ctx context.Context, l *Limiter) error {
		_, err := New(l.core.Engine, l.Name(), WithPrefetch(2)).Take(ctx, 1)
		return err
	}, []string{"decide.lua"}},
	{"block", func(ctx context.Context, l *Limiter) error { return l.Block(ctx, time.Millisecond) }, []string{"block.lua"}},
	{"delete", func(ctx context.Context, l *Limiter) error { _, err := l.Delete(ctx); return err }, []string{"rule_delete.lua"}},
}

// apartFromReads leaves out the reads of the rule that are not what is tested:
// it is read again whenever what is known of it is too old.
func apartFromReads(wanted, names []string) []string {
	const read = "rule_read.lua"
	if slices.Contains(wanted, read) {
		return slices.Compact(names)
	}
	return slices.DeleteFunc(names, func(name string) bool { return name == read })
}

func TestEveryCallPassesWhatTheHeaderNames(t *testing.T) {
	t.Parallel()
	e, r := enginetest.Recorded(t)
	for _, name := range []string{"api", "{u1}:api", "a{b}c"} {
		l := New(e, name)
		_, _, err := l.TrySetRate(t.Context(), PerHour(5))
		require.NoError(t, err)
		for _, op := range operations {
			r.Take()
			require.NoError(t, op.do(t.Context(), l), op.name)
			calls := r.Take()
			require.Equal(t, op.scripts, apartFromReads(op.scripts, redistest.ScriptNames(calls)), op.name)
			for _, c := range calls {
				right(t, c)
				if strings.HasPrefix(c.Script, "rule_") {
					assert.Equal(t, name, c.Keys[0], "KEYS[1] is the rule")
				} else {
					assert.Contains(t, []string{keys.Bucket(name), keys.BucketOf(name, "v")}, c.Keys[0], "KEYS[1] is a bucket")
				}
			}
		}
	}
}

// A part is called where it is included.
func TestEveryScriptIsCalled(t *testing.T) {
	t.Parallel()
	lua := os.DirFS("internal/exchange")
	files, err := fs.ReadDir(lua, "lua")
	require.NoError(t, err)
	var there, called []string
	for _, f := range files {
		body, err := scripts.Read(lua, "lua/"+f.Name())
		require.NoError(t, err)
		if !scripts.IsPart(body) {
			there = append(there, f.Name())
		}
	}
	for _, op := range operations {
		called = append(called, op.scripts...)
	}
	slices.Sort(called)
	assert.ElementsMatch(t, there, slices.Compact(called), "scripts, and those that the test above calls")
}

// A rate that was read before it was changed here, and whose answer comes
// later, must not hide the change from the client that made it.
func TestAnAnswerFromBeforeAChangeDoesNotHideIt(t *testing.T) {
	t.Parallel()
	e, r := enginetest.Recorded(t)
	l := New(e, "api")
	require.NoError(t, l.SetRate(t.Context(), PerHour(5)))
	_, err := l.Rate(t.Context())
	require.NoError(t, err)
	var once sync.Once
	asking := make(chan error, 1)
	r.Around(func(script string) {
		if script != "rule_set.lua" {
			return
		}
		once.Do(func() { // the rate is read while its change is on its way
			_, err := l.Rate(context.Background())
			asking <- err
		})
	}, nil)
	require.NoError(t, l.SetRate(t.Context(), PerHour(3)))
	require.NoError(t, <-asking)
	d, err := l.Take(t.Context(), 1)
	require.NoError(t, err)
	assert.Equal(t, PerHour(3), d.Rate, "the rate that SetRate had just set")
}

// Who asks for the rate is not told what was read before it asked, and changed
// since.
func TestTheRateIsNotThatOfAnEarlierQuestion(t *testing.T) {
	t.Parallel()
	e, r := enginetest.Recorded(t)
	l := New(e, "api")
	require.NoError(t, l.SetRate(t.Context(), PerHour(5)))
	_, err := l.Rate(t.Context()) // the script is known now
	require.NoError(t, err)
	var once sync.Once
	read, goOn := make(chan struct{}), make(chan struct{})
	r.Around(nil, func(script string) {
		if script == "rule_read.lua" {
			once.Do(func() { close(read); <-goOn }) // its answer takes long
		}
	})
	first := make(chan error, 1)
	go func() { // ends when the answer may go on
		_, err := l.Rate(context.Background())
		first <- err
	}()
	<-read
	require.NoError(t, l.SetRate(t.Context(), PerHour(3)))
	type outcome struct {
		rate Rate
		err  error
	}
	second := make(chan outcome, 1)
	go func() { // likewise
		rate, err := l.Rate(context.Background())
		second <- outcome{rate, err}
	}()
	var got outcome
	select {
	case got = <-second:
	case <-time.After(200 * time.Millisecond): // it waits for the first one's answer
	}
	close(goOn)
	require.NoError(t, <-first)
	if got == (outcome{}) {
		got = <-second
	}
	require.NoError(t, got.err)
	assert.Equal(t, PerHour(3), got.rate)
}
