package mapstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/check"
	"github.com/rueidisson/rueidisson/internal/core"
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

// Handle is what every kind of map is made of: a store, and codecs for what is
// in it. It holds nothing, so any number of goroutines may use it.
type Handle[K comparable, V any] struct {
	Hub    *Hub
	Store  Store
	Kind   string // "map", for errors
	Name   string // as the caller wrote it
	Key    string // as it is mapped
	Config Config
	Bad    error // what every operation returns, if the handle cannot be used

	// Ready asks what the server can do, where the kind of map needs to know.
	Ready func(ctx context.Context) error

	Codecs entrycodec.Codecs[K, V]
	text   bool // values are text, which reads the header of a cache's value without an error
}

// New checks a name, and what options have said, and does no I/O. The store is made of what is known then.
func New[K comparable, V any](e *locking.Engine, kind, name string, cfg Config, bad error) Handle[K, V] {
	m := Handle[K, V]{Hub: HubOf(e), Kind: kind, Name: name, Key: e.Map(name), Config: cfg, Bad: bad}
	if m.Bad == nil {
		m.Codecs, m.Bad = entrycodec.New[K, V](e, name, m.Config.Codecs)
		m.text = m.Bad == nil && codec.IsText(m.Codecs.Values)
	}
	m.Bad = cmp.Or(m.Bad, object.CheckName(e, m.Key))
	return m
}

// Sender returns what a store sends with.
func (m *Handle[K, V]) Sender() Sender {
	return Sender{Hub: m.Hub, Key: m.Key, ids: m.Config.RequestIDs, announces: m.Config.Announce}
}

// IsCache reports whether values have headers, and writes end the leases of loads.
func (m *Handle[K, V]) IsCache() bool {
	_, is := m.Store.(*Cached)
	return is
}

// Skips returns the offset of a value in the map's value: how many bytes precede it.
func (m *Handle[K, V]) Skips() int {
	if m.IsCache() {
		return mapcache.Header
	}
	return 0
}

// Usable checks what every operation needs.
func (m *Handle[K, V]) Usable(ctx context.Context) error {
	err := object.Usable(ctx, m.Hub.Engine, m.Bad)
	if err == nil && m.Ready != nil {
		err = m.Ready(ctx)
	}
	return err
}

// EncodeKey returns k as it is in Redis, if the handle can be used.
func (m *Handle[K, V]) EncodeKey(ctx context.Context, k K) (string, error) {
	if err := m.Usable(ctx); err != nil {
		return "", err
	}
	return m.Codecs.Key(k)
}

// Encode returns an entry as it is in Redis.
func (m *Handle[K, V]) Encode(ctx context.Context, k K, v V) (key, text string, err error) {
	if key, err = m.EncodeKey(ctx, k); err == nil {
		text, err = m.Codecs.Value(v)
	}
	return key, text, err
}

// Decode returns what stands under a key, if anything does.
func (m *Handle[K, V]) Decode(key string, got Value) (v V, there bool, err error) {
	if !got.There {
		return v, false, nil
	}
	if err = got.broken; err == nil {
		v, err = codec.Decode(m.Codecs.Values, got.Text)
	}
	if (err != nil || m.text) && got.broken == nil && mapcache.Looks(got.Text) {
		if !m.IsCache() { // whose values have headers
			var none V
			v, err = none, fmt.Errorf("%w: it has the header of a cache's", core.ErrWrongKind)
		}
	}
	if err != nil {
		return v, true, m.Codecs.Undecoded(key, got.Text, err)
	}
	return v, true, nil
}

// Failed names the operation and the map.
func (m *Handle[K, V]) Failed(op string, err error) error {
	if err == nil {
		return nil
	}
	if m.Ready != nil && send.UnknownCommand(err) && !errors.Is(err, errors.ErrUnsupported) {
		fieldttl.Of(m.Hub.Engine).Note(m.Key, false)
		err = fmt.Errorf("%w: %w", errors.ErrUnsupported, err)
	}
	switch {
	case send.WrongType(err):
		err = m.wrongType(err)
	case send.WrongKind(err):
		err = fmt.Errorf("%w: %w", core.ErrWrongKind, err)
	}
	return object.Failed(op, m.Kind, m.Name, err)
}

