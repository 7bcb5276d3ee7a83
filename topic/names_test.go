package topic

import (
	"context"
	"errors"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
)

// Not parallel: what other tests hold would be counted.
func TestNothingStaysBehindOfManyNames(t *testing.T) {
	const before, names = 1_000, 1_000_000
	server := redistest.Start(t)
	e := engineOn(t, server.Client(t))
	useNames(t, 0, before, func(name string) error { return useTopic(kinds["plain"](e, name)) })
	used := before
	stays := func() bool {
		was := heapInUse()
		more := redistest.Count(t, 5_000, names)
		useNames(t, used, used+more, func(name string) error { return useTopic(kinds["plain"](e, name)) })
		used += more
		return !redistest.InTime(func() bool { return heapInUse() < was+was/10 }, 5*time.Second, 100*time.Millisecond)
	}
	for round := 1; stays(); round++ {
		require.Less(t, round, 3, "the heap grows with the names")
	}
	left, err := e.Redis.Do(t.Context(), e.Redis.B().PubsubChannels().Build()).AsStrSlice()
	require.NoError(t, err)
	require.Empty(t, left)
	keys, err := e.Redis.Do(t.Context(), e.Redis.B().Dbsize().Build()).AsInt64()
	require.NoError(t, err)
	require.Zero(t, keys)
}

// useTopic has one listen, and publishes to it.
func useTopic(o topicOf) error {
	ctx := context.Background()
	s, err := o.listen(ctx)
	if err != nil {
		return err
	}
	defer s.close()
	_, err = o.publish(ctx, "x")
	for _, told := range s.messages(ctx) {
		return errors.Join(err, told)
	}
	return err
}

// useNames uses each name once, 64 at a time.
func useNames(t *testing.T, from, to int, once func(name string) error) {
	t.Helper()
	var all sync.WaitGroup
	for worker := range 64 {
		all.Go(func() {
			for i := from + worker; i < to; i += 64 {
				if !assert.NoError(t, once("name"+strconv.Itoa(i))) {
					return
				}
			}
		})
	}
	all.Wait()
}

// heapInUse is the heap that is reachable.
func heapInUse() uint64 {
	var m runtime.MemStats
	for range 3 {
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// Not parallel, for the same reason.
func TestNothingStaysBehindOfManyReliableTopics(t *testing.T) {
	server := redistest.Start(t)
	e := engineOn(t, server.Client(t))
	once := func(name string) error {
		topic := NewReliable[string](e, name)
		s, err := topic.Listen(context.Background())
		if err != nil {
			return err
		}
		defer s.Close()
		if _, err = topic.Publish(context.Background(), "x"); err != nil {
			return err
		}
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		for range s.Messages(ctx) {
			cancel() // it asks for the next, so this one is handled
		}
		return nil
	}
	useNames(t, 0, 200, once)
	was, more := heapInUse(), redistest.Count(t, 1_000, 200_000)
	useNames(t, 200, 200+more, once)
	h := reliablesOf(e)
	none := func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		return len(h.feeds) == 0 && len(h.reading) == 0
	}
	require.True(t, redistest.InTime(func() bool { return none() && heapInUse() < was+was/5 }, soon, 100*time.Millisecond), "the heap grows with the names")
	require.LessOrEqual(t, len(h.servers), 1)
	for _, pattern := range []string{"name*", "{name*"} {
		left := redistest.Do(t, e.Redis, "KEYS", pattern)
		keys, err := left.AsStrSlice()
		require.NoError(t, err)
		require.Empty(t, keys)
	}
}
