package rmap

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/sweep"
)

var usesOnce = map[string]enginetest.UsedOnce{
	"map": func(ctx context.Context, e *locking.Engine, _ rueidis.Client, name string) error {
		m := New[string, int](e, name, WithCodec(codec.Text), WithEntryLock())
		ids := New[string, int](e, name, WithCodec(codec.Text), WithRequestIDs())
		_, _, err := m.Compute(ctx, "5", increment)
		return errors.Join(err, holds(ctx, ids, 1), deletes(ctx, ids))
	},
	"cache": func(ctx context.Context, e *locking.Engine, _ rueidis.Client, name string) error {
		m := NewCache[string, int](e, name, WithTTL(time.Second))
		return errors.Join(m.Put(ctx, "5", 5), holds(ctx, m, 5))
	},
	"sharded": func(ctx context.Context, e *locking.Engine, _ rueidis.Client, name string) error {
		m := NewSharded[string, int](e, name, 3)
		return errors.Join(m.Put(ctx, "5", 5), holds(ctx, m, 5), deletes(ctx, m))
	},
	"near, tracked":   nearOnce(nil),
	"near, announced": nearOnce([]MapOption{WithAnnounce()}, WithAnnounced()),
	"loading": func(ctx context.Context, e *locking.Engine, _ rueidis.Client, name string) error {
		m := New[string, int](e, name)
		l := NewLoading(m, quick, WithAbsentFor(time.Hour))
		_, _, err := l.Get(ctx, "none")
		return errors.Join(err, holds(ctx, l, 5), deletes(ctx, m))
	},
	"writing through": writingOnce(),
	"writing behind":  writingOnce(WithBehind(1), WithWriteDelay(time.Millisecond)),
}

func nearOnce(opts []MapOption, with ...NearOption) enginetest.UsedOnce {
	return func(ctx context.Context, e *locking.Engine, _ rueidis.Client, name string) error {
		m := New[string, int](e, name, opts...)
		n := NewNear(m, with...)
		return errors.Join(n.Put(ctx, "5", 5), holds(ctx, n, 5), holds(ctx, n, 5), deletes(ctx, m))
	}
}

func writingOnce(opts ...WritingOption) enginetest.UsedOnce {
	return func(ctx context.Context, e *locking.Engine, raw rueidis.Client, name string) error {
		m := New[string, int](e, name)
		w := NewWriting(m, func(context.Context, []Change[string, int]) error { return nil }, opts...)
		return errors.Join(w.Put(ctx, "5", 5), holds(ctx, w, 5), w.Close(ctx), deletes(ctx, m),
			raw.Do(ctx, raw.B().Del().Key(keys.FenceToken(keys.MapDrain(name))).Build()).Error())
	}
}

func holds(ctx context.Context, m Mapping[string, int], want int) error {
	v, _, err := m.Get(ctx, "5")
	if err == nil && v != want {
		return fmt.Errorf("read %d", v)
	}
	return err
}

func deletes(ctx context.Context, m interface {
	Delete(ctx context.Context) (bool, error)
}) error {
	_, err := m.Delete(ctx)
	return err
}

// TestWhatIsUsedOnceLeavesNothing: nobody closes a near cache. It is not parallel: it looks at the heap.
func TestWhatIsUsedOnceLeavesNothing(t *testing.T) {
	for kind, once := range usesOnce {
		t.Run(kind, func(t *testing.T) {
			enginetest.LeavesNothing(t, once, func(e *locking.Engine) int { return sweep.Of(e).Len() })
		})
	}
}