// Home returns the hash that an entry is in.
func (m *Handle[K, V]) Home(key string) string {
	if s, is := m.Store.(Spread); is {
		return s.Home(key)
	}
	return m.Key
}

// wrongType names the key of another type, or those that it is one of.
func (m *Handle[K, V]) wrongType(err error) error {
	if _, is := m.Store.(Spread); is {
		return err // which names it
	}
	if all := m.Store.Object(); len(all) > 1 {
		return fmt.Errorf("one of the keys %q is of another type: %w", all, err)
	}
	return fmt.Errorf("key %q is no hash: %w", m.Key, err)
}

// FailedAt names the entry, too.
func (m *Handle[K, V]) FailedAt(op, key string, err error) error {
	if err == nil {
		return nil
	}
	var undecoded *codec.DecodeError
	if key == "" || errors.As(err, &undecoded) {
		return m.Failed(op, err)
	}
	return m.Failed(op+" "+object.Quoted(key)+" of", err)
}

// Reading makes one exchange that changes nothing. ctx bounds the wait for it.
func Reading[T any](ctx context.Context, h *Hub, call func() (T, error)) (T, error) {
	return send.Reading(h.Engine.Sender, ctx, call)
}

// Writing makes one exchange that changes something. ctx bounds the wait for it;
// it may be done still when that has ended.
func Writing[T any](ctx context.Context, h *Hub, call func() (T, error)) (T, error) {
	return send.Writing(h.Engine.Sender, ctx, call)
}

// LockName returns the lock of the entry of an encoded key.
func (m *Handle[K, V]) LockName(key string) string { return keys.EntryLock(m.Home(key), key) }

// Carries reports whether ctx carries a hold of the entry's lock.
func (m *Handle[K, V]) Carries(ctx context.Context, key string) bool {
	_, hold := lockkit.Carried[lock.Hold](ctx, m.Hub.Engine, m.Hub.Engine.Map(m.LockName(key)), "")
	return hold != nil
}

// KeyTexts returns keys as they are in Redis, if the handle can be used.
func (m *Handle[K, V]) KeyTexts(ctx context.Context, ks []K) ([]string, error) {
	if err := m.Usable(ctx); err != nil {
		return nil, err
	}
	return m.Codecs.KeyTexts(ks)
}

// Pairs returns entries as they are in Redis, keys and values by turns.
func (m *Handle[K, V]) Pairs(ctx context.Context, entries map[K]V) ([]string, error) {
	if err := m.Usable(ctx); err != nil {
		return nil, err
	}
	pairs := make([]string, 0, 2*len(entries))
	for k, v := range entries {
		key, text, err := m.Encode(ctx, k, v)
		if err != nil {
			return nil, err
		}
		pairs = append(pairs, key, text)
	}
	return pairs, nil
}

// Changed returns the keys that change with an entry which is loaded, or written to a store.
func Changed(name string) []check.Key {
	return []check.Key{
		{Name: name, Type: check.Hash}, {Name: keys.NearLog(name), Type: check.ZSet}, {Name: keys.MapWrites(name), Type: check.Stream},
		{Name: keys.MapPending(name), Type: check.Hash},
	}
}

// CheckLock checks the lock of an entry, for all of them.
func (m *Handle[K, V]) CheckLock(ctx context.Context) error {
	return lock.New(m.Hub.Engine, keys.EntryLock(m.Home(""), "")).Check(ctx)
}

// EntryOf returns what Computes of the entry of an encoded key queue for.
func (m *Handle[K, V]) EntryOf(key string) Entry {
	return Entry{m.Kind, m.Home(key), key, m.Config.Shards, m.Config.RequestIDs, m.Config.EntryLock, m.Config.Entries, m.Config.Announce}
}
