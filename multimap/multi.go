package multimap

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/entrycodec"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/object"
	"github.com/rueidisson/rueidisson/internal/scripts"
	"github.com/rueidisson/rueidisson/internal/send"
)

// multi is a multimap of lists or of sets: a hash with a field for each key, and a key of Redis for the values of each
// field. It has the operations that both share.
type multi[K comparable, V any] struct {
	e        *locking.Engine
	requests *send.Requests
	kind     string // "list multimap", for errors
	name     string // as the caller wrote it
	names    names
	cfg      config
	codecs   entrycodec.Codecs[K, V]
	bad      error // what every operation returns, if the handle cannot be used
}

// names are the keys of a multimap.
type names struct {
	index, ends, kind string // kind is list or set
}

func (n names) of(fields ...string) []string {
	all := make([]string, 2, 3+len(fields))
	all[0], all[1] = n.index, n.ends
	for _, field := range fields {
		all = append(all, keys.Values(n.index, field))
	}
	return all
}

type requestsKey struct{}

func newMulti[K comparable, V any](e *locking.Engine, kind, name string, ends func(string) string, opts []Option) multi[K, V] {
	key := e.Map(name)
	m := multi[K, V]{e: e, kind: kind + " multimap", name: name, names: names{key, ends(key), kind}}
	m.requests = e.Shared(requestsKey{}, func() any { return send.NewRequests(e.Sender) }).(*send.Requests)
	if m.cfg, m.bad = object.Options(config{}, opts, Option.apply); m.bad == nil {
		m.codecs, m.bad = entrycodec.New[K, V](e, name, m.cfg.codecs)
	}
	m.bad = cmp.Or(m.bad, object.CheckName(e, key))
	return m
}

// Name returns the name that the handle was made with, before any mapping.
func (m *multi[K, V]) Name() string { return m.name }

// usable checks what every operation needs.
func (m *multi[K, V]) usable(ctx context.Context) error { return object.Usable(ctx, m.e, m.bad) }

// encodeKey returns k as it is in Redis, if the handle can be used.
func (m *multi[K, V]) encodeKey(ctx context.Context, k K) (string, error) {
	if err := m.usable(ctx); err != nil {
		return "", err
	}
	return m.codecs.Key(k)
}

// keyTexts returns keys as they are in Redis, if the handle can be used.
func (m *multi[K, V]) keyTexts(ctx context.Context, ks []K) ([]string, error) {
	if err := m.usable(ctx); err != nil {
		return nil, err
	}
	return m.codecs.KeyTexts(ks)
}

// failed names the operation and the multimap.
func (m *multi[K, V]) failed(op string, err error) error {
	switch {
	case err == nil:
		return nil
	case send.WrongType(err):
		all := []string{m.names.index, m.names.ends, keys.ValuesOf(m.names.index, "<hash of a key>")}
		err = fmt.Errorf("one of the keys %q is of another type: %w", all, err)
	case send.WrongKind(err):
		err = fmt.Errorf("%w: %w", ErrWrongKind, err)
	}
	return object.Failed(op, m.kind, m.name, err)
}

// failedAt names the key, too.
func (m *multi[K, V]) failedAt(op, key string, err error) error {
	var undecoded *codec.DecodeError
	if err == nil || key == "" || errors.As(err, &undecoded) {
		return m.failed(op, err)
	}
	return m.failed(op+" "+object.Quoted(key)+" of", err)
}

func (m *multi[K, V]) now() string { return decimal(m.e.Wall()) }

func decimal(n int64) string { return strconv.FormatInt(n, 10) }

func flag(is bool) string {
	if is {
		return "1"
	}
	return "0"
}

// send sends a script that changes something.
func (m *multi[K, V]) send(ctx context.Context, script *scripts.Script, on []string, args ...string) (send.Answer, error) {
	if !m.cfg.requestIDs {
		return m.e.RunBriefly(ctx, script, on, append([]string{"0"}, args...))
	}
	request := keys.MapDone(m.names.index, m.requests.ID())
	return m.requests.RunBriefly(ctx, send.Identified{Script: script}, m.names.index, request, on, args)
}

// write sends a script that changes one key.
func (m *multi[K, V]) write(ctx context.Context, script *scripts.Script, key string, args ...string) (send.Answer, error) {
	return m.send(ctx, script, m.names.of(key), append([]string{m.now(), m.names.kind, key}, args...)...)
}

// look sends a script that reads some keys.
func (m *multi[K, V]) look(ctx context.Context, script send.Operation, fields []string, args ...string) (send.Answer, error) {
	return m.e.Run(ctx, script, m.names.of(fields...), append(append([]string{m.now(), m.names.kind}, fields...), args...))
}

// ask sends a command that reads the index.
func ask[K comparable, V, T any](ctx context.Context, m *multi[K, V], op string, cmd *scripts.Command, of func(send.Answer, error) (T, error)) (got T, err error) {
	if err = m.usable(ctx); err == nil {
		got, err = send.Reading(m.e.Sender, ctx, func() (T, error) { return of(m.e.Run(ctx, cmd, []string{m.names.index}, nil)) })
	}
	return got, m.failed(op, err)
}

// KeyLen returns how many keys there are, with those that have ended and were not swept
// yet, and those that Redisson has left without values.
//
// Cost: HLEN. Errors: as Count. Source: RMultimap.keySize.
func (m *multi[K, V]) KeyLen(ctx context.Context) (int64, error) {
	return ask(ctx, m, "count", hlen, send.Number)
}

// Exists reports whether there is a key at all, one that KeyLen
// counts.
//
// Cost: EXISTS. Errors: as Count. Source: RMultimap.isExists.
func (m *multi[K, V]) Exists(ctx context.Context) (bool, error) {
	return ask(ctx, m, "look for", exists, send.Yes)
}

// Remaining returns how long the whole multimap stays: 0 if there is none, -1 if it has
// no end.
//
// Cost: PTTL. Errors: as Count. Source: RMultimap.remainTimeToLive.
func (m *multi[K, V]) Remaining(ctx context.Context) (time.Duration, error) {
	return ask(ctx, m, "look at", pttl, func(got send.Answer, err error) (time.Duration, error) {
		return send.Remainder(send.Number(got, err))
	})
}
