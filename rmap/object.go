package rmap

import (
	"context"
	"fmt"
	"time"

	"github.com/rueidisson/rueidisson/internal/engine"
	"github.com/rueidisson/rueidisson/internal/keys"
)

// What is done to all keys of a map is the same for every kind of map.

func (m *handle[K, V]) deleteAll(ctx context.Context) (there bool, err error) {
	if err = m.usable(ctx); err == nil {
		there, err = writing(ctx, m.h, func() (bool, error) {
			s := m.sender()
			if m.cfg.announce {
				return engine.Yes(s.dropAll(ctx))
			}
			return engine.Yes(s.delete(ctx, m.store.object()))
		})
	}
	return there, m.failed("delete", err)
}

func (m *handle[K, V]) exists(ctx context.Context) (there bool, err error) {
	if err = m.usable(ctx); err == nil {
		there, err = reading(ctx, m.h, func() (bool, error) {
			s := m.sender()
			return engine.Yes(s.read(ctx, exists))
		})
	}
	return there, m.failed("look for", err)
}

func (m *handle[K, V]) expire(ctx context.Context, d time.Duration) (there bool, err error) {
	if err = engine.CheckTTL("time to live", d); err == nil {
		there, err = m.setTime(ctx, decimal(engine.Millis(d)))
	}
	return there, m.failed("expire", err)
}

func (m *handle[K, V]) persist(ctx context.Context) (had bool, err error) {
	had, err = m.setTime(ctx, "")
	return had, m.failed("persist", err)
}

func (m *handle[K, V]) setTime(ctx context.Context, ms string) (bool, error) {
	if err := m.usable(ctx); err != nil {
		return false, err
	}
	return writing(ctx, m.h, func() (bool, error) {
		all, s := m.store.object(), m.sender()
		return engine.Yes(s.write(ctx, expireScript, append(all, s.keys()[1:]...), s.tellAll(decimal(int64(len(all))), ms)...))
	})
}

func (m *handle[K, V]) remaining(ctx context.Context) (left time.Duration, err error) {
	if err = m.usable(ctx); err == nil {
		left, err = reading(ctx, m.h, func() (time.Duration, error) {
			s := m.sender()
			return engine.Remainder(engine.Number(s.read(ctx, pttl)))
		})
	}
	return left, m.failed("look at", err)
}

func (m *handle[K, V]) rename(ctx context.Context, to string, object func(key string) []string) (done bool, err error) {
	pairs, err := m.renaming(ctx, to, object)
	if err == nil {
		done, err = writing(ctx, m.h, func() (bool, error) {
			s := m.sender()
			return engine.Yes(s.write(ctx, renameScript, pairs, s.tellBoth(m.h.e.Map(to), decimal(int64(len(pairs)/2)))...))
		})
	}
	return done, m.failed("rename", err)
}

// renaming is the keys of the map, each with its new name. Object is the keys of
// a map of that name.
func (m *handle[K, V]) renaming(ctx context.Context, to string, object func(key string) []string) ([]string, error) {
	if err := m.usable(ctx); err != nil {
		return nil, err
	}
	mapped := m.h.e.Map(to)
	if mapped == "" {
		return nil, fmt.Errorf("%w: empty new name", ErrOption)
	}
	if m.h.e.Cluster() {
		if err := keys.OnCluster(mapped); err != nil || !m.h.e.SameSlot(m.key, mapped) {
			return nil, fmt.Errorf("%w: %q is in another slot of the cluster: give both names one hash tag", ErrOption, mapped)
		}
	}
	var pairs []string
	for i, key := range object(m.key) {
		pairs = append(pairs, key, object(mapped)[i])
	}
	return pairs, nil
}
