package writethrough

import (
	"context"
	"maps"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/owner"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/rmap"
	"github.com/rueidisson/rueidisson/rmap/internal/mapkinds"
	"github.com/rueidisson/rueidisson/rmap/internal/maptest"
)

// slowly is a codec that tells the parent of what it reads, and waits for an answer.
type slowly struct {
	codec.Codec[int]
	p    *redistest.Parent
	read chan struct{}
}

func (c slowly) Decode(b []byte) (int, error) {
	c.p.Say("decode")
	c.p.Hear()
	close(c.read)
	return c.Codec.Decode(b)
}

// pausedWriters are processes that are paused when they have taken a batch.
var pausedWriters = redistest.Children{"paused writer": func(p *redistest.Parent) {
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{os.Getenv("ADDR")}, DisableCache: true, ForceSingleClient: true})
	if err != nil {
		panic(err)
	}
	e, err := locking.New(context.Background(), client, core.Config{ClientID: owner.NewClient(), WatchdogTimeout: time.Second, Linger: time.Second})
	if err != nil {
		panic(err)
	}
	read := make(chan struct{})
	m := rmap.New[string, int](e, os.Getenv("NAME"), rmap.WithValueCodec[int](slowly{maptest.TextCodecOf[int](), p, read}))
	w := New(m, func(context.Context, []Change[string, int]) error { p.Say("write"); return nil }, WithBehind(1))
	if err := w.Put(context.Background(), "k", 1); err != nil {
		panic(err)
	}
	<-read
	p.Say("closed %v", w.Close(context.Background()))
	p.Hear()
}}

// TestWhoSleptPastItsHoldDoesNotWrite what it took before: another has, and what is
// newer.
func TestWhoSleptPastItsHoldDoesNotWrite(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	raw := server.Client(t)
	name := maptest.CacheNamed(t, raw)
	c := redistest.StartChild(t, "paused writer", "ADDR="+server.Addr(), "NAME="+name)
	require.Equal(t, "decode", c.Next())
	c.Stop()
	c.Send("go on")
	s := newBehindMap()
	w := New(rmap.New[string, int](maptest.EngineOn(t, raw), name, rmap.WithValueCodec(maptest.TextCodecOf[int]())), s.write, ways["behind"]...)
	require.NoError(t, w.Put(t.Context(), "k", 2))
	require.NoError(t, w.Close(t.Context()))
	require.Equal(t, map[string]int{"k": 2}, s.now())
	c.Cont()
	require.Equal(t, "closed <nil>", c.Next(), "and not that it has written")
}

// TestWritersThatArePaused leave nothing to be lost, and nothing wrong in a store that
// refuses older tokens.
func TestWritersThatArePaused(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	raw := server.Client(t)
	name := maptest.CacheNamed(t, raw)
	t.Cleanup(func() { raw.Do(context.Background(), raw.B().Del().Key(name+"-store").Build()) })
	children := map[string]*redistest.Child{}
	for _, who := range []string{"a", "b"} {
		children[who] = redistest.StartChild(t, "writer", "ADDR="+server.Addr(), "NAME="+name, "WHO="+who, "FIRST=0")
	}
	acked := map[string]int{}
	hear := func(who string) {
		key, value, _ := strings.Cut(children[who].Next(), "=")
		n, err := strconv.Atoi(value)
		require.NoError(t, err)
		acked[key] = n
	}
	for range redistest.Count(t, 1, 20) {
		for who, c := range children {
			hear(who)
			c.Stop()
			for end := time.Now().Add(1200 * time.Millisecond); time.Now().Before(end); { // its hold has ended
				for other := range children {
					if other != who {
						hear(other)
					}
				}
			}
			c.Cont()
		}
	}
	for _, c := range children {
		c.Kill()
	}
	s := newBehindMap()
	last := New(rmap.New[string, int](maptest.EngineOn(t, raw), name), s.write, WithBehind(100), WithWriteDelay(time.Millisecond))
	require.NoError(t, last.Close(t.Context()))
	lines, err := raw.Do(t.Context(), raw.B().Lrange().Key(name+"-store").Start(0).Stop(-1).Build()).AsStrSlice()
	require.NoError(t, err)
	stored := fencedStore(t, lines)
	maps.Copy(stored, s.now())
	require.Equal(t, mapkinds.Contents(t, last.m), stored)
	for key, n := range acked {
		require.GreaterOrEqual(t, stored[key], n, key)
	}
}

// fencedStore is what a store has that was told all of that, token key=value, and
// refuses older tokens.
func fencedStore(t *testing.T, lines []string) map[string]int {
	t.Helper()
	stored, newest := map[string]int{}, 0
	for _, line := range lines {
		head, change, _ := strings.Cut(line, " ")
		token, err := strconv.Atoi(head)
		require.NoError(t, err)
		if token < newest {
			continue
		}
		newest = token
		key, value, _ := strings.Cut(change, "=")
		stored[key], err = strconv.Atoi(value)
		require.NoError(t, err)
	}
	return stored
}
