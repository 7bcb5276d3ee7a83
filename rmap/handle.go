package rmap

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/entrycodec"
	"github.com/rueidisson/rueidisson/internal/fieldttl"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/lockkit"
	"github.com/rueidisson/rueidisson/internal/object"
	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/lock"
	"github.com/rueidisson/rueidisson/rmap/internal/mapcache"
)

// handle is what every kind of map is made of: a store, and codecs for what is
// in it. It holds nothing, so any number of goroutines may use it.
type handle[K comparable, V any] struct {
	h     *hub
	store store
	kind  string // "map", for errors
	name  string // as the caller wrote it
	key   string // as it is mapped
	cfg   config
	bad   error // what every operation returns, if the handle cannot be used

	// keysOf returns the keys of a map of this kind that has this key.
	keysOf func(key string) []string
	// ready asks what the server can do, where the kind of map needs to know.
	ready func(ctx context.Context) error
	// can refuses lifetimes that entries of this kind of map cannot have; nil: they can have all.
	can func(lifetime) error

	codecs entrycodec.Codecs[K, V]
	text   bool // values are text, which reads the header of a cache's value without an error
}

// applied is an option of one of the kinds.
type applied interface {
	comparable
	applyHandle(*config) error
}

// newHandle checks the options of a handle and does no I/O. The store is made of what is known
// then.
func newHandle[K comparable, V any, O applied](e *locking.Engine, kind, name string, can func(lifetime) error, opts []O) *handle[K, V] {
	m := &handle[K, V]{h: hubOf(e), kind: kind, name: name, key: e.Map(name), keysOf: func(key string) []string { return []string{key} }, can: can}
	if m.cfg, m.bad = object.Options(config{}, opts, O.applyHandle); m.bad == nil {
		m.codecs, m.bad = entrycodec.New[K, V](e, name, m.cfg.codecs)
		m.text = m.bad == nil && codec.IsText(m.codecs.Values)
	}
	m.bad = cmp.Or(m.bad, object.CheckName(e, m.key))
	return m
}

// sender returns what a store sends with.
func (m *handle[K, V]) sender() sender {
	return sender{h: m.h, key: m.key, ids: m.cfg.requestIDs, announces: m.cfg.announce}
}

// isCache reports whether values have headers, and writes end the leases of loads.
func (m *handle[K, V]) isCache() bool {
	_, is := m.store.(*cached)
	return is
}

// usable checks what every operation needs.
func (m *handle[K, V]) usable(ctx context.Context) error {
	err := object.Usable(ctx, m.h.e, m.bad)
	if err == nil && m.ready != nil {
		err = m.ready(ctx)
	}
	return err
}

// encodeKey returns k as it is in Redis, if the handle can be used.
func (m *handle[K, V]) encodeKey(ctx context.Context, k K) (string, error) {
	if err := m.usable(ctx); err != nil {
		return "", err
	}
	return m.codecs.Key(k)
}

// lifetime returns how long what a write writes lives.
func (m *handle[K, V]) lifetime(opts []PutOption) (lifetime, error) {
	if len(opts) == 0 {
		return m.cfg.entries, nil
	}
	l, err := object.Options(m.cfg.entries, opts, PutOption.applyPut)
	if err == nil && m.can != nil {
		err = m.can(l)
	}
	return l, err
}

// encode returns an entry as it is in Redis.
func (m *handle[K, V]) encode(ctx context.Context, k K, v V) (key, text string, err error) {
	if key, err = m.encodeKey(ctx, k); err == nil {
		text, err = m.codecs.Value(v)
	}
	return key, text, err
}

// decode returns what stands under a key, if anything does.
func (m *handle[K, V]) decode(key string, got value) (v V, there bool, err error) {
	if !got.there {
		return v, false, nil
	}
	if err = got.broken; err == nil {
		v, err = codec.Decode(m.codecs.Values, got.text)
	}
	if (err != nil || m.text) && got.broken == nil && mapcache.Looks(got.text) {
		if !m.isCache() { // whose values have headers
			var none V
			v, err = none, fmt.Errorf("%w: it has the header of a cache's", ErrWrongKind)
		}
	}
	if err != nil {
		return v, true, m.codecs.Undecoded(key, got.text, err)
	}
	return v, true, nil
}

// failed names the operation and the map.
func (m *handle[K, V]) failed(op string, err error) error {
	if err == nil {
		return nil
	}
	if m.ready != nil && send.UnknownCommand(err) && !errors.Is(err, errors.ErrUnsupported) {
		fieldttl.Of(m.h.e).Note(m.key, false)
		err = fmt.Errorf("%w: %w", errors.ErrUnsupported, err)
	}
	switch {
	case send.WrongType(err):
		err = m.wrongType(err)
	case send.WrongKind(err):
		err = fmt.Errorf("%w: %w", ErrWrongKind, err)
	}
	return object.Failed(op, m.kind, m.name, err)
}

// home returns the hash that an entry is in.
func (m *handle[K, V]) home(key string) string {
	if s, is := m.store.(spread); is {
		return s.home(key)
	}
	return m.key
}

// wrongType names the key of another type, or those that it is one of.
func (m *handle[K, V]) wrongType(err error) error {
	if _, is := m.store.(spread); is {
		return err // which names it
	}
	if all := m.store.object(); len(all) > 1 {
		return fmt.Errorf("one of the keys %q is of another type: %w", all, err)
	}
	return fmt.Errorf("key %q is no hash: %w", m.key, err)
}

// failedAt names the entry, too.
func (m *handle[K, V]) failedAt(op, key string, err error) error {
	if err == nil {
		return nil
	}
	var undecoded *codec.DecodeError
	if key == "" || errors.As(err, &undecoded) {
		return m.failed(op, err)
	}
	return m.failed(op+" "+object.Quoted(key)+" of", err)
}

// reading makes one exchange that changes nothing. ctx bounds the wait for it.
func reading[T any](ctx context.Context, h *hub, call func() (T, error)) (T, error) {
	return send.Reading(h.e.Sender, ctx, call)
}

// writing makes one exchange that changes something. ctx bounds the wait for it;
// it may be done still when that has ended.
func writing[T any](ctx context.Context, h *hub, call func() (T, error)) (T, error) {
	return send.Writing(h.e.Sender, ctx, call)
}

// lockName returns the lock of the entry of an encoded key.
func (m *handle[K, V]) lockName(key string) string { return keys.EntryLock(m.home(key), key) }

// carries reports whether ctx carries a hold of the entry's lock.
func (m *handle[K, V]) carries(ctx context.Context, key string) bool {
	_, hold := lockkit.Carried[lock.Hold](ctx, m.h.e, m.h.e.Map(m.lockName(key)), "")
	return hold != nil
}

// keyTexts returns keys as they are in Redis, if the handle can be used.
func (m *handle[K, V]) keyTexts(ctx context.Context, ks []K) ([]string, error) {
	if err := m.usable(ctx); err != nil {
		return nil, err
	}
	return m.codecs.KeyTexts(ks)
}

// pairs returns entries as they are in Redis, keys and values by turns.
func (m *handle[K, V]) pairs(ctx context.Context, entries map[K]V) ([]string, error) {
	if err := m.usable(ctx); err != nil {
		return nil, err
	}
	pairs := make([]string, 0, 2*len(entries))
	for k, v := range entries {
		key, text, err := m.encode(ctx, k, v)
		if err != nil {
			return nil, err
		}
		pairs = append(pairs, key, text)
	}
	return pairs, nil
}
