package rueidisson_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/bucket"
	"github.com/rueidisson/rueidisson/counter"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/lock"
	"github.com/rueidisson/rueidisson/rmap"
	"github.com/rueidisson/rueidisson/set"
)

// pipelined counts what a client sends by its shared connections.
type pipelined struct {
	rueidis.Client
	pipelines, commands, alone atomic.Int64
}

func (p *pipelined) Do(ctx context.Context, cmd rueidis.Completed) rueidis.RedisResult {
	p.alone.Add(1)
	return p.Client.Do(ctx, cmd)
}

func (p *pipelined) DoMulti(ctx context.Context, cmds ...rueidis.Completed) []rueidis.RedisResult {
	p.pipelines.Add(1)
	p.commands.Add(int64(len(cmds)))
	return p.Client.DoMulti(ctx, cmds...)
}

// TestBatchSendsWhatItsFunctionsAskTogether: operations of several objects, each with its own answer and error.
func TestBatchSendsWhatItsFunctionsAskTogether(t *testing.T) {
	t.Parallel()
	redistest.OnServers(t, func(t *testing.T, raw rueidis.Client) {
		p := &pipelined{Client: raw}
		c := connected(t, p)
		name := redistest.Name(t)
		require.NoError(t, raw.Do(t.Context(), raw.B().Rpush().Key(name+"list").Element("a").Build()).Error())
		p.alone.Store(0)
		const functions, rounds = 125, 8
		fns := make([]func(context.Context) error, functions)
		for i := range fns {
			fns[i] = func(ctx context.Context) error {
				b := bucket.New[int](c, fmt.Sprint(name, i))
				for j := range rounds - 2 {
					if err := b.Set(ctx, i*rounds+j, bucket.WithTTL(time.Minute)); err != nil {
						return err
					}
				}
				m := rmap.New[string, int](c, fmt.Sprint("{", name, i, "}map"))
				if err := m.Put(ctx, "k", i); err != nil {
					return err
				}
				_, err := set.New[string](c, name+"list").Add(ctx, "b")
				return err
			}
		}
		err := c.Batch(t.Context(), fns...)
		require.ErrorContains(t, err, "WRONGTYPE")
		joined, is := err.(interface{ Unwrap() []error })
		require.True(t, is)
		require.Len(t, joined.Unwrap(), functions)
		require.Less(t, p.pipelines.Load()+p.alone.Load(), int64(functions*rounds/4), "%d alone", p.alone.Load())
		for i := range functions {
			v, there, err := bucket.New[int](c, fmt.Sprint(name, i)).Get(t.Context())
			require.NoError(t, err)
			require.True(t, there)
			require.Equal(t, i*rounds+rounds-3, v)
		}
	})
}

// TestBatchReturnsTheErrorsOfItsFunctions in their order, and an error of one ends no other.
func TestBatchReturnsTheErrorsOfItsFunctions(t *testing.T) {
	t.Parallel()
	c := connected(t, redistest.MiniredisClient(t))
	first, last := errors.New("first"), errors.New("last")
	b := bucket.New[string](c, redistest.Name(t))
	err := c.Batch(t.Context(),
		func(context.Context) error { return first },
		func(ctx context.Context) error { return b.Set(ctx, "v") },
		func(context.Context) error { return last })
	require.ErrorIs(t, err, first)
	require.ErrorIs(t, err, last)
	require.EqualError(t, err, "first\nlast")
	v, _, err := b.Get(t.Context())
	require.NoError(t, err)
	require.Equal(t, "v", v)
	require.NoError(t, c.Batch(t.Context()))
	require.NoError(t, c.Batch(t.Context(), func(context.Context) error { return nil }))
}

// TestBatchRefusesWhatItCannotCall before it calls any.
func TestBatchRefusesWhatItCannotCall(t *testing.T) {
	t.Parallel()
	c := connected(t, redistest.MiniredisClient(t))
	called := func(context.Context) error { t.Error("it is called"); return nil }
	require.ErrorIs(t, c.Batch(t.Context(), called, nil), rueidisson.ErrInvalidArgument)
	var none context.Context
	require.ErrorIs(t, c.Batch(none, called), rueidisson.ErrInvalidArgument)
	cause := errors.New("its cause")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	err := c.Batch(ctx, called)
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, err, cause)
	require.NoError(t, c.Close(t.Context()))
	require.ErrorIs(t, c.Batch(t.Context(), called), rueidisson.ErrClosed)
}

