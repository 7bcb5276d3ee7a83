package rmap

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/rmap/internal/maptest"
)

// huge is a byte more than a server takes, of memory that nobody touches: its
// pages are the operating system's one page of zeros.
var huge = make([]byte, core.LargestValue+1)

// hugeCodec writes a number as so many bytes, and copies none of them.
type hugeCodec struct{}

func (hugeCodec) Append(dst []byte, n int) ([]byte, error) {
	if n < 100 {
		return append(dst, huge[:n]...), nil
	}
	return huge[:n:n], nil
}

func (hugeCodec) Decode(b []byte) (int, error) { return len(b), nil }

// sized is what the kinds of map have in common that takes a value.
type sized interface {
	Put(ctx context.Context, k, v int, opts ...PutOption) error
	PutMany(ctx context.Context, entries map[int]int, opts ...PutOption) error
	Swap(ctx context.Context, k, v int, opts ...PutOption) (int, bool, error)
	PutIfAbsent(ctx context.Context, k, v int, opts ...PutOption) (int, bool, error)
	Replace(ctx context.Context, k, v int, opts ...PutOption) (bool, error)
	CompareAndSwap(ctx context.Context, k, old, v int, opts ...PutOption) (bool, error)
	CompareAndRemove(ctx context.Context, k, old int) (bool, error)
	Compute(ctx context.Context, k int, f func(int, bool) (int, Verdict, error), opts ...PutOption) (int, bool, error)
	Remove(ctx context.Context, ks ...int) (int64, error)
	Take(ctx context.Context, k int) (int, bool, error)
	Get(ctx context.Context, k int) (int, bool, error)
	GetMany(ctx context.Context, ks ...int) (map[int]int, error)
	Has(ctx context.Context, k int) (bool, error)
}

// plainMap has the options that a plain map refuses.
type plainMap struct{ *Map[int, int] }

func (m plainMap) Put(ctx context.Context, k, v int, _ ...PutOption) error {
	return m.Map.Put(ctx, k, v)
}
func (m plainMap) PutMany(ctx context.Context, all map[int]int, _ ...PutOption) error {
	return m.Map.PutMany(ctx, all)
}
func (m plainMap) Swap(ctx context.Context, k, v int, _ ...PutOption) (int, bool, error) {
	return m.Map.Swap(ctx, k, v)
}
func (m plainMap) PutIfAbsent(ctx context.Context, k, v int, _ ...PutOption) (int, bool, error) {
	return m.Map.PutIfAbsent(ctx, k, v)
}
func (m plainMap) Replace(ctx context.Context, k, v int, _ ...PutOption) (bool, error) {
	return m.Map.Replace(ctx, k, v)
}
func (m plainMap) CompareAndSwap(ctx context.Context, k, old, v int, _ ...PutOption) (bool, error) {
	return m.Map.CompareAndSwap(ctx, k, old, v)
}

// TestWhatNoServerTakesIsNotSent: a server would end the connection, and what
// else is under way on it.
func TestWhatNoServerTakesIsNotSent(t *testing.T) {
	t.Parallel()
	client, proxy := maptest.Through(t, redistest.Shared(t, redistest.Version("8.0")))
	e := maptest.EngineOn(t, client)
	ctx := t.Context()
	opts := []MapOption{WithKeyCodec[int](hugeCodec{}), WithValueCodec[int](hugeCodec{})}
	name := redistest.Name(t)
	c := NewCache[int, int](e, name, maptest.As[CacheOption](opts)...)
	for kind, k := range map[string]struct {
		m                      sized
		longestKey, longestVal int
		times                  []PutOption
	}{
		"map":    {plainMap{New[int, int](e, name, opts...)}, core.LargestValue, core.LargestValue, nil},
		"native": {NewTTLMap[int, int](e, name, maptest.As[TTLMapOption](opts)...), core.LargestValue, core.LargestValue, []PutOption{WithTTL(time.Hour)}},
		"cache":  {c, core.LargestValue - len(c.c.Names.Lease("")), core.LargestValue - 16, []PutOption{WithTTL(time.Hour), WithMaxIdle(time.Hour)}},
	} {
		m, v, key := k.m, k.longestVal+1, k.longestKey+1
		_, _, err := m.Get(ctx, 1) // what is asked of the server once
		require.NoError(t, err)
		proxy.ResetLog()
		calls := map[string]func() error{
			"put":                func() error { return m.Put(ctx, 1, v, k.times...) },
			"put, key":           func() error { return m.Put(ctx, key, 1, k.times...) },
			"put many":           func() error { return m.PutMany(ctx, map[int]int{1: 2, 2: v}, k.times...) },
			"swap":               func() error { _, _, err := m.Swap(ctx, 1, v, k.times...); return err },
			"put if absent":      func() error { _, _, err := m.PutIfAbsent(ctx, 1, v, k.times...); return err },
			"replace":            func() error { _, err := m.Replace(ctx, 1, v, k.times...); return err },
			"compare and swap":   func() error { _, err := m.CompareAndSwap(ctx, 1, 2, v, k.times...); return err },
			"compare, old":       func() error { _, err := m.CompareAndSwap(ctx, 1, v, 2, k.times...); return err },
			"compare and remove": func() error { _, err := m.CompareAndRemove(ctx, 1, v); return err },
			"remove, key":        func() error { _, err := m.Remove(ctx, 1, key); return err },
			"take, key":          func() error { _, _, err := m.Take(ctx, key); return err },
			"get, key":           func() error { _, _, err := m.Get(ctx, key); return err },
			"get many, key":      func() error { _, err := m.GetMany(ctx, 1, key); return err },
			"has, key":           func() error { _, err := m.Has(ctx, key); return err },
		}
		for what, call := range calls {
			require.ErrorIs(t, call(), ErrInvalidArgument, "%s %s", kind, what)
		}
		assert.Empty(t, proxy.Log(), "%s: nothing was sent", kind)
		_, _, err = m.Compute(ctx, 1, func(int, bool) (int, Verdict, error) { return v, Store, nil })
		require.ErrorIs(t, err, ErrInvalidArgument, kind)
		for _, cmd := range proxy.Log() { // which has read
			assert.Less(t, len(strings.Join(cmd, "")), 1000)
		}
	}
	proxy.ResetLog()
	_, err := c.Touch(ctx, core.LargestValue)
	require.ErrorIs(t, err, ErrInvalidArgument)
	_, err = c.TTL(ctx, core.LargestValue)
	require.ErrorIs(t, err, ErrInvalidArgument)
	assert.Empty(t, proxy.Log())
}

