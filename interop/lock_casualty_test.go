//go:build interop

package interop

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/interop/peer"
)

// casualty contends from a third JVM, until that is killed in the middle of the contest with the lock in its
// hands. What its threads do under the lock is done here, and so is their count: it is as long as they live.
type casualty struct {
	*world
	contest
	java   *peer.Peer
	counts []int64
	killed atomic.Bool
	left   int64 // what the counter was when it died
}

// contenderIsKilled: nobody gets the lock while the lease of the dead lasts, then the others go on, and no
// update of anybody is lost.
func contenderIsKilled(t *testing.T, w *world) {
	c := w.contest(t, redistest.Span(t, 4*time.Second, 12*time.Second))
	k := &casualty{world: w, contest: c, java: peer.Start(t, w.jvm), counts: make([]int64, contenders)}
	jvms := []*peer.Peer{w.java, w.second, k.java}
	ctx := within(t)
	w.warmUp(ctx, t, jvms)
	total := compete(ctx, t, append(parties(t, c, jvms), party{"Redisson " + k.java.Version() + ", killed", k.run})...)
	require.True(t, k.killed.Load(), "the JVM has survived the contest")
	require.Greater(t, total, k.left, "nobody went on")
	w.requireNoneLost(ctx, t, c, total)
}

func (k *casualty) run(ctx context.Context) ([]int64, error) {
	end := time.Now().Add(k.For / 3)
	err := together(contenders, func(i int) error {
		for !k.killed.Load() {
			err := k.turn(ctx, i, time.Now().After(end))
			if err != nil && !(k.killed.Load() && errors.Is(err, peer.ErrEnded)) {
				return fmt.Errorf("turn %d of the JVM to be killed: %w", k.counts[i], err)
			}
		}
		return nil
	})
	return k.counts, err
}

// turn ends with ErrEnded in those that wait, or hear that they have unlocked, when another one has killed
// the JVM.
func (k *casualty) turn(ctx context.Context, i int, last bool) error {
	thread := fmt.Sprint("casualty ", i)
	theirs := k.java.Lock(thread, k.Lock)
	if err := theirs.Lock(ctx); err != nil {
		return err
	}
	if err := addOne(ctx, k.redis, k.Counter); err != nil {
		return err
	}
	k.counts[i]++
	if !last {
		return theirs.Unlock(ctx)
	}
	return k.die(ctx, thread)
}

func (k *casualty) die(ctx context.Context, thread string) error {
	owner, err := k.java.Owner(ctx, thread)
	if err != nil {
		return err
	}
	if k.left, err = count(ctx, k.redis, k.Counter); err != nil {
		return err
	}
	k.killed.Store(true)
	k.java.Kill()
	return k.watch(ctx, owner)
}

// watch returns when the dead owner has lost the lock, by the end of its lease. Until then the counter must
// stand still: it is read first, so if the owner has the lock afterwards, it had it then.
func (k *casualty) watch(ctx context.Context, owner string) error {
	asked := time.Now()
	left, err := k.redis.Do(ctx, k.redis.B().Pttl().Key(k.Lock).Build()).AsInt64()
	if err != nil || left <= 0 {
		return errors.Join(err, fmt.Errorf("the lease of the dead has %d ms left", left))
	}
	if err := k.awaitEnd(ctx, owner); err != nil {
		return err
	}
	if early := time.Duration(left)*time.Millisecond - time.Since(asked); early > rounding {
		return fmt.Errorf("the lock of the dead was free %v before the end of its lease", early)
	}
	return nil
}

func (k *casualty) awaitEnd(ctx context.Context, owner string) error {
	for {
		now, err := count(ctx, k.redis, k.Counter)
		if err != nil {
			return err
		}
		held, err := k.redis.Do(ctx, k.redis.B().Hexists().Key(k.Lock).Field(owner).Build()).AsBool()
		if err != nil || !held {
			return err
		}
		if now != k.left {
			return fmt.Errorf("the counter went from %d to %d under the lock of the dead", k.left, now)
		}
	}
}