// TestBatchEndsWithItsFunctions whatever they do: one that panics, one that ends its goroutine, one that waits for a lock of another.
func TestBatchEndsWithItsFunctions(t *testing.T) {
	t.Parallel()
	c := connected(t, redistest.Shared(t).Client(t))
	name := redistest.Name(t)
	b := bucket.New[string](c, name)
	value := errors.New("its value")
	func() {
		defer func() {
			err, is := recover().(error)
			require.True(t, is)
			require.ErrorIs(t, err, value)
			require.ErrorContains(t, err, "batch_test.go")
		}()
		_ = c.Batch(t.Context(),
			func(context.Context) error { panic(value) },
			func(ctx context.Context) error { return b.Set(ctx, "after a panic") })
		t.Error("it returned")
	}()
	v, _, err := b.Get(t.Context())
	require.NoError(t, err)
	require.Equal(t, "after a panic", v)

	var exits sync.WaitGroup
	exits.Go(func() {
		_ = c.Batch(t.Context(), func(context.Context) error { runtime.Goexit(); return nil })
		t.Error("it returned")
	})
	exits.Wait()

	order := make(chan string, 2)
	held := make(chan struct{})
	require.NoError(t, c.Batch(t.Context(),
		func(ctx context.Context) error {
			hold, err := c.Lock(name + "lock").Lock(ctx)
			if err != nil {
				return err
			}
			close(held)
			for i := range 3 {
				if err := b.Set(ctx, fmt.Sprint(i)); err != nil {
					return err
				}
			}
			order <- "first"
			return hold.Unlock(ctx)
		},
		func(ctx context.Context) error {
			<-held
			return lock.Do(ctx, c.Lock(name+"lock"), func(context.Context) error { order <- "second"; return nil })
		}))
	require.Equal(t, "first", <-order)
	require.Equal(t, "second", <-order)
}

// TestBatchInABatch, and calls under the ctx of a function that has returned.
func TestBatchInABatch(t *testing.T) {
	t.Parallel()
	c := connected(t, redistest.Shared(t).Client(t))
	name := redistest.Name(t)
	hits := counter.New(c, name)
	var late context.Context
	once := func(ctx context.Context) error { _, err := hits.Add(ctx, 1); return err }
	twice := func(ctx context.Context) error { return c.Batch(ctx, once, once) }
	require.NoError(t, c.Batch(t.Context(), twice, once, twice, func(ctx context.Context) error { late = ctx; return nil }))
	require.NoError(t, once(late))
	require.NoError(t, c.Batch(late, twice, once))
	n, err := hits.Get(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 9, n)
}

// TestBatchEndsWithItsContext: the functions are told, and none is left.
func TestBatchEndsWithItsContext(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	raw, proxy := redistest.ThroughProxy(t, server)
	c := connected(t, raw)
	proxy.BlackHole()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	fns := make([]func(context.Context) error, 100)
	var ended atomic.Int64
	for i := range fns {
		fns[i] = func(ctx context.Context) error {
			err := bucket.New[string](c, fmt.Sprint(redistest.Name(t), i)).Set(ctx, "v")
			if errors.Is(err, context.DeadlineExceeded) { // ErrOutcomeUnknown, too, if it was sent
				ended.Add(1)
			}
			return err
		}
	}
	err := c.Batch(ctx, fns...)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.EqualValues(t, len(fns), ended.Load())
	proxy.Restore()
}

// TestBatchOfManyFunctions has few pipelines, and leaves no goroutine.
func TestBatchOfManyFunctions(t *testing.T) {
	t.Parallel()
	p := &pipelined{Client: redistest.Shared(t).Client(t)}
	c := connected(t, p)
	name := redistest.Name(t)
	n := redistest.Count(t, 3000, 10_000)
	fns := make([]func(context.Context) error, n)
	for i := range fns {
		fns[i] = func(ctx context.Context) error {
			return bucket.New[int](c, fmt.Sprint(name, i)).Set(ctx, i, bucket.WithTTL(time.Minute))
		}
	}
	require.NoError(t, c.Batch(t.Context(), fns...))
	require.Less(t, p.pipelines.Load()+p.alone.Load(), int64(n/20))
}