// TestALargeValueHasTimeToBeSent: what is on its way for longer than a send may take
// is, for its length, not lost. A machine that takes longer for it than a slow link
// would may try again, and never finds that it was lost too early.
func TestALargeValueHasTimeToBeSent(t *testing.T) {
	t.Parallel()
	const length, send = 16 << 20, 250 * time.Millisecond
	const due = send + length*time.Second/(8<<20)
	client, proxy := maptest.Through(t, redistest.Shared(t))
	e := maptest.EngineOn(t, client, func(c *core.Config) { c.WatchdogTimeout = 6 * send })
	m := New[int, int](e, maptest.Named(t, client), WithKeyCodec[int](hugeCodec{}), WithValueCodec[int](hugeCodec{}))
	var put error
	for round := range 5 {
		held := proxy.HoldRequest(redistest.All(redistest.Command("HSET"), redistest.Arg(m.Name())))
		done, began := make(chan struct{}), time.Now()
		go func() { defer close(done); put = m.Put(t.Context(), 1, length) }()
		held.Await(t)
		time.Sleep(2*send - time.Since(began)) // then a small one would be lost
		held.Release()
		<-done
		if put == nil {
			break
		}
		require.ErrorIs(t, put, ErrOutcomeUnknown)
		require.GreaterOrEqual(t, time.Since(began), due, "it was lost too early")
		t.Logf("round %d: this machine took %v", round+1, time.Since(began))
	}
	require.NoError(t, put)
	held := proxy.HoldRequest(redistest.All(redistest.Command("HSET"), redistest.Arg(m.Name())))
	require.ErrorIs(t, m.Put(t.Context(), 1, 1), ErrOutcomeUnknown, "what is small has not")
	held.Release()
}

// TestTheLargestValuesAreTaken by every write: what a soak writes is as long as a
// server takes by default.
func TestTheLargestValuesAreTaken(t *testing.T) {
	t.Parallel()
	size := redistest.Count(t, 3<<19, core.LargestValue)
	server := redistest.Start(t, redistest.Version("8.0")) // which others do not wait for
	e := maptest.EngineOn(t, server.Client(t), func(c *core.Config) { c.WatchdogTimeout = 5 * time.Minute })
	ctx := t.Context()
	opts := []MapOption{WithKeyCodec[int](hugeCodec{}), WithValueCodec[int](hugeCodec{})}
	for kind, k := range map[string]struct {
		make func(name string) sized
		size int
		opts []PutOption
	}{
		"map":    {func(name string) sized { return plainMap{New[int, int](e, name, opts...)} }, size, nil},
		"native": {func(name string) sized { return NewTTLMap[int, int](e, name, maptest.As[TTLMapOption](opts)...) }, size, []PutOption{WithTTL(time.Hour)}},
		"cache":  {func(name string) sized { return NewCache[int, int](e, name, maptest.As[CacheOption](opts)...) }, size - 16, []PutOption{WithTTL(time.Hour)}},
	} {
		for what, write := range map[string]func(m sized) error{
			"put":           func(m sized) error { return m.Put(ctx, 1, k.size, k.opts...) },
			"put many":      func(m sized) error { return m.PutMany(ctx, map[int]int{1: k.size}, k.opts...) },
			"swap":          func(m sized) error { _, _, err := m.Swap(ctx, 1, k.size, k.opts...); return err },
			"put if absent": func(m sized) error { _, _, err := m.PutIfAbsent(ctx, 1, k.size, k.opts...); return err },
			"replace": func(m sized) error {
				require.NoError(t, m.Put(ctx, 1, 1, k.opts...))
				_, err := m.Replace(ctx, 1, k.size, k.opts...)
				return err
			},
			"compare and swap": func(m sized) error {
				require.NoError(t, m.Put(ctx, 1, 1, k.opts...))
				_, err := m.CompareAndSwap(ctx, 1, 1, k.size, k.opts...)
				return err
			},
			"compute": func(m sized) error {
				_, _, err := m.Compute(ctx, 1, func(int, bool) (int, Verdict, error) { return k.size, Store, nil })
				return err
			},
		} {
			m := k.make(redistest.Name(t))
			require.NoError(t, write(m), "%s, %s", kind, what)
			n, there, err := m.Get(ctx, 1)
			require.NoError(t, err, "%s, %s", kind, what)
			require.True(t, there)
			require.Equal(t, k.size, n, "%s, %s", kind, what)
			ok, err := m.CompareAndRemove(ctx, 1, k.size)
			require.NoError(t, err, "%s, %s", kind, what)
			require.True(t, ok, "%s, %s", kind, what)
		}
	}
}
