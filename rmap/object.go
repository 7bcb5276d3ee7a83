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
			if c, is := m.store.(*cached); is {
				return engine.Yes(c.drop(ctx, c.object()))
			}
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

// rename gives a map another name, over what has it, or with ifAbsent if nothing has.
func (m *handle[K, V]) rename(ctx context.Context, to string, object func(key string) []string, ifAbsent bool) (done bool, err error) {
	pairs, err := m.renaming(ctx, to, object)
	if err == nil {
		done, err = writing(ctx, m.h, func() (bool, error) {
			s := m.sender()
			return engine.Yes(s.write(ctx, renameScript, pairs, s.tellBoth(m.h.e.Map(to), decimal(int64(len(pairs)/2)), flag(ifAbsent))...))
		})
	}
	return done, m.failed("rename", err)
}

func (m *handle[K, V]) copyTo(ctx context.Context, to string, object func(key string) []string) (done bool, err error) {
	pairs, err := m.renaming(ctx, to, object)
	if err == nil {
		done, err = writing(ctx, m.h, func() (bool, error) {
			s := m.sender()
			return engine.Yes(s.write(ctx, copyScript, pairs, s.tellAllOf(m.h.e.Map(to), decimal(int64(len(pairs)/2)))...))
		})
	}
	return done, m.failed("copy", err)
}

func (m *handle[K, V]) expireAt(ctx context.Context, at time.Time) (there bool, err error) {
	ms, err := engine.Instant(at)
	if err == nil {
		there, err = m.setTime(ctx, ms)
	}
	return there, m.failed("expire", err)
}

func (m *handle[K, V]) sizeInMemory(ctx context.Context) (n int64, err error) {
	if err = m.usable(ctx); err == nil {
		n, err = reading(ctx, m.h, func() (int64, error) {
			return m.h.e.SizeInMemory(ctx, m.store.object())
		})
	}
	return n, m.failed("measure", err)
}

// oneHash is the keys of a map of one hash.
func oneHash(key string) []string { return []string{key} }

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
